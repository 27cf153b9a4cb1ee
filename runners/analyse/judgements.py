"""The verdict on each published claim, from the cells and comparisons of our own runs.

A claim says that one cell has more of a metric than another, and often how many times more. With our ratio turned so that
the claim is "more than 1", the noise band ε of :func:`runners.analyse.verdicts.band`, and the 95 % interval of the ratio:

*direction*
    holds when the whole interval lies above 1+ε; fails when all of it lies below 1+ε (or 1.05, where the band is wider):
    the two are equal, or it is the other way round; is open otherwise.
*size*
    agrees when the published ratio lies within our interval, or our whole interval within ±10 % of it (up or down by a
    factor of 1.1). An interval wider than a factor of 1.5 from end to end knows no size.

``reproduced``
    direction and size; for an order, the direction of every adjacent pair; for a word, that the whole interval is in the
    range that the word stands for.
``direction only``
    the direction, but not the size, or only a lower bound of it as the better side is client-bound.
``refuted``
    the direction fails; for an order, that of any pair; for two published as equal (within the band), that the whole interval
    is outside the band on one side, and the size does not agree.
``inconclusive``
    the direction is open, or a cell is client-bound in a way that may have made it.
``not testable``
    no run, no such cell or number, or an absolute: those of another machine are shown beside ours and never judged.

Intervals are of 95 % each: among a hundred claims some verdicts are owed to chance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd
from scipy import stats

from runners.analyse.cell_ratios import CellRatio, Measured, amount, cell_ratio, missing
from runners.analyse.claims import CellName, Claim, published_amounts, published_value
from runners.analyse.levels import at_nearest_levels, nearest_workload
from runners.records import Interval

SIZE_TOLERANCE = 0.10
WIDEST_SIZE = 1.5

Verdict = Literal["reproduced", "direction only", "refuted", "inconclusive", "not testable"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "direction only", "refuted", "inconclusive", "not testable")
_Direction = Literal["holds", "fails", "open"]
_NOTHING = Interval(math.nan, math.nan, math.nan)
_RANKED = ("throughput_rps", "p50_s", "p99_s")


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason; `ours` is the ratio or absolute that was judged, NaN for orders."""

    verdict: Verdict
    why: str
    ours: Interval = _NOTHING


def judge(claim: Claim, figures: pd.DataFrame, measured: Mapping[str, Measured]) -> Judgement:
    """The verdict on one claim.

    Parameters
    ----------
    claim : of the register
    figures : see :func:`runners.analyse.published.figures`
    measured : experiment → the run that decides its claims
    """
    if claim.untestable:
        return Judgement("not testable", claim.untestable)
    run = measured.get(claim.experiment)
    if run is None:
        return Judgement("not testable", f"no run of {claim.experiment} here")
    asked, claim = claim, at_nearest_levels(claim, run)
    found = _judged(claim, published_value(asked, figures), run)
    pairs = dict(zip(asked.workloads, claim.workloads, strict=True))
    instead = [f"{ours} in the place of {theirs}" for theirs, ours in pairs.items() if ours != theirs]
    return replace(found, why=f"{found.why}; {', '.join(instead)}") if instead else found


def _judged(claim: Claim, published: float, run: Measured) -> Judgement:
    if reasons := [why for cell in claim.cells if (why := missing(run, claim.metric, cell))]:
        return Judgement("not testable", "; ".join(reasons))
    if claim.kind == "absolute":
        ours = amount(run, claim.metric, claim.cells[0])
        times = f": ours is {ours.value / published:.2g} × it" if published > 0 else ""
        return Judgement("not testable", f"published on another machine{times}", ours)
    if claim.kind == "order":
        return _order(claim, run)
    if claim.kind == "word":
        return _word(claim, cell_ratio(run, claim.metric, claim.cells[1], claim.cells[0]))
    ratio = cell_ratio(run, claim.metric, *claim.cells)
    return (
        _ratio(ratio, published) if published > 0 else Judgement("not testable", "no published ratio", ratio.interval)
    )


def judge_all(claims: Iterable[Claim], figures: pd.DataFrame, measured: Mapping[str, Measured]) -> pd.DataFrame:
    """A row per claim: what the register says of it, published, ours, ours_low, ours_high, verdict, why.

    Of each of its cells also `published_amounts` and our `amounts`; NaN where there is none.
    """
    rows = []
    for claim in claims:
        found = judge(claim, figures, measured)
        ours = {"ours": found.ours.value, "ours_low": found.ours.low, "ours_high": found.ours.high}
        about = claim.model_dump(include={"id", "source", "place", "quote", "kind", "experiment", "metric", "note"})
        about |= {"cells": claim.cells, "published": published_value(claim, figures)}
        about |= {
            "at_least_ratio": claim.at_least_ratio,
            "at_most_ratio": claim.at_most_ratio,
            "within_ratio": claim.within_ratio,
        }
        about |= {"published_amounts": published_amounts(claim, figures), "amounts": _amounts(claim, measured)}
        rows.append(about | ours | {"verdict": found.verdict, "why": found.why})
    return pd.DataFrame(rows)


def _amounts(claim: Claim, measured: Mapping[str, Measured]) -> tuple[float, ...]:
    run = measured.get(claim.experiment)
    if run is None:
        return tuple(math.nan for _ in claim.cells)
    cells = at_nearest_levels(claim, run).cells
    known = [not missing(run, claim.metric, cell) for cell in cells]
    return tuple(amount(run, claim.metric, cell).value if k else math.nan for k, cell in zip(known, cells, strict=True))


def rank_agreement(figures: pd.DataFrame, measured: Mapping[str, Measured]) -> pd.DataFrame:
    """Kendall's tau-b between the published and the measured ranks of an experiment's cells.

    Returns
    -------
    pandas.DataFrame
        experiment, metric, cells_count, tau, p_value: a row per experiment and metric of which both have two cells or more.
    """
    rows = []
    for experiment, run in measured.items():
        cells = run.cells[run.cells["status"] == "ok"]
        theirs = figures[figures["experiment"] == experiment]
        nearest = theirs["workload"].map(lambda name, known=set(cells["workload"]): nearest_workload(name, known))
        both = theirs.assign(workload=nearest).merge(cells, on=["system", "workload"], suffixes=("_published", ""))
        for metric in (name for name in _RANKED if f"{name}_published" in both):
            pairs = both[[f"{metric}_published", metric]].dropna()
            if len(pairs) >= 2:
                found = stats.kendalltau(*pairs.to_numpy(float).T)
                found_row = {"experiment": experiment, "metric": metric, "cells_count": len(pairs)}
                rows.append(found_row | {"tau": float(found.statistic), "p_value": float(found.pvalue)})
    return pd.DataFrame(rows, columns=["experiment", "metric", "cells_count", "tau", "p_value"])


def _direction(ratio: CellRatio) -> _Direction:
    """Of the statement that the ratio is more than 1."""
    interval = ratio.interval
    if interval.low > ratio.edge and (not any(ratio.bound) or ratio.is_lower_bound):
        return "holds"
    return "fails" if interval.high <= ratio.near and not any(ratio.bound) else "open"


def _same_size(interval: Interval, published: float) -> bool:
    if not interval.high <= interval.low * WIDEST_SIZE:
        return False
    factor = 1 + SIZE_TOLERANCE
    near = published / factor <= interval.low and interval.high <= published * factor
    return near or interval.low <= published <= interval.high


def _ratio(ratio: CellRatio, published: float) -> Judgement:
    if 1 / ratio.edge <= published <= ratio.edge:
        return _equal(ratio, published)
    turned, size = (ratio, published) if published > 1 else (ratio.inverse, 1 / published)
    direction = _direction(turned)
    if direction == "open":
        return Judgement("inconclusive", _why_open(turned), ratio.interval)
    if direction == "fails":
        other = "the other way round" if turned.interval.high < 1 / turned.edge else "no difference beyond the noise"
        return Judgement("refuted", other, ratio.interval)
    if any(turned.bound):
        return Judgement(
            "direction only", "the load generator was the limit: the size is a lower bound", ratio.interval
        )
    if _same_size(turned.interval, size):
        return Judgement("reproduced", "direction and size", ratio.interval)
    return Judgement(
        "direction only", f"ours is {ratio.interval.value / published:.2g} × the published ratio", ratio.interval
    )


def _equal(ratio: CellRatio, published: float) -> Judgement:
    interval = ratio.interval
    if any(ratio.bound):
        return Judgement("inconclusive", _why_open(ratio), interval)
    if _same_size(interval, published):
        return Judgement("reproduced", "published as equal within the noise, and so are ours", interval)
    if interval.low > ratio.edge or interval.high < 1 / ratio.edge:
        return Judgement("refuted", "published as equal within the noise, ours are not", interval)
    return Judgement("inconclusive", _why_open(ratio), interval)


def _order(claim: Claim, run: Measured) -> Judgement:
    def direction(lower: CellName, upper: CellName) -> _Direction:
        return _direction(cell_ratio(run, claim.metric, upper, lower))

    pairs = list(itertools.combinations(claim.cells, 2))
    if wrong := [pair for pair in pairs if direction(*pair) == "fails"]:
        return Judgement("refuted", f"not so: {_named(wrong, claim)}")
    if unknown := [pair for pair in itertools.pairwise(claim.cells) if direction(*pair) == "open"]:
        return Judgement("inconclusive", f"undecided: {_named(unknown, claim)}")
    return Judgement("reproduced", "every pair is in this order")


def _named(pairs: Iterable[tuple[CellName, CellName]], claim: Claim) -> str:
    short = "system" if len(claim.systems) > 1 else "workload"
    return ", ".join(f"{getattr(lower, short)} < {getattr(upper, short)}" for lower, upper in pairs)


def _word(claim: Claim, ratio: CellRatio) -> Judgement:
    interval = ratio.interval
    if claim.within_ratio is not None:
        return _within(ratio, claim.within_ratio)
    direction = _direction(ratio)
    if direction == "open":
        return Judgement("inconclusive", _why_open(ratio), interval)
    if direction == "fails":
        return Judgement("refuted", "no difference beyond the noise, or the other way round", interval)
    least, most = claim.at_least_ratio or 1.0, claim.at_most_ratio or math.inf
    # Of a lower bound no one knows that it is small enough.
    highest = math.inf if any(ratio.bound) and claim.at_most_ratio else interval.high
    if interval.low >= least and highest <= most:
        return Judgement("reproduced", "as the words say", interval)
    size = f"at least {least:g}" if most == math.inf else f"at most {most:g}"
    return Judgement("direction only", f"not surely {size} times", interval)


def _within(ratio: CellRatio, factor: float) -> Judgement:
    interval = ratio.interval
    if not any(ratio.bound):
        if interval.low >= 1 / factor and interval.high <= factor:
            return Judgement("reproduced", f"within a factor of {factor:g}", interval)
        if interval.low > factor or interval.high < 1 / factor:
            return Judgement("refuted", f"more than a factor of {factor:g} apart", interval)
    return Judgement("inconclusive", _why_open(ratio), interval)


def _why_open(ratio: CellRatio) -> str:
    if any(ratio.bound):
        return "the load generator was the limit"
    if math.isnan(ratio.interval.low):
        return "one launch gives no interval"
    return "the interval reaches from one answer to the other"
