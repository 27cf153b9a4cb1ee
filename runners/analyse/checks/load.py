"""The checks of the load: what was offered and when, and whether the generator kept nothing waiting."""

from __future__ import annotations

import math

from runners.analyse.usage import Windows
from runners.core.load import Load, LoadResult
from runners.core.records import Check
from runners.core.thresholds import LATE_S, LEAST_OFFERED, MOST_LATE_SHARE
from runners.core.trial_record import TrialRecord
from runners.stats import histograms

SCHEDULE = "schedule"
LITTLE_TOLERANCE = 0.05
"""Share of the connections that throughput × mean service time may leave unexplained: more of it is time in the load generator."""


def offered(record: TrialRecord, windows: Windows) -> Check:
    """Check that an open loop achieved at least 99 % of the requested rate."""
    worst = min(_achieved(raw.load, result) for raw, result in windows)
    advice = "the server, or the load generator, cannot carry this rate: its latencies are not those of that rate"
    return Check("offered load", worst >= LEAST_OFFERED, f"{worst:.1%} of the offered rate was achieved", advice)


def _achieved(load: Load, result: LoadResult) -> float:
    """Return the completed requests as a share of those that were scheduled, or that the rate makes of the time."""
    if result.scheduled_count is not None:
        return result.requests_count / max(1, result.scheduled_count)
    return result.throughput_rps / (load.rate_rps or math.nan)


def schedule(record: TrialRecord, windows: Windows) -> Check:
    """Check that at most 1 % of the sends of an open loop were more than 1 ms late; else the load was another, and the trial is void."""
    worst, p99_us = 0.0, 0.0
    for lateness in (result.lateness for _, result in windows if result.lateness):
        late = sum(
            count for value, count in zip(lateness.values_us, lateness.counts, strict=True) if value > LATE_S * 1e6
        )
        worst = max(worst, late / max(1, lateness.total_count))
        p99_us = max(p99_us, histograms.percentiles(lateness.values_us, lateness.counts, (99.0,))[0])
    detail = (
        f"99 % of the sends within {p99_us:.0f} µs of their schedule, {worst:.2%} more than {LATE_S * 1000:g} ms late"
    )
    advice = "give the load generator CPUs of its own, or offer a lower rate"
    return Check(SCHEDULE, worst <= MOST_LATE_SHARE, detail, advice, void=True)


def little(record: TrialRecord, windows: Windows) -> Check:
    """Check Little's law within 5 % on windows in one piece: connections = throughput × mean service time.

    It holds where all connections are always busy (Little, Operations Research, 1961). Requests under way when the window ended
    are not counted as completed: up to one service time for each connection.
    """
    results = [result for raw, result in windows if raw.slices is None]
    if not results:
        return Check("Little's law", False, "no window in one piece: there are no percentiles")
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
    return histograms.mean(result.service_time.values_us, result.service_time.counts) * 1e-6
