"""Show the changes between two revisions: the decision over all cells, a table for the terminal, and Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from runners.cli.console import table
from runners.core.records import Interval
from runners.core.units import RATIOS, amount, quantity
from runners.stats.verdicts import decision_of

if TYPE_CHECKING:
    from runners.analyse.revision_changes import Change


def verdict(found: Sequence[Change], before: str, threshold: float) -> str:
    """Return the decision as a sentence."""
    if not found:
        return f"No regression since {before}: no measured row differs. To measure one all the same: -p systems NAME."
    size = f"{threshold:.1%}".replace("%", " %")
    said = {
        "regression": f"Regression since {before}: at least one cell is slower; the threshold is {size}.",
        "no regression": f"No regression since {before}: no cell is slower by {size}.",
        "undecided": f"Undecided whether a cell is slower than at {before} by {size}: give it more --minutes.",
    }
    decided = decision_of([each.decision(threshold) for each in found])
    if decided != "undecided":
        return said[decided]
    from runners.analyse.revision_changes import why_undecided

    return f"{said[decided]} {why_undecided(found, threshold)}".rstrip()


_HEADS = (
    "system",
    "workload",
    "requests/s",
    "CPU a request",
    "p99",
    "peak memory",
    "size",
    "build time",
    "n",
    "decision",
)


def _rows(found: Sequence[Change], threshold: float) -> list[list[str]]:
    return [
        [
            each.system,
            each.workload,
            "load was the limit" if each.is_bound else _ratio(each.throughput),
            _ratio(each.cpu),
            _ratio(each.p99) if math.isfinite(each.p99.value) else "–",
            amount(each.memory_ratio, RATIOS),
            amount(each.size_ratio, RATIOS),
            amount(each.build_ratio, RATIOS) if math.isfinite(each.build_ratio) else "–",
            str(each.blocks_count),
            each.decision(threshold),
        ]
        for each in found
    ]


def _ratio(found: Interval) -> str:
    return quantity(found.value, found.low, found.high, RATIOS)


def in_a_table(found: Sequence[Change], threshold: float) -> Table:
    """Return the changes for the terminal; each ratio is after ÷ before."""
    heads, rows = _columns(found, threshold)
    return table(heads, rows, title="After ÷ before, 95 % intervals", right=tuple(range(2, len(heads) - 1)))


def _columns(found: Sequence[Change], threshold: float) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of the table, without the columns of what was not measured."""
    known = {
        "p99": any(math.isfinite(each.p99.value) for each in found),
        "build time": any(math.isfinite(each.build_ratio) for each in found),
    }
    kept = [place for place, head in enumerate(_HEADS) if known.get(head, True)]
    return [_HEADS[place] for place in kept], [[row[place] for place in kept] for row in _rows(found, threshold)]


def in_markdown(found: Sequence[Change], before: str, threshold: float) -> str:
    """Return the changes as a comment on a pull request."""
    heads, measured = _columns(found, threshold)
    rows = [heads, ["---"] * len(heads), *measured]
    lines = [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows]
    return (
        "\n".join([f"**{verdict(found, before, threshold)}**", "", *lines, "", "After ÷ before, 95 % intervals."])
        + "\n"
    )
