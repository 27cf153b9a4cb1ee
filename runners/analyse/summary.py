"""``data/processed``: what is made from the ledger, and can be made again at any time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from runners.analyse.cells import workload_columns
from runners.analyse.pooled import Session, ratio_over
from runners.analyse.results import Results
from runners.analyse.run_comparison import BeforeAfter
from runners.core.project import PROCESSED
from runners.core.records import COMPARISON_SCHEMA, PERCENTILES, SUMMARY_SCHEMA, Workload, percentile_column
from runners.core.summaries import ComparisonSummary, PairSummary, Quantity, RunSummary
from runners.stats.estimates import interval_in
from runners.store.runs import comparison_folder, processed_folder

TABLES = ("trials", "latency", "usage", "checks")
"""Names of the :class:`runners.analyse.tables.Tables` that are written as Parquet."""
# The label of a workload says as much as its columns, and the warnings as much as the remarks.
_NOT_IN_SUMMARY = workload_columns(Workload("")).keys() - {"workload"} | {"remarks", "planned_workload", "shade"}
_DIGITS = 9  # far more than any number is known to, and half of what a float is written with
_PAIR = ("workload", "system_a", "system_b")
_INTERVALS = [("throughput", "_rps"), ("cpu_per_request", "_s")]
_INTERVALS += [(percentile_column(percentile).removesuffix("_s"), "_s") for percentile in PERCENTILES]


def write_processed(
    results: Results,
    conclusions: Sequence[str],
    headline: str,
    base: Path = PROCESSED,
    own: Mapping[str, Any] | None = None,
) -> Path:
    """Write ``trials``, ``latency``, ``usage`` and ``checks`` as Parquet and ``summary.json``; returns their folder.

    `own`: what an experiment's summary holds besides.
    """
    folder = processed_folder(results.run, base)
    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        partial = folder / f".{name}.partial"
        getattr(results.tables, name).to_parquet(partial, index=False, compression="zstd")
        partial.rename(folder / f"{name}.parquet")
    _write_summary(folder, {**summary(results, conclusions, headline), **(own or {})})
    return folder


def write_comparison(found: BeforeAfter, conclusions: Sequence[str], headline: str, base: Path = PROCESSED) -> Path:
    """Write ``summary.json`` of two compared runs; returns its folder."""
    folder = comparison_folder(found.a.run, found.b.run, base)
    folder.mkdir(parents=True, exist_ok=True)
    _write_summary(folder, comparison_summary(found, conclusions, headline))
    return folder


def _write_summary(folder: Path, content: Mapping[str, Any]) -> None:
    partial = folder / ".summary.partial"
    partial.write_text(
        json.dumps(_plain(dict(content)), allow_nan=False, separators=(",", ":")) + "\n", encoding="utf-8"
    )
    partial.rename(folder / "summary.json")


def summary(results: Results, conclusions: Sequence[str], headline: str) -> RunSummary:
    """Return the content of ``summary.json``. Quantities with an interval are ``{value, low, high}``; missing values are null."""
    finished = results.trials["started_at"].max() if len(results.trials) else None
    return {
        "schema": SUMMARY_SCHEMA,
        "experiment": results.run.experiment,
        "run_id": results.run.run_id,
        "profile": results.profile,
        "parameters": results.parameters,
        "machine": results.machine,
        "versions": results.manifest.versions,
        "started_at": results.manifest.started_at,
        "finished_at": finished,
        "blocks_count": results.blocks_count,
        "measured_s": results.measured_s,
        "precision_reached_ratio": results.precision_reached_ratio,
        "cells": [_cell(row) for _, row in results.cells.iterrows()],
        "comparisons": [_comparison(row) for _, row in results.comparisons.iterrows()],
        "sessions": [_session(each, results) for each in results.sessions],
        "shares": results.shares.to_dict("records"),
        "noise_floor": results.noise_floor_ratio,
        "checks": _checks(results.checks),
        "headline": headline,
        "conclusions": list(conclusions),
    }


def comparison_summary(found: BeforeAfter, conclusions: Sequence[str], headline: str) -> ComparisonSummary:
    """Return the content of a comparison's ``summary.json``; as :func:`summary`, with ratios of B to A."""
    a, b = found.a, found.b
    return {
        "schema": COMPARISON_SCHEMA,
        "experiment": a.run.experiment,
        "run_a": a.run.run_id,
        "run_b": b.run.run_id,
        "profile_a": a.profile,
        "profile_b": b.profile,
        "started_at_a": a.manifest.started_at,
        "started_at_b": b.manifest.started_at,
        "machine_a": a.machine,
        "machine_b": b.machine,
        "differences": [vars(difference) for difference in found.differences],
        "cells": [_compared_cell(row) for row in found.cells.to_dict("records")],
        "unmatched": found.unmatched,
        "common_factor": vars(found.common),
        "noise_floor": found.noise_floor_ratio,
        "headline": headline,
        "conclusions": list(conclusions),
    }


def _compared_cell(row: dict[str, Any]) -> dict[str, Any]:
    estimates = {f"throughput_{side}_rps": vars(interval_in(row, side, "_rps")) for side in "ab"}
    estimates |= {name: vars(interval_in(row, name)) for name in ("ratio", "p99_ratio", "cpu_ratio")}
    about = ("system", "server", "codec", "variant", "workload", "unchanged", "bottleneck", "bound", "verdict")
    return {name: row[name] for name in about} | estimates


def _cell(row: pd.Series) -> dict[str, Any]:
    shown = [str(name) for name in row.index if name not in _NOT_IN_SUMMARY]
    found = {name: row[name] for name in shown if "_low" not in name and "_high" not in name}
    for stem, unit in _INTERVALS:
        if (name := f"{stem}{unit}") in found:
            found[name] = vars(interval_in(row, stem, unit))
    return found


def _checks(checks: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each check: the count of its trials, and each cell in which it failed with its last finding there."""
    found = []
    for name, rows in checks.groupby("name", sort=False):
        failed = rows[~rows["ok"].astype(bool)]
        cells = [
            {"system": system, "workload": workload, "failed_count": len(own)}
            | {column: own.iloc[-1][column] for column in ("void", "block", "detail", "advice")}
            for (system, workload), own in failed.groupby(["system", "workload"], sort=False)
        ]
        found.append({"name": name, "trials_count": len(rows), "failed_count": len(failed), "failed": cells})
    return found


def _session(session: Session, results: Results) -> dict[str, Any]:
    """Return a session with its own ratios to the leaders that are compared over all of them."""
    rows = results.comparisons[results.comparisons["family"] == "leader"].to_dict("records")
    ratios = []
    for row in rows:
        a, b = ((row[side], row["workload"]) for side in ("system_a", "system_b"))
        found = ratio_over([session], a, b)
        pair = {name: row[name] for name in _PAIR} | {"blocks_count": found.blocks_count}
        ratios.append(pair | {"ratio": vars(found.own)})
    return {"run_id": session.run_id, "started_at": session.started_at, "ratios": ratios}


def _comparison(row: pd.Series) -> PairSummary:
    return {
        "workload": row["workload"],
        "system_a": row["system_a"],
        "system_b": row["system_b"],
        "ratio": _quantity(row, "ratio"),
        "own_ratio": _quantity(row, "own_ratio"),
        "mean_ratio": _quantity(row, "mean_ratio"),
        "between_ratio": row["between_ratio"],
        "sessions_count": row["sessions_count"],
        "blocks_count": row["blocks_count"],
        "own_blocks_count": row["own_blocks_count"],
        "family": row["family"],
        "bound": row["bound"],
        "verdict": row["verdict"],
    }


def _quantity(row: pd.Series, name: str) -> Quantity:
    found = interval_in(row, name)
    return {"value": found.value, "low": found.low, "high": found.high}


def _plain(value: object) -> object:
    """Return plain JSON values: numpy's scalars as Python's, numbers to nine digits, NaN and infinity as null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is pd.NaT or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
