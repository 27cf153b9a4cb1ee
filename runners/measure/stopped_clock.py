"""Stop a load generator and its server together and let them go on, with a clock that stands still in between.

The clock is a number that the load generator's own clock subtracts from the machine's (``servers/wrk/clock.cpp``). It is moved
when both are stopped, before either goes on, so that the load generator never sees the time that it missed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import signal
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from runners.measure.sampling import total_cpu_s

FILE = "clock"
_SIZE = 8
_LIBC = ctypes.CDLL(None)
# Of the kernel's tables of system calls: x86_64 has its own, arm64 and newer ones share another.
_TGKILL = 234 if platform.machine() == "x86_64" else 131


class StoppedClock:
    """How long a program has been stopped so far, in a file that the program has mapped; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.stood_s = 0.0
        self._page: mmap.mmap | None = None

    def __enter__(self) -> Self:
        self.path.write_bytes(bytes(_SIZE))
        with self.path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), _SIZE)
        return self

    def __exit__(self, *_: object) -> None:
        if self._page is not None:
            self._page.close()

    def stand(self, duration_s: float) -> None:
        """It stood still for so long."""
        assert self._page is not None
        self.stood_s += duration_s
        with memoryview(self._page) as whole, whole.cast("q") as numbers:
            numbers[0] = round(self.stood_s * 1e9)  # stored whole: who reads just then sees the old or the new


class Processes:
    """Processes that can be stopped and go on, all together; what has ended meanwhile is left alone.

    Leaving the context lets them go on, whatever happened.
    """

    def __init__(self, pids: Iterable[int]) -> None:
        self._stack = ExitStack()
        self._descriptors: dict[int, int] = {}
        for pid in pids:
            with suppress(ProcessLookupError):
                # By descriptor: a process id may be another's by then.
                self._descriptors[pid] = os.pidfd_open(pid)
                self._stack.callback(os.close, self._descriptors[pid])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on()
        self._stack.close()

    @property
    def cpu_s(self) -> float:
        """CPU time that they have used so far; NaN when one has ended."""
        return total_cpu_s(self._descriptors)

    def stop(self) -> None:
        """None of them runs from now on.

        Each thread is told, as the first that hears of it stops all of its process. A process that is told chooses a thread
        itself, rather one that sleeps, and those that compute go on until that one has got the CPU.
        """
        for pid in self._descriptors:
            with suppress(OSError):  # it has ended
                for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - it is done in the middle of a measurement
                    _tell_thread(pid, int(thread), signal.SIGSTOP)

    def go_on(self) -> None:
        """They run on where they were."""
        self._tell(signal.SIGCONT)

    def interrupt(self) -> None:
        """They are to end and report."""
        self._tell(signal.SIGINT)

    def _tell(self, number: signal.Signals) -> None:
        for descriptor in self._descriptors.values():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, number)


def _tell_thread(pid: int, thread: int, number: signal.Signals) -> None:
    """Send a signal to one thread, if it is there: tgkill(2), which neither Python nor every C library offers."""
    _LIBC.syscall(_TGKILL, pid, thread, int(number))


class Freezer:
    """A load generator and its server, which are stopped and go on together, the one's clock with them.

    Attributes
    ----------
    intervals : when they ran, as pairs of moments of the monotonic clock
    late_s : CPU time that they used while they were to stand still, by role: generator and server
    """

    def __init__(self, clock: StoppedClock, generator: Processes, server: Processes, running_since: float) -> None:
        self.clock = clock
        self.intervals: list[tuple[float, float]] = []
        self.late_s = {"generator": 0.0, "server": 0.0}
        # The generator is stopped first and goes on last: it never waits for a server that is stopped.
        self._generator, self._server = generator, server
        self._roles = {"generator": generator, "server": server}
        self._used_s: dict[str, float] = {}
        self._since: float | None = running_since
        self._stopped_at = running_since

    @property
    def ran_s(self) -> float:
        """For how long they have run, without the time in which they were stopped."""
        return sum(end - start for start, end in self.intervals)

    def stop(self) -> None:
        """Stop both."""
        if self._since is None:
            return
        self._generator.stop()
        self._server.stop()
        # Not before: what they did until they noticed is theirs.
        self._stopped_at = time.monotonic()
        self.intervals.append((self._since, self._stopped_at))
        self._since = None
        self._used_s = {role: processes.cpu_s for role, processes in self._roles.items()}

    def go_on(self) -> None:
        """Let both go on."""
        if self._since is not None:
            return
        for role, processes in self._roles.items():
            late_s = processes.cpu_s - self._used_s[role]
            self.late_s[role] += late_s if late_s > 0 else 0.0  # not of what has ended
        self._since = time.monotonic()
        self.clock.stand(self._since - self._stopped_at)
        self._server.go_on()
        self._generator.go_on()

    def interrupt(self) -> None:
        """Ask the generator to end and report."""
        self._generator.interrupt()
