"""All claims of the register together: which of them count, Holm's correction, and how the published ranks agree with the measured.

Restatements and absolutes are shown beside the measured values. They have no verdict and no p-value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import pandas as pd

from runners.analyse.claims.judgements import NOT_TESTABLE, UNDECIDED, judge
from runners.analyse.claims.ratios import Measured
from runners.analyse.claims.register import (
    CellName,
    Claim,
    like_column,
    like_workload,
    published_amounts,
    published_value,
)
from runners.analyse.claims.run_selection import SelectedRun
from runners.analyse.fixed_rates import in_bursts
from runners.analyse.results import Results
from runners.core.records import SMOKE_PROFILE
from runners.stats.estimates import as_columns
from runners.stats.verdicts import SIGNIFICANCE, holm


@dataclass(frozen=True)
class ReviewedClaims:
    """The outcome of a review.

    Attributes
    ----------
    claims : pd.DataFrame
        Judged claims of :func:`judge_all`, with run_id and profile of the run that decides, and
        :func:`runners.analyse.claims.flaws.circumstances`.
    rank_agreement : pd.DataFrame
        Agreement of ranks of :func:`ranks_compared`.
    effects, explained : pd.DataFrame
        Effects of flaws, and the claims that they explain, of :mod:`runners.analyse.claims.flaws`.
    selected_runs : Sequence[SelectedRun]
        Selected run of each experiment.
    titles : Mapping[str, str]
        Source → its title.
    run : Results
        Run in which the flaws were measured.
    """

    claims: pd.DataFrame
    rank_agreement: pd.DataFrame
    effects: pd.DataFrame
    explained: pd.DataFrame
    selected_runs: Sequence[SelectedRun]
    titles: Mapping[str, str]
    run: Results

    @property
    def profile(self) -> str:
        """Return ``quick`` where all runs that decide are smoke runs; else the profile of the run with the flaws."""
        used = [each for each in self.selected_runs if each.results]
        return SMOKE_PROFILE if used and all(each.is_smoke for each in used) else self.run.profile


_RANKED = ("throughput_rps", "p50_s", "p99_s")


def judge_all(claims: Iterable[Claim], figures: pd.DataFrame, measured: Mapping[str, Measured]) -> pd.DataFrame:
    """Return a row per claim: what the register says, published, measured, measured_low, measured_high, p_value, p_adjusted, verdict, why.

    `standing` says whether the claim is a statement, an absolute or a restatement; `follows` names the statements that a restatement
    follows from. Only statements have a verdict and p-values. `published_amounts` and `amounts` are those of each cell; NaN where
    there is none.
    """
    claims = list(claims)
    follows = follows_from(claims)
    standings = [standing(claim, follows) for claim in claims]
    judged = [judge(claim, figures, measured) for claim in claims]
    p_values = [found.p_value if own == "statement" else math.nan for found, own in zip(judged, standings, strict=True)]
    rows = []
    for claim, own, found, p, adjusted in zip(claims, standings, judged, p_values, holm(p_values), strict=True):
        sure = found.verdict in (UNDECIDED, NOT_TESTABLE) or adjusted < SIGNIFICANCE
        verdict = found.verdict if sure else UNDECIDED
        why = found.why if sure else f"{found.why}; not sure after Holm's correction (p = {adjusted:.2g})"
        row = claim.model_dump(include={"id", "source", "place", "quote", "kind", "experiment", "metric", "note"})
        row |= {"cells": claim.cells, "within_ratio": claim.within_ratio, "published": published_value(claim, figures)}
        row |= {"published_amounts": published_amounts(claim, figures), "amounts": found.amounts}
        row |= as_columns(found.measured, "measured") | {"standing": own, "follows": follows.get(claim.id, ())}
        row |= {"p_value": p, "p_adjusted": adjusted}
        rows.append(row | {"verdict": verdict if own == "statement" else "", "why": why})
    return pd.DataFrame(rows)


def ranks_compared(figures: pd.DataFrame, measured: Mapping[str, Measured]) -> pd.DataFrame:
    """Return Kendall's tau-b between the published and the measured ranks of an experiment's cells.

    Columns: experiment, metric, cells_count, tau, p_value. A row per experiment and metric of which both have two cells or more.
    """
    from scipy.stats import kendalltau  # its import takes half a second, and only notebook 07 needs it

    rows = []
    for (experiment, generator), theirs in figures.groupby(["experiment", "generator"]):
        if experiment not in measured:
            continue
        cells = measured[experiment].cells
        cells = cells[cells["status"] == "ok"]
        like = theirs.assign(workload=[like_workload(name, generator, cells) for name in theirs["workload"]])
        for metric in (name for name in _RANKED if name in theirs and like_column(name, generator) in cells):
            own = cells[["system", "workload"]].assign(measured=cells[like_column(metric, generator)])
            own = own[~in_bursts(cells)] if metric != "throughput_rps" else own
            pairs = like.merge(own, on=["system", "workload"])[[metric, "measured"]].dropna()
            if len(pairs) >= 2:
                tau, p_value = kendalltau(*pairs.to_numpy(float).T)
                rows.append((experiment, metric, len(pairs), float(tau), float(p_value)))
    return pd.DataFrame(rows, columns=["experiment", "metric", "cells_count", "tau", "p_value"])


# Closed loops only print a mean service time here: it is connections ÷ throughput (Little, Operations Research 9, 1961).
_SAME_FIGURE = {"mean_s": "throughput_rps"}
_Edges = dict[CellName, dict[CellName, str]]


def standing(claim: Claim, follows: Mapping[str, tuple[str, ...]]) -> Literal["statement", "restatement", "absolute"]:
    """Return whether a claim is counted as a statement; `follows` is what :func:`follows_from` returns."""
    if claim.kind == "absolute":
        return "absolute"
    return "restatement" if claim.id in follows else "statement"


def follows_from(claims: Iterable[Claim]) -> dict[str, tuple[str, ...]]:
    """Return the ids of the restatements, each with the ids of the statements that it follows from.

    Ratios come before claims about a direction, then the register's order decides. Untestable claims take no part.
    """
    compared = [claim for claim in claims if claim.kind != "absolute" and not claim.untestable]
    ratios: dict[tuple[str, str], _Edges] = {}
    ordered: dict[tuple[str, str, frozenset[CellName]], tuple[str, ...]] = {}
    found: dict[str, tuple[str, ...]] = {}
    for claim in sorted(compared, key=lambda claim: claim.kind != "ratio"):
        key = (claim.source, _SAME_FIGURE.get(claim.metric, claim.metric))
        edges = ratios.setdefault(key, {})
        known = [_path(edges, *pair) or ordered.get((*key, frozenset(pair)), ()) for pair in claim.pairs]
        if all(known):
            found[claim.id] = tuple(dict.fromkeys(chain(*known)))
            continue
        for lower, upper in claim.pairs:
            ordered.setdefault((*key, frozenset((lower, upper))), (claim.id,))
            if claim.kind == "ratio":
                edges.setdefault(lower, {})[upper] = edges.setdefault(upper, {})[lower] = claim.id
    return found


def _path(edges: _Edges, start: CellName, end: CellName) -> tuple[str, ...]:
    """Return the claims along the shortest path between two cells; empty where there is none."""
    paths: dict[CellName, tuple[str, ...]] = {start: ()}
    reached = [start]
    for cell in reached:  # grows while it is read: breadth first
        for other, name in edges.get(cell, {}).items():
            if other not in paths:
                paths[other] = (*paths[cell], name)
                reached.append(other)
    return paths.get(end, ())
