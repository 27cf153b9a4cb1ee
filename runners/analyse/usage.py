"""Use of the machine: by a window's roles, by connection, and by builds.

CPU, memory, threads and context switches of each role; the speed of the server's CPUs; memory per connection.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression

import numpy as np
import pandas as pd

from runners.analyse.comparisons import launch_cpu_times
from runners.core.load import LoadResult
from runners.core.sample import CpuTimes, Role, Sample
from runners.core.trial_record import TrialRecord, WindowRecord
from runners.machine.topology import parse_cpu_list
from runners.stats.estimates import interval_columns, mean_interval
from runners.store.ledger import Run

Windows = Sequence[tuple[WindowRecord, LoadResult]]
"""The recorded windows of a trial, each with what its load generator's parser makes of it."""

# The idle task's own work (interrupts, wake-ups, entering and leaving idle) took up to a quarter of the idle time of a CPU that
# wakes 10,000 times a second, and the kernel counts idle time in steps of 10 ms. Beyond both, a process must be at work that
# cannot be seen from here: one outside of this container.
_IDLE_WORK = 0.25
_UNSEEN_TOLERANCE = 0.05
PROBED = ("probe_mean_hz", "probe_p90_hz", "probe_wakes_hz")
# The undisturbed speed is that of the fastest windows, without a few that may be lucky.
_UNDISTURBED = 0.95


def complete_samples(raw: WindowRecord) -> list[Sample]:
    """Return the samples of a window before the first that came when the load generator was ending.

    Then some of its processes are gone, and their CPU time with them. On a busy machine the last sample may come so late.
    """
    found: list[Sample] = []
    for sample in raw.samples:
        role = sample.generator
        if not role.threads_count or (found and not role.cpu_s >= found[-1].generator.cpu_s):
            break
        found.append(sample)
    return found


@dataclass(frozen=True)
class RoleUsage:
    """The use of the machine by one role in one window.

    Fractions are of the time between the first and the last sample, over the role's CPUs. Of a window in time slices,
    ``used_fraction`` and rates are of the time in which it ran, all else of the time that the windows together took.
    ``used_fraction`` is the role's own part of ``busy_fraction``. ``unattributed_fraction`` was neither idle, nor stolen, nor used
    by wrkbook, another role, or a window in time slices with this one. ``other_fraction`` estimates what other processes used of
    that. ``cpu_s`` of the server is over the whole window and precise; its split has the kernel's tick of 10 ms.
    ``busy_least_fraction``, ``_median_`` and ``_most_`` are of single CPUs of the role, and NaN where the record has no spread.
    """

    role: Role
    busy_fraction: float
    busy_least_fraction: float
    busy_median_fraction: float
    busy_most_fraction: float
    used_fraction: float
    steal_fraction: float
    other_fraction: float
    unattributed_fraction: float
    cpu_s: float
    user_fraction: float
    rss_peak_bytes: int
    pss_bytes: float
    fds_count: float
    threads_count: int
    context_switches_rps: float
    unpinned_threads_count: int
    cpu_per_request_s: float
    cpu_per_request_sampled_s: float


def window_usage(record: TrialRecord, raw: WindowRecord, requests_count: int) -> list[RoleUsage]:
    """Return the use of the machine by each role in one window; none for a warm-up, which has no samples."""
    samples = complete_samples(raw)
    if len(samples) < 2:
        return []
    first, last = samples[0], samples[-1]
    elapsed_s = last.at_s - first.at_s
    # In time slices: without the time in which the window was suspended.
    ran_s = elapsed_s - (last.suspended_s - first.suspended_s)
    rate_rps = requests_count / raw.load.duration_s
    rows = []
    roles = [sample.roles for sample in samples]
    sampled = {role: parse_cpu_list(record.cpus[role]) for role in roles[0]}
    for role, cpus in sampled.items():
        seen = [each[role] for each in roles]
        start, end = seen[0], seen[-1]
        available_s = elapsed_s * len(cpus)
        before, after = first.cpus[role], last.cpus[role]
        busy, steal = _fractions(before.times, after.times)
        own_s = end.cpu_s - start.cpu_s
        known_s = after.own_cpu_s - before.own_cpu_s
        for other, others in sampled.items():
            if other != role and (shared := set(others) & set(cpus)):
                known_s += (roles[-1][other].cpu_s - roles[0][other].cpu_s) * len(shared) / len(others)
        co_scheduled_s = (after.co_scheduled_cpu_s or 0.0) - (before.co_scheduled_cpu_s or 0.0)
        unattributed = max(0.0, busy - steal - (own_s + known_s + co_scheduled_s) / available_s)
        other_fraction = unattributed
        if after.other_cpu_s is not None:
            # Visible processes may have used their time on other CPUs.
            visible = min(unattributed, (after.other_cpu_s - (before.other_cpu_s or 0.0)) / available_s)
            other_fraction = max(0.0, visible, unattributed - _IDLE_WORK * (1 - busy) - _UNSEEN_TOLERANCE)
        used = own_s / (ran_s * len(cpus))
        if after.co_scheduled_cpu_s is not None:
            # Its own part refers to the time in which it ran, all else to the whole time: busy is the sum of both.
            busy = min(1.0, used + unattributed + steal + known_s / available_s)
        cpu_s = raw.server_cpu_s if role == "server" else own_s
        ticks = end.user_s - start.user_s, end.system_s - start.system_s
        spread = raw.busy.get(role)
        held = [each.memory for each in seen if each.memory]
        row = RoleUsage(
            role=role,
            busy_fraction=busy,
            busy_least_fraction=spread.least_fraction if spread else math.nan,
            busy_median_fraction=spread.median_fraction if spread else math.nan,
            busy_most_fraction=spread.most_fraction if spread else math.nan,
            used_fraction=used,
            steal_fraction=steal,
            other_fraction=other_fraction,
            unattributed_fraction=unattributed,
            cpu_s=cpu_s,
            user_fraction=ticks[0] / sum(ticks) if sum(ticks) else math.nan,
            rss_peak_bytes=max(each.rss_peak_bytes for each in seen),
            pss_bytes=max((memory.pss_bytes for memory in held), default=math.nan),
            fds_count=max((memory.fds_count for memory in held), default=math.nan),
            threads_count=max(each.threads_count for each in seen),
            context_switches_rps=(end.context_switches_count - start.context_switches_count) / ran_s,
            unpinned_threads_count=sum(len(each.unpinned_threads) for each in seen),
            cpu_per_request_s=cpu_s / requests_count if role == "server" and requests_count else math.nan,
            # The other roles are seen from the first to the last sample only; the rate is that of the whole window.
            cpu_per_request_sampled_s=own_s / (ran_s * rate_rps) if requests_count else math.nan,
        )
        rows.append(row)
    return rows


def _fractions(before: CpuTimes, after: CpuTimes) -> tuple[float, float]:
    """Return the shares of the CPUs' time that were not idle, and that were stolen by the hypervisor."""
    total = after.total_s - before.total_s
    idle = (after.idle_s - before.idle_s) + (after.iowait_s - before.iowait_s)
    return (1 - idle / total, (after.steal_s - before.steal_s) / total) if total else (math.nan, math.nan)


def seen_by_probes(record: TrialRecord, raw: WindowRecord) -> dict[str, float]:
    """Return the readings of the probes on the server's CPUs in a window, means over the CPUs that have one; NaN where none has.

    That is a check and a column, and never a correction.
    """
    seen = [raw.speed[cpu] for cpu in parse_cpu_list(record.cpus["server"]) if cpu in raw.speed]
    return {
        name: fmean(getattr(probe, name.removeprefix("probe_")) for probe in seen) if seen else math.nan
        for name in PROBED
    }


def speed_ratio(windows: pd.DataFrame) -> pd.Series:
    """Return the mean speed in each window as a share of the best of the run's fastest windows; NaN without a probe."""
    return windows["probe_mean_hz"].astype(float) / windows["probe_p90_hz"].astype(float).quantile(_UNDISTURBED)


def levels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose load is a number of connections, with ``name`` (``json10``) and ``connections`` (20)."""
    found = frame[frame["shape_connections_count"].notna()]
    return found.assign(name=found["workload_name"], connections=found["shape_connections_count"].astype(int))


def memory_per_connection(usage: pd.DataFrame) -> pd.DataFrame:
    """Estimate what one more connection costs each system, from the peaks of `usage`, each cell on a process of its own.

    One row for each workload (``name``) and system that was measured at two numbers of connections or more.
    """
    columns = ["name", "system", *interval_columns("per_connection", "_bytes")]
    columns += ["base_bytes", "blocks_count", "most_connections_count"]
    rows = []
    peaks = levels(usage[usage["role"] == "server"])
    for (name, system), group in peaks.groupby(["name", "system"], sort=False):
        most = int(group["connections"].max())
        lines = [
            linear_regression(block["connections"].tolist(), block["rss_peak_bytes"].tolist())
            for _, block in group.groupby("block")
            # A block in which the largest failed has a line of another range.
            if block["connections"].nunique() > 1 and block["connections"].max() == most
        ]
        if lines:
            slope = mean_interval([line.slope for line in lines])
            base = float(np.mean([line.intercept for line in lines]))
            rows.append((name, system, slope.value, slope.low, slope.high, base, len(lines), most))
    return pd.DataFrame(rows, columns=columns)


def read_builds(run: Run) -> pd.DataFrame:
    """Return a run's timed builds, see :func:`runners.measure.build_times.build_times`; empty where nobody timed them."""
    path = run.folder / "builds.json"
    rows = json.loads(path.read_bytes())["builds"] if path.exists() else []
    columns = ["system", "cold_s", "warm_s", "incremental_s", "changed", "output_bytes", "failure"]
    found = pd.DataFrame(rows, columns=columns)
    return found.assign(**{name: found[name].astype(object).fillna("") for name in ("changed", "failure")})


def cpu_per_request(usage: pd.DataFrame) -> pd.Series:
    """Return the server's CPU time per request of each launch, see :func:`runners.analyse.comparisons.launch_cpu_times`."""
    return launch_cpu_times(usage[usage["role"] == "server"])
