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
# Locks: held by whoever measures, and shared by all `./wrkbook serve`.
MEASURING, SERVING = "measuring", "serving"
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
    handle = _open_lock(name)
    try:
        if not _locks(handle, fcntl.LOCK_EX):
            print(f"Waiting: {waiting} …", file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def shared(name: str) -> Iterator[None]:
    """Hold the lock `name` of this user together with others that share it."""
    handle = _open_lock(name)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


def try_lock(name: str) -> int | None:
    """Return a descriptor that holds the lock `name` of this user until it is closed; None while another one holds it."""
    handle = _open_lock(name)
    if _locks(handle, fcntl.LOCK_EX):
        return handle
    os.close(handle)
    return None


def is_locked(name: str, *, also_shared: bool = False) -> bool:
    """Return whether anyone holds the lock `name` of this user alone, or, if `also_shared`, together with others."""
    handle = _open_lock(name)
    try:
        # Two that only look at the same moment must not take each other for a holder.
        return not _locks(handle, fcntl.LOCK_EX if also_shared else fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _open_lock(name: str) -> int:
    folder = cache_folder() / "locks"
    folder.mkdir(exist_ok=True)
    return os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


# Own code: filelock has no shared locks, and the kernel releases these when their process is killed.
def _locks(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
