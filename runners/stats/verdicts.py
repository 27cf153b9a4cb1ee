"""From ratios to verdicts: the noise band, bounds, and when enough blocks were measured; and the search of a capacity."""

from __future__ import annotations

import bisect
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from runners.core.records import Bound, Decision, Interval, Verdict
from runners.stats.estimates import Floats, critical_value

SIGNIFICANCE = 0.05
SMALLEST_BAND = 0.02
LARGEST_EQUIVALENCE = 0.05

AGREEING_WINDOWS = 2
"""Windows that must agree at both rates of a search's outcome. If one were enough, chance would find rates that few windows keep."""
RESOLUTION = 0.025
"""The search ends when the two rates are so close, as a share of the lower one."""
PRECISION_OF_THRESHOLD = 0.25
"""Half-width of a ratio with which a slowdown is mostly decided, as a share of it: 95 % of those by all of it lie beyond half of it."""
_UP, _DOWN = 1.25, 0.75
_SMALLEST = 1 / 256


def holm(p_values: Sequence[float]) -> Floats:
    """Return p-values adjusted for their number, in the order given (Holm, Scandinavian Journal of Statistics 6, 1979).

    NaN (a comparison that could not be tested) stays NaN and does not count as a comparison.
    """
    # Own code: statsmodels is not among the locked packages, and nine lines do not need it.
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, math.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted


def noise_floor(control: Interval) -> float:
    """Return the noise of a run from the ratio of a system to itself: 0.03 is 3 % up, or the same factor down.

    The truth is 1, so the farther end of the control's interval bounds the noise. NaN without an interval.
    """
    far = max(abs(math.log(end)) for end in (control.low, control.high)) if _has_width(control) else math.nan
    return math.expm1(far)


def band(floor: float) -> float:
    """Return the half-width ε of the band 1/(1+ε) … 1+ε: the noise floor, at least 2 %, and 2 % where it is NaN."""
    return float(np.fmax(SMALLEST_BAND, floor))


def bound(first_limited: bool, second_limited: bool) -> Bound:
    """Return how to read a ratio first / second: a side that the load generator limited could serve more."""
    if first_limited and second_limited:
        return "unknown"
    return "at least" if first_limited else "at most" if second_limited else ""


def verdict(ratio: Interval, floor: float, side: Bound = "") -> Verdict:
    """Read the verdict on the first system off the interval of the ratio first / second.

    ``equivalent``
        the whole interval lies within the band, its ends included, and within 5 %: a band that is wider because the
        machine is noisy shows no equality. A sure 1 % is still within the band.
    ``faster``, ``slower``
        the whole interval lies on one side of 1; see :func:`is_clear` for whether it lies beyond the band as well.
    ``undecided``
        the interval holds 1, or has no width because there is one block only (NaN).
    ``not comparable``
        the load generator limited both sides.

    A bound decides one direction only: a ratio that is "at most" what was measured can be ``slower``, one that is
    "at least" can be ``faster``; all else is ``undecided``.
    """
    if side == "unknown":
        return "not comparable"
    near = min(1 + band(floor), 1 + LARGEST_EQUIVALENCE)
    if not side and ratio.low >= 1 / near and ratio.high <= near:
        return "equivalent"
    if ratio.low > 1 and side != "at most":
        return "faster"
    return "slower" if ratio.high < 1 and side != "at least" else "undecided"


def is_clear(ratio: Interval, floor: float) -> bool:
    """Return whether the whole interval lies beyond the band."""
    edge = 1 + band(floor)
    return ratio.low > edge or ratio.high < 1 / edge


def shows_changes(control: Interval, threshold: float) -> bool:
    """Return whether even the `control` lies beyond the border of :func:`regression`, above or below 1.

    The machine then shows changes where there are none.
    """
    border = _border(threshold)
    return control.high < border or control.low > 1 / border


def _border(threshold: float) -> float:
    """Return the ratio that decides: at half of a slowdown, so that both all of it and none at all can be decided."""
    return 1 - threshold / 2


def regression(sides: Iterable[Interval], control: Interval, threshold: float) -> Decision:
    """Return what is decided about a slowdown by `threshold`, from ratios after ÷ before of which more is better.

    The border lies at half of it, so that both a slowdown by the whole threshold and none at all can be decided. One regression is
    enough. Where the `control` :func:`shows_changes`, nothing is decided.
    """
    border, ratios = _border(threshold), list(sides)
    if shows_changes(control, threshold):
        return "undecided"
    if any(ratio.high < border for ratio in ratios):
        return "regression"
    return "no regression" if all(ratio.low > border for ratio in ratios) else "undecided"


def decision_of(decisions: Collection[Decision]) -> Decision:
    """Return the decision over several cells: one regression is enough, and each must be decided for there to be none.

    Where nothing was measured there is none.
    """
    every: tuple[Decision, ...] = ("regression", "undecided", "no regression")
    return next((each for each in every if each in decisions), "no regression")


def precision_reached(ratios: Iterable[Interval]) -> float:
    """Return the largest relative half-width; infinite while a ratio has no interval yet, or there is none."""
    return max((ratio.half_width_ratio if _has_width(ratio) else math.inf for ratio in ratios), default=math.inf)


def blocks_needed(half_width_now: float, blocks_now: int, target: float) -> int | None:
    """Return how many blocks in all would bring a half-width down to the target, if the noise stays as it is.

    A half-width is proportional to t(0.975, n−1) / √n (Kalibera & Jones, ISMM 2013): t falls fast from 3 to 6 blocks.
    None for fewer than two blocks or an enormous width or none.
    """
    if target <= 0:
        raise ValueError(f"the precision to reach must be positive: {target}")
    if blocks_now < 2 or not half_width_now <= _FORETELLABLE:
        return None
    unit = half_width_now / _width_factor(blocks_now)
    # Without the help of t; a bound from above.
    most = max(blocks_now, math.ceil(blocks_now * (half_width_now / target) ** 2))
    candidates = range(blocks_now, most)
    return blocks_now + bisect.bisect_left(candidates, True, key=lambda n: unit * _width_factor(n) <= target)


# Two launches that differ give many systems half-widths of any size, and from these nothing can be foretold.
_FORETELLABLE = 100.0


def _width_factor(blocks: int) -> float:
    return critical_value(2, blocks - 1) / math.sqrt(blocks)


def _has_width(ratio: Interval) -> bool:
    return math.isfinite(ratio.low) and math.isfinite(ratio.high)


@dataclass(frozen=True)
class Bracket:
    """The outcome of windows at several rates.

    Attributes
    ----------
    met_rps : float
        The largest rate that met the objective, below `missed_rps`; NaN where none did.
    missed_rps : float
        The smallest rate that missed it; infinite where none did.
    """

    met_rps: float
    missed_rps: float


def bracket(windows: Iterable[tuple[float, bool]]) -> Bracket:
    """Return the largest rate that met an objective and the smallest that missed it.

    A rate met it if more than half of its windows did.

    Parameters
    ----------
    windows : iterable of (float, bool)
        Rate and whether the objective was met, of each valid window.
    """
    outcomes: dict[float, list[bool]] = {}
    for rate_rps, met in windows:
        outcomes.setdefault(rate_rps, []).append(met)
    kept = {rate: sum(met) > len(met) / 2 for rate, met in outcomes.items()}
    missed = min((rate for rate, met in kept.items() if not met), default=math.inf)
    return Bracket(max((rate for rate, met in kept.items() if met and rate < missed), default=math.nan), missed)


def next_rate(found: Bracket, first_rps: float, most_rps: float, unpaced_rps: float = math.inf) -> float | None:
    """Return the rate to try next; None when the search has ended.

    From the first rate it goes down by 3/4 until one meets the objective, or up by 5/4 until one does not. Then it bisects. It ends when
    both rates of the bracket are within `RESOLUTION`, when the largest allowed rate meets the objective, and when a 256th of the first
    does not.

    Parameters
    ----------
    first_rps : float
        Where the search begins.
    most_rps : float
        No rate is above it.
    unpaced_rps : float
        The smallest rate that the load generator could not pace; none from there on is tried.
    """
    top = min(found.missed_rps, unpaced_rps)
    if math.isnan(found.met_rps):
        rate = min(first_rps, most_rps) if math.isinf(top) else _DOWN * top
        return rate if rate >= _SMALLEST * first_rps else None
    if math.isinf(top):
        return None if found.met_rps >= most_rps else min(_UP * found.met_rps, most_rps)
    return None if top - found.met_rps <= RESOLUTION * found.met_rps else (found.met_rps + top) / 2
