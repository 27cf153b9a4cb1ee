"""Estimates with 95 % intervals: throughput of a cell, ratios and differences of two.

The sampling unit is the launch of a server: windows of one launch resemble each other more than windows of two
(Kalibera & Jones, Rigorous benchmarking in reasonable time, ISMM 2013; Georges et al., Statistically rigorous Java
performance evaluation, OOPSLA 2007). A cell is therefore a matrix of launches × windows, ragged where windows are
missing: NaN, or rows of different lengths. Throughputs are averaged as logarithms, so that ratios are differences.

Intervals come from a hierarchical bootstrap: launches are drawn with replacement, then windows within each drawn launch
(Efron & Tibshirani, An introduction to the bootstrap, 1993). Taken as they are its percentiles err twice. With few
launches they are too narrow, as they know neither the factor √(n/(n−1)) nor Student's t (Hesterberg, What teachers
should know about the bootstrap, The American Statistician 69, 2015: 74 % coverage of "95 %" at 3 launches here). Where
windows vary most they are too wide, as that variation is in the drawn launches already and is drawn a second time
(Davison & Hinkley, Bootstrap methods and their application, 1997, section 3.8). So the bootstrap gives the shape, and
each arm is scaled to the width of the t interval: by t(0.975, n−1) / 1.96 and by the standard error over launches
relative to the bootstrap's own. The tests hold its coverage. Bootstrap-t covers as well, but can be four times as
wide at 3 launches; expanding the percentile levels instead cannot leave the range of the launches seen.

Windows that are known to be less exact can weigh less (:class:`runners.analyse.launches.Launch`). Then a launch weighs
what its windows do on average, the standard error is one that holds whatever the weights are worth (White, A
heteroskedasticity-consistent covariance matrix estimator, Econometrica 48, 1980, in the form HC2 of MacKinnon & White,
Journal of Econometrics 29, 1985), and n is the number of launches of equal weight that would be as exact, (Σw)² / Σw²
(Kish, Survey sampling, 1965). With equal weights all of this is as above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from runners.analyse.launches import Cell, Floats, Launches, Mean, Replicates, finite, logarithms
from runners.records import Interval

RESAMPLES = 10_000
TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Comparison:
    """Two systems over the blocks that have both, or one system in two runs.

    Attributes
    ----------
    interval : the ratio or difference, first to second
    p_value : two-sided, of "they are the same"; below 0.05 exactly where the interval leaves out 1 (a difference: 0)
    blocks_count : blocks in which both were measured; unpaired: launches of the side that has fewer
    """

    interval: Interval
    p_value: float
    blocks_count: int


def geometric_mean_interval(launches: Launches, *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """Geometric mean over launches; the value of a launch is the geometric mean of its windows.

    Parameters
    ----------
    launches : launches × windows, positive; NaN and empty launches are left out; one number a launch will do;
        windows weigh alike unless a launch says otherwise
    seed : of the resampling
    resamples : of the bootstrap

    Returns
    -------
    Interval
        In the unit of the input; low and high are NaN with one launch, everything is with none.

    Raises
    ------
    ValueError
        When a value is 0, negative or infinite: a geometric mean cannot hold it, and its trial should be void.
    """
    cell = Cell.of(launches, logarithms).with_rows(slice(None))
    return _exponential(_bootstrap(cell.mean, cell.resampled, seed, resamples))


def ratio_interval(first: Launches, second: Launches, *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """Ratio of two systems' throughputs, paired by block: :func:`compare` without its p-value."""
    return compare(first, second, seed=seed, resamples=resamples).interval


def compare(
    first: Launches,
    second: Launches,
    *,
    kind: Literal["ratio", "difference"] = "ratio",
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Compare two systems block by block, which cancels what a block did to both.

    Parameters
    ----------
    first, second : blocks × windows; row i of both is block i; blocks that lack either side are left out
    kind : geometric mean of the blocks' ratios, or mean of their differences (for quantities that may be 0)
    seed, resamples : as in :func:`geometric_mean_interval`

    Raises
    ------
    ValueError
        When the numbers of blocks differ, or a value is infinite, or not positive for a ratio.
    """
    values = logarithms if kind == "ratio" else finite
    a, b = Cell.of(first, values), Cell.of(second, values)
    if len(a.counts) != len(b.counts):
        raise ValueError(f"blocks cannot be paired: {len(a.counts)} and {len(b.counts)}")
    paired = (a.counts > 0) & (b.counts > 0)
    a, b = a.with_rows(paired), b.with_rows(paired)
    # A difference is as exact as the sum of both variances allows.
    apart = Mean(a.means - b.means, 1 / (1 / a.launch_weights + 1 / b.launch_weights))
    interval = _bootstrap(apart, lambda picks, rng: a.resampled(picks, rng) - b.resampled(picks, rng), seed, resamples)
    known = p_value(interval, apart.freedom)
    return Comparison(_exponential(interval) if kind == "ratio" else interval, known, int(paired.sum()))


def compare_unpaired(first: Launches, second: Launches, *, seed: int = 0, resamples: int = RESAMPLES) -> Comparison:
    """Ratio of two geometric means whose launches share no block: what drifted between them is part of it.

    The launches of each side are drawn on their own, √(se₁² + se₂²) is the standard error, and t has the degrees of
    freedom of Welch (The generalization of "Student's" problem, Biometrika 34, 1947) and Satterthwaite (Biometrics
    Bulletin 2, 1946), which are those of the side that varies more when the other hardly varies.
    `first`, `second`, `seed`, `resamples` and errors: as in :func:`geometric_mean_interval`.
    """
    sides = [Cell.of(side, logarithms).with_rows(slice(None)) for side in (first, second)]
    means = [side.mean for side in sides]
    launches = min(len(side.counts) for side in sides)
    value = means[0].value - means[1].value
    if launches < 2:
        return Comparison(Interval(math.exp(value), math.nan, math.nan), math.nan, launches)
    rng = np.random.default_rng(seed)
    drawn = [mean.resampled(side.resampled, rng, resamples) for side, mean in zip(sides, means, strict=True)]
    squares = np.array([mean.standard_error**2 for mean in means])
    # Where no launch differs from another, any number will do: the interval has no width.
    each = np.array([mean.freedom for mean in means])
    freedom = float(squares.sum() ** 2 / (squares**2 / each).sum()) if squares.any() else 1.0
    interval = widened(value, drawn[0] - drawn[1] - value, math.sqrt(squares.sum()), freedom)
    return Comparison(_exponential(interval), p_value(interval, freedom), launches)


def _bootstrap(mean: Mean, replicates: Replicates, seed: int, resamples: int) -> Interval:
    """Mean over launches, with its interval from the resampled launch values."""
    if len(mean.means) < 2:
        return Interval(mean.value, math.nan, math.nan)
    deviations = mean.resampled(replicates, np.random.default_rng(seed), resamples) - mean.value
    return widened(mean.value, deviations, mean.standard_error, mean.freedom)


def widened(value: float, deviations: Floats, standard_error: float, freedom: float) -> Interval:
    """The shape of the bootstrap, scaled to the standard error over launches and from normal to t."""
    spread = float(deviations.std())
    if spread == 0:
        return Interval(value, value, value)
    low, high = np.quantile(deviations, TAILS) / spread
    scale = standard_error * float(stats.t.ppf(TAILS[1], freedom) / stats.norm.ppf(TAILS[1]))
    # A lopsided bootstrap must not place the value outside its own interval.
    return Interval(value, value + scale * min(float(low), 0.0), value + scale * max(float(high), 0.0))


def p_value(interval: Interval, freedom: float) -> float:
    """Invert the interval of a difference: its arm towards 0 is t(0.975, freedom) standard errors long (NaN with one block)."""
    arm = interval.value - interval.low if interval.value > 0 else interval.high - interval.value
    if math.isnan(arm):
        return math.nan
    if arm == 0:
        return 1.0 if interval.value == 0 else 0.0
    return float(2 * stats.t.sf(abs(interval.value) / arm * stats.t.ppf(TAILS[1], freedom), freedom))


def _exponential(interval: Interval) -> Interval:
    return Interval(math.exp(interval.value), math.exp(interval.low), math.exp(interval.high))
