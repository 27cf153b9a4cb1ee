"""What a run is going to do, before it does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runners.present.markup import Cell, Fragment, Group, table


def plan(cells: Sequence[tuple[str, str, str]], facts: Mapping[str, str]) -> Fragment:
    """The design as a table.

    Parameters
    ----------
    cells : (workload, system, path) of each cell
    facts : what holds for all of them, by name
    """
    groups = [Group("Every cell", [[Cell(name), Cell(text, kind="long")] for name, text in facts.items()])]
    for workload in dict.fromkeys(cell[0] for cell in cells):
        rows = [[Cell(system), Cell(path, kind="long")] for label, system, path in cells if label == workload]
        groups.append(Group(workload, rows))
    return table("Plan", [("system", ""), ("request", "")], groups)
