"""The decision table: a row for each system, sorted by value, with the leader and those tied with it first."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from runners.analyse.carried import MEASURED_BY
from runners.analyse.results import Results
from runners.core.parameter_values import objective
from runners.core.records import LOWER_BOUND_LIMITS
from runners.core.run_manifest import BackendFacts
from runners.core.units import RATES, Scale, amount, format_size, quantity_parts, shortened
from runners.present.kit.frames import BACKEND, backend_name, limit, measured, ordered, without_control
from runners.present.kit.markup import Fragment, Group, TableCell, joined, table
from runners.present.kit.ranking import Ranking
from runners.present.kit.wording import PER_SECOND

LEADERS = "Leader, or tied with it"
OTHERS = "Others"
BELOW = (
    "Below each rate: how many times as many the column's leader completes, 95 % interval. ≥: the load was the limit."
)
_UNKNOWN = TableCell("–", kind="muted")


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Attributes
    ----------
    head, unit : str
        The column's title and the smaller line under it.
    cells : Mapping[str, TableCell]
        System → its cell; a dash where there is none.
    """

    head: str
    unit: str
    cells: Mapping[str, TableCell]


def decision_table(
    caption: str,
    values: Mapping[str, float],
    columns: Sequence[Column],
    tied: Collection[str] = (),
    *,
    smallest_first: bool = False,
    notes: Sequence[str] = (),
) -> Fragment:
    """Return the table of what to choose.

    Parameters
    ----------
    values : Mapping[str, float]
        System → the value that sorts the rows; NaN stands last.
    tied : Collection[str]
        The leader and all that are not told apart from it, or are equivalent; empty: no tiers are shown.
    smallest_first : bool
        Whether the smallest value is the best.
    notes : Sequence[str]
        Sentences under the table.
    """
    sign = 1 if smallest_first else -1
    order = sorted(values, key=lambda system: math.inf if math.isnan(values[system]) else sign * values[system])
    rows = {
        system: [TableCell(system), *(column.cells.get(system, _UNKNOWN) for column in columns)] for system in order
    }
    tiers = {LEADERS: [name for name in order if name in tied], OTHERS: [name for name in order if name not in tied]}
    if not all(tiers.values()):
        tiers = {"" if not tied else LEADERS: order}
    groups = [Group(title, [rows[name] for name in names]) for title, names in tiers.items()]
    heads = [("system", ""), *((column.head, column.unit) for column in columns)]
    return joined(table(caption, heads, groups), *map(note, filter(None, notes)))


def note(text: str) -> Fragment:
    """Return a sentence in small print."""
    return Fragment(f'<p class="wb-note">{escape(text)}</p>', text)


def value_cell(value: float, low: float, high: float, scale: Scale, bound: str = "") -> TableCell:
    """Return a cell with a value and its interval; a dash where there is no value."""
    if pd.isna(value):
        return TableCell("–", "no number", "muted")
    text, interval = quantity_parts(value, low, high, scale)
    return TableCell(bound + text.replace(" requests/s", "").replace("requests/s", "/s"), interval)


def estimate_cell(row: Mapping[Any, Any], column: str, scale: Scale, bound: str = "") -> TableCell:
    """Return the cell of an estimate with its interval, from the columns ``…_low_unit`` and ``…_high_unit`` beside it."""
    stem, unit = column.rsplit("_", 1)
    low, high = (row.get(f"{stem}_{end}_{unit}", math.nan) for end in ("low", "high"))
    return value_cell(row[column], low, high, scale, bound)


def estimates(
    head: str, unit: str, cells: pd.DataFrame, column: str, scale: Scale, *, at_least: bool = False
) -> Column:
    """Return a column of estimates with the intervals beside them; a row of `cells` a system.

    `at_least` : whether a value is a lower bound where the load was the limit.
    """
    found = {}
    for row in cells.to_dict("records"):
        bound = "≥ " if at_least and row["bottleneck"] in LOWER_BOUND_LIMITS else ""
        found[row["system"]] = estimate_cell(row, column, scale, bound)
    return Column(head, unit, found)


def sizes(head: str, unit: str, cells: pd.DataFrame, column: str) -> Column:
    """Return a column of sizes in bytes."""
    return Column(head, unit, {row["system"]: TableCell(format_size(row[column])) for row in cells.to_dict("records")})


def launches(cells: pd.DataFrame) -> Column:
    """Return the column n: launches used, and where they differ, of how many made."""
    found = {}
    for row in cells.to_dict("records"):
        used, made = int(row["launches_count"]), int(row["launches_made_count"])
        found[row["system"]] = TableCell(str(used), "" if used == made else f"of {made}")
    return Column("n", "launches", found)


def limits(cells: pd.DataFrame, backends: Mapping[str, BackendFacts]) -> Column:
    """Return the column of what limited each throughput."""
    found = {
        row["system"]: TableCell(limit(row["bottleneck"], backends), kind="name") for row in cells.to_dict("records")
    }
    return Column("limit", "", found)


def without_number(status: str) -> TableCell:
    """Return the cell of one that failed, and why in short; the limits of the run say it whole."""
    return TableCell("–", shortened(status, 60), "bad")


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
        found = Ranking.of(results, workload)
        rows = without_control(results.cells[results.cells["workload"] == workload])
        cells = {row["system"]: _ranked(results, row, found) for row in rows.to_dict("records")}
        columns.append(Column(head, unit, cells))
        firsts.update([] if found.limited else found.first)
        best = measured(rows)["throughput_rps"].max()
        for row in measured(rows).itertuples():
            shares[str(row.system)].append(float(row.throughput_rps / best))
    systems = ordered(without_control(results.cells[results.cells["workload"].isin(list(heads))])["system"])
    values = {
        name: firsts[name] + (sum(shares[name]) / (len(heads) + 1) if shares[name] else math.nan) for name in systems
    }
    return values, columns, [name for name in systems if firsts[name]]


def _ranked(results: Results, row: Mapping[str, Any], found: Ranking) -> TableCell:
    """Return the throughput of a cell, and below it how many times as many the leader completes."""
    if row["status"] != "ok":
        return without_number(row["status"])
    system = row["system"]
    shown = f"{'≥ ' if row['bottleneck'] in LOWER_BOUND_LIMITS else ''}{amount(row['throughput_rps'], PER_SECOND)}"
    if found.limited or row["bottleneck"] == BACKEND:
        return TableCell(shown, f"limit: {backend_name(results.manifest.backends)}", "muted")
    if system == found.leader and not found.is_unranked:
        return TableCell(shown, "leader", "lead")
    ratio = found.ratio(system)
    if ratio is None or system in found.aside:
        return TableCell(shown, "not ranked", "muted")
    return TableCell(shown, f"tied: {ratio.note}", "lead") if system in found.ties else TableCell(shown, ratio.note)


def behind(found: Ranking) -> Column:
    """Return the column of how many times as many the leader completes."""
    cells = {}
    for name in found.names:
        ratio = found.ratio(name)
        if name == found.leader:
            cells[name] = TableCell("leader", kind="name") if len(found.names) > 1 else _UNKNOWN
        else:
            cells[name] = ratio.cell if ratio else TableCell("not ranked", kind="name")
    return Column("leader serves", "× as many", cells)


def capacities(found: pd.DataFrame, base_workload: str) -> Column | None:
    """Return the column of capacities of a workload, from :func:`runners.analyse.carried.carried`; None where none was measured."""
    rows = found[found["base_workload"] == base_workload]
    if rows.empty:
        return None
    signs = {"at least": "≥ ", "at most": "≤ "}
    cells = {
        row["system"]: estimate_cell(row, "capacity_rps", RATES, signs.get(row["bound"], ""))
        for row in rows.to_dict("records")
    }
    return Column(
        "capacity", f"requests/s at {objective(rows['objective'].iloc[0]).title}, run {rows['run_id'].iloc[0]}", cells
    )


def without_capacities(column: Column | None) -> str:
    """Return the note that says that no capacity was measured; empty where there is one."""
    return "" if column else f"Capacity at an objective: not measured here ({MEASURED_BY} does)."
