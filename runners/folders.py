"""Where things are: the project's own folders and the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
NOTEBOOKS = PROJECT / "notebooks"
SERVERS = PROJECT / "servers"
# What the contract gives to every server: mounted at /contract, when it is built and when it runs.
CONTRACT_DATA = SERVERS / "contract" / "data"
PUBLISHED = PROJECT / "data" / "raw" / "published"
# Tests and scripts may keep their runs elsewhere.
_DATA = Path(os.environ.get("WRKBOOK_DATA") or PROJECT / "data")
RAW = _DATA / "raw"
PROCESSED = _DATA / "processed"
# The one notebook that measures nothing: it needs two runs.
COMPARING = "90-compare-runs"


def cache_folder() -> Path:
    """The user's cache folder for wrkbook: ``$XDG_CACHE_HOME/wrkbook``, else ``~/.cache/wrkbook``. Made on first use."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "wrkbook"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
