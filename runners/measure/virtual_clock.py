"""Suspend a load generator and its server together, with a clock that stands still meanwhile.

The load generator subtracts a number from the machine's clock (``servers/wrk/clock.cpp``). The number is changed while both are
suspended, so the load generator never sees the time that it missed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

from runners.measure.sampling import total_cpu_s

_SIZE = 8
_LIBC = ctypes.CDLL(None)
# Of the kernel's tables of system calls: x86_64 has its own, arm64 and newer ones share another.
_TGKILL = 234 if platform.machine() == "x86_64" else 131


class VirtualClock:
    """The time for which a program has been suspended, in a file that it has mapped; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.path, self.stood_s = folder / "clock", 0.0
        self.path.write_bytes(bytes(_SIZE))
        with self.path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), _SIZE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._page.close()

    def stand(self, duration_s: float) -> None:
        """Add to the time for which the program has been suspended."""
        self.stood_s += duration_s
        with memoryview(self._page) as whole, whole.cast("q") as numbers:
            numbers[0] = round(self.stood_s * 1e9)  # stored whole: a reader sees the old or the new


class Processes:
    """Processes that are suspended and resumed together; leaving the context resumes them. Exited ones are left alone."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._descriptors: dict[int, int] = {}
        for pid in pids:
            with suppress(ProcessLookupError):
                # By descriptor: a process id may be another's by then.
                self._descriptors[pid] = os.pidfd_open(pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on()
        for descriptor in self._descriptors.values():
            os.close(descriptor)

    @property
    def cpu_s(self) -> float:
        """CPU time that they have used so far; NaN when one has ended."""
        return total_cpu_s(self._descriptors)

    def stop(self) -> None:
        """Suspend all processes, by a signal to each thread: tgkill(2), which neither Python nor every C library offers.

        The first thread that gets it suspends its process. Of a signal to the process the kernel chooses the thread, rather one that
        sleeps, and those that compute go on until that one has got the CPU.
        """
        for pid in self._descriptors:
            with suppress(OSError):  # it has ended
                for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - it is done in the middle of a measurement
                    _LIBC.syscall(_TGKILL, pid, int(thread), int(signal.SIGSTOP))

    def go_on(self) -> None:
        """Resume all processes."""
        self._send(signal.SIGCONT)

    def interrupt(self) -> None:
        """Send SIGINT, at which a load generator reports and ends."""
        self._send(signal.SIGINT)

    def _send(self, number: signal.Signals) -> None:
        for descriptor in self._descriptors.values():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, number)


class ProcessSuspender:
    """Suspend and resume a load generator and its server together, and the load generator's clock with them.

    Attributes
    ----------
    intervals : list[tuple[float, float]]
        When they ran, as pairs of moments of the monotonic clock.
    used_s : dict[str, float]
        Role → CPU time that its processes had used when they were last suspended; of exited processes, the last
        reading.
    late_s : dict[str, float]
        Role → CPU time that its processes used while they should have stood still.
    """

    def __init__(self, clock: VirtualClock, generator: Processes, server: Processes, running_since: float) -> None:
        self.clock, self.generator = clock, generator
        self.intervals: list[tuple[float, float]] = []
        self.used_s = {"generator": 0.0, "server": 0.0}
        self.late_s = dict(self.used_s)
        self._roles = {"generator": generator, "server": server}
        self._since: float | None = running_since

    @property
    def ran_s(self) -> float:
        """Return the time that they have run, without the time in which they were suspended."""
        return sum(end - start for start, end in self.intervals)

    def stop(self) -> None:
        """Suspend both, if they run; the load generator first, so that it never waits for a server that is suspended."""
        if self._since is None:
            return
        for processes in self._roles.values():
            processes.stop()
        # Not before: what they did until they noticed is theirs.
        self.intervals.append((self._since, time.monotonic()))
        self._since = None
        for role, processes in self._roles.items():
            # NaN, when one has ended, is not larger than anything.
            self.used_s[role] = max(self.used_s[role], processes.cpu_s)

    def go_on(self) -> None:
        """Resume both, if they are suspended; the load generator last."""
        if self._since is not None:
            return
        for role, processes in self._roles.items():
            self.late_s[role] += max(0.0, processes.cpu_s - self.used_s[role])  # NaN: likewise
        self._since = time.monotonic()
        self.clock.stand(self._since - self.intervals[-1][1])
        for processes in reversed(self._roles.values()):
            processes.go_on()
