"""The speed probe: time a tiny fixed piece of work on each measured CPU, over and over.

On a shared or virtual machine a CPU slows down, and no counter of the kernel need show it: another machine's load uses the core's other
hardware thread, or the hypervisor takes the CPU away for milliseconds. So a probe on each measured CPU hashes for 12 µs every
2 ms, in registers and first-level cache. Its CPU time for that, compared with the best, is the speed at that moment; how often
it wakes shows how much of the time the CPU was there at all. It costs about 1 % of the CPU, the same for every system.

This file is also the probe's program, run without the package: ``python speed_probe.py CPU FILE PARENT``. It ends with its
parent, whose process id it is told: by the time that it could look, that may be gone already.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import sys
import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, Popen
from typing import NamedTuple

PERIOD_S = 0.002
# The ring: how many records there were, then records of a moment and a time. All are numbers of eight bytes, stored whole:
# `struct` would put zeros first, which a reader could see.
_RECORDS_COUNT = 1 << 16
_SIZE = 8 * (1 + 2 * _RECORDS_COUNT)


class Speed(NamedTuple):
    """Readings of the probe of a CPU; see :class:`runners.core.trial_record.CpuSpeed`."""

    wakes_hz: float
    mean_hz: float
    p90_hz: float


class SpeedProbes:
    """A probe on each of `cpus` while the context lasts; ``pids`` is CPU → pid. A probe that cannot run gives no samples."""

    def __init__(self, cpus: Iterable[int]) -> None:
        self._cpus = sorted(set(cpus))
        self._rings: dict[int, mmap.mmap] = {}
        self.pids: dict[int, int] = {}
        self._stack = ExitStack()

    def __enter__(self) -> SpeedProbes:
        for cpu in self._cpus:
            # In memory and without a name: it cannot be left behind, however this process ends.
            file = os.memfd_create(f"wrkbook-probe-{cpu}")
            self._stack.callback(os.close, file)
            os.ftruncate(file, _SIZE)
            self._rings[cpu] = self._stack.enter_context(mmap.mmap(file, _SIZE))
            command = [sys.executable, "-I", "-S", __file__, str(cpu), f"/proc/self/fd/{file}", str(os.getpid())]
            process = self._stack.enter_context(  # leaving it waits for its end
                Popen(command, pass_fds=[file], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True)
            )
            self._stack.callback(process.kill)
            self.pids[cpu] = process.pid
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def between(self, start_s: float, end_s: float) -> dict[int, Speed]:
        """Return the probes' readings between two moments of the monotonic clock; see :meth:`within`."""
        return self.within([(start_s, end_s)])

    def within(self, intervals: Sequence[tuple[float, float]]) -> dict[int, Speed]:
        """Return the probes' readings within intervals of the monotonic clock, ascending and disjoint.

        CPUs without samples are missing.
        """
        duration_s = sum(end_s - start_s for start_s, end_s in intervals)
        return {
            cpu: Speed(
                wakes_hz=round(len(rates) / duration_s, 2),
                mean_hz=round(sum(rates) / len(rates)),
                p90_hz=round(_p90(rates)),
            )
            for cpu, rates in self._rates(intervals).items()
        }

    def shares(self, start_s: float, end_s: float) -> dict[int, float]:
        """Return CPU → its median rate between two moments as a share of its 90th percentile there; without samples: missing."""
        return {cpu: min(1.0, median(rates) / _p90(rates)) for cpu, rates in self._rates([(start_s, end_s)]).items()}

    def _rates(self, intervals: Sequence[tuple[float, float]]) -> dict[int, list[float]]:
        """Return CPU → the rates of its bursts, ascending; CPUs without any are missing."""
        starts = [start_s for start_s, _ in intervals]
        found = {
            cpu: sorted(
                1 / burst_s
                for at_s, burst_s in _recent(ring, starts[0])
                if burst_s > 0 and at_s < intervals[bisect_right(starts, at_s) - 1][1]
            )
            for cpu, ring in self._rings.items()
        }
        return {cpu: rates for cpu, rates in found.items() if rates}


def _p90(ascending: list[float]) -> float:
    return ascending[int(0.9 * (len(ascending) - 1))]


def _recent(ring: mmap.mmap, start_s: float) -> Iterable[tuple[float, float]]:
    """Yield the records since a moment, newest first."""
    with memoryview(ring) as whole, whole.cast("d") as numbers:
        count = int(numbers[0])
        for number in range(count - 1, max(-1, count - _RECORDS_COUNT), -1):
            place = 1 + 2 * (number % _RECORDS_COUNT)
            at_s, burst_s = numbers[place], numbers[place + 1]
            if at_s < start_s:
                return
            yield at_s, burst_s


def _append(numbers: memoryview[float], at_s: float, burst_s: float) -> None:
    count = int(numbers[0])
    place = 1 + 2 * (count % _RECORDS_COUNT)
    numbers[place], numbers[place + 1] = at_s, burst_s
    numbers[0] = count + 1


def _probe(cpu: int, path: str, parent: int) -> None:
    os.sched_setaffinity(0, {cpu})
    block = bytes(2048)
    with (
        Path(path).open("r+b") as file,
        mmap.mmap(file.fileno(), _SIZE) as ring,
        memoryview(ring) as whole,
        whole.cast("d") as numbers,
    ):
        while os.getppid() == parent:
            for _ in range(2):  # what another program left in the caches must not count
                hashlib.blake2b(block)
            at_s, before_ns = time.monotonic(), time.thread_time_ns()
            for _ in range(6):
                hashlib.blake2b(block)
            _append(numbers, at_s, (time.thread_time_ns() - before_ns) * 1e-9)
            time.sleep(PERIOD_S)


if __name__ == "__main__":
    _probe(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
