"""CPU time of processes that are not wrkbook's own, from two readings of ``/proc``."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runners.measure.sampling import PROC, TICK_S, bytes_of, process_cpu_s

# Fields of /proc/PID/stat after the command's name, counted from 0; proc(5) counts from 1, and the name is field 2.
_PARENT, _CHILDREN_USER, _CHILDREN_SYSTEM, _STARTED, _PROCESSOR = 1, 13, 14, 19, 36
# It handles the packets of the measured processes when there are many of them.
_PACKETS = b"ksoftirqd/"


@dataclass(frozen=True)
class Reading:
    """One process at one moment: CPU time of its own threads, and in ``children_s`` of its ended children and theirs.

    ``cpu`` is where its first thread ran last.
    """

    parent: int
    cpu_s: float
    children_s: float
    cpu: int


# A pid may be taken again: with the clock tick in which the process started, it is unique.
Readings = dict[tuple[int, int], Reading]


class OtherProcesses:
    """CPU time that processes other than wrkbook's have used since the first call of :meth:`used_s`."""

    def __init__(self) -> None:
        self._first: Readings | None = None
        self._seen: Readings = {}

    def prepare(self) -> None:
        """Read all processes before a window, so that its first sample reads only those that have run since."""
        self._seen = readings(PROC, self._seen)

    def used_s(self, cpus: Iterable[int]) -> dict[int, float]:
        """Return CPU → seconds; 0 at the first call. A process counts on each CPU where it was seen, then and now."""
        self._seen = readings(PROC, self._seen)
        now = others(self._seen, os.getpid())
        self._first = now if self._first is None else self._first
        return {cpu: round(used, 6) for cpu, used in used_between(self._first, now, cpus).items()}


def readings(proc: Path, known: Readings | None = None) -> Readings:
    """Read all processes of ``/proc`` but those that handle packets for others; what ends meanwhile is left out.

    A process that has not run since its reading in `known` is not read again: most of a thousand kernel threads never do.
    """
    found: Readings = {}
    before = {pid: (started, reading) for (pid, started), reading in (known or {}).items()}
    for pid in filter(str.isdigit, os.listdir(proc)):  # noqa: PTH208 - it is done in the middle of a measurement
        with suppress(OSError, LookupError, ValueError):
            cpu_s = process_cpu_s(int(pid))
            started, last = before.get(int(pid), (0, None))
            if last is not None and last.cpu_s == cpu_s:
                found[int(pid), started] = last
                continue
            command, _, rest = bytes_of(f"{proc}/{pid}/stat").rpartition(b")")
            fields = rest.split()
            if not command.partition(b"(")[2].startswith(_PACKETS) and not math.isnan(cpu_s):
                children_s = (int(fields[_CHILDREN_USER]) + int(fields[_CHILDREN_SYSTEM])) * TICK_S
                reading = Reading(int(fields[_PARENT]), cpu_s, children_s, int(fields[_PROCESSOR]))
                found[int(pid), int(fields[_STARTED])] = reading
    return found


def others(found: Readings, own: int) -> Readings:
    """Return the processes that are neither `own` nor descend from it."""
    own_processes, below = set[int](), {own}
    while below:
        own_processes |= below
        below = {pid for (pid, _), reading in found.items() if reading.parent in below} - own_processes
    return {process: reading for process, reading in found.items() if process[0] not in own_processes}


def used_between(before: Readings, after: Readings, cpus: Iterable[int]) -> dict[int, float]:
    """Return CPU → seconds that processes have used of it at most between two readings.

    The time of a process that has ended is in its parent's ``children_s``. Where it was used is not known: it counts on every CPU.
    """
    nothing = Reading(0, 0.0, 0.0, -1)
    children_s = sum(now.children_s - before.get(process, nothing).children_s for process, now in after.items())
    ended_s = sum(then.cpu_s + then.children_s for process, then in before.items() if process not in after)
    # Ticks are coarse: what ended without a trace must not take away from what is still there.
    used = dict.fromkeys(cpus, max(0.0, children_s - ended_s))
    for process, now in after.items():
        then = before.get(process, nothing)
        for cpu in {then.cpu, now.cpu} & used.keys():
            used[cpu] += max(0.0, now.cpu_s - then.cpu_s)
    return used
