"""Effects of a change of the sources: the build of the working tree over that of another revision, in the same blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from runners.analyse.comparisons import compare_sides, of_cell
from runners.analyse.results import Results
from runners.analyse.usage import cpu_per_request
from runners.core.records import CONTROL, LOWER_BOUND_LIMITS, Decision, Interval
from runners.core.units import RATIOS, quantity
from runners.stats.estimates import UNKNOWN
from runners.stats.histograms import percentiles
from runners.stats.verdicts import regression, shows_changes

THROUGHPUT = "requests/s"
_P99 = 99.0


@dataclass(frozen=True)
class Change:
    """One cell before and after: each ratio is after ÷ before, by blocks that have both.

    Attributes
    ----------
    throughput, cpu : Interval
        Ratio of requests per second, and of the server's CPU time per request; NaN where it is not known.
    memory_ratio : float
        Ratio of the peaks of resident memory.
    is_bound : bool
        Whether the load was the limit of one side: the CPU time decides alone.
    control : Interval
        Throughput of one build that is launched twice in the same blocks, over itself.
    p99 : Interval
        Ratio of the 99th percentiles of response times at one rate for both; NaN where none was measured.
    size_ratio, build_ratio : float
        Ratio of what the builds leave on the disk, and of the times of one clean build each; NaN where it was not measured.
    """

    system: str
    workload: str
    throughput: Interval
    cpu: Interval
    memory_ratio: float
    blocks_count: int
    is_bound: bool
    control: Interval = UNKNOWN
    size_ratio: float = math.nan
    build_ratio: float = math.nan
    p99: Interval = UNKNOWN

    @property
    def rates(self) -> dict[str, Interval]:
        """Return the ratios that decide, by their unit; more is better: without throughput where the load was its limit."""
        per_cpu_second = Interval(1 / self.cpu.value, 1 / self.cpu.high, 1 / self.cpu.low)
        own = {"requests per CPU second": per_cpu_second}
        return own if self.is_bound else {THROUGHPUT: self.throughput, **own}

    def decision(self, threshold: float) -> Decision:
        """Return what is decided about a slowdown by `threshold`; throughput and CPU time each decide."""
        return regression(self.rates.values(), self.control, threshold)

    def as_dict(self, threshold: float) -> dict[str, object]:
        """Return the fields for ``--json``; null where a number is not known."""
        fields = asdict(self) | {"decision": self.decision(threshold)}
        return {name: _known(value) for name, value in fields.items()}


def why_undecided(found: Iterable[Change], threshold: float) -> str:
    """Return the sentence about the control that differs most from itself; empty where none leaves its workload undecided."""
    guarded = [each for each in found if shows_changes(each.control, threshold)]
    if not guarded:
        return ""
    most = max(guarded, key=lambda each: abs(math.log(each.control.value)))
    ratio = quantity(most.control.value, most.control.low, most.control.high, RATIOS)
    said = f"At {most.workload} the control, one build launched twice, serves {ratio} as much as itself"
    return f"{said}: there, changes may be the machine's."


def changes(results: Results) -> list[Change]:
    """Return the change of each cell that was measured at an earlier revision too; empty where none is compared."""
    found = []
    for system in results.manifest.systems.values():
        if system.control or not system.earlier:
            continue
        closed = [workload for workload in results.workloads if workload not in results.fixed_rate]
        found += [change_of(results, workload, system.name, system.plain.name) for workload in closed]
    return [each for each in found if each is not None]


def change_of(results: Results, workload: str, before: str, after: str) -> Change | None:
    """Return the change from one system to another one in a workload; None where one of them has no number."""
    cells = results.cells[results.cells["status"] == "ok"].set_index(["system", "workload"])
    then, now = (before, workload), (after, workload)
    if now not in cells.index or then not in cells.index:
        return None
    spent = cpu_per_request(results.usage)
    rates = compare_sides(of_cell(results.throughputs, *now), of_cell(results.throughputs, *then))
    sides = (of_cell(results.throughputs, name, workload) for name in (CONTROL, results.baseline))
    return Change(
        after,
        workload,
        rates.interval,
        compare_sides(of_cell(spent, *now), of_cell(spent, *then)).interval,
        float(cells.at[now, "rss_peak_bytes"] / cells.at[then, "rss_peak_bytes"]),
        rates.blocks_count,
        is_bound=bool({cells.at[now, "bottleneck"], cells.at[then, "bottleneck"]} & LOWER_BOUND_LIMITS),
        control=compare_sides(*sides).interval,
        p99=_p99(results, workload, before, after),
    )


def _p99(results: Results, workload: str, before: str, after: str) -> Interval:
    """Return the ratio of the 99th percentiles, by blocks, at the rate at which this workload was measured too."""
    cells = results.cells
    at_rate = cells.loc[cells["workload"].isin(results.fixed_rate) & (cells["base_workload"] == workload), "workload"]
    if at_rate.empty:
        return UNKNOWN
    sides = []
    for system in (after, before):
        launches = results.tables.launches.get((system, str(at_rate.iloc[0])), {})
        sides.append(
            pd.Series({block: float(percentiles(*each.arrays, _P99)) for block, each in launches.items()}, dtype=float)
        )
    return compare_sides(*sides).interval


def _known(value: Any) -> Any:  # noqa: ANN401  (of whatever kind a field is)
    if isinstance(value, dict):
        return {name: _known(each) for name, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
