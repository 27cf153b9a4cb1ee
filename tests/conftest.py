"""Settings of all tests."""

import sys

from hypothesis import settings

# jsonschema's check of IRIs builds a grammar for over a second on import, in each process; no schema here has an IRI.
sys.modules.setdefault("rfc3987_syntax", None)

# The machine may be busy: how long an example takes says nothing about whether it is right.
settings.register_profile("wrkbook", deadline=None)
settings.load_profile("wrkbook")
