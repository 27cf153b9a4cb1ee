"""The processes below another one: those of a sandbox, and signals to them."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import psutil

# Not with every kernel: CONFIG_PROC_CHILDREN.
_LISTS_CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children").exists()


def descendants(pid: int) -> list[int]:
    """Return the processes below a sandbox, without bubblewrap's own, and those that are still to become their program."""
    found = []
    for child in children(pid):
        with contextlib.suppress(psutil.Error):
            if psutil.Process(child).name() not in ("bwrap", "taskset", "prlimit"):
                found.append(child)
    return found


def first_of(pids: list[int]) -> list[int]:
    """Return the processes of a sandbox that none of the others started."""
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            if psutil.Process(pid).ppid() not in pids:
                found.append(pid)
    return found


def children(pid: int, *, recursive: bool = True) -> list[int]:
    """Return the processes below one, at any depth or only its own.

    The kernel lists the children of a thread (proc(5)). psutil reads every process of the machine instead: 4 ms in the middle of a window.
    """
    found: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                found += [child, *(children(child) if recursive else [])]
    except FileNotFoundError:
        if not _LISTS_CHILDREN and psutil.pid_exists(pid):
            with contextlib.suppress(psutil.Error):
                return [process.pid for process in psutil.Process(pid).children(recursive=recursive)]
    except OSError:
        pass  # it ended meanwhile
    return found


def signal_to(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, if it is still there."""
    with contextlib.suppress(psutil.Error):
        psutil.Process(pid).send_signal(number)
