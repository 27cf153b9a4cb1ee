"""All claims of the register together: which of them count, Holm's correction, and how the published ranks agree with ours.

Restatements (:mod:`runners.analyse.independence`) and absolutes are shown beside ours. They have no verdict and no p-value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pandas as pd
from scipy import stats

from runners.analyse.cell_ratios import Measured, amount, missing
from runners.analyse.claims import Claim, published_amounts, published_value
from runners.analyse.independence import follows_from, standing
from runners.analyse.judgements import generator_of, judge
from runners.analyse.levels import like_column, like_for_like, like_workload
from runners.analyse.verdicts import holm

_RANKED = ("throughput_rps", "p50_s", "p99_s")


def judge_all(claims: Iterable[Claim], figures: pd.DataFrame, measured: Mapping[str, Measured]) -> pd.DataFrame:
    """Return a row per claim: what the register says, published, ours, ours_low, ours_high, p_value, p_adjusted, verdict, why.

    `standing` says whether the claim is a statement, an absolute or a restatement; `follows` names the statements that a restatement
    follows from. Only statements have a verdict and p-values. `published_amounts` and `amounts` are those of each cell; NaN where
    there is none.
    """
    claims = list(claims)
    follows = follows_from(claims)
    rows = []
    for claim in claims:
        found = judge(claim, figures, measured)
        about = claim.model_dump(include={"id", "source", "place", "quote", "kind", "experiment", "metric", "note"})
        about |= {
            "cells": claim.cells,
            "within_ratio": claim.within_ratio,
            "published": published_value(claim, figures),
        }
        about |= {"published_amounts": published_amounts(claim, figures), "amounts": _amounts(claim, figures, measured)}
        about |= {"ours": found.ours.value, "ours_low": found.ours.low, "ours_high": found.ours.high}
        about |= {"standing": standing(claim, follows), "follows": follows.get(claim.id, ()), "judgement": found}
        rows.append(about)
    frame = pd.DataFrame(rows)
    counted = frame["standing"] == "statement"
    frame["p_value"] = frame["judgement"].map(lambda found: found.p_value).where(counted)
    frame["p_adjusted"] = holm(frame["p_value"].to_numpy(float))
    final = [found.adjusted(p) for found, p in zip(frame["judgement"], frame["p_adjusted"], strict=True)]
    frame["verdict"] = [found.verdict if own else "" for found, own in zip(final, counted, strict=True)]
    frame["why"] = [found.why for found in final]
    return frame.drop(columns="judgement")


def rank_agreement(figures: pd.DataFrame, measured: Mapping[str, Measured]) -> pd.DataFrame:
    """Return Kendall's tau-b between the published and the measured ranks of an experiment's cells.

    Returns
    -------
    pandas.DataFrame
        experiment, metric, cells_count, tau, p_value: a row per experiment and metric of which both have two cells or more.
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
                found = stats.kendalltau(*pairs.to_numpy(float).T)
                found_row = {"experiment": experiment, "metric": metric, "cells_count": len(pairs)}
                rows.append(found_row | {"tau": float(found.statistic), "p_value": float(found.pvalue)})
    return pd.DataFrame(rows, columns=["experiment", "metric", "cells_count", "tau", "p_value"])


def _amounts(claim: Claim, figures: pd.DataFrame, measured: Mapping[str, Measured]) -> tuple[float, ...]:
    run = measured.get(claim.experiment)
    if run is None:
        return tuple(math.nan for _ in claim.cells)
    generator = generator_of(claim, figures)
    like = like_for_like(claim, generator, run)
    known = [not missing(run, like.metric, cell, generator) for cell in like.cells]
    return tuple(
        amount(run, like.metric, cell).value if k else math.nan for k, cell in zip(known, like.cells, strict=True)
    )
