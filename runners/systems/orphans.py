"""Ends the sandboxes that a killed kernel leaves behind.

bubblewrap ends with its parent, but only from when it has said so to the system: the process 1 of a new sandbox does that when its
file system is mounted. A kernel that is killed within these milliseconds leaves a server that nobody ends, and that holds its port.
Processes without a parent come to the nearest ancestor that asks for them (``PR_SET_CHILD_SUBREAPER``, prctl(2)): here, to the
command that has started the kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_SANDBOX = "bwrap"
_END_TIMEOUT_S = 10.0


@contextmanager
def orphans_ended() -> Iterator[None]:
    """While the context lasts, take in what descendants leave behind; at its end, kill the sandboxes among that."""
    own = set(psutil.Process().children())
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        # One that was about to start its process 1 leaves that behind in turn.
        while found := _sandboxes(own):
            for process in found:
                _kill(process)
            if psutil.wait_procs(found, _END_TIMEOUT_S)[1]:
                break
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _sandboxes(own: set[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in set(psutil.Process().children()) - own:
        with suppress(psutil.Error):
            if process.name() == _SANDBOX:
                found.append(process)
    return found


def _kill(process: psutil.Process) -> None:
    """Kill it and all below it: with its process 1, a sandbox loses everything that is in it."""
    with suppress(psutil.Error):
        for below in [*process.children(recursive=True), process]:
            with suppress(psutil.Error):
                below.kill()
