"""What the processes and CPUs did during a window, read from ``/proc``.

Sampling costs about a millisecond and happens three times a window, on the housekeeping CPUs.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from runners.machine.topology import parse_cpu_list
from runners.measure.strain import strain

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/task/TID/stat after the command's name (proc(5) counts from 1; the name is field 2).
_UTIME, _STIME, _PROCESSOR = 11, 12, 36
_CPU_FIELDS = ("user_s", "nice_s", "system_s", "idle_s", "iowait_s", "irq_s", "softirq_s", "steal_s")


def process_cpu_s(pid: int) -> float:
    """CPU time of a process with all its threads, ended ones too, in seconds with the scheduler's own precision.

    The clock id of another process is made from its pid as ``clock_getcpuclockid(3)`` does. NaN when it is gone.
    """
    with contextlib.suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)
    return float("nan")


def total_cpu_s(pids: Iterable[int]) -> float:
    """CPU time of several processes together."""
    return sum(process_cpu_s(pid) for pid in pids)


def cpu_times() -> dict[str, dict[str, float]]:
    """Seconds that each CPU has spent by kind of work since the machine started."""
    found = {}
    for line in Path("/proc/stat").read_text().splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0] != "cpu":
            values = [round(int(word) * _TICK_S, 3) for word in words[1 : 1 + len(_CPU_FIELDS)]]
            found[words[0][3:]] = dict(zip(_CPU_FIELDS, values, strict=False))
    return found


def role_sample(pids: Iterable[int], cpus: Collection[int]) -> dict[str, Any]:
    """One role's processes at this moment.

    Returns
    -------
    dict
        ``user_s`` and ``system_s`` (clock ticks), ``cpu_s`` (precise), ``rss_bytes``, ``rss_peak_bytes``, ``threads_count``,
        ``context_switches_count``, and ``strays``: the threads that were on, or allowed on, CPUs other than `cpus`.
    """
    pids = list(pids)
    sample: dict[str, Any] = {
        "cpu_s": total_cpu_s(pids),
        "user_s": 0.0,
        "system_s": 0.0,
        "rss_bytes": 0,
        "rss_peak_bytes": 0,
    }
    sample |= {"threads_count": 0, "context_switches_count": 0, "strays": []}
    for pid in pids:
        status = _status(Path(f"/proc/{pid}/status"))
        sample["rss_bytes"] += int(status.get("VmRSS", "0").split()[0]) * 1024
        sample["rss_peak_bytes"] += int(status.get("VmHWM", "0").split()[0]) * 1024
        for thread in _threads(pid):
            _add_thread(sample, thread, cpus)
    return sample


def memory(pids: Iterable[int]) -> dict[str, float]:
    """What processes hold: ``pss_bytes`` (their proportional share of resident memory, NaN where unreadable), ``fds_count``."""
    pss, fds = 0.0, 0
    for pid in pids:
        rollup = _status(Path(f"/proc/{pid}/smaps_rollup"))
        pss += int(rollup["Pss"].split()[0]) * 1024 if "Pss" in rollup else float("nan")
        fds += open_files(pid)
    return {"pss_bytes": pss, "fds_count": fds}


def open_files(pid: int) -> int:
    """How many descriptors a process holds; 0 when it is gone."""
    folder = Path(f"/proc/{pid}/fd")
    with contextlib.suppress(OSError):
        # Linux 6.2 and newer say it as the folder's size; counting 20,000 entries takes 60 ms.
        return folder.stat().st_size or sum(1 for _ in folder.iterdir())
    return 0


def snapshot(
    roles: Mapping[str, tuple[Iterable[int], Collection[int]]], probe_pids: Mapping[int, int]
) -> dict[str, Any]:
    """All roles (name → its processes and CPUs) and all CPUs at this moment (``at_s``: the monotonic clock).

    ``strain`` says how the machine fares (:mod:`runners.measure.strain`, of the server's CPUs). ``ours`` is the CPU time that
    wrkbook itself has used on each of the roles' CPUs: its probes, and this process on its share of the CPUs where it may run.
    """
    own = os.sched_getaffinity(0)
    ours = {
        str(cpu): total_cpu_s([probe_pids[cpu]] if cpu in probe_pids else [])
        + (time.process_time() / len(own) if cpu in own else 0.0)
        for cpu in {cpu for _, cpus in roles.values() for cpu in cpus}
    }
    return {
        "at_s": time.monotonic(),
        "cpus": cpu_times(),
        "ours": ours,
        "strain": strain(roles["server"][1]),
        **{role: role_sample(pids, cpus) for role, (pids, cpus) in roles.items()},
    }


def _add_thread(sample: dict[str, Any], thread: Path, cpus: Collection[int]) -> None:
    with contextlib.suppress(OSError, LookupError, ValueError):  # it ended while it was being read
        fields = (thread / "stat").read_text().rsplit(")", 1)[1].split()
        status = _status(thread / "status")
        switches = int(status["voluntary_ctxt_switches"]) + int(status["nonvoluntary_ctxt_switches"])
        processor, allowed = int(fields[_PROCESSOR]), status["Cpus_allowed_list"]
        sample["threads_count"] += 1
        sample["user_s"] += int(fields[_UTIME]) * _TICK_S
        sample["system_s"] += int(fields[_STIME]) * _TICK_S
        sample["context_switches_count"] += switches
        if processor not in cpus or not set(parse_cpu_list(allowed)) <= set(cpus):
            sample["strays"].append({"thread": status.get("Name", "?"), "cpu": processor, "allowed": allowed})


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _status(path: Path) -> dict[str, str]:
    try:
        return {key: value.strip() for key, _, value in (line.partition(":") for line in path.read_text().splitlines())}
    except OSError:
        return {}
