"""The sessions of a machine: the runs of the ledger that were measured alike, and what they say together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from runners.analyse.fixed_rates import half_load
from runners.analyse.pooled import Session, SpreadBefore
from runners.analyse.results import Results, analyse
from runners.analyse.run_comparison import Difference, differences
from runners.core.errors import WrkbookError
from runners.core.project import OWN_SESSION_ONLY
from runners.core.records import CONTROL
from runners.core.run_manifest import RunManifest
from runners.store.ledger import Run, is_reference, runs
from runners.store.runs import COMPLETE, state

# Whoever changes them measures something else. Of the project itself and of Python's packages nothing is measured.
_MEASURED = tuple(f"versions.{name}." for name in ("components", "flags", "builds"))
_MEMORY, _SAME_MEMORY = "machine.memory_bytes", 0.02
MOST_SESSIONS = 5
"""The newest sessions of which CPU times are compared, and the spread before is taken."""


def compatible(a: RunManifest, b: RunManifest) -> bool:
    """Return whether two runs of one experiment are sessions of the same measurement.

    They have the same machine, kernel, CPUs, versions, flags, builds of servers, windows, and parameters, but for those that say when
    measuring stops. Memory may differ by 2 %, since the kernel keeps another share of it after an update. The commit of the
    project and the versions of Python's packages may differ, and so may the choice that ``slices = auto`` made.
    """
    alike = a.profile == b.profile and _windows(a) == _windows(b)
    return alike and not any(map(_matters, differences(a, b)))


def same_hardware(a: RunManifest, b: RunManifest) -> bool:
    """Return whether two runs, of whatever experiments, have the same CPUs and the same memory; memory may differ by 2 %."""
    alike = all(a.machine.get(name) == b.machine.get(name) for name in ("cpu", "cpus_count"))
    return alike and _same_memory(*(int(each.machine.get("memory_bytes", 0)) for each in (a, b)))


def _same_memory(a_bytes: int, b_bytes: int) -> bool:
    return abs(a_bytes - b_bytes) <= _SAME_MEMORY * a_bytes


def _matters(found: Difference) -> bool:
    if found.field == _MEMORY and found.a.isdigit() and found.b.isdigit():
        return not _same_memory(int(found.a), int(found.b))
    return not found.allowed or f"{found.field}.".startswith(_MEASURED)


def _windows(manifest: RunManifest) -> tuple[float, ...]:
    windows = manifest.windows
    return (windows.warmup_s, windows.window_s, windows.windows_count) if windows else ()


@dataclass(frozen=True)
class Known:
    """A complete run of the ledger with its manifest."""

    run: Run
    manifest: RunManifest


def complete_runs(experiment: str, base: Path, *, reference: bool) -> list[Known]:
    """Return the complete runs of an experiment, the oldest first: those of this machine, or those of the `reference`."""
    found = []
    for other in runs(experiment, base):
        if is_reference(other.run_id) == reference and state(other) == COMPLETE:
            try:
                found.append(Known(other, other.read()))
            except WrkbookError:
                continue
    return sorted(found, key=lambda each: (each.manifest.started_at, each.run.run_id))


def _of_this_machine(run: Run) -> list[Known]:
    return complete_runs(run.experiment, run.base, reference=is_reference(run.run_id))


def other_sessions(results: Results, until: str = "") -> list[Known]:
    """Return the other sessions of a run's measurement, the oldest first; `until`: only those that began before."""
    return [
        each
        for each in _of_this_machine(results.run)
        if each.run.run_id != results.run.run_id
        and (not until or each.manifest.started_at <= until)
        and compatible(results.manifest, each.manifest)
    ]


def with_sessions(results: Results, until: str = "") -> Results:
    """Return a run's results over all sessions of its measurement in the ledger; `until`: of those that began before that moment.

    The run alone where the environment has ``WRKBOOK_OWN_SESSION_ONLY``.
    """
    if OWN_SESSION_ONLY in os.environ:
        return results
    others = tuple(each.session for each in usable(other_sessions(results, until)))
    return results.over(others, None if others else _before(results))


def groups(known: Iterable[Known]) -> list[list[Known]]:
    """Return runs of one experiment as groups that are sessions of one measurement each, in the order of their first runs."""
    found: list[list[Known]] = []
    for each in known:
        same = next((group for group in found if compatible(group[0].manifest, each.manifest)), None)
        if same is None:
            found.append([each])
        else:
            same.append(each)
    return found


def _over_sessions(group: Iterable[Known]) -> Results | None:
    """Return the newest of several sessions that can be analysed, over all of them; None without one."""
    newest: Results | None = None
    others: list[Session] = []
    for each in usable(group):
        others += [newest.session] if newest else []
        newest = each
    return newest.over(tuple(others)) if newest else None


def _before(results: Results) -> SpreadBefore | None:
    """Return how far apart the sessions of the newest other measurement of this experiment on this machine were; None without two.

    It had other versions or parameters, so it says nothing about this run's ratios. It says what another hour does on this machine.
    """
    facts = ("cpu", "cpus_count", "kernel", "virtual_machine")
    here = [results.manifest.machine.get(name) for name in facts]
    known = [
        each
        for each in _of_this_machine(results.run)
        if each.manifest.profile == results.profile and [each.manifest.machine.get(name) for name in facts] == here
    ]
    several = [
        group for group in groups(known) if len(group) > 1 and not compatible(group[0].manifest, results.manifest)
    ]
    newest = max(several, key=lambda group: group[-1].manifest.started_at, default=[])
    found = _over_sessions(newest[-MOST_SESSIONS:])
    return spread_of(found) if found else None


def spread_of(results: Results) -> SpreadBefore | None:
    """Return how far apart the sessions of a run are in their ratios to the leaders; None with one session."""
    rows = results.comparisons[results.comparisons["family"] == "leader"].dropna(subset=["between_ratio"])
    if rows.empty:
        return None
    return SpreadBefore(
        int(rows["sessions_count"].max()), float(rows["between_ratio"].median()), float(rows["between_ratio"].max())
    )


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
    """Return the costs in this run and in the newest other sessions of its measurement."""
    newest = other_sessions(results)[:-MOST_SESSIONS:-1]
    costs = [_costs(each) for each in (results.over(()), *usable(newest))]
    return CostSpread(pd.concat(costs, ignore_index=True), sum(not each.empty for each in costs))


def _costs(results: Results) -> pd.DataFrame:
    rows = half_load(results.levels)
    rows = rows[(rows["system"] != CONTROL) & rows["cpu_per_request_s"].notna()]
    return rows[["base_workload", "system", "cpu_per_request_s"]].assign(run_id=results.run.run_id)


def usable(known: Iterable[Known]) -> Iterator[Results]:
    """Yield the results of runs one after the other, without those that have a damaged record."""
    for each in known:
        try:
            found = analyse(each.run)
        except WrkbookError:
            continue
        yield found
