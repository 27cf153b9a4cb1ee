"""The verdict on each published statement, from the cells of our own runs.

A statement says that one cell has more of a metric than another, and a ratio says how many times more. Our ratio is turned so that the
statement is "more than 1". ε is the noise band of :func:`runners.stats.verdicts.band`; all intervals are 95 %.

*Direction* holds when the whole interval lies above 1+ε. It fails when the whole interval lies below 1/(1+ε), the other way round; or,
where 1.5 × or more was published, below 1+ε (at most 1.05): no such difference. An order has one direction per pair: it holds when all
hold, and fails when one fails.

*Size*, of a ratio, is off when the whole interval lies outside published ÷ 1.5 … published × 1.5. Of an interval wider than a factor
of 2 from end to end, and of a lower bound within that range, the size is not known.

*Equality*, of two published within 2 % or called equal, holds when the whole interval lies within a factor of 1.5 (or the factor that
stands for the word). It fails when all of it lies outside.

A statement is reproduced when its direction and size hold, or its equality; orders and words have a direction only. It is not reproduced
here when its direction or equality fails: one machine with other versions cannot say more. It is not testable here without a run, such a
cell, or a number. Anything else is undecided, and so are times at a fixed rate from a load generator that sends in bursts.

The p-value of a statement is that of the nearer of its two hypotheses, holds and fails, doubled since the data choose which. Below 0.05
it says the same as the interval. Of several pairs, "all hold" has the largest of their p-values (intersection-union: Berger,
Technometrics 24, 1982), and "one fails" the smallest times their number. All p-values are
corrected by Holm (:mod:`runners.analyse.claims.review`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import pandas as pd

from runners.analyse.claims.ratios import (
    CellRatio,
    Measured,
    amount,
    cell_ratio,
    is_burst_time,
    is_open_loop_time,
    missing,
)
from runners.analyse.claims.register import Claim, like_column, like_workload, over, published_amounts, published_value
from runners.core.records import Interval
from runners.stats.estimates import UNKNOWN
from runners.stats.verdicts import LARGEST_EQUIVALENCE, SIGNIFICANCE, SMALLEST_BAND

SIZE_FACTOR = 1.5
BURSTS = "measured with bursts: half of a burst's queue is in each time"
RESPONSE_TIMES = "by response times from Poisson arrivals"
WIDEST_SIZE = 2.0

ClaimVerdict = Literal[
    "reproduced",
    "right direction, size off by more than 1.5 ×",
    "not reproduced here",
    "undecided",
    "not testable here",
]
VERDICTS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)
REPRODUCED, SIZE_OFF, NOT_REPRODUCED, UNDECIDED, NOT_TESTABLE = VERDICTS


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason and p-value; `measured` is the ratio or absolute, NaN for orders, `amounts` that of each cell."""

    verdict: ClaimVerdict
    why: str
    measured: Interval = UNKNOWN
    p_value: float = math.nan
    amounts: tuple[float, ...] = ()


@dataclass(frozen=True)
class _Test:
    """One-sided p-values of a statement's two hypotheses."""

    p_holds: float
    p_fails: float

    @property
    def p_value(self) -> float:
        return min(1.0, 2 * min(self.p_holds, self.p_fails))

    @property
    def verdict(self) -> ClaimVerdict:
        if not self.p_value < SIGNIFICANCE:
            return UNDECIDED
        return REPRODUCED if self.p_holds < self.p_fails else NOT_REPRODUCED


def judge(claim: Claim, figures: pd.DataFrame, measured: Mapping[str, Measured]) -> Judgement:
    """Return the verdict on one claim, before Holm's correction; `measured` has the run that decides an experiment's claims."""
    run = measured.get(claim.experiment)
    if run is None:
        why = claim.untestable or f"no run of {claim.experiment} here"
        return Judgement(NOT_TESTABLE, why, amounts=(math.nan,) * len(claim.cells))
    generator = str(next(iter(figures.loc[figures["source"] == claim.source, "generator"]), ""))
    workloads = tuple(like_workload(name, generator, run.cells) for name in claim.workloads)
    like = claim.model_copy(update={"workloads": workloads, "metric": like_column(claim.metric, generator)})
    lacking = [missing(run, like.metric, cell, generator) for cell in like.cells]
    amounts = tuple(
        math.nan if why else amount(run, like.metric, cell).value for why, cell in zip(lacking, like.cells, strict=True)
    )
    if why := claim.untestable or "; ".join(filter(None, lacking)):
        return Judgement(NOT_TESTABLE, why, amounts=amounts)
    found = _judged(claim, like, figures, run)
    if claim.kind != "absolute" and any(is_burst_time(run, like.metric, cell) for cell in like.cells):
        found = replace(found, verdict=UNDECIDED, why=BURSTS, p_value=1.0)
    elif any(is_open_loop_time(run, like.metric, cell) for cell in like.cells):
        found = replace(found, why="; ".join(filter(None, [found.why, RESPONSE_TIMES])))
    pairs = dict(zip(claim.workloads, workloads, strict=True)).items()
    instead = ", ".join(f"{here} for {theirs}" for theirs, here in pairs if here != theirs)
    return replace(found, why="; ".join(filter(None, [found.why, instead])), amounts=amounts)


def _judged(claim: Claim, like: Claim, figures: pd.DataFrame, run: Measured) -> Judgement:
    """Judge a claim by the cells and the column of `like`."""
    published = published_value(claim, figures)
    if claim.kind == "absolute":
        found = amount(run, like.metric, like.cells[0])
        why = f"measured is {found.value / published:.2g} × the published" if published > 0 else ""
        return Judgement(NOT_TESTABLE, why, found)
    if claim.kind == "word":
        ratio = cell_ratio(run, like.metric, like.cells[1], like.cells[0])
        return _equality(ratio, claim.within_ratio) if claim.within_ratio else _more(ratio, published, is_word=True)
    if claim.kind != "ratio":
        return _order(claim, like, figures, run)
    ratio = cell_ratio(run, like.metric, *like.cells)
    if not published > 0:
        return Judgement(NOT_TESTABLE, "no published ratio", ratio.interval)
    if max(published, 1 / published) <= 1 + SMALLEST_BAND:
        return _equality(ratio, SIZE_FACTOR)
    if published > 1:
        return _more(ratio, published)
    return replace(_more(ratio.inverse, 1 / published), measured=ratio.interval)


def _test(ratio: CellRatio, size: float) -> _Test:
    """Test the statement that the ratio is more than 1; `size` is the published one, NaN: no size."""
    if not ratio.is_decidable:
        return _Test(1.0, 1.0)
    # Equals are within the band, but at most 5 % apart (see runners.stats.verdicts).
    equal = min(ratio.edge, 1 + LARGEST_EQUIVALENCE)
    far = size >= SIZE_FACTOR and not any(ratio.bound)
    return _Test(ratio.p_above(ratio.edge), ratio.p_below(equal if far else 1 / ratio.edge))


def _more(ratio: CellRatio, published: float, *, is_word: bool = False) -> Judgement:
    """Judge the statement that the ratio is more than 1, and, unless it is a word, of the published size."""
    test = _test(ratio, published)
    verdict, why = test.verdict, _why_open(ratio)
    if verdict == NOT_REPRODUCED:
        other_way = ratio.interval.high < 1 / ratio.edge
        why = "the other way round" if other_way else "no such difference beyond the noise"
    elif verdict == REPRODUCED:
        verdict, why = (REPRODUCED, "as the words say") if is_word else _size(ratio, published)
    return Judgement(verdict, why, ratio.interval, test.p_value)


def _size(ratio: CellRatio, published: float) -> tuple[ClaimVerdict, str]:
    interval = ratio.interval
    times = f"the ratio is {interval.value / published:.2g} × the published one"
    too_small = interval.high < published / SIZE_FACTOR and not any(ratio.bound)
    if too_small or interval.low > published * SIZE_FACTOR:
        return SIZE_OFF, times
    if any(ratio.bound):
        return UNDECIDED, "right direction; the load was the limit, so the size is a lower bound"
    if interval.high > interval.low * WIDEST_SIZE:
        return UNDECIDED, f"right direction; an interval wider than a factor of {WIDEST_SIZE:g} knows no size"
    return REPRODUCED, times


def _equality(ratio: CellRatio, factor: float) -> Judgement:
    if any(ratio.bound):
        return Judgement(UNDECIDED, _why_open(ratio), ratio.interval, 1.0)
    test = _Test(
        max(ratio.p_above(1 / factor), ratio.p_below(factor)), min(ratio.p_above(factor), ratio.p_below(1 / factor))
    )
    why = {
        REPRODUCED: f"within a factor of {factor:g}",
        NOT_REPRODUCED: f"more than a factor of {factor:g} apart",
        UNDECIDED: _why_open(ratio),
    }[test.verdict]
    return Judgement(test.verdict, why, ratio.interval, test.p_value)


def _order(claim: Claim, like: Claim, figures: pd.DataFrame, run: Measured) -> Judgement:
    theirs = dict(zip(like.cells, published_amounts(claim, figures), strict=True))
    tests = {
        (lower, upper): _test(cell_ratio(run, like.metric, upper, lower), over(theirs[upper], theirs[lower]))
        for lower, upper in like.pairs
    }
    p_fails = min(1.0, len(tests) * min(test.p_fails for test in tests.values()))
    together = _Test(max(test.p_holds for test in tests.values()), p_fails)
    if together.verdict == REPRODUCED:
        return Judgement(REPRODUCED, "every pair is in this order", p_value=together.p_value)
    pairs = [pair for pair, test in tests.items() if test.verdict == together.verdict] or list(tests)
    short = 0 if len(claim.systems) > 1 else 1
    named = ", ".join(f"{lower[short]} < {upper[short]}" for lower, upper in pairs)
    why = f"{'undecided' if together.verdict == UNDECIDED else 'not so'}: {named}"
    return Judgement(together.verdict, why, p_value=together.p_value)


def _why_open(ratio: CellRatio) -> str:
    if any(ratio.bound):
        return "the load was the limit"
    if math.isnan(ratio.interval.low):
        return "the run has no interval for it"
    return "the interval reaches from one decision to the other"
