"""Response times at fixed rates: what one system adds to another at the same rate, and levels of load.

Levels of load are shares of a capacity, with the response times and the CPU time of each system. Intervals are over blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from runners.analyse.cells import workload_title
from runners.analyse.tables import Tables
from runners.core.histogram import Histogram
from runners.core.load import LEAST_OFFERED
from runners.core.records import CONTROL, PERCENTILES, Interval, LoadProfile, Row, Workload, percentile_column
from runners.core.run_manifest import PlannedLoad, PlannedRates, RunManifest
from runners.generators.perf_gauge import PerfGauge
from runners.stats import histograms
from runners.stats.estimates import (
    HALF_A_MICROSECOND,
    UNKNOWN,
    Floats,
    interval_columns,
    mean_interval,
)

STATISTICS = (*map(percentile_column, PERCENTILES), "tm99_s")
ADDED_COLUMNS = ["workload", "system", "statistic", *interval_columns("added", "_s")]

IN_BURSTS = frozenset({PerfGauge.name})
"""Load generators whose clients tick together: half of a burst's queue is in the p50, so no system is ranked by it."""

OWN, SLOWEST = "own", "slowest"
HALF = 0.5
"""The share of the slowest system's capacity at which CPU times are compared."""

_TIMES = [name for each in PERCENTILES for name in interval_columns(percentile_column(each).removesuffix("_s"), "_s")]
_COST = [*interval_columns("cpu_per_request", "_s"), "cpu_user_per_request_s", "cpu_system_per_request_s"]
_FROM_CELLS = [
    "base_workload",
    "system",
    "workload",
    "status",
    "launches_count",
    "sessions_count",
    "offered_rps",
    *_TIMES,
    *_COST,
]
_COLUMNS = [*_FROM_CELLS, "share", "share_of", "own_share", "achieved_fraction", "saturated"]


def in_bursts(cells: pd.DataFrame) -> pd.Series:
    """Return for each cell whether it was measured with requests in bursts."""
    if "generator" not in cells:
        return pd.Series(data=False, index=cells.index)
    return cells["generator"].isin(IN_BURSTS)


@dataclass(frozen=True)
class Latencies:
    """The times of cells: (system, workload) → block → histogram; response times where the load generator knows them."""

    cells: dict[tuple[str, str], dict[int, Histogram]]

    def difference(self, workload: str, first: str, second: str, systems_count: int = 2) -> dict[str, Interval]:
        """Return statistic → first − second in seconds, with its 95 % interval over the blocks that have both.

        The value is that of all these blocks' samples together; the interval is as wide as that of the blocks' own
        differences, and holds for all pairs of `systems_count` systems together. All NaN where a percentile has fewer
        than 10 samples beyond it on either side.
        """
        sides = [self.cells[name, workload] for name in (first, second)]
        blocks = sorted(sides[0].keys() & sides[1].keys())
        if not blocks:
            return dict.fromkeys(STATISTICS, UNKNOWN)
        merged = [histograms.merge(side[block] for block in blocks) for side in sides]
        value = _values(merged[0]) - _values(merged[1])
        apart = np.array([_values(sides[0][block]) - _values(sides[1][block]) for block in blocks])
        found = {}
        for name, together, each in zip(STATISTICS, value.tolist(), apart.T, strict=True):
            own = mean_interval(each, systems_count)
            found[name] = Interval(*(together + end - own.value for end in (own.value, own.low, own.high)))
        for percentile in PERCENTILES:
            if not all(histograms.estimable(side.total_count, percentile) for side in merged):
                found[percentile_column(percentile)] = UNKNOWN
        return found


def latencies_of(tables: Tables, cells: pd.DataFrame) -> Latencies:
    """Return the times of all `cells` with a number."""
    names = cells.loc[cells["status"] == "ok", ["system", "workload"]].itertuples(index=False, name=None)
    return Latencies({name: tables.launches.get(name, {}) for name in names})


def added_latencies(latencies: Latencies, workloads: Iterable[str], direct: str) -> pd.DataFrame:
    """Return the time that each system adds to direct access, in seconds; columns `ADDED_COLUMNS`."""
    rows = []
    for workload in workloads:
        systems = [system for (system, of), blocks in latencies.cells.items() if of == workload and blocks]
        for system in systems:
            if system != direct and direct in systems:
                found = latencies.difference(workload, system, direct)
                rows += [(workload, system, name, each.value, each.low, each.high) for name, each in found.items()]
    return pd.DataFrame(rows, columns=ADDED_COLUMNS)


def _values(histogram: Histogram) -> Floats:
    """Return `STATISTICS` of one histogram in seconds; half a microsecond, the resolution, stands for 0."""
    values, counts = histogram.arrays
    found = [*histograms.percentiles(values, counts, PERCENTILES), histograms.trimmed_mean(values, counts)]
    return np.maximum(np.array(found, dtype=np.float64), HALF_A_MICROSECOND) * 1e-6


def base_titles(manifest: RunManifest) -> dict[str, str]:
    """Return the label of each workload without its load → its title: ``decode, 10 operations``."""
    bare = (replace(workload, shape=LoadProfile()) for workload in manifest.workloads.values())
    return {workload.label: workload_title(workload) for workload in bare}


def build_levels(manifest: RunManifest, cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each planned load and system, by rate; twice where a rate is a share of both capacities.

    Columns
    -------
    base_workload, system, workload, status, launches_count, sessions_count; offered_rps; p50_s … p99_99_s with _low_ and _high_ (response
    times; NaN where saturated); cpu_per_request_s with its interval, and its user and kernel part; share of a capacity and
    share_of (``slowest``, ``own``, or empty where rates were given); own_share (of the system's own capacity, as the pilot
    window saw it); achieved_fraction of the rate (over sessions: the least), and saturated: it is below `LEAST_OFFERED`, so
    these are not the response times of that rate.
    """
    loads = manifest.rates.loads if manifest.rates else []
    capacities = manifest.rates.capacities if manifest.rates else {}
    rows = []
    for cell in cells.to_dict("records"):
        system, base = cell["system"], cell["base_workload"]
        pilot_rps = capacities.get(base, {}).get(system, math.nan)
        share = cell.get("achieved_fraction", math.nan)
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


def _is_of(load: PlannedLoad, cell: Row, baseline: str) -> bool:
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
        # The equal rate is the largest share of capacity for the slowest system.
        share = rows["share"].astype(float).fillna(rows["own_share"].groupby(rows["offered_rps"]).transform("max"))
        away = (share.fillna(HALF) - HALF).abs()
        parts.append(rows[rows["offered_rps"] == rows.loc[away.idxmin(), "offered_rps"]])
    return pd.concat(parts, ignore_index=True) if parts else equal


def repeated(rates: PlannedRates | None, workloads: Iterable[Workload]) -> dict[str, str]:
    """Return the workloads at a planned rate that repeat another one by a second load generator → that one; by their labels."""
    shapes: dict[tuple[str, float | None], LoadProfile] = {}
    found = {}
    for load in rates.loads if rates else []:
        first = shapes.setdefault((load.load, load.shape.rate_rps), load.shape)
        if first.generator != load.shape.generator:
            found[load.shape.name] = first.name
    labels = {(each.base_label, each.shape.name): each.label for each in workloads}
    return {
        label: labels[base, found[shape]]
        for (base, shape), label in labels.items()
        if shape in found and (base, found[shape]) in labels
    }
