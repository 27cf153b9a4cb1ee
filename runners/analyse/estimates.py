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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from runners.records import Interval

RESAMPLES = 10_000
TAILS = (0.025, 0.975)

Floats = NDArray[np.float64]
Launches = Sequence[Sequence[float]] | Sequence[float] | NDArray[np.floating[Any]]
Replicates = Callable[[NDArray[np.intp], np.random.Generator], Floats]


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
    launches : launches × windows, positive; NaN and empty launches are left out; one number a launch will do
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
    cell = _Cell.of(_logarithms(launches)).with_rows(slice(None))
    return _exponential(_bootstrap(cell.means, cell.resampled, seed, resamples))


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
    values = _logarithms if kind == "ratio" else _finite
    a, b = _Cell.of(values(first)), _Cell.of(values(second))
    if len(a.counts) != len(b.counts):
        raise ValueError(f"blocks cannot be paired: {len(a.counts)} and {len(b.counts)}")
    paired = (a.counts > 0) & (b.counts > 0)
    a, b = a.with_rows(paired), b.with_rows(paired)
    interval = _bootstrap(
        a.means - b.means, lambda picks, rng: a.resampled(picks, rng) - b.resampled(picks, rng), seed, resamples
    )
    blocks = int(paired.sum())
    return Comparison(_exponential(interval) if kind == "ratio" else interval, p_value(interval, blocks - 1), blocks)


def compare_unpaired(first: Launches, second: Launches, *, seed: int = 0, resamples: int = RESAMPLES) -> Comparison:
    """Ratio of two geometric means whose launches share no block: what drifted between them is part of it.

    The launches of each side are drawn on their own, √(se₁² + se₂²) is the standard error, and t has the degrees of
    freedom of Welch (The generalization of "Student's" problem, Biometrika 34, 1947) and Satterthwaite (Biometrics
    Bulletin 2, 1946), which are those of the side that varies more when the other hardly varies.
    `first`, `second`, `seed`, `resamples` and errors: as in :func:`geometric_mean_interval`.
    """
    sides = [_Cell.of(_logarithms(side)).with_rows(slice(None)) for side in (first, second)]
    launches = np.array([len(side.counts) for side in sides])
    means = [float(side.means.mean()) if len(side.counts) else math.nan for side in sides]
    value = means[0] - means[1]
    if launches.min() < 2:
        return Comparison(Interval(math.exp(value), math.nan, math.nan), math.nan, int(launches.min()))
    rng = np.random.default_rng(seed)
    drawn = [side.resampled(rng.integers(0, n, (resamples, n)), rng) for side, n in zip(sides, launches, strict=True)]
    squares = np.array([side.means.var(ddof=1) for side in sides]) / launches
    # Where no launch differs from another, any number will do: the interval has no width.
    freedom = float(squares.sum() ** 2 / (squares**2 / (launches - 1)).sum()) if squares.any() else 1.0
    deviations = drawn[0].mean(axis=1) - drawn[1].mean(axis=1) - value
    interval = widened(value, deviations, math.sqrt(squares.sum()), freedom)
    return Comparison(_exponential(interval), p_value(interval, freedom), int(launches.min()))


@dataclass(frozen=True)
class _Cell:
    """Values launches × windows, present ones first in each row, and how many are present."""

    values: Floats
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, rows: list[Floats]) -> _Cell:
        counts = np.array([len(row) for row in rows], dtype=np.intp)
        values = np.zeros((len(rows), max(counts, default=0)))
        for target, row in zip(values, rows, strict=True):
            target[: len(row)] = row
        return cls(values, counts)

    def with_rows(self, chosen: NDArray[np.bool_] | slice) -> _Cell:
        """The chosen launches that have windows at all."""
        values, counts = self.values[chosen], self.counts[chosen]
        return _Cell(values[counts > 0], counts[counts > 0])

    @property
    def means(self) -> Floats:
        return np.asarray(self.values.sum(axis=1) / self.counts)

    def resampled(self, picks: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Mean of windows drawn anew within each picked launch, in the shape of ``picks``."""
        width = self.values.shape[1]
        counts = self.counts[picks]
        total = np.zeros(picks.shape)
        for window in range(width):
            draw = (rng.random(picks.shape, dtype=np.float32) * counts).astype(np.intp)
            total += np.where(window < counts, self.values.take(picks * width + draw), 0.0)
        return np.asarray(total / counts)


def _bootstrap(means: Floats, replicates: Replicates, seed: int, resamples: int) -> Interval:
    """Mean over launches, with its interval from the resampled launch values."""
    n = len(means)
    if n < 2:
        return Interval(float(means[0]) if n else math.nan, math.nan, math.nan)
    rng = np.random.default_rng(seed)
    deviations = replicates(rng.integers(0, n, (resamples, n)), rng).mean(axis=1) - means.mean()
    return widened(float(means.mean()), deviations, float(means.std(ddof=1)) / math.sqrt(n), n - 1)


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


def _finite(launches: Launches) -> list[Floats]:
    rows = [np.atleast_1d(np.asarray(row, dtype=np.float64)) for row in launches]
    if any(np.isinf(row).any() for row in rows):
        raise ValueError("a measurement is infinite")
    return [row[~np.isnan(row)] for row in rows]


def _logarithms(launches: Launches) -> list[Floats]:
    rows = _finite(launches)
    if any((row <= 0).any() for row in rows):
        raise ValueError("a measurement is not positive: it has no geometric mean, and its trial should be void")
    return [np.log(row) for row in rows]


def _exponential(interval: Interval) -> Interval:
    return Interval(math.exp(interval.value), math.exp(interval.low), math.exp(interval.high))
