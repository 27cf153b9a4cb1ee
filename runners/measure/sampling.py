"""Sample processes, CPUs and the machine during a window, from ``/proc`` and ``/sys``.

It happens three times a window, on the housekeeping CPUs. A thread costs one short file and one system call. CPUs are summed by role,
so that a record is as large for 64 of them as for one.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from runners.core.sample import (
    CpuSpread,
    CpuTimes,
    Pressure,
    ProcessMemory,
    Role,
    RoleCpus,
    RoleSample,
    Sample,
    UnpinnedThread,
)
from runners.machine.facts import CPU_FOLDER, numbers_in, text_of
from runners.machine.pinning_plan import PinningPlan
from runners.machine.topology import format_cpu_list

PROC = Path("/proc")
TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/task/TID/stat after the command's name (proc(5) counts from 1; the name is field 2).
_UTIME, _STIME, _PROCESSOR = 11, 12, 36
_SWITCHES = re.compile(rb"ctxt_switches:\s+(\d+)")
_MOST_BYTES = 1 << 14
MOST_PROBES = 8
"""A probe takes about 1 % of its CPU, and reading all of them time after each window: so many show the speed of a role's CPUs."""
MOST_CLOCKS = 8
"""Reading a CPU's clock interrupts it on some machines: of more CPUs than this, so many are read, evenly spread."""
_CPU_FIELDS = tuple(CpuTimes.model_fields)


def process_cpu_s(pid: int) -> float:
    """Return the CPU time of a process with all its threads, ended ones too, in seconds; NaN when it is gone.

    It has the scheduler's own precision. The clock id is made from the pid as ``clock_getcpuclockid(3)`` does.
    """
    with suppress(OSError, OverflowError):
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
        for cpu, line in re.findall(r"^cpu(\d+) (.*)", (PROC / "stat").read_text(), re.MULTILINE)
    }


def total_times(times: Iterable[CpuTimes]) -> CpuTimes:
    """Return the times of several CPUs together."""
    each = list(times)
    return CpuTimes(**{kind: round(sum(getattr(cpu, kind) for cpu in each), 3) for kind in _CPU_FIELDS})


def busy_spread(before: Mapping[int, CpuTimes], after: Mapping[int, CpuTimes], cpus: Iterable[int]) -> CpuSpread | None:
    """Return the least, median and largest busy share of some CPUs between two moments; None where nothing was counted."""
    shares = []
    for start, end in ((before[cpu], after[cpu]) for cpu in cpus if cpu in before and cpu in after):
        idle_s = end.idle_s + end.iowait_s - start.idle_s - start.iowait_s
        if (total_s := end.total_s - start.total_s) > 0:
            shares.append(round(min(1.0, max(0.0, 1 - idle_s / total_s)), 4))
    if not shares:
        return None
    return CpuSpread(least_fraction=min(shares), median_fraction=median(shares), most_fraction=max(shares))


def probed_cpus(pinning: PinningPlan) -> list[int]:
    """Return the CPUs that have a speed probe: of each role at most `MOST_PROBES`, evenly spread."""
    roles = (pinning.server, pinning.generator, pinning.backend)
    return sorted({cpu for cpus in roles for cpu in evenly_spread(cpus, MOST_PROBES)})


def evenly_spread(cpus: Sequence[int], most: int) -> list[int]:
    """Return at most so many of some CPUs, the first and evenly spread others."""
    return [cpus[place * len(cpus) // most] for place in range(most)] if len(cpus) > most else list(cpus)


def role_sample(pids: Collection[int], cpus: Collection[int]) -> RoleSample:
    """Return the sums over one role's processes at this moment: CPU time, memory, threads and context switches.

    A thread that is allowed on CPUs other than `cpus` is unpinned.
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
    own = frozenset(cpus)
    for pid in pids:
        status = _status(PROC / f"{pid}/status")
        sample.rss_bytes += int(status.get("VmRSS", "0").split()[0]) * 1024
        sample.rss_peak_bytes += int(status.get("VmHWM", "0").split()[0]) * 1024
        with suppress(OSError, LookupError, ValueError):
            # The process's own counter has the time of its threads that have ended, too.
            fields = _fields(PROC / f"{pid}/stat")
            sample.user_s += int(fields[_UTIME]) * TICK_S
            sample.system_s += int(fields[_STIME]) * TICK_S
        for thread in _threads(pid):
            _add_thread(sample, thread, own)
    return sample


def memory(pids: Iterable[int]) -> ProcessMemory:
    """Return what processes hold together at this moment."""
    rss, pss, fds = 0, 0.0, 0
    for pid in pids:
        rss += int(_status(PROC / f"{pid}/status").get("VmRSS", "0").split()[0]) * 1024
        rollup = _status(PROC / f"{pid}/smaps_rollup")
        pss += int(rollup["Pss"].split()[0]) * 1024 if "Pss" in rollup else math.nan
        fds += open_files(pid)
    return ProcessMemory(rss_bytes=rss, pss_bytes=pss, fds_count=fds)


def open_files(pid: int) -> int:
    """Return how many descriptors a process holds; 0 when it is gone."""
    folder = PROC / f"{pid}/fd"
    with suppress(OSError):
        # Linux 6.2 and newer say it as the folder's size; counting 20,000 entries takes 60 ms.
        return folder.stat().st_size or sum(1 for _ in folder.iterdir())
    return 0


def pressure(cpus: Collection[int], root: Path = Path("/")) -> Pressure:
    """Return what the kernel says of heat, clock and memory at this moment; heat and clock are of `cpus`, or `MOST_CLOCKS` of them."""
    folders = [root / CPU_FOLDER / f"cpu{cpu}" for cpu in evenly_spread(sorted(cpus), MOST_CLOCKS)]
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


def snapshot(
    roles: Mapping[Role, tuple[Collection[int], Collection[int]]], probes: Mapping[int, int]
) -> tuple[Sample, dict[int, CpuTimes]]:
    """Return a sample of all roles (name → its processes and CPUs), and CPU → its times; `probes` are CPU → process id."""
    allowed = os.sched_getaffinity(0)
    own_cpu_s = {
        cpu: total_cpu_s([probes[cpu]] if cpu in probes else [])
        + (time.process_time() / len(allowed) if cpu in allowed else 0.0)
        for cpu in {cpu for _, cpus in roles.values() for cpu in cpus}
    }
    at_s, now = time.monotonic(), cpu_times()
    sampled = {role: role_sample(pids, cpus) for role, (pids, cpus) in roles.items()}
    sample = Sample(
        at_s=at_s,
        cpus={
            role: RoleCpus(
                times=total_times(now[cpu] for cpu in cpus if cpu in now),
                own_cpu_s=sum(own_cpu_s[cpu] for cpu in cpus),
            )
            for role, (_, cpus) in roles.items()
        },
        pressure=pressure(roles["server"][1]),
        server=sampled["server"],
        generator=sampled["generator"],
        backend=sampled.get("backend"),
    )
    return sample, now


def _add_thread(sample: RoleSample, thread: Path, cpus: frozenset[int]) -> None:
    with suppress(OSError, LookupError, ValueError):  # it ended while it was being read
        status = bytes_of(thread / "status")
        switches = sum(map(int, _SWITCHES.findall(status)))
        allowed = os.sched_getaffinity(int(thread.name))
        sample.threads_count += 1
        sample.context_switches_count += switches
        if not allowed <= cpus:
            name = status.partition(b"\n")[0].partition(b":")[2].strip().decode(errors="replace") or "?"
            on = int(_fields(thread / "stat")[_PROCESSOR])
            unpinned = UnpinnedThread(thread=name, cpu=on, allowed=format_cpu_list(allowed))
            sample.unpinned_threads.append(unpinned)


def _fields(stat: Path) -> list[bytes]:
    """Return the fields of a ``stat`` file after the command's name."""
    return bytes_of(stat).rsplit(b")", 1)[1].split()


def bytes_of(path: Path | str) -> bytes:
    """Return a short file of ``/proc`` in one read, which takes a tenth of what a text file object does."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)


def _threads(pid: int) -> list[Path]:
    with suppress(OSError):
        return list((PROC / f"{pid}/task").iterdir())
    return []


def _status(path: Path) -> dict[str, str]:
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text_of(path).splitlines())}
