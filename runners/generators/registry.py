"""The load generators by the name that trial records carry."""

from __future__ import annotations

from runners.generators import Generator
from runners.generators.wrk import Wrk

GENERATORS: dict[str, Generator] = {"wrk": Wrk()}
