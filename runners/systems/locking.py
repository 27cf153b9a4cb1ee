"""Locks that die with their owner: one process at a time makes an image, builds a server, or measures."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from runners.folders import cache_folder


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
