"""Levels of load: the response times and the CPU time of each system at rates that were planned as shares of a capacity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from runners.analyse.cells import workload_columns
from runners.core.records import CONTROL, PERCENTILES, WINDOW, LoadProfile, percentile_column
from runners.core.run_manifest import PlannedLoad, RunManifest
from runners.core.thresholds import LEAST_OFFERED

OWN, SLOWEST = "own", "slowest"
HALF = 0.5
"""The share of the slowest system's capacity at which CPU times are compared."""

_ENDS = ("", "_low", "_high")
_TIMES = [percentile_column(each).replace("_s", f"{end}_s") for each in PERCENTILES for end in _ENDS]
_COST = [f"cpu_per_request{end}_s" for end in _ENDS] + ["cpu_user_per_request_s", "cpu_system_per_request_s"]
_FROM_CELLS = ["base_workload", "system", "workload", "status", "launches_count", "offered_rps", *_TIMES, *_COST]
_COLUMNS = [*_FROM_CELLS, "share", "share_of", "own_share", "achieved_fraction", "saturated"]


def base_titles(manifest: RunManifest) -> dict[str, str]:
    """Return the label of each workload without its load → its title: ``decode, 10 operations``."""
    bare = (replace(workload, shape=LoadProfile()) for workload in manifest.workloads.values())
    return {workload.label: str(workload_columns(workload)["workload_title"]) for workload in bare}


def build_levels(manifest: RunManifest, cells: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each planned load and system, by rate; twice where a rate is a share of both capacities.

    Columns
    -------
    base_workload, system, workload, status, launches_count; offered_rps; p50_s … p99_99_s with _low_ and _high_ (response
    times; NaN where saturated); cpu_per_request_s with its interval, and its user and kernel part; share of a capacity and
    share_of (``slowest``, ``own``, or empty where rates were given); own_share (of the system's own capacity, as the pilot
    window saw it); achieved_fraction of the arrivals, and saturated: it is below `LEAST_OFFERED`, so these are not the
    response times of that rate.
    """
    loads = manifest.rates.loads if manifest.rates else []
    capacities = manifest.rates.capacities if manifest.rates else {}
    achieved = _achieved(trials)
    rows = []
    for cell in cells.to_dict("records"):
        system, base = cell["system"], cell["base_workload"]
        pilot_rps = capacities.get(base, {}).get(system, math.nan)
        share = achieved.get((system, cell["workload"]), math.nan)
        for load in loads:
            if _is_of(load, cell, str(manifest.control_of)):
                rate = load.shape.rate_rps or math.nan
                about = {
                    "offered_rps": rate,
                    "share": load.share,
                    "share_of": load.share_of,
                    "own_share": rate / pilot_rps,
                }
                rows.append(cell | about | {"achieved_fraction": share, "saturated": share < LEAST_OFFERED})
    frame = pd.DataFrame(rows).reindex(columns=_COLUMNS)
    saturated = frame["saturated"] = frame["saturated"].astype("boolean").fillna(False).astype(bool)
    frame.loc[saturated, _TIMES] = math.nan
    return frame.sort_values("offered_rps", kind="stable", ignore_index=True)


def _achieved(trials: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return (system, workload) → completed share of the arrivals; void trials count only where a cell has no others."""
    windows = trials[trials["kind"] == WINDOW]
    if "achieved_fraction" not in windows:
        return {}
    sound = windows[~windows["void"].astype(bool)]
    found, known = (
        rows.groupby(["system", "workload"])["achieved_fraction"].mean().to_dict() for rows in (windows, sound)
    )
    merged: dict[tuple[str, str], float] = found | known
    return merged


def _is_of(load: PlannedLoad, cell: Mapping[str, Any], baseline: str) -> bool:
    """Return whether a cell was measured for a planned load; the control is where the system that it repeats is."""
    systems = load.systems
    names = {cell["system"]} | ({baseline} if cell["system"] == CONTROL else set())
    at_load = load.workload == cell["base_workload"] and load.shape.name == cell["shape"]
    return at_load and (systems is None or bool(names & set(systems)))


def equal_rates(levels: pd.DataFrame) -> pd.DataFrame:
    """Return the levels at which all systems of a workload have the same rate."""
    return levels[levels["share_of"] != OWN]


def own_rates(levels: pd.DataFrame) -> pd.DataFrame:
    """Return each system's levels at shares of its own capacity; of the slowest, and where rates were given, these are the equal ones."""
    own = levels[levels["share_of"] == OWN]
    has_own = pd.MultiIndex.from_frame(own[["base_workload", "system"]])
    others = levels[~pd.MultiIndex.from_frame(levels[["base_workload", "system"]]).isin(has_own)]
    return pd.concat([own, others]).sort_values("offered_rps", kind="stable", ignore_index=True)


def half_load(levels: pd.DataFrame) -> pd.DataFrame:
    """Return the level of each workload that is nearest to half of the slowest system's capacity, one row a system."""
    equal = equal_rates(levels)
    parts = []
    for _, rows in equal.groupby("base_workload", sort=False):
        # Of the slowest, the equal rate is the largest share of its own capacity.
        share = rows["share"].astype(float).fillna(rows["own_share"].groupby(rows["offered_rps"]).transform("max"))
        away = (share.fillna(HALF) - HALF).abs()
        parts.append(rows[rows["offered_rps"] == rows.loc[away.idxmin(), "offered_rps"]])
    return pd.concat(parts, ignore_index=True) if parts else equal
