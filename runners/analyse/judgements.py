"""The verdict on each published statement, from the cells of our own runs.

A statement says that one cell has more of a metric than another, and a ratio says how many times more. Our ratio is turned so that the
statement is "more than 1". ε is the noise band of :func:`runners.analyse.verdicts.band`; all intervals are 95 %.

*direction*
    holds when the whole interval lies above 1+ε. It fails when the whole interval lies below 1/(1+ε), the other way round; or, where
    1.5 × or more was published, below 1+ε (at most 1.05): no such difference. A claim about an order has one direction per pair: it
    holds when all hold, and fails when one fails.
*size*, of a ratio
    is off by more than 1.5 × when the whole interval lies outside published ÷ 1.5 … published × 1.5. Of an interval wider than a
    factor of 2 from end to end, and of a lower bound within that range, the size is not known.
*equality*
    of two published within 2 %, or called equal, holds when the whole interval lies within a factor of 1.5 (or the factor that
    stands for the word), and fails when all of it lies outside.

``reproduced``
    direction and size; a claim about an order, and a word, have a direction only. Or equality.
``right direction, size off by more than 1.5 ×``
    as it says.
``not reproduced here``
    the direction, or the equality, fails. One machine with other versions cannot say more.
``undecided``
    anything else.
``not testable here``
    no run, no such cell, or no number.

The p-value of a statement is that of the nearer of its two hypotheses, holds and fails, doubled since the data choose which. Below 0.05 it
says the same as the interval. Holm's correction over all statements of the register decides: a statement whose adjusted
p-value is not below 0.05 is undecided. Of several pairs, "all hold" has the largest of their p-values (intersection-union: Berger,
Technometrics 24, 1982), and "one fails" the smallest times their number.

:mod:`runners.analyse.register` judges all claims together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import pandas as pd

from runners.analyse.cell_ratios import CellRatio, Measured, amount, cell_ratio, missing
from runners.analyse.claims import CellName, Claim, over, published_amounts, published_value
from runners.analyse.levels import like_for_like
from runners.analyse.verdicts import SIGNIFICANCE, SMALLEST_BAND
from runners.records import Interval

SIZE_FACTOR = 1.5
WIDEST_SIZE = 2.0

Verdict = Literal[
    "reproduced",
    "right direction, size off by more than 1.5 ×",
    "not reproduced here",
    "undecided",
    "not testable here",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
REPRODUCED, SIZE_OFF, NOT_REPRODUCED, UNDECIDED, NOT_TESTABLE = VERDICTS
_NOTHING = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason and p-value; `ours` is the ratio or absolute, NaN for orders."""

    verdict: Verdict
    why: str
    ours: Interval = _NOTHING
    p_value: float = math.nan

    def adjusted(self, p_adjusted: float) -> Judgement:
        """Return what is left of the verdict after Holm's correction."""
        if self.verdict in (UNDECIDED, NOT_TESTABLE) or p_adjusted < SIGNIFICANCE:
            return self
        return replace(
            self, verdict=UNDECIDED, why=f"{self.why}; not sure after Holm's correction (p = {p_adjusted:.2g})"
        )


@dataclass(frozen=True)
class _Direction:
    """One-sided p-values of a direction, and the size that was published; NaN where none was."""

    p_holds: float
    p_fails: float

    @property
    def p_value(self) -> float:
        return min(1.0, 2 * min(self.p_holds, self.p_fails))

    @property
    def outcome(self) -> Literal["holds", "fails", "open"]:
        if not self.p_value < SIGNIFICANCE:
            return "open"
        return "holds" if self.p_holds < self.p_fails else "fails"


def judge(claim: Claim, figures: pd.DataFrame, measured: Mapping[str, Measured]) -> Judgement:
    """Return the verdict on one claim, before Holm's correction.

    Parameters
    ----------
    claim : of the register
    figures : see :func:`runners.analyse.published.figures`
    measured : experiment → the run that decides its claims
    """
    if claim.untestable:
        return Judgement(NOT_TESTABLE, claim.untestable)
    run = measured.get(claim.experiment)
    if run is None:
        return Judgement(NOT_TESTABLE, f"no run of {claim.experiment} here")
    generator = generator_of(claim, figures)
    like = like_for_like(claim, generator, run)
    if reasons := [why for cell in like.cells if (why := missing(run, like.metric, cell, generator))]:
        return Judgement(NOT_TESTABLE, "; ".join(reasons))
    found = _judged(claim, like, figures, run)
    pairs = dict(zip(claim.workloads, like.workloads, strict=True))
    instead = [f"{ours} for {theirs}" for theirs, ours in pairs.items() if ours != theirs]
    return replace(found, why="; ".join(filter(None, [found.why, ", ".join(instead)])))


def generator_of(claim: Claim, figures: pd.DataFrame) -> str:
    """Return the load generator that printed the figures of a claim's source."""
    return str(next(iter(figures.loc[figures["source"] == claim.source, "generator"]), ""))


def _judged(claim: Claim, like: Claim, figures: pd.DataFrame, run: Measured) -> Judgement:
    """Judge a claim by the cells and the column of `like`."""
    published = published_value(claim, figures)
    if claim.kind == "absolute":
        ours = amount(run, like.metric, like.cells[0])
        return Judgement(
            NOT_TESTABLE, f"ours is {ours.value / published:.2g} × the published" if published > 0 else "", ours
        )
    if claim.kind == "ratio":
        ratio = cell_ratio(run, like.metric, *like.cells)
        return (
            _ratio(ratio, published) if published > 0 else Judgement(NOT_TESTABLE, "no published ratio", ratio.interval)
        )
    if claim.kind == "word":
        ratio = cell_ratio(run, like.metric, like.cells[1], like.cells[0])
        return _equality(ratio, claim.within_ratio) if claim.within_ratio else _word(ratio, published)
    return _order(claim, like, figures, run)


def _direction(ratio: CellRatio, size: float) -> _Direction:
    """Test the statement that the ratio is more than 1; `size` is the published one, NaN: no size."""
    if not ratio.is_decidable:
        return _Direction(1.0, 1.0)
    far = size >= SIZE_FACTOR and not any(ratio.bound)
    return _Direction(ratio.p_above(ratio.edge), ratio.p_below(ratio.near if far else 1 / ratio.edge))


def _ratio(ratio: CellRatio, published: float) -> Judgement:
    if max(published, 1 / published) <= 1 + SMALLEST_BAND:
        return _equality(ratio, SIZE_FACTOR)
    turned, size = (ratio, published) if published > 1 else (ratio.inverse, 1 / published)
    direction = _direction(turned, size)
    if direction.outcome != "holds":
        return _not_so(ratio, turned, direction)
    verdict, why = _size(turned, size)
    return Judgement(verdict, why, ratio.interval, direction.p_value)


def _size(ratio: CellRatio, published: float) -> tuple[Verdict, str]:
    interval = ratio.interval
    times = f"the ratio is {interval.value / published:.2g} × the published one"
    too_small = interval.high < published / SIZE_FACTOR and not any(ratio.bound)
    if too_small or interval.low > published * SIZE_FACTOR:
        return SIZE_OFF, times
    if any(ratio.bound):
        return UNDECIDED, "right direction; the load generator was the limit, so the size is a lower bound"
    if interval.high > interval.low * WIDEST_SIZE:
        return UNDECIDED, f"right direction; an interval wider than a factor of {WIDEST_SIZE:g} knows no size"
    return REPRODUCED, times


def _equality(ratio: CellRatio, factor: float) -> Judgement:
    interval = ratio.interval
    if any(ratio.bound):
        return Judgement(UNDECIDED, _why_open(ratio), interval, 1.0)
    direction = _Direction(
        max(ratio.p_above(1 / factor), ratio.p_below(factor)), min(ratio.p_above(factor), ratio.p_below(1 / factor))
    )
    verdict, why = {
        "holds": (REPRODUCED, f"within a factor of {factor:g}"),
        "fails": (NOT_REPRODUCED, f"more than a factor of {factor:g} apart"),
        "open": (UNDECIDED, _why_open(ratio)),
    }[direction.outcome]
    return Judgement(verdict, why, interval, direction.p_value)


def _word(ratio: CellRatio, published: float) -> Judgement:
    direction = _direction(ratio, published)
    if direction.outcome != "holds":
        return _not_so(ratio, ratio, direction)
    return Judgement(REPRODUCED, "as the words say", ratio.interval, direction.p_value)


def _not_so(ratio: CellRatio, turned: CellRatio, direction: _Direction) -> Judgement:
    """Judge a pair whose direction does not hold; `turned` is `ratio` as the claim has it."""
    if direction.outcome == "open":
        return Judgement(UNDECIDED, _why_open(turned), ratio.interval, direction.p_value)
    why = "the other way round" if turned.interval.high < 1 / turned.edge else "no such difference beyond the noise"
    return Judgement(NOT_REPRODUCED, why, ratio.interval, direction.p_value)


def _order(claim: Claim, like: Claim, figures: pd.DataFrame, run: Measured) -> Judgement:
    theirs = dict(zip(like.cells, published_amounts(claim, figures), strict=True))
    found = {
        (lower, upper): _direction(cell_ratio(run, like.metric, upper, lower), over(theirs[upper], theirs[lower]))
        for lower, upper in like.pairs
    }
    together = _Direction(
        max(each.p_holds for each in found.values()),
        min(1.0, len(found) * min(each.p_fails for each in found.values())),
    )
    verdict, why, named = {
        "holds": (REPRODUCED, "every pair is in this order", ""),
        "fails": (NOT_REPRODUCED, "not so: ", "fails"),
        "open": (UNDECIDED, "undecided: ", "open"),
    }[together.outcome]
    pairs = [pair for pair, each in found.items() if each.outcome == named]
    return Judgement(verdict, f"{why}{_named(pairs or list(found) * bool(named), claim)}", p_value=together.p_value)


def _named(pairs: Iterable[tuple[CellName, CellName]], claim: Claim) -> str:
    short = "system" if len(claim.systems) > 1 else "workload"
    return ", ".join(f"{getattr(lower, short)} < {getattr(upper, short)}" for lower, upper in pairs)


def _why_open(ratio: CellRatio) -> str:
    if any(ratio.bound):
        return "the load generator was the limit"
    if math.isnan(ratio.interval.low):
        return "the run has no interval for it"
    return "the interval reaches from one answer to the other"
