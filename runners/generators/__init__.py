"""Load generators: one file each, with the command line of a tool and the parser of what it prints."""

from __future__ import annotations
