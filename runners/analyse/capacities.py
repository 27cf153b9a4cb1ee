"""Capacity under an objective: the largest rate at which a percentile of the response times keeps its limit.

Each launch is searched by bisection, in windows at rates of their own. A launch's capacity is the largest rate that met
the objective, below the smallest rate that did not. The truth lies between these two rates. So intervals reach from the
low end of the rates that met it to the high end of those that did not: they hold the step of the search too.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from runners.analyse.comparisons import compare_sides
from runners.analyse.searches import CONFIRMED, KEYS, Searches
from runners.core.records import CONTROL, Bound, Interval, Row
from runners.core.run_manifest import RunManifest
from runners.machine.topology import parse_cpu_list
from runners.stats.estimates import Comparison, as_columns, geometric_mean_interval, interval_columns
from runners.stats.pooling import LEAST_SESSIONS, Estimate, Pooled, pool
from runners.stats.verdicts import noise_floor, verdict

ROUND_RPS = 100_000.0
"""The rate for which the CPUs are stated."""

_COUNTS = ["launches_count", "launches_made_count", "sessions_count"]
_COLUMNS = [*KEYS, "status", *_COUNTS, "leader", "verdict", "bound", "ratio_bound", "between_ratio"]
_COLUMNS += [*interval_columns("capacity", "_rps"), *interval_columns("cpus", "_count")]
_COLUMNS += [*interval_columns("ratio"), *interval_columns("own_ratio"), *interval_columns("mean_ratio")]
_COLUMNS += CONFIRMED
_VOID = "all searches are void, or the load generator was late"
_OPPOSITE: dict[Bound, Bound] = {"at least": "at most", "at most": "at least"}


def build_capacities(
    manifest: RunManifest, own: Searches, failures: pd.DataFrame, others: Sequence[Searches] = ()
) -> pd.DataFrame:
    """Return a row for each workload, objective and system: the capacity, and how it compares with the leader's.

    From `LEAST_SESSIONS` on that have it, a capacity or a ratio is the mean over sessions, with the interval of one further session.
    If one of these sessions knows a capacity only as a bound, the pooled capacity is a bound, too.

    Parameters
    ----------
    own : Searches
        The searches of the run's own session.
    failures : pd.DataFrame
        The table of that session's failures.
    others : Sequence[Searches]
        The searches of other sessions.

    Columns
    -------
    base_workload, objective, system, status; launches_count of launches_made_count in sessions_count sessions; capacity_rps with _low_
    and _high_ (NaN where every launch is a bound); bound of that; leader (the system with the largest capacity); ratio to the leader with
    its interval (of the control: to the system that it repeats; in one session these hold together over the systems), ratio_bound and
    verdict; own_ratio (of this session), mean_ratio (over sessions) and between_ratio (how far they vary; NaN with fewer); cpus_count with
    _low_ and _high_ (for `ROUND_RPS`, if capacity grows with the CPUs); held_count of confirmations_count at confirmed_rps (the run's own).
    """
    rows: list[Row] = []
    for (base, text), group in own.launches.groupby(["base_workload", "objective"], sort=False):
        about: Row = {"base_workload": base, "objective": text, "status": "ok"}
        sessions = [*(_family_of(each, base, text) for each in others), _Family(group)]
        rows += [about | row for row in _family(sessions, str(manifest.control_of))]
    frame = pd.DataFrame([*rows, *_missing(manifest, own, failures)], columns=_COLUMNS)
    cpus = len(parse_cpu_list(manifest.pinning["server"])) * ROUND_RPS
    for column, of in (("cpus", "capacity"), ("cpus_low", "capacity_high"), ("cpus_high", "capacity_low")):
        frame[f"{column}_count"] = cpus / frame[f"{of}_rps"].astype(float)
    counted = [_counts(row, own, others) for row in frame.to_dict("records")]
    return frame.assign(**pd.DataFrame(counted, columns=["launches_made_count", *CONFIRMED], index=frame.index))


def _counts(row: Mapping[Hashable, Any], own: Searches, others: Sequence[Searches]) -> Row:
    """Return the launches made and the confirmations of a row: those of its own session, or of all where it is over several."""
    sessions = [own, *others] if row["sessions_count"] > 1 else [own]
    made = sum(each.made.get((row["base_workload"], row["system"]), 0) for each in sessions)
    known = [each.confirmed[(each.confirmed[KEYS] == [row[key] for key in KEYS]).all(axis=1)] for each in sessions]
    tried = pd.concat(known)
    if tried.empty:
        return {"launches_made_count": made}
    sums = {name: int(tried[name].sum()) for name in CONFIRMED[:2]}
    return {"launches_made_count": made, **sums, "confirmed_rps": float(tried["confirmed_rps"].iloc[0])}


@dataclass(frozen=True)
class _Family:
    """The launches of one session under one objective of one workload."""

    launches: pd.DataFrame

    @cached_property
    def _of_system(self) -> dict[str, pd.DataFrame]:
        return {str(name): own.set_index("block") for name, own in self.launches.groupby("system", sort=False)}

    @property
    def systems(self) -> list[str]:
        """Return the systems with a launch, the control among them."""
        return list(self._of_system)

    def count(self, system: str) -> int:
        """Return the number of launches of a system."""
        return len(self._of_system.get(system, ()))

    def bound(self, system: str) -> Bound:
        """Return how to read the capacity of a system; nothing where there is none."""
        return _bound(set(self._of_system[system]["bound"])) if system in self._of_system else ""

    def capacity(self, system: str) -> Interval:
        """Return the geometric mean over launches with its interval, which holds the step of the search."""
        own = self._of_system[system]
        found = _widened(*(geometric_mean_interval(side.to_numpy()) for side in self._sides(system)))
        # Where every launch is a bound, how far these differ says nothing of the truth.
        return found if "" in set(own["bound"]) else Interval(found.value, math.nan, math.nan)

    def ratio(self, first: str, second: str, systems_count: int) -> Comparison:
        """Compare two systems block by block; each end of the interval takes the rates that move it outwards."""
        (met_first, failed_first), (met_second, failed_second) = self._sides(first), self._sides(second)
        value = compare_sides(met_first, met_second, systems_count)
        low = compare_sides(met_first, failed_second, systems_count).interval
        high = compare_sides(failed_first, met_second, systems_count).interval
        return Comparison(_widened(value.interval, low, high), value.p_value, value.blocks_count)

    def _sides(self, system: str) -> tuple[pd.Series, pd.Series]:
        """Return the rates that met the objective and those that did not, by block."""
        own = self._of_system[system]
        return own["capacity_rps"], own["failed_rps"].fillna(own["capacity_rps"])


def _family(sessions: Sequence[_Family], baseline: str) -> Iterator[Row]:
    """Yield the estimates of the systems of one workload under one objective, the largest first; the last session is the run's own."""
    own = sessions[-1]
    capacities = {name: _capacity(sessions, name) for name in own.systems}
    systems = [name for name in own.systems if name != CONTROL]
    leader = max(systems, key=lambda name: capacities[name][0].value) if systems else ""
    # Two bounds have no ratio.
    free = [each for each in sessions if not (each.bound(CONTROL) or each.bound(baseline))]
    both = {CONTROL, baseline} <= set(own.systems) and not (own.bound(CONTROL) or own.bound(baseline))
    control = _ratio(free, CONTROL, baseline, 2)[0] if both else None
    floor = noise_floor(control) if control else math.nan
    for name in sorted(own.systems, key=lambda name: (name == CONTROL, -capacities[name][0].value)):
        estimate, count = capacities[name]
        of = sessions if count > 1 else [own]
        row: Row = {"system": name, "leader": leader, "bound": _bound_over(of, name), "sessions_count": count}
        row["launches_count"] = sum(each.count(name) for each in of)
        row |= as_columns(estimate, "capacity", "_rps") | {"verdict": "", "ratio_bound": ""}
        if name == CONTROL:
            row |= as_columns(control, "ratio") if control else {}
        elif name == leader:
            row |= {"ratio": 1.0, "own_ratio": 1.0}
        else:
            found, pooled = _ratio(sessions, name, leader, len(systems))
            bounds = [_bound_over(sessions if pooled else [own], each) for each in (name, leader)]
            side = _bound({bounds[0], _OPPOSITE.get(bounds[1], bounds[1])})
            row |= as_columns(found, "ratio") | {"ratio_bound": side, "verdict": verdict(found, floor, side)}
            row |= as_columns(own.ratio(name, leader, len(systems)).interval, "own_ratio")
            if pooled:
                row |= as_columns(pooled.mean, "mean_ratio") | {"between_ratio": pooled.between}
        yield row


def _capacity(sessions: Sequence[_Family], name: str) -> tuple[Interval, int]:
    """Return the capacity of a system, and the number of sessions that it is of."""
    own = sessions[-1]
    estimates = [Estimate(each.capacity(name), each.count(name)) for each in sessions if each.count(name)]
    found = pool(estimates)
    if found is None or found.sessions_count < LEAST_SESSIONS:
        return own.capacity(name), 1
    return found.further, found.sessions_count


def _ratio(sessions: Sequence[_Family], first: str, second: str, systems_count: int) -> tuple[Interval, Pooled | None]:
    """Return the capacity of one system over that of another, and that of all sessions; None where these are too few."""
    both = [each for each in sessions if each.count(first) and each.count(second)]
    alone = [each.ratio(first, second, 2) for each in both] if len(both) > 1 else []
    found = pool([Estimate(each.interval, each.blocks_count) for each in alone])
    if found is None or found.sessions_count < LEAST_SESSIONS:
        return sessions[-1].ratio(first, second, systems_count).interval, None
    return found.further, found


def session_ratio(session: Searches, base: str, goal: str, first: str, second: str) -> float:
    """Return the capacity of one system over that of another in one session; NaN where a launch of either is missing."""
    found = _family_of(session, base, goal)
    return found.ratio(first, second, 2).interval.value if found.count(first) and found.count(second) else math.nan


def _family_of(session: Searches, base: str, goal: str) -> _Family:
    rows = session.launches
    return _Family(rows[(rows["base_workload"] == base) & (rows["objective"] == goal)])


def _bound_over(sessions: Sequence[_Family], name: str) -> Bound:
    """Return how to read a capacity over sessions: as a bound where it is one in any of them."""
    return _bound({each.bound(name) for each in sessions})


def _bound(sides: set[Bound]) -> Bound:
    """Return how to read a number to which several bounds contributed."""
    said = sides - {""}
    return said.pop() if len(said) == 1 else "unknown" if said else ""


def _widened(value: Interval, *ends: Interval) -> Interval:
    """Return an estimate with the lowest and the highest end of several."""
    return Interval(
        value.value, min(value.low, *(end.low for end in ends)), max(value.high, *(end.high for end in ends))
    )


def _missing(manifest: RunManifest, own: Searches, failures: pd.DataFrame) -> Iterator[Row]:
    """Yield a row for each planned search that has no launch, with the reason."""
    known = set(own.launches[["base_workload", "system"]].itertuples(index=False, name=None))
    for system, label in manifest.cells:
        workload = manifest.workloads[label]
        base = workload.base_label
        if not workload.shape.objectives or (base, system) in known:
            continue
        failed = failures[(failures["system"] == system) & (failures["workload"] == label)]
        why = _VOID if own.made.get((base, system)) else "not searched"
        why = str(failed["message"].iloc[0]) if len(failed) else why
        why = manifest.nonconforming.get(manifest.systems[system].build, why)
        for text in workload.shape.objectives:
            yield {
                "base_workload": base,
                "objective": text,
                "system": system,
                "status": f"failed: {why}",
                "launches_count": 0,
                "sessions_count": 1,
            }
