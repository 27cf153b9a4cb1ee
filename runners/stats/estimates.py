"""Estimates with 95 % intervals by Student's t: throughput of a cell, ratios and differences of two, percentiles over launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from runners.core.histogram import Histogram
from runners.core.records import Interval
from runners.stats import histograms

CONFIDENCE = 0.95

Floats = NDArray[np.float64]
LaunchValues = Sequence[float] | NDArray[np.floating[Any]]
UNKNOWN = Interval(math.nan, math.nan, math.nan)

HALF_A_MICROSECOND = 0.5
"""Half the resolution of a histogram; it replaces 0, which has no logarithm."""


@dataclass(frozen=True)
class Comparison:
    """The ratio or difference of two systems over the blocks that have both, or of one system in two runs.

    `p_value` is two-sided, of "they are the same". Unpaired, `blocks_count` is the launches of the side that has fewer.
    """

    interval: Interval
    p_value: float
    blocks_count: int

    @property
    def freedom(self) -> float:
        """Return the degrees of freedom of a paired interval."""
        return self.blocks_count - 1


def critical_value(systems_count: int, freedom: float) -> float:
    """Return the half-width, in standard errors, of simultaneous 95 % intervals of the differences among some systems."""
    from scipy import special  # its import takes a sixth of a second, and few commands need it

    pairs_count = max(1, math.comb(systems_count, 2))
    return float(special.stdtrit(freedom, 1 - (1 - CONFIDENCE) / 2 / pairs_count))


def mean_interval(values: LaunchValues, systems_count: int = 2) -> Interval:
    """Return the mean with its 95 % interval; NaN ends for fewer than two values.

    Parameters
    ----------
    values : array_like
        One number a launch; NaN is left out.
    systems_count : int
        Number of systems with simultaneous intervals; see :func:`critical_value`.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    n = len(known)
    mean = float(known.mean()) if n else math.nan
    arm = critical_value(systems_count, n - 1) * float(known.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return Interval(mean, mean - arm, mean + arm)


def geometric_mean_interval(launches: LaunchValues) -> Interval:
    """Return the geometric mean over launches with its 95 % interval, in the unit of the input.

    Raises
    ------
    ValueError
        When a value is 0, negative or infinite: its trial should be void.
    """
    return _exponential(mean_interval(_logarithms(launches)))


def compare(
    first: LaunchValues, second: LaunchValues, *, kind: Literal["ratio", "difference"] = "ratio", systems_count: int = 2
) -> Comparison:
    """Compare two systems block by block, which cancels what a block did to both.

    Parameters
    ----------
    first, second : array_like
        One number a block; entry i of both is block i. A block with NaN on either side is left out.
    kind : Literal["ratio", "difference"]
        Geometric mean of the blocks' ratios, or mean of their differences (for quantities that may be 0).

    Raises
    ------
    ValueError
        When the numbers of blocks differ, or a value is infinite, or not positive for a ratio.
    """
    if len(first) != len(second):
        raise ValueError(f"blocks cannot be paired: {len(first)} and {len(second)}")
    values = _logarithms if kind == "ratio" else _finite
    apart = values(first) - values(second)
    apart = apart[~np.isnan(apart)]
    interval = mean_interval(apart, systems_count)
    error = float(apart.std(ddof=1)) / math.sqrt(len(apart)) if len(apart) > 1 else math.nan
    p_value = p_value_of(interval.value, error, len(apart) - 1)
    return Comparison(_exponential(interval) if kind == "ratio" else interval, p_value, len(apart))


def compare_unpaired(first: LaunchValues, second: LaunchValues) -> Comparison:
    """Compare two geometric means without common blocks: drift between them is part of the ratio.

    The standard error is √(se₁² + se₂²); t has the degrees of freedom of Welch (Biometrika 34, 1947) and Satterthwaite
    (Biometrics Bulletin 2, 1946).
    """
    sides = [values[~np.isnan(values)] for values in map(_logarithms, (first, second))]
    fewest = min(map(len, sides))
    apart = float(sides[0].mean() - sides[1].mean()) if fewest else math.nan
    if fewest < 2:
        return Comparison(Interval(math.exp(apart), math.nan, math.nan), math.nan, fewest)
    squares = np.array([side.var(ddof=1) / len(side) for side in sides])
    freedoms = np.array([len(side) - 1 for side in sides])
    # Where no launch differs from another, any number will do: the interval has no width.
    freedom = float(squares.sum() ** 2 / (squares**2 / freedoms).sum()) if squares.any() else 1.0
    error = math.sqrt(squares.sum())
    arm = critical_value(2, freedom) * error
    return Comparison(
        _exponential(Interval(apart, apart - arm, apart + arm)), p_value_of(apart, error, freedom), fewest
    )


def ratio_of(first: Interval, second: Interval) -> Interval:
    """Return the ratio of two independent positive estimates, with an interval from theirs; NaN where either is unknown.

    The method of variance estimates recovery on logarithms (Zou & Donner, Statistics in Medicine 27, 2008): towards each
    side, the arms of both are added as the legs of a right angle are.
    """
    if not (first.value > 0 and second.value > 0):
        return UNKNOWN
    value = first.value / second.value
    down = math.hypot(log_arm(first.value, first.low), log_arm(second.value, second.high))
    up = math.hypot(log_arm(first.value, first.high), log_arm(second.value, second.low))
    return Interval(value, value * math.exp(-down), value * math.exp(up))


def interval_columns(stem: str, unit: str = "") -> list[str]:
    """Return the names of an interval's columns: ``p50_s``, ``p50_low_s`` and ``p50_high_s`` for the stem ``p50`` and the unit ``_s``."""
    return [f"{stem}{end}{unit}" for end in ("", "_low", "_high")]


def as_columns(interval: Interval, stem: str, unit: str = "") -> dict[str, float]:
    """Return an interval as :func:`interval_columns`."""
    return dict(zip(interval_columns(stem, unit), (interval.value, interval.low, interval.high), strict=True))


def interval_in(row: Any, stem: str, unit: str = "") -> Interval:  # noqa: ANN401  (a row of a table, or a mapping)
    """Return the interval that :func:`interval_columns` of a row hold."""
    return Interval(*(row[name] for name in interval_columns(stem, unit)))


def log_arm(value: float, end: float) -> float:
    """Return the distance of an interval's end as a logarithm; infinite for an end at 0 or below."""
    if math.isnan(end):
        return math.nan
    if end == value:
        return 0.0
    return abs(math.log(end / value)) if 0 < end < math.inf else math.inf


def p_value_of(mean: float, standard_error: float, freedom: float) -> float:
    """Return the two-sided p-value of "the mean is 0"."""
    from scipy import special  # likewise

    if standard_error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * special.stdtr(freedom, -abs(mean) / standard_error))


def _finite(values: LaunchValues) -> Floats:
    known = np.asarray(values, dtype=np.float64)
    if np.isinf(known).any():
        raise ValueError("a measurement is infinite")
    return known


def _logarithms(values: LaunchValues) -> Floats:
    known = _finite(values)
    if (known <= 0).any():
        raise ValueError("a measurement is not positive: it has no geometric mean, and its trial should be void")
    return np.log(known)


def _exponential(interval: Interval) -> Interval:
    # The interval of two launches that differ much may reach beyond the largest float.
    with np.errstate(over="ignore"):
        return Interval(*(float(np.exp(end)) for end in (interval.value, interval.low, interval.high)))


def percentile_intervals(launches: Sequence[Histogram], wanted: Sequence[float]) -> dict[float, Interval]:
    """Return percentiles of the launches' merged histograms in seconds, with the 95 % interval over launches.

    A percentile with fewer than 10 samples beyond it is all NaN. The samples of a launch are not independent, so the
    interval is Student's t on the logarithms of each launch's own percentile. Low and high are NaN with one launch.
    """
    filled = [launch for launch in launches if launch.total_count]
    if not filled:
        return dict.fromkeys(wanted, UNKNOWN)
    merged = histograms.merge(filled)
    values = histograms.percentiles(*merged.arrays, wanted)
    each = np.array([histograms.percentiles(*launch.arrays, wanted) for launch in filled])
    return {
        percentile: around(value * 1e-6, own) if histograms.estimable(merged.total_count, percentile) else UNKNOWN
        for percentile, value, own in zip(wanted, values.tolist(), each.T, strict=True)
    }


def around(value: float, own: Floats) -> Interval:
    """Return a value with the relative interval that the launches' `own` values show, in whatever unit these are."""
    spread = mean_interval(np.log(np.maximum(own, HALF_A_MICROSECOND)))
    return Interval(value, value * math.exp(spread.low - spread.value), value * math.exp(spread.high - spread.value))
