"""The preflight: findings about the machine and the load on its CPUs, each with a remedy.

Nothing here changes the machine. A fact that the machine does not expose is reported, and counts as good.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from runners.core.errors import WrkbookError
from runners.core.units import PERCENT, amount
from runners.machine import preflight as activity, processor, resources
from runners.machine.facts import Level, PreflightItem, not_exposed, numbers_in, text_of
from runners.machine.pinning import plan_pinning
from runners.machine.topology import Core, format_cpu_list

__all__ = ["Level", "PreflightItem", "measured_cpus", "preflight"]

_DATA_LEAST_BYTES = 100 * 2**20
_DATA_WANTED_BYTES = 2**30


def preflight(
    cores: Sequence[Core],
    data_folder: Path,
    server_ports: Sequence[int],
    *,
    root: Path = Path("/"),
    interval_s: float = 1.0,
) -> list[PreflightItem]:
    """Return all findings; load and steal are counted for `interval_s`.

    Parameters
    ----------
    cores : Sequence[Core]
        The cores that wrkbook may use.
    data_folder : Path
        The folder of the records.
    server_ports : Sequence[int]
        The ports of the servers, ascending.
    root : Path
        The folder that holds ``proc`` and ``sys``.
    interval_s : float
        Seconds during which load and steal are counted.
    """
    measured = measured_cpus(cores)
    before, after = activity.watch(root, interval_s)
    return [
        processor.cpus(cores),
        processor.quota(root),
        processor.numa(cores, measured),
        processor.smt(root, cores),
        processor.governor(root, measured),
        processor.boost(root),
        processor.throttling(root),
        processor.virtual_machine(root),
        activity.steal(before, after, measured),
        activity.other_load(before, after, measured),
        resources.memory(root),
        resources.swap(root),
        resources.open_files(root, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
        resources.ports(root, server_ports),
        resources.waiting_sockets(root),
        resources.server_ports_taken(root, server_ports),
        resources.disk("disk for records", data_folder, _DATA_LEAST_BYTES, _DATA_WANTED_BYTES),
    ]


def measured_cpus(cores: Sequence[Core]) -> tuple[int, ...]:
    """Return the planned CPUs of servers and load generator; all CPUs where they are too few for a plan."""
    try:
        plan = plan_pinning(list(cores))
    except WrkbookError:
        return tuple(sorted(cpu for core in cores for cpu in core.cpus))
    return tuple(sorted({*plan.server, *plan.generator}))


# As the checks of every trial tolerate.
_TOLERANCE = 0.02
_SHOWN_COUNT = 3
_SHOWN_SHARE = 0.01
# Of the fields of a CPU in /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal; what guests used is in user.
_FIELDS_COUNT, _BUSY, _STEAL = 8, (0, 1, 2, 5, 6), 7

# A pid may be taken again, and a process may change its name (the kernel's workers do for each task).
Process = tuple[int, float]


@dataclass(frozen=True)
class Activity:
    """The counters at one moment.

    Attributes
    ----------
    at_s : float
        Monotonic time.
    cpus : dict[int, tuple[int, ...]]
        CPU → its clock ticks by kind of work, as in ``/proc/stat``.
    processes : dict[Process, tuple[str, float]]
        (pid, start time) → name and CPU time in seconds; without wrkbook's own.
    """

    at_s: float
    cpus: dict[int, tuple[int, ...]]
    processes: dict[Process, tuple[str, float]]


def watch(root: Path, interval_s: float) -> tuple[Activity, Activity]:
    """Return the counters before and after an interval in which this process sleeps."""
    # The processes outside of the interval: going through them all is load itself.
    processes, at_s, ticks = _processes(), time.monotonic(), text_of(root / "proc/stat")
    time.sleep(interval_s)
    later_ticks, later_at_s, later_processes = text_of(root / "proc/stat"), time.monotonic(), _processes()
    return (
        Activity(at_s, parse_cpu_ticks(ticks), processes),
        Activity(later_at_s, parse_cpu_ticks(later_ticks), later_processes),
    )


# Own code: psutil reads the machine it runs on, and a preflight is tested on folders with the files of others.
def parse_cpu_ticks(text: str) -> dict[int, tuple[int, ...]]:
    """Return the clock ticks of each CPU from the text of ``/proc/stat``; malformed lines are ignored."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        ticks = numbers_in(rest)
        if name.startswith("cpu") and numbers_in(name[3:]) and len(ticks) >= _FIELDS_COUNT:
            found[int(name[3:])] = tuple(ticks[:_FIELDS_COUNT])
    return found


def steal(before: Activity, after: Activity, measured: Collection[int]) -> PreflightItem:
    """Check the share of the measured CPUs' time that the hypervisor took."""
    shares = _shares(before, after, measured, (_STEAL,))
    if not shares:
        return not_exposed("steal")
    detail = f"{_told(shares)} given to others by the hypervisor"
    if _mean(shares) <= _TOLERANCE:
        return PreflightItem("steal", "good", detail)
    remedy = "measure at a quieter time, or on an instance with dedicated cores; else with more blocks: --budget 30"
    return PreflightItem("steal", "advice", detail, remedy)


def other_load(before: Activity, after: Activity, measured: Collection[int]) -> PreflightItem:
    """Check the share of the measured CPUs' time that other programs used, and name the busiest."""
    shares = _shares(before, after, measured, _BUSY)
    if not shares:
        return not_exposed("other load")
    detail = f"{_told(shares)} used by others"
    if _mean(shares) <= _TOLERANCE:
        return PreflightItem("other load", "good", detail)
    busiest = _busiest(before, after)
    names = ", ".join(f"{name} (pid {pid}, {amount(share, PERCENT)} of a CPU)" for pid, name, share in busiest)
    return PreflightItem(
        "other load",
        "advice",
        f"{detail}; busiest: {names or 'no process that could be seen'}",
        "end or pause what need not run now (top shows it), then look again",
    )


def _shares(
    before: Activity, after: Activity, measured: Collection[int], fields: Collection[int]
) -> dict[int, tuple[int, int]]:
    """Return CPU → clock ticks spent in `fields`, and in total, between the two moments."""
    found = {}
    for cpu in sorted(set(measured) & set(before.cpus) & set(after.cpus)):
        # Some kernels take back a little of what they counted as idle.
        spent = [max(0, now - then) for then, now in zip(before.cpus[cpu], after.cpus[cpu], strict=True)]
        if sum(spent):
            found[cpu] = (sum(spent[field] for field in fields), sum(spent))
    return found


def _mean(shares: dict[int, tuple[int, int]]) -> float:
    return sum(part for part, _ in shares.values()) / sum(whole for _, whole in shares.values())


def _told(shares: dict[int, tuple[int, int]]) -> str:
    worst = max(shares, key=lambda cpu: shares[cpu][0] / shares[cpu][1])
    text = f"{amount(_mean(shares), PERCENT)} of the time of CPU {format_cpu_list(shares)}"
    part, whole = shares[worst]
    return f"{text} (of CPU {worst}: {amount(part / whole, PERCENT)})" if part and len(shares) > 1 else text


def _busiest(before: Activity, after: Activity) -> list[tuple[int, str, float]]:
    """Return pid, name and share of one CPU of the busiest processes; arguments stay private."""
    elapsed_s = max(after.at_s - before.at_s, 1e-3)
    used = []
    for process, (name, total_s) in after.processes.items():
        _, earlier_s = before.processes.get(process, (name, 0.0))
        used.append((process[0], name, (total_s - earlier_s) / elapsed_s))
    return sorted((row for row in used if row[2] >= _SHOWN_SHARE), key=lambda row: -row[2])[:_SHOWN_COUNT]


def _processes() -> dict[Process, tuple[str, float]]:
    own = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    found = {}
    for process in psutil.process_iter(["name", "cpu_times", "create_time"]):
        name, times = process.info["name"] or "?", process.info["cpu_times"]
        if process.pid not in own and times is not None:
            printable = "".join(letter if letter.isprintable() else "?" for letter in name)
            found[process.pid, float(process.info["create_time"] or 0)] = (printable, times.user + times.system)
    return found
