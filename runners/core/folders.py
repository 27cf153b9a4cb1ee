"""Folders of the project, the user's cache, and locks between processes."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
NOTEBOOKS = PROJECT / "notebooks"
SERVERS = PROJECT / "servers"
# Mounted at /contract when a server is built and when it runs.
CONTRACT_DATA = SERVERS / "contract" / "data"
PUBLISHED = PROJECT / "data" / "raw" / "published"
# Tests and scripts may keep their runs elsewhere.
_DATA = Path(os.environ.get("WRKBOOK_DATA") or PROJECT / "data")
RAW = _DATA / "raw"
PROCESSED = _DATA / "processed"
# The one notebook that measures nothing: it needs two runs.
COMPARING = "90-compare-runs"


def cache_folder() -> Path:
    """Return the cache folder, created on first use: ``$XDG_CACHE_HOME/wrkbook``, else ``~/.cache/wrkbook``."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "wrkbook"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def exclusive(name: str, waiting: str) -> Iterator[None]:
    """Hold the lock `name` of this user; while another process holds it, say `waiting` once and wait."""
    folder = cache_folder() / "locks"
    folder.mkdir(exist_ok=True)
    handle = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Waiting: {waiting} …", file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
