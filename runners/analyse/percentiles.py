"""Percentiles with 95 % intervals: of merged histograms, from drawing whole launches as :mod:`runners.analyse.estimates` does."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from runners import histograms
from runners.analyse.estimates import widened
from runners.records import Histogram, Interval

HISTOGRAM_RESAMPLES = 1_000

Floats = NDArray[np.float64]


def percentile_intervals(
    launches: Sequence[Histogram],
    asked: Sequence[float],
    *,
    seed: int = 0,
    resamples: int = HISTOGRAM_RESAMPLES,
) -> dict[float, Interval]:
    """Percentiles of the launches' merged histograms in seconds, with intervals from drawing whole launches.

    A percentile with fewer than 10 samples beyond it is not estimable: all NaN. The samples of a launch are no
    independent draws, so the interval knows the launches alone: low and high are NaN with one launch. Its arms are
    scaled as that module describes, on the logarithm of the value; as a percentile has no standard error in closed form,
    the bootstrap's own is corrected by √(n/(n−1)).
    """
    unknown = Interval(math.nan, math.nan, math.nan)
    filled = [launch for launch in launches if launch.total_count]
    if not filled:
        return dict.fromkeys(asked, unknown)
    merged, n = histograms.merge(filled), len(filled)
    grid = np.asarray(merged.values_us, dtype=np.int64)
    counts = np.zeros((n, len(grid)))
    for row, launch in zip(counts, filled, strict=True):
        row[np.searchsorted(grid, launch.values_us)] = launch.counts
    # How often each launch was drawn, in each resample.
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), resamples).astype(np.float64)
    values = histograms.percentiles(grid, merged.counts, asked) * 1e-6
    resampled = np.array([histograms.percentiles(grid, times @ counts, asked) for times in drawn]) * 1e-6
    return {
        percentile: _positive_interval(value, column, n)
        if histograms.estimable(merged.total_count, percentile)
        else unknown
        for percentile, value, column in zip(asked, values.tolist(), resampled.T, strict=True)
    }


def interval_of(value: float, resampled: Floats, n: int) -> Interval:
    """The interval of a statistic without a standard error in closed form, from values of it over n drawn launches.

    The bootstrap's own standard error is corrected by √(n/(n−1)). NaN where the value is, and with one launch.
    """
    if n < 2 or math.isnan(value):
        return Interval(value, math.nan, math.nan)
    deviations = resampled - value
    return widened(value, deviations, float(deviations.std()) * math.sqrt(n / (n - 1)), n - 1)


def _positive_interval(value: float, resampled: Floats, n: int) -> Interval:
    if n < 2 or value == 0:
        return Interval(value, math.nan, math.nan)
    # Half a microsecond, the resolution, stands for 0, which has no logarithm.
    arms = interval_of(0.0, np.log(np.maximum(resampled, 0.5e-6) / value), n)
    return Interval(value, value * math.exp(arms.low), value * math.exp(arms.high))
