"""Capacity under an objective: the largest rate at which a percentile of the response times keeps its limit.

Each launch is searched by bisection, in windows at rates of their own. A launch's capacity is the largest rate that met
the objective, below the smallest rate that did not. The truth lies between these two rates. So intervals reach from the
low end of the rates that met it to the high end of those that did not: they hold the step of the search too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from runners.analyse.comparisons import Sides, compare_sides, leader_of
from runners.analyse.window_columns import response_column
from runners.core.load import LEAST_OFFERED, MOST_LATE_SHARE
from runners.core.parameter_values import Objective, objective
from runners.core.records import CONFIRMATION_WINDOW, CONTROL, SEARCH_WINDOW, Bound, Interval, Row
from runners.core.run_manifest import RunManifest
from runners.machine.topology import parse_cpu_list
from runners.stats.estimates import Comparison, as_columns, geometric_mean_interval, interval_columns
from runners.stats.verdicts import bracket, noise_floor, verdict

ROUND_RPS = 100_000.0
"""The rate for which the CPUs are stated."""

_KEYS = ["base_workload", "objective", "system"]
_LAUNCH = ["base_workload", "system", "block", "objectives"]
_COLUMNS = [*_KEYS, "status", "launches_count", "launches_made_count", "leader", "verdict", "bound", "ratio_bound"]
_COLUMNS += [*interval_columns("capacity", "_rps"), *interval_columns("ratio"), *interval_columns("cpus", "_count")]
_COLUMNS += ["held_count", "confirmations_count", "confirmed_rps"]
_VOID = "all searches are void, or the load generator was late"
_OPPOSITE: dict[Bound, Bound] = {"at least": "at most", "at most": "at least"}


def launch_capacities(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the capacity of each launch under each of its objectives.

    Columns
    -------
    base_workload, objective, system, block; capacity_rps (the largest rate that met the objective, below the smallest that
    did not), failed_rps (that smallest rate), and bound: ``at least`` where no rate failed (then failed_rps is NaN), ``at
    most`` where none met it (then both are the lowest rate). Left out: a launch in which no rate met it, and the load
    generator was late at lower ones; of the server this says nothing.
    """
    rows = []
    lowest = trials[trials["kind"] == SEARCH_WINDOW].groupby(_LAUNCH)["offered_rps"].min() if len(trials) else {}
    for (base, system, block, texts), windows in _sound(trials, SEARCH_WINDOW).groupby(_LAUNCH, sort=False):
        for text in texts.split("; "):
            found = bracket(zip(windows["offered_rps"], _met(windows, objective(text)), strict=True))
            if math.isnan(found.met_rps) and found.missed_rps > lowest[base, system, block, texts]:
                continue
            none_met, none_missed = math.isnan(found.met_rps), math.isinf(found.missed_rps)
            failed_rps = math.nan if none_missed else found.missed_rps
            bound: Bound = "at most" if none_met else "at least" if none_missed else ""
            rows.append((base, text, system, block, failed_rps if none_met else found.met_rps, failed_rps, bound))
    return pd.DataFrame(rows, columns=[*_KEYS, "block", "capacity_rps", "failed_rps", "bound"])


def _sound(trials: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the windows of a kind in which the load generator kept its schedule, of trials that are not void."""
    rows = trials[(trials["kind"] == kind) & ~trials["void"].astype(bool)]
    return rows[rows["late_fraction"] <= MOST_LATE_SHARE] if len(rows) else pd.DataFrame(columns=_LAUNCH)


def _met(windows: pd.DataFrame, goal: Objective) -> pd.Series:
    """Return for each window whether it met an objective: at most 1 % of its arrivals are missing, and the percentile is in the limit."""
    carried = windows["achieved_fraction"] >= LEAST_OFFERED
    return carried & (windows[response_column(goal.percentile)] <= goal.limit_s)


def confirmations(trials: pd.DataFrame) -> pd.DataFrame:
    """Return in how many windows of fresh launches a confirmed rate met its objective: held_count of confirmations_count."""
    rows = []
    for (base, system, texts), windows in _sound(trials, CONFIRMATION_WINDOW).groupby(
        ["base_workload", "system", "objectives"], sort=False
    ):
        for text in texts.split("; "):
            held = _met(windows, objective(text))
            rows.append((base, text, system, int(held.sum()), len(held), float(windows["offered_rps"].iloc[-1])))
    return pd.DataFrame(rows, columns=[*_KEYS, "held_count", "confirmations_count", "confirmed_rps"])


def build_capacities(manifest: RunManifest, trials: pd.DataFrame, failures: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each workload, objective and system: the capacity, and how it compares with the leader's.

    Columns
    -------
    base_workload, objective, system, status; launches_count of launches_made_count; capacity_rps with _low_ and _high_
    (NaN where every launch is a bound); bound of that; leader (the system with the largest capacity);
    ratio to the leader with its interval (these hold together
    over the systems; of the control: to the system that it repeats), ratio_bound and verdict; cpus_count with _low_ and
    _high_ (for `ROUND_RPS`, if capacity grows with the CPUs); held_count of confirmations_count at confirmed_rps.
    """
    launches = launch_capacities(trials)
    searches = [label for label, workload in manifest.workloads.items() if workload.shape.objectives]
    failures = failures[failures["workload"].isin(searches)]
    rows: list[Row] = []
    for (base, text), group in launches.groupby(["base_workload", "objective"], sort=False):
        of_system = {str(name): own.set_index("block") for name, own in group.groupby("system", sort=False)}
        about: Row = {"base_workload": base, "objective": text, "status": "ok"}
        rows += [about | row for row in _family(of_system, str(manifest.control_of))]
    frame = pd.DataFrame([*rows, *_missing(manifest, launches, trials, failures)], columns=_COLUMNS)
    cpus = len(parse_cpu_list(manifest.pinning["server"])) * ROUND_RPS
    for column, of in (("cpus", "capacity"), ("cpus_low", "capacity_high"), ("cpus_high", "capacity_low")):
        frame[f"{column}_count"] = cpus / frame[f"{of}_rps"].astype(float)
    frame["launches_made_count"] = [
        _made(trials, failures, row.base_workload, row.system) for row in frame.itertuples()
    ]
    counts = ["held_count", "confirmations_count", "confirmed_rps"]
    return frame.drop(columns=counts).merge(confirmations(trials), on=_KEYS, how="left").reindex(columns=_COLUMNS)


def _family(of_system: dict[str, pd.DataFrame], baseline: str) -> Iterator[Row]:
    """Yield the estimates of the systems of one workload under one objective, the largest first."""
    met = {name: own["capacity_rps"] for name, own in of_system.items()}
    failed = {name: own["failed_rps"].fillna(own["capacity_rps"]) for name, own in of_system.items()}
    bounds = {name: _bound(set(own["bound"])) for name, own in of_system.items()}
    systems = [name for name in of_system if name != CONTROL]
    leader = leader_of({name: met[name] for name in systems}) if systems else ""
    # Two bounds have no ratio.
    both = {CONTROL, baseline} <= met.keys() and not (bounds[CONTROL] or bounds[baseline])
    control = _compare(met, failed, CONTROL, baseline, 2) if both else None
    floor = noise_floor(control.interval) if control else math.nan
    for name in sorted(of_system, key=lambda name: (name == CONTROL, -float(np.log(met[name]).mean()))):
        estimate = _widened(*(geometric_mean_interval(side[name].to_numpy()) for side in (met, failed)))
        if "" not in set(of_system[name]["bound"]):
            # Every launch is a bound: how far these differ says nothing of the truth.
            estimate = Interval(estimate.value, math.nan, math.nan)
        row: Row = {
            "system": name,
            "leader": leader,
            "bound": bounds[name],
            "launches_count": len(met[name]),
        }
        row |= as_columns(estimate, "capacity", "_rps") | {"verdict": "", "ratio_bound": "", "ratio": math.nan}
        if name == CONTROL:
            row |= as_columns(control.interval, "ratio") if control else {}
        elif name == leader:
            row["ratio"] = 1.0
        else:
            found = _compare(met, failed, name, leader, len(systems)).interval
            side = _bound({bounds[name], _OPPOSITE.get(bounds[leader], bounds[leader])})
            row |= as_columns(found, "ratio") | {"ratio_bound": side, "verdict": verdict(found, floor, side)}
        yield row


def _bound(sides: set[Bound]) -> Bound:
    """Return how to read a number to which several bounds contributed."""
    said = sides - {""}
    return said.pop() if len(said) == 1 else "unknown" if said else ""


def _compare(met: Sides, failed: Sides, first: str, second: str, systems_count: int) -> Comparison:
    """Compare two systems block by block; each end of the interval takes the rates that move it outwards."""
    value = compare_sides(met[first], met[second], systems_count)
    low = compare_sides(met[first], failed[second], systems_count).interval
    high = compare_sides(failed[first], met[second], systems_count).interval
    return Comparison(_widened(value.interval, low, high), value.p_value, value.blocks_count)


def _widened(value: Interval, *ends: Interval) -> Interval:
    """Return an estimate with the lowest and the highest end of several."""
    return Interval(
        value.value, min(value.low, *(end.low for end in ends)), max(value.high, *(end.high for end in ends))
    )


def _missing(
    manifest: RunManifest, launches: pd.DataFrame, trials: pd.DataFrame, failures: pd.DataFrame
) -> Iterator[Row]:
    """Yield a row for each planned search that has no launch, with the reason."""
    known = set(launches[["base_workload", "system"]].itertuples(index=False, name=None))
    for system, label in manifest.cells:
        workload = manifest.workloads[label]
        base = workload.base_label
        if not workload.shape.objectives or (base, system) in known:
            continue
        own = failures[(failures["system"] == system) & (failures["base_workload"] == base)]
        searched = _made(trials, own, base, system)
        why = str(own["message"].iloc[0]) if len(own) else _VOID if searched else "not searched"
        why = manifest.nonconforming.get(manifest.systems[system].build, why)
        for text in workload.shape.objectives:
            yield {
                "base_workload": base,
                "objective": text,
                "system": system,
                "status": f"failed: {why}",
                "launches_count": 0,
            }


def _made(trials: pd.DataFrame, failures: pd.DataFrame, base: str, system: str) -> int:
    """Return the launches of which a search was begun; `failures` are those of searches."""
    rows = (trials[trials["kind"] == SEARCH_WINDOW], failures)
    return len(
        {
            block
            for own in rows
            for block in own.loc[(own["base_workload"] == base) & (own["system"] == system), "block"]
        }
    )
