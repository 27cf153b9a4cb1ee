"""Growth with the number of server CPUs: throughput and speed-up in a closed loop, and the CPU time of a request at an equal rate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from runners.analyse.comparisons import compare_sides
from runners.analyse.results import Results
from runners.core.records import CONTROL, LOWER_BOUND_LIMITS, Interval, Row
from runners.stats.estimates import as_columns
from runners.stats.scalability import Scalability, fit
from runners.stats.verdicts import bound

_ENDS = ("", "_low", "_high")
_SHAPE = ["base_workload", "system", "workload", "status", "launches_count", "launches_made_count"]
_CELL = [*_SHAPE, "cpus_count", "threads_count"]
_GROWTH = [*_CELL, *(f"throughput{end}_rps" for end in _ENDS), "bottleneck", "limited", "bound", "ideal_ratio"]
_GROWTH += [f"{name}{end}_ratio" for name in ("speedup", "efficiency") for end in _ENDS]
_BUSY = [f"busy_{name}_fraction" for name in ("least", "median", "most")]
_GROWTH += _BUSY
_COSTS = [*_CELL, "offered_rps", "shared", *(f"cpu_per_request{end}_s" for end in _ENDS), "cpu_user_per_request_s"]
_COSTS += ["cpu_system_per_request_s", *(f"cost{end}_ratio" for end in _ENDS)]

# The fewest CPUs, which the others are compared with.
_ITSELF = Interval(1.0, math.nan, math.nan)


@dataclass(frozen=True)
class Scaling:
    """The growth with CPUs that a run shows.

    Attributes
    ----------
    growth : DataFrame
        A row for each workload, system and number of CPUs in a closed loop: throughput with its interval, limited (by the load
        generator), busy shares of the least busy, the median and the busiest server CPU, speedup_ratio over the smallest number of
        CPUs (paired by block) with its interval and bound, ideal_ratio (of the numbers of CPUs), efficiency_ratio (over that).
    costs : DataFrame
        A row for each workload, system, number of CPUs and fixed rate: cpu_per_request_s with its interval and split, shared
        (the server also ran on the load generator's CPUs), cost_ratio over the smallest number of CPUs, paired by block.
    laws : dict
        (base_workload, system) → the Universal Scalability Law of the counts at which the load generator was not the limit.
    server_cpus_count : int
        The CPUs that are planned for servers.
    """

    growth: pd.DataFrame
    costs: pd.DataFrame
    laws: Mapping[tuple[str, str], Scalability]
    server_cpus_count: int

    @property
    def counts(self) -> list[int]:
        """Return the numbers of CPUs with a throughput, ascending."""
        return sorted(int(count) for count in self.growth.loc[self.growth["status"] == "ok", "cpus_count"].unique())


def scaling_of(results: Results) -> Scaling:
    """Return what a run says of growth with CPUs."""
    # Those that the kernel counted are not those that the server was started with.
    cells = results.cells.drop(columns="threads_count", errors="ignore").rename(
        columns={"shape_server_cpus_count": "cpus_count", "shape_server_threads_count": "threads_count"}
    )
    cells = cells[cells["cpus_count"].notna()] if "cpus_count" in cells else cells.iloc[:0]
    planned = len(results.cpus["server"])
    offered = cells["offered_rps"].notna() if "offered_rps" in cells else pd.Series(data=False, index=cells.index)
    paced = offered | cells["workload"].map(lambda label: results.workloads[label].shape.rate_rps is not None)
    growth = [row for rows in _families(cells[~paced]) for row in _growth(results, rows)]
    costs = [row for rows in _families(cells[paced]) for row in _costs(results, rows, planned)]
    frame = pd.DataFrame(growth).reindex(columns=_GROWTH)
    return Scaling(frame, pd.DataFrame(costs).reindex(columns=_COSTS), _laws(results, frame), planned)


def _families(cells: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield the cells that differ in their number of CPUs alone, the fewest first."""
    for _, rows in cells.groupby(["base_workload", "shape", "system"], sort=False):
        yield rows.sort_values("cpus_count", kind="stable")


def _growth(results: Results, rows: pd.DataFrame) -> Iterator[Row]:
    measured = rows[rows["status"] == "ok"]
    for row in rows.to_dict("records"):
        if row["status"] != "ok":
            yield row | {"limited": False}
            continue
        first = measured.iloc[0]
        ideal = row["cpus_count"] / first["cpus_count"]
        found = _ITSELF
        if row["workload"] != first["workload"]:
            found = results.paired((row["system"], row["workload"]), (row["system"], first["workload"])).interval
        limited, limited_first = row["bottleneck"] in LOWER_BOUND_LIMITS, first["bottleneck"] in LOWER_BOUND_LIMITS
        share = Interval(found.value / ideal, found.low / ideal, found.high / ideal)
        about = {"limited": limited, "bound": bound(limited, limited_first) if ideal > 1 else "", "ideal_ratio": ideal}
        about |= _busy(results, row["system"], row["workload"])
        yield row | about | as_columns(found, "speedup", "_ratio") | as_columns(share, "efficiency", "_ratio")


def _busy(results: Results, system: str, workload: str) -> dict[str, float]:
    """Return how busy the least busy, the median and the busiest CPU of the server were, medians over windows."""
    usage = results.usage
    own = usage[(usage["system"] == system) & (usage["workload"] == workload) & (usage["role"] == "server")]
    return {name: float(own[name].median()) for name in _BUSY}


def _costs(results: Results, rows: pd.DataFrame, planned: int) -> Iterator[Row]:
    launches = {label: _cpu_s(results, str(rows["system"].iloc[0]), label) for label in rows["workload"]}
    first = next((label for label in rows["workload"] if len(launches[label])), None)
    for row in rows.to_dict("records"):
        rate = results.workloads[row["workload"]].shape.rate_rps
        about = {"shared": row["cpus_count"] > planned, "offered_rps": rate}
        if first is not None and len(launches[row["workload"]]):
            ratio = compare_sides(launches[row["workload"]], launches[first]).interval
            about |= as_columns(ratio if row["workload"] != first else _ITSELF, "cost", "_ratio")
        yield row | about


def _cpu_s(results: Results, system: str, workload: str) -> pd.Series:
    """Return block → CPU time of a request, the geometric mean of a launch's windows."""
    usage = results.usage
    own = usage[(usage["system"] == system) & (usage["workload"] == workload) & (usage["role"] == "server")]
    spent = own[own["cpu_per_request_s"] > 0]
    return np.exp(np.log(spent["cpu_per_request_s"].astype(float)).groupby(spent["block"]).mean())


def _laws(results: Results, growth: pd.DataFrame) -> dict[tuple[str, str], Scalability]:
    usable = growth[(growth["status"] == "ok") & (growth["system"] != CONTROL)]
    usable = usable[~usable["limited"].astype(bool)]
    found = {}
    for (base, system), rows in usable.groupby(["base_workload", "system"], sort=False):
        launches = pd.DataFrame(
            {row.cpus_count: results.session.launches(system, row.workload) for row in rows.itertuples()}
        )
        counts = [int(count) for count in launches.columns]
        law = fit(counts, launches.to_numpy(dtype=np.float64), seed=int(results.parameters["seed"]))
        if law is not None:
            found[str(base), str(system)] = law
    return found
