"""Agreement between sessions: the CPU time per request in this run and in other runs that were measured alike."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from runners.analyse.fixed_rates import half_load
from runners.analyse.results import Results, analyse
from runners.analyse.run_comparison import differences
from runners.core.errors import WrkbookError
from runners.core.records import CONTROL
from runners.store.ledger import Run, runs

_SAME = tuple(f"versions.{name}." for name in ("components", "flags", "builds"))
MOST_SESSIONS = 5


@dataclass(frozen=True)
class CostSpread:
    """CPU time per request at half of the slowest system's capacity, in all sessions.

    Attributes
    ----------
    costs : pd.DataFrame
        Columns base_workload, system, run_id, cpu_per_request_s.
    sessions_count : int
        Number of runs, this one included.
    """

    costs: pd.DataFrame
    sessions_count: int

    @property
    def spread(self) -> pd.Series:
        """Return the largest cost over the smallest, less 1, by workload and system, the largest first; of all that have two or more."""
        by_cell = self.costs.groupby(["base_workload", "system"])["cpu_per_request_s"]
        ratios = (by_cell.max() / by_cell.min() - 1)[by_cell.count() > 1]
        return ratios.sort_values(ascending=False)


def cost_spread(results: Results) -> CostSpread:
    """Return the costs in this run and in the newest others of the same machine, versions and parameters."""
    found = [results]
    for run in reversed(runs(results.run.experiment, results.run.base)):
        if run.run_id != results.run.run_id and len(found) < MOST_SESSIONS and _is_alike(results, run):
            found += _analysed(run)
    costs = [_costs(each) for each in found]
    return CostSpread(pd.concat(costs, ignore_index=True), sum(not each.empty for each in costs))


def _costs(results: Results) -> pd.DataFrame:
    rows = half_load(results.levels)
    rows = rows[(rows["system"] != CONTROL) & rows["cpu_per_request_s"].notna()]
    return rows[["base_workload", "system", "cpu_per_request_s"]].assign(run_id=results.run.run_id)


def _is_alike(results: Results, run: Run) -> bool:
    """Return whether a run has this one's machine, versions of systems, parameters and profile."""
    try:
        other = run.read()
    except WrkbookError:
        return False
    found = differences(results.manifest, other)
    return other.profile == results.profile and not any(
        not each.allowed or f"{each.field}.".startswith(_SAME) for each in found
    )


def _analysed(run: Run) -> list[Results]:
    try:
        return [analyse(run)]
    except WrkbookError:
        return []
