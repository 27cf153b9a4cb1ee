"""Little's law: in a closed loop, connections = throughput × mean service time (Little, Operations Research, 1961)."""

from __future__ import annotations

import math
from typing import Any

from runners import histograms
from runners.analyse.usage import Windows
from runners.records import Check, LoadResult

_LITTLE_TOLERANCE = 0.05


def little(record: dict[str, Any], windows: Windows) -> Check:
    """Little's law: connections = throughput × mean service time, within 5 %, when all are always busy.

    Judged on windows in one piece, from which percentiles are taken. Requests under way when the window ended are not counted as
    completed: up to one service time for each connection.
    """
    ratios, excesses = [], []
    for raw, result in windows:
        if raw.get("turns"):
            continue
        mean_s = mean_service_s(result)
        ratios.append(little_ratio(result))
        under_way = mean_s / result.duration_s if ratios[-1] < 1 else 0.0
        excesses.append(abs(ratios[-1] - 1) - under_way)
    if not ratios:
        return Check("Little's law", False, "no window in one piece: there are no percentiles")
    worst = max(ratios, key=lambda ratio: abs(ratio - 1), default=math.nan)
    ok = max(excesses, default=math.nan) <= _LITTLE_TOLERANCE
    advice = "service times miss time that requests spend waiting in the load generator: trust the throughput more"
    return Check("Little's law", ok, f"throughput × mean service time is {worst:.1%} of the connections", advice)


def little_ratio(result: LoadResult) -> float:
    """Return throughput × mean service time / connections; below 1, requests waited inside the load generator."""
    return result.throughput_rps * mean_service_s(result) / result.connections_count


def mean_service_s(result: LoadResult) -> float:
    """Return the mean service time in seconds; NaN without a sample."""
    return histograms.mean(result.service_time.values_us, result.service_time.counts) * 1e-6
