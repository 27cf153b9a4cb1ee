"""The standing in a workload: the leader, those not told apart from it, those behind it, and the words for that."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from runners.analyse.results import Results
from runners.core.records import GENERATOR_LIMITED
from runners.core.units import amount
from runners.present.kit.decision import Column
from runners.present.kit.frames import (
    BACKEND,
    backend_limited,
    backend_name,
    cell_of,
    has_errors,
    inverse,
    leaders,
    measured,
    ordered,
    without_control,
)
from runners.present.kit.markup import Cell
from runners.present.kit.wording import PER_SECOND, factor, few, known, sentence
from runners.present.throughput.tables import without_number

_UNTOLD = ("undecided", "equivalent")


@dataclass(frozen=True)
class Standing:
    """The systems of one workload, by their comparison with its leader.

    Attributes
    ----------
    ties : list[dict[str, Any]]
        Comparisons that decided nothing, from the highest throughput to the lowest.
    behind : list[dict[str, Any]]
        Comparisons that the leader won, in the same order.
    aside : list[str]
        Systems that cannot be compared with the leader, since the load generator or the backend was the limit of one.
    limited : bool
        Whether the backend was the limit of the leader, so that its throughput ranks nobody.
    """

    workload: str
    leader: str
    ties: list[dict[str, Any]]
    behind: list[dict[str, Any]]
    aside: list[str]
    limited: bool

    @property
    def first(self) -> list[str]:
        """The leader, and those that are not told apart from it."""
        return [self.leader, *(str(row["system_a"]) for row in self.ties)]


def standing(results: Results, workload: str) -> Standing | None:
    """Return who leads a workload; None where no system has a number that can be ranked."""
    cells = results.cells
    rows = leaders(results.comparisons, workload).sort_values("ratio", ascending=False, kind="stable")
    if rows.empty:
        own = without_control(measured(cells))
        names = [name for name in own[own["workload"] == workload]["system"] if not has_errors(cells, name, workload)]
        return Standing(workload, str(names[0]), [], [], [], limited=False) if len(names) == 1 else None
    leader = str(rows["system_b"].iloc[0])
    limited = set(backend_limited(cells, workload, leader, *rows["system_a"]))
    found: dict[str, list[dict[str, Any]]] = {"ties": [], "behind": [], "aside": []}
    for row in rows.to_dict("records"):
        told = pd.notna(row["ratio"]) and row["bound"] != "unknown" and not {row["system_a"], leader} & limited
        verdict = row["verdict"]
        kind = "aside" if not told else "behind" if verdict == "slower" else "ties" if verdict in _UNTOLD else "aside"
        found[kind].append(row)
    aside = [str(row["system_a"]) for row in found["aside"]]
    return Standing(workload, leader, found["ties"], found["behind"], aside, leader in limited)


def times(row: Mapping[str, Any]) -> str:
    """Return the leader's throughput as a multiple of another system's, with its interval and bound."""
    side = {"at most": "at least ", "at least": "at most "}.get(row["bound"], "")
    return side + factor(*inverse(row))


def rate(results: Results, system: str, workload: str) -> str:
    """Return a throughput with its interval; *at least* that where the load generator was the limit."""
    cell = cell_of(results.cells, system, workload)
    if cell is None or pd.isna(cell["throughput_rps"]):
        return "an unknown rate"
    least = "at least " if cell["bottleneck"] in GENERATOR_LIMITED else ""
    return least + known(cell["throughput_rps"], cell["throughput_low_rps"], cell["throughput_high_rps"], PER_SECOND)


def lead(results: Results, found: Standing, title: str) -> str:
    """Return the sentence about the leader of a workload: by how much it leads, and over whom; or with whom it ties."""
    leader, ties, behind = found.leader, found.ties, found.behind
    if found.limited:
        return sentence(
            f"{title}: the database was the limit of {leader}, so its {_rate(results, found)} rank no system"
        )
    if behind and ties:
        return sentence(
            f"{title}: {few(found.first)} tie, {leader} with {times(behind[0])} as many as {behind[0]['system_a']}"
        )
    if behind:
        last = behind[-1]
        more = f" and {times(last)} as many as {last['system_a']}" if len(behind) > 1 else ""
        return sentence(f"{title}: {leader} completes {times(behind[0])} as many as {behind[0]['system_a']}", more)
    if ties:
        last = ties[-1]
        said = f"{title}: {few(found.first)} are not told apart"
        return sentence(said, f": {leader} completes {times(last)} as many as {last['system_a']}")
    if found.aside:
        return sentence(
            f"{title}: {leader} completes {_rate(results, found)}; {few(found.aside)} cannot be ranked with it"
        )
    return sentence(f"{title}: {leader} alone has a rank, {_rate(results, found)}")


def _rate(results: Results, found: Standing) -> str:
    return rate(results, found.leader, found.workload)


def by_workload(
    results: Results, heads: Mapping[str, tuple[str, str]]
) -> tuple[dict[str, float], list[Column], list[str]]:
    """Return what a decision table with a column for each workload needs.

    Parameters
    ----------
    heads : Mapping[str, tuple[str, str]]
        Label of a workload → the head of its column, and its unit.

    Returns
    -------
    tuple
        System → its value: the number of workloads that it leads or ties for, then its shares of the best. The columns. The systems
        that lead a workload or tie for it.
    """
    columns, firsts, shares = [], Counter[str](), defaultdict[str, list[float]](list)
    for workload, (head, unit) in heads.items():
        found = standing(results, workload)
        rows = without_control(results.cells[results.cells["workload"] == workload])
        columns.append(
            Column(head, unit, {row["system"]: _cell(results, row, found) for row in rows.to_dict("records")})
        )
        firsts.update(found.first if found and not found.limited else [])
        best = measured(rows)["throughput_rps"].max()
        for row in measured(rows).itertuples():
            shares[str(row.system)].append(float(row.throughput_rps / best))
    systems = ordered(without_control(results.cells[results.cells["workload"].isin(list(heads))])["system"])
    values = {
        name: firsts[name] + (sum(shares[name]) / (len(heads) + 1) if shares[name] else math.nan) for name in systems
    }
    return values, columns, [name for name in systems if firsts[name]]


def _cell(results: Results, row: Mapping[str, Any], found: Standing | None) -> Cell:
    """Return the throughput of a cell, and below it how many times as many the leader completes."""
    if row["status"] != "ok":
        return without_number(row["status"])
    system = row["system"]
    shown = f"{'≥ ' if row['bottleneck'] in GENERATOR_LIMITED else ''}{amount(row['throughput_rps'], PER_SECOND)}"
    if found is None:
        return Cell(shown, "not ranked", "muted")
    behind = f"limit: {backend_name(results.manifest.backends)}"
    if system == found.leader:
        return Cell(shown, behind if found.limited else "leader", "" if found.limited else "good")
    rows = {str(each["system_a"]): each for each in (*found.ties, *found.behind)}
    if system not in rows:
        return Cell(
            shown, "limit: the backend" if row["bottleneck"] == BACKEND or found.limited else "not ranked", "muted"
        )
    tie = system in found.first
    ratio = times(rows[system]).replace("at least ", "≥ ").replace("at most ", "≤ ")
    return Cell(shown, f"tied: {ratio}" if tie else ratio, "good" if tie else "")
