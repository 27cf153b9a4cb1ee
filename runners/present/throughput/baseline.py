"""Every system relative to every other one, so that a reader chooses the baseline and nothing is divided in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.core.records import CONTROL
from runners.core.units import RATIOS, quantity_parts
from runners.present.kit.frames import inverse, leaders, ordered, workload_title
from runners.present.kit.markup import Fragment, Group, TableCell, table

ITSELF = ("1 ×", "the baseline")
NOT_COMPARED = ("–", "not compared")
_SIDES = {"": "", "at most": "≤ ", "at least": "≥ ", "unknown": "? "}
_TURNED = {"at most": "at least", "at least": "at most"}


def relative(comparisons: pd.DataFrame, cells: pd.DataFrame) -> Fragment:
    """Return the table of ratios to the leader of each workload, in which a report's script offers every other baseline.

    Ratios to the leader hold together; those to another baseline are single intervals.
    """
    groups = []
    for workload in ordered(comparisons["workload"]):
        found = ratio_cells(comparisons, workload)
        rows = [[TableCell(system), cell] for system, cell in found.items()]
        if rows:
            groups.append(Group(workload_title(cells, workload), rows))
    heads = [("system", ""), ("throughput", "relative to the leader, or to the chosen baseline; 95 % interval")]
    return table("Throughput relative to a baseline", heads, groups)


def ratio_cells(comparisons: pd.DataFrame, workload: str) -> dict[str, TableCell]:
    """Return system → its ratio to the workload's leader, with its ratio to every other system as a choice."""
    rows = comparisons[(comparisons["workload"] == workload) & (comparisons["system_a"] != CONTROL)]
    pairs: dict[tuple[str, str], tuple[str, str]] = {}
    for row in rows.to_dict("records"):
        names = row["system_a"], row["system_b"]
        pairs[names], pairs[names[::-1]] = _parts(row, turned=False), _parts(row, turned=True)
    systems = ordered(name for pair in pairs for name in pair)
    known = leaders(rows)
    leader = known["system_b"].iloc[0] if len(known) else next(iter(systems), "")
    return {system: _cell(system, str(leader), systems, pairs) for system in systems}


def _cell(system: str, leader: str, systems: list[str], pairs: Mapping[tuple[str, str], tuple[str, str]]) -> TableCell:
    choices = {other: ITSELF if other == system else pairs.get((system, other), NOT_COMPARED) for other in systems}
    text, note = choices[leader]
    return TableCell(text, note, choices=choices)


def _parts(row: Mapping[Any, Any], *, turned: bool) -> tuple[str, str]:
    """Return the ratio of a pair and its interval, a over b, or b over a where it is turned."""
    if pd.isna(row["ratio"]):
        return NOT_COMPARED
    side = _TURNED.get(row["bound"], row["bound"]) if turned else row["bound"]
    estimate = inverse(row) if turned else (row["ratio"], row["ratio_low"], row["ratio_high"])
    text, interval = quantity_parts(estimate[0], estimate[1], estimate[2], RATIOS)
    return f"{_SIDES[side]}{text}", interval
