"""Sample processes, CPUs and the machine during a window, from ``/proc`` and ``/sys``.

Sampling costs about a millisecond and happens three times a window, on the housekeeping CPUs.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runners.core.sample import CpuTimes, Pressure, ProcessMemory, Role, RoleSample, Sample, UnpinnedThread
from runners.machine.facts import CPU_FOLDER, numbers_in, text_of
from runners.machine.topology import parse_cpu_list

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/task/TID/stat after the command's name (proc(5) counts from 1; the name is field 2).
_UTIME, _STIME, _PROCESSOR = 11, 12, 36
_CPU_FIELDS = tuple(CpuTimes.model_fields)


def process_cpu_s(pid: int) -> float:
    """Return the CPU time of a process with all its threads, ended ones too, in seconds; NaN when it is gone.

    It has the scheduler's own precision. The clock id is made from the pid as ``clock_getcpuclockid(3)`` does.
    """
    with suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)
    return math.nan


def total_cpu_s(pids: Iterable[int]) -> float:
    """Return the CPU time of several processes together."""
    return sum(process_cpu_s(pid) for pid in pids)


def cpu_times() -> dict[int, CpuTimes]:
    """Return CPU → how it has spent its time since the machine started."""
    return {
        int(cpu): CpuTimes(
            **{kind: round(int(ticks) * TICK_S, 3) for kind, ticks in zip(_CPU_FIELDS, line.split(), strict=False)}
        )
        for cpu, line in re.findall(r"^cpu(\d+) (.*)", Path("/proc/stat").read_text(), re.MULTILINE)
    }


def role_sample(pids: Collection[int], cpus: Collection[int]) -> RoleSample:
    """Return the sums over one role's processes at this moment: CPU time, memory, threads and context switches.

    A thread that was on, or allowed on, CPUs other than `cpus` is unpinned.
    """
    sample = RoleSample(
        cpu_s=total_cpu_s(pids),
        user_s=0.0,
        system_s=0.0,
        rss_bytes=0,
        rss_peak_bytes=0,
        threads_count=0,
        context_switches_count=0,
        unpinned_threads=[],
    )
    for pid in pids:
        status = _status(Path(f"/proc/{pid}/status"))
        sample.rss_bytes += int(status.get("VmRSS", "0").split()[0]) * 1024
        sample.rss_peak_bytes += int(status.get("VmHWM", "0").split()[0]) * 1024
        for thread in _threads(pid):
            _add_thread(sample, thread, cpus)
    return sample


def memory(pids: Iterable[int]) -> ProcessMemory:
    """Return what processes hold together at this moment."""
    rss, pss, fds = 0, 0.0, 0
    for pid in pids:
        rss += int(_status(Path(f"/proc/{pid}/status")).get("VmRSS", "0").split()[0]) * 1024
        rollup = _status(Path(f"/proc/{pid}/smaps_rollup"))
        pss += int(rollup["Pss"].split()[0]) * 1024 if "Pss" in rollup else math.nan
        fds += open_files(pid)
    return ProcessMemory(rss_bytes=rss, pss_bytes=pss, fds_count=fds)


def open_files(pid: int) -> int:
    """Return how many descriptors a process holds; 0 when it is gone."""
    folder = Path(f"/proc/{pid}/fd")
    with suppress(OSError):
        # Linux 6.2 and newer say it as the folder's size; counting 20,000 entries takes 60 ms.
        return folder.stat().st_size or sum(1 for _ in folder.iterdir())
    return 0


def pressure(cpus: Collection[int], root: Path = Path("/")) -> Pressure:
    """Return what the kernel says of heat, clock and memory at this moment; throttling and clock are of `cpus`."""
    folders = [root / CPU_FOLDER / f"cpu{cpu}" for cpu in cpus]
    throttled = [file for folder in folders for file in folder.glob("thermal_throttle/*_throttle_count")]
    counts = [count for file in throttled for count in numbers_in(text_of(file))]
    clocks_khz = [khz for folder in folders for khz in numbers_in(text_of(folder / "cpufreq/scaling_cur_freq"))]
    stall_us = re.search(r"^some .*\btotal=(\d+)", text_of(root / "proc/pressure/memory"), re.MULTILINE)
    swapped = re.findall(r"^pswp(?:in|out) (\d+)", text_of(root / "proc/vmstat"), re.MULTILINE)
    return Pressure(
        throttled_count=sum(counts) if counts else None,
        clock_hz=min(clocks_khz) * 1000 if clocks_khz else None,
        memory_stall_s=int(stall_us[1]) / 1e6 if stall_us else None,
        swapped_pages_count=sum(map(int, swapped)) if swapped else None,
    )


def snapshot(roles: Mapping[Role, tuple[Collection[int], Collection[int]]], probes: Mapping[int, int]) -> Sample:
    """Return a sample of all roles (name → its processes and CPUs) and all CPUs; `probes` are CPU → process id."""
    allowed = os.sched_getaffinity(0)
    own_cpu_s = {
        cpu: total_cpu_s([probes[cpu]] if cpu in probes else [])
        + (time.process_time() / len(allowed) if cpu in allowed else 0.0)
        for cpu in {cpu for _, cpus in roles.values() for cpu in cpus}
    }
    at_s, cpus_now = time.monotonic(), cpu_times()
    sampled = {role: role_sample(pids, cpus) for role, (pids, cpus) in roles.items()}
    return Sample(
        at_s=at_s,
        cpus=cpus_now,
        own_cpu_s=own_cpu_s,
        pressure=pressure(roles["server"][1]),
        server=sampled["server"],
        generator=sampled["generator"],
        backend=sampled.get("backend"),
    )


def _add_thread(sample: RoleSample, thread: Path, cpus: Collection[int]) -> None:
    with suppress(OSError, LookupError, ValueError):  # it ended while it was being read
        fields = (thread / "stat").read_text().rsplit(")", 1)[1].split()
        status = _status(thread / "status")
        switches = int(status["voluntary_ctxt_switches"]) + int(status["nonvoluntary_ctxt_switches"])
        processor, allowed = int(fields[_PROCESSOR]), status["Cpus_allowed_list"]
        sample.threads_count += 1
        sample.user_s += int(fields[_UTIME]) * TICK_S
        sample.system_s += int(fields[_STIME]) * TICK_S
        sample.context_switches_count += switches
        if processor not in cpus or not set(parse_cpu_list(allowed)) <= set(cpus):
            thread_name = status.get("Name", "?")
            sample.unpinned_threads.append(UnpinnedThread(thread=thread_name, cpu=processor, allowed=allowed))


def _threads(pid: int) -> list[Path]:
    with suppress(OSError):
        return list(Path(f"/proc/{pid}/task").iterdir())
    return []


def _status(path: Path) -> dict[str, str]:
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text_of(path).splitlines())}


# Fields of /proc/PID/stat after the command's name, counted from 0; proc(5) counts from 1, and the name is field 2.
_PARENT, _CHILDREN_USER, _CHILDREN_SYSTEM, _STARTED, _PROCESSOR = 1, 13, 14, 19, 36
# It handles the packets of the measured processes when there are many of them.
_PACKETS = "ksoftirqd/"


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

    def used_s(self, cpus: Iterable[int]) -> dict[int, float]:
        """Return CPU → seconds; 0 at the first call. A process counts on each CPU where it was seen, then and now."""
        now = others(readings(Path("/proc")), os.getpid())
        self._first = now if self._first is None else self._first
        return {cpu: round(used, 6) for cpu, used in used_between(self._first, now, cpus).items()}


def readings(proc: Path) -> Readings:
    """Read all processes of ``/proc`` but those that handle packets for others; what ends meanwhile is left out."""
    found = {}
    for pid in filter(str.isdigit, os.listdir(proc)):  # noqa: PTH208 - it is done in the middle of a measurement
        with suppress(OSError, LookupError, ValueError):
            command, _, rest = (proc / pid / "stat").read_text(errors="replace").rpartition(")")
            fields, cpu_s = rest.split(), process_cpu_s(int(pid))
            if not command.partition("(")[2].startswith(_PACKETS) and not math.isnan(cpu_s):
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
