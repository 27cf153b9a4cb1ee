"""All claims of the register together: which of them count, Holm's correction, and how the published ranks agree with ours.

Restatements (:mod:`runners.analyse.independence`) and absolutes are shown beside ours. They have no verdict and no p-value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pandas as pd
from scipy import stats

from runners.analyse.cell_ratios import Measured
from runners.analyse.claims import Claim, like_column, like_workload, published_amounts, published_value
from runners.analyse.estimates import as_columns
from runners.analyse.independence import follows_from, standing
from runners.analyse.judgements import NOT_TESTABLE, UNDECIDED, judge
from runners.analyse.verdicts import SIGNIFICANCE, holm

_RANKED = ("throughput_rps", "p50_s", "p99_s")


def judge_all(claims: Iterable[Claim], figures: pd.DataFrame, measured: Mapping[str, Measured]) -> pd.DataFrame:
    """Return a row per claim: what the register says, published, ours, ours_low, ours_high, p_value, p_adjusted, verdict, why.

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
        row |= as_columns(found.ours, "ours") | {"standing": own, "follows": follows.get(claim.id, ())}
        row |= {"p_value": p, "p_adjusted": adjusted}
        rows.append(row | {"verdict": verdict if own == "statement" else "", "why": why})
    return pd.DataFrame(rows)


def rank_agreement(figures: pd.DataFrame, measured: Mapping[str, Measured]) -> pd.DataFrame:
    """Return Kendall's tau-b between the published and the measured ranks of an experiment's cells.

    Columns: experiment, metric, cells_count, tau, p_value. A row per experiment and metric of which both have two cells or more.
    """
    rows = []
    for (experiment, generator), theirs in figures.groupby(["experiment", "generator"]):
        if experiment not in measured:
            continue
        cells = measured[experiment].cells
        cells = cells[cells["status"] == "ok"]
        known = set(cells["workload"])
        like = theirs.assign(workload=[like_workload(name, generator, known) for name in theirs["workload"]])
        for metric in (name for name in _RANKED if name in theirs and like_column(name, generator) in cells):
            ours = cells[["system", "workload"]].assign(ours=cells[like_column(metric, generator)])
            pairs = like.merge(ours, on=["system", "workload"])[[metric, "ours"]].dropna()
            if len(pairs) >= 2:
                tau, p_value = stats.kendalltau(*pairs.to_numpy(float).T)
                rows.append((experiment, metric, len(pairs), float(tau), float(p_value)))
    return pd.DataFrame(rows, columns=["experiment", "metric", "cells_count", "tau", "p_value"])
