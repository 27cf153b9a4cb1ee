"""The record of the intervals: how often a session's ratio fell inside the interval that was stated before it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from runners.analyse.pooled import Launches, ratio_over
from runners.analyse.results import Results
from runners.analyse.sessions import complete_runs, groups, usable
from runners.core.project import RAW
from runners.core.records import CONTROL, SMOKE_PROFILE
from runners.stats.pooling import LEAST_SESSIONS

FORWARD, LEFT_OUT = "forward", "left out"
"""An interval of the sessions before one, and of all others."""
COLUMNS = ["experiment", "run_id", "workload", "system_a", "system_b", "kind", "sessions_count", "inside"]


@dataclass(frozen=True)
class MeasuredLaunches(Launches):
    """The launches of a run; `fixed_rate` are the workloads in which a throughput is the rate that was offered."""

    run_id: str
    fixed_rate: frozenset[str]

    @classmethod
    def of(cls, results: Results) -> MeasuredLaunches:
        """Return those of a run; its cells are not made for them."""
        trials = results.trials
        offered = trials.loc[trials["offered_rps"].notna(), "workload"]
        return cls(results.throughputs, results.run.run_id, frozenset(map(str, offered.unique())))


def session_record(experiments: Sequence[str], base: Path = RAW, *, reference: bool = False) -> pd.DataFrame:
    """Return a row for each ratio to a leader that a session measured, and each interval that other sessions state for it.

    Of the runs of this machine, or of the `reference`; smoke runs are no evidence.

    Columns
    -------
    experiment, run_id, workload, system_a, system_b; kind (`FORWARD` or `LEFT_OUT`); sessions_count (sessions that state the interval: one
    states that of its own blocks, `LEAST_SESSIONS` or more that of a further session); inside (whether the ratio lies in it).
    """
    rows = []
    for experiment in experiments:
        for group in groups(complete_runs(experiment, base, reference=reference)):
            if len(group) > 1 and group[0].manifest.profile != SMOKE_PROFILE:
                rows += [(experiment, *row) for row in held([MeasuredLaunches.of(each) for each in usable(group)])]
    return pd.DataFrame(rows, columns=COLUMNS)


def held(sessions: Sequence[MeasuredLaunches]) -> Iterator[tuple[str, str, str, str, str, int, bool]]:
    """Yield the rows of :func:`session_record` of one measurement, without the experiment; sessions are the oldest first."""
    for place, session in enumerate(sessions):
        stated = {FORWARD: sessions[:place], LEFT_OUT: [*sessions[:place], *sessions[place + 1 :]]}
        for kind, others in stated.items():
            count = len(others)
            if count >= LEAST_SESSIONS or (kind == FORWARD and count == 1):
                for workload, a, b, inside in _held(others, session):
                    yield session.run_id, workload, a, b, kind, count, inside


def _held(others: Sequence[MeasuredLaunches], session: MeasuredLaunches) -> Iterator[tuple[str, str, str, bool]]:
    for workload, systems in _systems(others).items():
        leader = systems[0]
        for system in systems[1:]:
            places = (system, workload), (leader, workload)
            stated, found = ratio_over(others, *places, len(systems)), ratio_over([session], *places)
            if math.isfinite(stated.interval.high) and not math.isnan(found.own.value):
                inside = stated.interval.low <= found.own.value <= stated.interval.high
                yield workload, system, leader, inside


def _systems(sessions: Sequence[MeasuredLaunches]) -> dict[str, list[str]]:
    """Return workload → its systems, the fastest over all sessions first; without the control, and workloads at a fixed rate."""
    logs = pd.concat([np.log(each.throughputs) for each in sessions])
    means = logs.groupby(["workload", "system"]).mean().drop(CONTROL, level="system", errors="ignore")
    ranked = means.sort_values(ascending=False).reset_index()
    fixed = sessions[-1].fixed_rate
    return {str(name): list(rows["system"]) for name, rows in ranked.groupby("workload") if name not in fixed}
