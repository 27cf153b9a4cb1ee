"""Percentiles of merged histograms, with 95 % intervals over launches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from runners.core.load import Histogram
from runners.core.records import Interval
from runners.stats import histograms
from runners.stats.estimates import UNKNOWN, Floats, mean_interval

HALF_A_MICROSECOND = 0.5
"""Half the resolution of a histogram; it replaces 0, which has no logarithm."""


def launch_histograms(latency: pd.DataFrame, system: str, workload: str) -> dict[int, Histogram]:
    """Return block → service times of a cell's sound trials; `latency` as in :class:`runners.analyse.tables.Tables`."""
    rows = latency[(latency["system"] == system) & (latency["workload"] == workload)]
    groups = rows.groupby("block")
    return {int(block): Histogram(tuple(group["value_us"]), tuple(group["count"])) for block, group in groups}


def percentile_intervals(launches: Sequence[Histogram], wanted: Sequence[float]) -> dict[float, Interval]:
    """Return percentiles of the launches' merged histograms in seconds, with the 95 % interval over launches.

    A percentile with fewer than 10 samples beyond it is all NaN. The samples of a launch are not independent, so the
    interval is Student's t on the logarithms of each launch's own percentile. Low and high are NaN with one launch.
    """
    filled = [launch for launch in launches if launch.total_count]
    if not filled:
        return dict.fromkeys(wanted, UNKNOWN)
    merged = histograms.merge(filled)
    values = histograms.percentiles(merged.values_us, merged.counts, wanted)
    each = np.array([histograms.percentiles(launch.values_us, launch.counts, wanted) for launch in filled])
    return {
        percentile: around(value * 1e-6, own) if histograms.estimable(merged.total_count, percentile) else UNKNOWN
        for percentile, value, own in zip(wanted, values.tolist(), each.T, strict=True)
    }


def around(value: float, own: Floats) -> Interval:
    """Return a value with the relative interval that the launches' `own` values show, in whatever unit these are."""
    spread = mean_interval(np.log(np.maximum(own, HALF_A_MICROSECOND)))
    return Interval(value, value * math.exp(spread.low - spread.value), value * math.exp(spread.high - spread.value))
