"""The checks of a trial's conditions: the load that was offered, and the machine.

The load: what was offered and when, and whether requests waited in the generator. The machine: others on its CPUs, heat, memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from runners.analyse.checks.hosts import TOGETHER
from runners.analyse.usage import Windows, window_usage
from runners.core.load import LATE_S, LEAST_OFFERED, MOST_LATE_SHARE, Load, LoadResult
from runners.core.records import Check
from runners.core.sample import Role
from runners.core.trial_record import TrialRecord
from runners.machine.topology import parse_cpu_list
from runners.stats import histograms

SCHEDULE, CLOCK = "schedule", "clock"
LITTLE_TOLERANCE = 0.05
"""Share of the connections that throughput × mean service time may leave unexplained: more of it is time in the load generator."""

_STEAL, _OTHER_LOAD = "steal", "other load"

_NOISE_TOLERANCE = 0.02
_TAKEN_TOLERANCE = 0.10
# A machine on which other processes use more than this is not idle: the rest counts as other load.
_MOST_IDLE_SHARE = 0.03
# Tolerated change of the CPUs' clock frequency within a trial.
_FREQUENCY_TOLERANCE = 0.10
_STALL_TOLERANCE = 0.01


def offered(record: TrialRecord, windows: Windows) -> Check:
    """Check that an open loop achieved at least 99 % of the requested rate."""
    worst = min(_achieved(raw.load, result) for raw, result in windows)
    advice = "the server, or the load generator, cannot carry this rate: its latencies are not those of that rate"
    return Check("offered load", worst >= LEAST_OFFERED, f"{worst:.1%} of the offered rate was achieved", advice)


def _achieved(load: Load, result: LoadResult) -> float:
    """Return how much of the scheduled rate was achieved, or of the given one where the load generator has no schedule."""
    if result.scheduled_rps is not None:
        return result.achieved_fraction
    return result.throughput_rps / (load.rate_rps or math.nan)


def schedule(record: TrialRecord, windows: Windows) -> Check:
    """Check that at most 1 % of the sends of an open loop were more than 1 ms late; else the load was another, and the trial is void.

    On a number of server CPUs of its own, the question is the CPU time of a request, which late sends leave as it is.
    """
    worst, p99_us = 0.0, 0.0
    for lateness in (result.lateness for _, result in windows if result.lateness):
        late = sum(
            count for value, count in zip(lateness.values_us, lateness.counts, strict=True) if value > LATE_S * 1e6
        )
        worst = max(worst, late / max(1, lateness.total_count))
        p99_us = max(p99_us, histograms.percentiles(*lateness.arrays, (99.0,))[0])
    detail = (
        f"99 % of the sends within {p99_us:.0f} µs of their schedule, {worst:.2%} more than {LATE_S * 1000:g} ms late"
    )
    advice = "give the load generator CPUs of its own, or offer a lower rate"
    void = record.shape.server_cpus_count is None
    return Check(SCHEDULE, worst <= MOST_LATE_SHARE, detail, advice, void=void)


def little(record: TrialRecord, windows: Windows) -> Check:
    """Check Little's law within 5 % on windows in one piece: connections = throughput × mean service time.

    It holds where all connections are always busy (Little, Operations Research, 1961). Requests under way when the window ended
    are not counted as completed: up to one service time for each connection.
    """
    results = [result for raw, result in windows if raw.slices is None]
    if not results:
        missing = record.measures_percentiles
        return Check("Little's law", not missing, "no window in one piece, and so no percentiles", "measure again")
    ratios = [little_ratio(result) for result in results]
    under_way = [mean_service_s(result) / result.duration_s for result in results]
    excesses = [abs(ratio - 1) - (more if ratio < 1 else 0.0) for ratio, more in zip(ratios, under_way, strict=True)]
    worst = max(ratios, key=lambda ratio: abs(ratio - 1))
    advice = "service times miss time that requests spend waiting in the load generator: trust the throughput more"
    detail = f"throughput × mean service time is {worst:.1%} of the connections"
    return Check("Little's law", max(excesses) <= LITTLE_TOLERANCE, detail, advice)


def little_ratio(result: LoadResult) -> float:
    """Return throughput × mean service time / connections; below 1, requests waited inside the load generator."""
    return result.throughput_rps * mean_service_s(result) / result.connections_count


def mean_service_s(result: LoadResult) -> float:
    """Return the mean service time in seconds; NaN without a sample."""
    return histograms.mean(*result.service_time.arrays) * 1e-6


DISTURBANCES = frozenset({_STEAL, _OTHER_LOAD, SCHEDULE, CLOCK, TOGETHER})
"""Names of the checks that make a trial void for what the machine, or a late host, did meanwhile: another try may do better.

A single pause of a CPU makes sends late, or a host begin late: 10 ms are 1 % of a window of a second. Where others use
most of a CPU, time slices begin and end late, and the virtual clock with them.
"""


def taken(record: TrialRecord, windows: Windows) -> list[Check]:
    """Check that hypervisor and other processes each took at most 2 % of the pinned CPUs' time; 10 % of the server's: void.

    What other processes use on the idle machine, too, does not count.
    """
    usages = [row for raw, result in windows for row in window_usage(record, raw, result.requests_count)]
    idle = {cpu: min(share, _MOST_IDLE_SHARE) for cpu, share in record.idle_other_fraction.items()}
    roles = {row.role: parse_cpu_list(record.cpus[row.role]) for row in usages}
    usual = {role: fmean(idle.get(cpu, 0.0) for cpu in cpus) for role, cpus in roles.items()}
    what = "used by other processes" + (" beyond what they use on the idle machine" if idle else "")
    stolen = [(row.role, row.steal_fraction) for row in usages]
    used = [(row.role, max(0.0, row.other_fraction - usual[row.role])) for row in usages]
    return [
        _taken(_STEAL, "stolen by the hypervisor", "measure on a machine of your own, or more blocks", stolen),
        _taken(_OTHER_LOAD, what, "end other programs, or measure more blocks", used),
    ]


def throttling(record: TrialRecord, windows: Windows) -> Check:
    """Check that heat did not slow the server's CPUs, and their clock fell by at most 10 % within the trial."""
    samples = _pressures(windows, "throttled_count")
    slowed = sum(after - before for before, after in samples)
    clocks = [clock for pair in _pressures(windows, "clock_hz") for clock in pair]
    fallen = 1 - min(clocks) / max(clocks) if clocks else 0.0
    if slowed:
        detail = f"heat slowed the server's CPUs {slowed} times"
    elif clocks:
        detail = f"the clock of the server's CPUs stayed within {fallen:.1%}"
    else:
        detail = "heat slowed nothing" if samples else "neither heat nor clock can be read on this machine"
    ok = not slowed and fallen <= _FREQUENCY_TOLERANCE
    return Check("throttling", ok, detail, "cool the machine, plug it in, or fix its clock")


def memory_pressure(record: TrialRecord, windows: Windows) -> Check:
    """Check that nothing waited for memory for more than 1 % of the time, and nothing was swapped."""
    swapped = sum(after - before for before, after in _pressures(windows, "swapped_pages_count"))
    stalls = _pressures(windows, "memory_stall_s")
    elapsed_s = sum(raw.samples[-1].at_s - raw.samples[0].at_s for raw, _ in windows if raw.samples)
    waited = sum(after - before for before, after in stalls) / elapsed_s if elapsed_s else 0.0
    detail = f"tasks waited for memory {waited:.1%} of the time, {swapped} pages were swapped"
    detail = detail if stalls else "not shown by this kernel"
    advice = "end other programs, or give the machine more memory"
    return Check("memory pressure", not swapped and waited <= _STALL_TOLERANCE, detail, advice)


def _pressures(windows: Windows, name: str) -> list[tuple[float, float]]:
    """Return a value of :class:`runners.core.sample.Pressure` in the first and last sample of each window, where it is known."""
    found = []
    for raw, _ in windows:
        samples = [getattr(sample.pressure, name) for sample in raw.samples]
        if len(samples) > 1 and None not in samples:
            found.append((samples[0], samples[-1]))
    return found


def _taken(name: str, what: str, advice: str, shares: Sequence[tuple[Role, float]]) -> Check:
    """Judge the shares of the CPUs' time that something took from each role in each window."""
    worst = max((share for _, share in shares), default=math.nan)
    of_server = max((share for role, share in shares if role == "server"), default=math.nan)
    detail = f"at most {worst:.1%} of the pinned CPUs' time {what}" if shares else "not sampled"
    return Check(name, not worst > _NOISE_TOLERANCE, detail, advice, void=of_server > _TAKEN_TOLERANCE)
