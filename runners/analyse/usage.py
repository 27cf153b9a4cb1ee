"""What a window cost: CPU, memory, threads and context switches, by role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runners.machine.topology import parse_cpu_list
from runners.records import LoadResult

Windows = Sequence[tuple[dict[str, Any], LoadResult]]
"""The raw windows of a trial, each with what its load generator's parser makes of it."""

ROLES = ("server", "generator", "backend")

# The idle task's own work (interrupts, wake-ups, entering and leaving idle) took up to a quarter of the idle time of a CPU that
# wakes 10,000 times a second, and the kernel counts idle time in steps of 10 ms. Beyond both, a process must be at work that
# cannot be seen from here: one outside of this container.
_IDLE_WORK = 0.25
_UNSEEN_TOLERANCE = 0.05


def complete_looks(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """The samples of a window that saw its load generator running: on a busy machine the last may come when it has ended.

    Of one that has begun to end some processes are gone, and their CPU time with them.
    """
    found: list[dict[str, Any]] = []
    for sample in raw["samples"]:
        role = sample["generator"]
        if not role["threads_count"] or (found and not role["cpu_s"] >= found[-1]["generator"]["cpu_s"]):
            break
        found.append(sample)
    return found


def window_usage(record: dict[str, Any], raw: dict[str, Any], requests_count: int) -> list[dict[str, Any]]:
    """A row per role for one window; none for a warm-up, which has no samples.

    Fractions are of the time between the first and the last sample, over the role's CPUs; of a window in time slices,
    ``used_fraction`` and rates are of the time in which it ran, and what was stolen or used by others is of all the time that the
    windows together took. ``used_fraction`` is the role's own part of ``busy_fraction``. ``other_fraction`` is what other processes
    used, see :func:`_other_fraction`. ``unattributed_fraction`` is the time that was neither idle, nor stolen, nor a measured
    process's: not that of wrkbook itself, another role, or a window in time slices with this one. ``cpu_s`` of the server is over
    the whole window and precise; its split in user and system time has the kernel's tick of 10 ms.
    """
    samples = complete_looks(raw)
    if len(samples) < 2:
        return []
    first, last = samples[0], samples[-1]
    elapsed_s = last["at_s"] - first["at_s"]
    # Of a window in turns: without the time in which it was stopped.
    ran_s = elapsed_s - (last.get("stood_s", 0.0) - first.get("stood_s", 0.0))
    rows = []
    sampled = {role: parse_cpu_list(record["cpus"][role]) for role in ROLES if role in first}
    for role, cpus in sampled.items():
        start, end = first[role], last[role]
        busy, steal = _fractions(first["cpus"], last["cpus"], cpus)
        own_s = end["cpu_s"] - start["cpu_s"]
        ours_s = sum(last["ours"][cpu] - first["ours"][cpu] for cpu in map(str, cpus))
        for other, others in sampled.items():
            if other != role and (shared := set(others) & set(cpus)):
                ours_s += (last[other]["cpu_s"] - first[other]["cpu_s"]) * len(shared) / len(others)
        ticks = end["user_s"] - start["user_s"], end["system_s"] - start["system_s"]
        # What is not its own is spread over all the time, and in turns its own is not: it is busy as far as both together say.
        companions_s = _companions_s(first, last, cpus)
        unattributed = max(0.0, busy - steal - (own_s + ours_s + companions_s) / (elapsed_s * len(cpus)))
        used = own_s / (ran_s * len(cpus))
        row = {
            "role": role,
            "busy_fraction": min(1.0, used + unattributed + steal + ours_s / (elapsed_s * len(cpus)))
            if "companions" in last
            else busy,
            "used_fraction": used,
            "steal_fraction": steal,
            "other_fraction": _other_fraction(unattributed, 1 - busy, _seen_fraction(first, last, cpus)),
            "unattributed_fraction": unattributed,
            "cpu_s": raw["server_cpu_s"] if role == "server" else own_s,
            "user_fraction": ticks[0] / sum(ticks) if sum(ticks) else float("nan"),
            "rss_peak_bytes": max(sample[role]["rss_peak_bytes"] for sample in samples),
            "pss_bytes": max((sample[role].get("pss_bytes", float("nan")) for sample in samples), key=_known_first),
            "fds_count": max((sample[role].get("fds_count", float("nan")) for sample in samples), key=_known_first),
            "threads_count": max(sample[role]["threads_count"] for sample in samples),
            "context_switches_rps": (end["context_switches_count"] - start["context_switches_count"]) / ran_s,
            "strays_count": sum(len(sample[role]["strays"]) for sample in samples),
        }
        row["cpu_per_request_s"] = (
            row["cpu_s"] / requests_count if role == "server" and requests_count else float("nan")
        )
        # The other roles are seen from the first to the last sample only; the rate is that of the whole window.
        rate_rps = requests_count / raw["load"]["duration_s"]
        row["cpu_per_request_sampled_s"] = own_s / (ran_s * rate_rps) if requests_count else float("nan")
        rows.append(row)
    return rows


def _other_fraction(unattributed: float, idle: float, seen: float) -> float:
    """Estimate the share of the CPUs' time that other processes used.

    Parameters
    ----------
    unattributed : share that was neither idle nor stolen nor a measured process's; other processes cannot have used more
    idle : share that was idle
    seen : share that visible processes used, which may have used it on other CPUs; NaN when they were not recorded
    """
    if seen != seen:
        return unattributed
    unseen = unattributed - _IDLE_WORK * idle - _UNSEEN_TOLERANCE
    return max(0.0, min(unattributed, seen), unseen)


def _seen_fraction(first: dict[str, Any], last: dict[str, Any], cpus: tuple[int, ...]) -> float:
    """Return the share of the CPUs' time that visible processes used, see :mod:`runners.measure.other_processes`."""
    if "others" not in last:
        return float("nan")
    seen_s = sum(last["others"][cpu] - first["others"][cpu] for cpu in map(str, cpus))
    return float(seen_s / ((last["at_s"] - first["at_s"]) * len(cpus)))


def _companions_s(first: dict[str, Any], last: dict[str, Any], cpus: tuple[int, ...]) -> float:
    """CPU time that the processes of other windows, in turns with this one, have used of some CPUs between two samples."""
    before, after = (sample.get("companions", {}) for sample in (first, last))
    return float(sum(after.get(cpu, 0.0) - before.get(cpu, 0.0) for cpu in map(str, cpus)))


def _known_first(value: float) -> float:
    """For max(): NaN is smaller than any number."""
    return value if value == value else float("-inf")


def _fractions(before: dict[str, Any], after: dict[str, Any], cpus: tuple[int, ...]) -> tuple[float, float]:
    """Shares of the CPUs' time that were not idle, and that were stolen by the hypervisor."""
    total = idle = stolen = 0.0
    for cpu in map(str, cpus):
        spent = {kind: after[cpu][kind] - before[cpu][kind] for kind in before[cpu]}
        total += sum(spent.values())
        idle += spent["idle_s"] + spent["iowait_s"]
        stolen += spent["steal_s"]
    return (1 - idle / total, stolen / total) if total else (float("nan"), float("nan"))
