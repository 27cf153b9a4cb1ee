"""The largest rate that meets an objective, from windows at several rates: the rule of a search, and its next rate.

A rate meets an objective when one of its windows does: a single window with interference decides nothing, so that a rate fails only in two.
The largest rate is that which met the objective below the smallest one that did not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

TRIES_OF_A_RATE = 2
"""Windows in which a rate must miss an objective before it counts as missed."""
RESOLUTION = 0.025
"""The search ends when the two rates are so close, as a share of the lower one."""
_UP, _DOWN = 1.25, 0.75
_SMALLEST = 1 / 256


@dataclass(frozen=True)
class Bracket:
    """What windows at several rates say.

    Attributes
    ----------
    met_rps : the largest rate that met the objective, below `missed_rps`; NaN where none did
    missed_rps : the smallest rate that missed it; infinite where none did
    """

    met_rps: float
    missed_rps: float


def bracket(windows: Iterable[tuple[float, bool]]) -> Bracket:
    """Return the largest rate that met an objective and the smallest that missed it.

    Parameters
    ----------
    windows : iterable of (float, bool)
        Rate and whether the objective was met, of each valid window.
    """
    outcomes: dict[float, bool] = {}
    for rate_rps, met in windows:
        outcomes[rate_rps] = outcomes.get(rate_rps, False) or met
    missed = min((rate for rate, met in outcomes.items() if not met), default=math.inf)
    return Bracket(max((rate for rate, met in outcomes.items() if met and rate < missed), default=math.nan), missed)


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
