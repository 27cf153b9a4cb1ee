"""From ratios to verdicts: the noise floor, Holm's correction, and when enough blocks were measured.

Everything here is decided by the width of intervals and a band around 1, not by significance alone: with enough
blocks any difference becomes significant, also one that nobody could notice (Georges et al., OOPSLA 2007).
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from runners.records import Interval, Verdict

SIGNIFICANCE = 0.05
SMALLEST_BAND = 0.02
LARGEST_EQUIVALENCE = 0.05


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    """p-values adjusted for their number, in the order given (Holm, Scandinavian Journal of Statistics 6, 1979).

    NaN (a comparison that could not be tested) stays NaN and does not count as a comparison.
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, math.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted


def noise_floor(placebo_ratios: Iterable[Interval]) -> float:
    """How far from 1 the ratio of a system to itself came out: 0.03 is 3 % up, or as many times down.

    The truth is 1, so whatever the A/A ratio shows is what this set-up makes of nothing. It is the ratio itself, not the
    farther end of its interval: how far chance could carry a ratio is in the interval of each comparison already, and
    counted twice it would hide differences that are there. Of several ratios it is the one farthest from 1.

    Noise differs between workloads. Give the A/A ratio of one workload for the verdicts of that workload: a noisy one
    then does not hide what a quiet one shows. Give those of all for the one number that describes a run. Without a
    usable A/A ratio (no control, or one block) the floor is unknown: NaN.
    """
    found = [abs(math.log(ratio.value)) for ratio in placebo_ratios if _has_width(ratio)]
    return math.expm1(max(found)) if found else math.nan


def band(floor: float) -> float:
    """Half-width ε of the band 1/(1+ε) … 1+ε within which nobody is ranked: the noise floor, at least 2 %.

    An unknown floor (NaN) leaves the 2 %.
    """
    return float(np.fmax(SMALLEST_BAND, floor))


def verdict(
    ratio: Interval,
    floor: float,
    p_adjusted: float,
    *,
    first_client_bound: bool = False,
    second_client_bound: bool = False,
) -> Verdict:
    """What the throughput ratio first / second says about the first system.

    With ε = :func:`band`, and neither side client-bound:

    ``faster``
        the whole interval lies above 1+ε, and the Holm-adjusted p-value is below 0.05;
    ``slower``
        the whole interval lies below 1/(1+ε), likewise;
    ``equivalent``
        the whole interval lies within the band, its ends included (a 95 % interval is stricter than the 90 % that two
        one-sided tests need: Schuirmann 1987), and within 5 %: on a machine so noisy that the band is wider, nothing
        was found, but that is no equality. Significance plays no part: a sure 1 % is still within the band;
    ``inconclusive``
        anything else: the interval crosses an edge of the band, or lies beyond it without significance after Holm's
        correction, or has no width because there is one block only (NaN).

    The throughput of a client-bound side is what the generator could ask for: a lower bound of what the server can do.
    Such a pair is never ranked:

    ``at least``
        only one side is client-bound, and it would have been the faster one (``faster`` if first, ``slower`` if
        second): the true lead is at least what was measured;
    ``not comparable``
        every other pair with a client-bound side: both are bounds, or the bounded one is behind or level, and nobody
        knows by how much it would lead.
    """
    edge = 1 + band(floor)
    near = min(edge, 1 + LARGEST_EQUIVALENCE)
    unbounded: Verdict = "inconclusive"
    if ratio.low > edge and p_adjusted < SIGNIFICANCE:
        unbounded = "faster"
    elif ratio.high < 1 / edge and p_adjusted < SIGNIFICANCE:
        unbounded = "slower"
    elif ratio.low >= 1 / near and ratio.high <= near:
        unbounded = "equivalent"
    if not (first_client_bound or second_client_bound):
        return unbounded
    leads = (unbounded == "faster", unbounded == "slower")
    return "at least" if leads == (first_client_bound, second_client_bound) else "not comparable"


def precision_reached(ratios: Iterable[Interval]) -> float:
    """The largest relative half-width of the ratios; infinite while one has no interval yet, or there is none."""
    widths = [ratio.half_width_ratio if _has_width(ratio) else math.inf for ratio in ratios]
    return max(widths, default=math.inf)


def blocks_needed(half_width_now: float, blocks_now: int, target: float) -> int | None:
    """How many blocks in all would bring a half-width down to the target, if the noise stays as it is.

    A half-width is proportional to t(0.975, n−1) / √n (Kalibera & Jones, ISMM 2013), with t because it falls fast at
    first: from 3 to 6 blocks it is worth more than the blocks themselves. None when nothing can be said: fewer than two
    blocks, or no finite width.
    """
    if target <= 0:
        raise ValueError(f"the precision to reach must be positive: {target}")
    if blocks_now < 2 or not math.isfinite(half_width_now):
        return None
    unit = half_width_now / _width_factor(blocks_now)
    # Without the help of t; a bound from above.
    most = max(blocks_now, math.ceil(blocks_now * (half_width_now / target) ** 2))
    candidates = range(blocks_now, most)
    return blocks_now + bisect.bisect_left(candidates, True, key=lambda n: unit * _width_factor(n) <= target)


def _width_factor(blocks: int) -> float:
    return float(stats.t.ppf(0.975, blocks - 1)) / math.sqrt(blocks)


def _has_width(ratio: Interval) -> bool:
    return math.isfinite(ratio.low) and math.isfinite(ratio.high)
