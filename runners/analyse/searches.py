"""The searches of a session: what each launch carried under its objectives, and whether fresh launches held it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from runners.analyse.window_columns import response_column
from runners.core.load import LEAST_OFFERED, MOST_LATE_SHARE
from runners.core.parameter_values import Objective, objective
from runners.core.records import CONFIRMATION_WINDOW, SEARCH_WINDOW, Bound
from runners.core.run_manifest import RunManifest
from runners.stats.verdicts import bracket

KEYS = ["base_workload", "objective", "system"]
CONFIRMED = ["held_count", "confirmations_count", "confirmed_rps"]
_FOUND = ["capacity_rps", "failed_rps", "bound"]
_LAUNCH = ["base_workload", "system", "block", "objectives"]


@dataclass(frozen=True)
class Searches:
    """The searches of one session.

    Attributes
    ----------
    launches : pd.DataFrame
        The capacity of each launch; see :func:`launch_capacities`.
    confirmed : pd.DataFrame
        The windows of fresh launches; see :func:`confirmations`.
    made : Mapping[tuple[str, str], int]
        (base_workload, system) → launches of which a search was begun.
    """

    launches: pd.DataFrame
    confirmed: pd.DataFrame
    made: Mapping[tuple[str, str], int]


def searches(manifest: RunManifest, trials: pd.DataFrame, failures: pd.DataFrame) -> Searches:
    """Return the searches of a session, from its tables of trials and of failures."""
    searched = [label for label, workload in manifest.workloads.items() if workload.shape.objectives]
    begun = [trials[trials["kind"] == SEARCH_WINDOW], failures[failures["workload"].isin(searched)]]
    blocks = pd.concat([rows[["base_workload", "system", "block"]] for rows in begun]).drop_duplicates()
    made = blocks.groupby(["base_workload", "system"]).size().to_dict()
    return Searches(launch_capacities(trials), confirmations(trials), made)


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
    return pd.DataFrame(rows, columns=[*KEYS, "block", *_FOUND])


def _sound(trials: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the windows of a kind in which the load generator kept its schedule, of trials that are not void."""
    rows = trials[(trials["kind"] == kind) & ~trials["void"].astype(bool)]
    return rows[rows["late_fraction"] <= MOST_LATE_SHARE] if len(rows) else pd.DataFrame(columns=_LAUNCH)


def _met(windows: pd.DataFrame, goal: Objective) -> pd.Series:
    """Return for each window whether it met an objective: it completed 99 % of its rate, and the percentile is in the limit."""
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
    return pd.DataFrame(rows, columns=[*KEYS, *CONFIRMED])
