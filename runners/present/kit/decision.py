"""The decision table: a row for each system, sorted by value, with the leader and those tied with it first."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import pandas as pd

from runners.analyse.carried import MEASURED_BY
from runners.core.records import GENERATOR_LIMITED
from runners.core.run_manifest import BackendFacts
from runners.core.units import RATES, Scale, format_size, quantity_parts
from runners.present.kit.frames import limit
from runners.present.kit.markup import Cell, Fragment, Group, joined, table

LEADERS = "Leader, or tied with it"
OTHERS = "Others"
_UNKNOWN = Cell("–", kind="muted")


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Attributes
    ----------
    head, unit : str
        The column's title and the smaller line under it.
    cells : Mapping[str, Cell]
        System → its cell; a dash where there is none.
    """

    head: str
    unit: str
    cells: Mapping[str, Cell]


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
    rows = {system: [Cell(system), *(column.cells.get(system, _UNKNOWN) for column in columns)] for system in order}
    tiers = {LEADERS: [name for name in order if name in tied], OTHERS: [name for name in order if name not in tied]}
    if not all(tiers.values()):
        tiers = {"" if not tied else LEADERS: order}
    groups = [Group(title, [rows[name] for name in names]) for title, names in tiers.items()]
    heads = [("system", ""), *((column.head, column.unit) for column in columns)]
    return joined(table(caption, heads, groups), *map(note, filter(None, notes)))


def note(text: str) -> Fragment:
    """Return a sentence in small print."""
    return Fragment(f'<p class="wb-note">{escape(text)}</p>', text)


def value_cell(value: float, low: float, high: float, scale: Scale, bound: str = "") -> Cell:
    """Return a cell with a value and its interval; a dash where there is no value."""
    if pd.isna(value):
        return Cell("–", "no number", "muted")
    text, interval = quantity_parts(value, low, high, scale)
    return Cell(bound + text.replace(" requests/s", "").replace("requests/s", "/s"), interval)


def estimates(
    head: str, unit: str, cells: pd.DataFrame, column: str, scale: Scale, *, at_least: bool = False
) -> Column:
    """Return a column of estimates with the intervals beside them: ``…_low_unit`` and ``…_high_unit``; a row of `cells` a system.

    `at_least` : whether a value is a lower bound where the load generator was the limit.
    """
    stem, ending = column.rsplit("_", 1)
    found = {}
    for row in cells.to_dict("records"):
        low, high = (row.get(f"{stem}_{end}_{ending}", math.nan) for end in ("low", "high"))
        bound = "≥ " if at_least and row["bottleneck"] in GENERATOR_LIMITED else ""
        found[row["system"]] = value_cell(row[column], low, high, scale, bound)
    return Column(head, unit, found)


def sizes(head: str, unit: str, cells: pd.DataFrame, column: str) -> Column:
    """Return a column of sizes in bytes."""
    return Column(head, unit, {row["system"]: Cell(format_size(row[column])) for row in cells.to_dict("records")})


def launches(cells: pd.DataFrame) -> Column:
    """Return the column n: launches used, and where they differ, of how many made."""
    found = {}
    for row in cells.to_dict("records"):
        used, made = int(row["launches_count"]), int(row["launches_made_count"])
        found[row["system"]] = Cell(str(used), "" if used == made else f"of {made}")
    return Column("n", "launches", found)


def limits(cells: pd.DataFrame, backends: Mapping[str, BackendFacts]) -> Column:
    """Return the column of what limited each throughput."""
    found = {row["system"]: Cell(limit(row["bottleneck"], backends), kind="name") for row in cells.to_dict("records")}
    return Column("limit", "", found)


def capacities(found: pd.DataFrame, base_workload: str) -> Column | None:
    """Return the column of capacities of a workload, from :func:`runners.analyse.carried.carried`; None where none was measured."""
    rows = found[found["base_workload"] == base_workload]
    if rows.empty:
        return None
    signs = {"at least": "≥ ", "at most": "≤ "}
    cells = {
        row["system"]: value_cell(
            row["capacity_rps"], row["capacity_low_rps"], row["capacity_high_rps"], RATES, signs.get(row["bound"], "")
        )
        for row in rows.to_dict("records")
    }
    return Column("capacity", f"requests/s at {rows['objective'].iloc[0]}, run {rows['run_id'].iloc[0]}", cells)


def without_capacities(column: Column | None) -> str:
    """Return the note that says that no capacity was measured; empty where there is one."""
    return "" if column else f"Capacity at an objective: not measured here ({MEASURED_BY} does)."
