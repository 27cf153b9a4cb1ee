"""Comparison of two runs: its tables, in a notebook and in a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from runners.analyse.run_comparison import BeforeAfter, Difference
from runners.core.records import CONTROL
from runners.core.units import RATES, RATIOS, amount, quantity, quantity_parts, system_title
from runners.present.kit.decision import estimate_cell
from runners.present.kit.frames import (
    ordered,
    workload_title,
)
from runners.present.kit.markup import Fragment, Group, TableCell, table
from runners.present.throughput import tables

_VERDICTS = tables.VERDICTS | {"not ranked": ("– not ranked", "name")}
# Of the throughputs A and B, and of B ÷ A, by the bound of the ratio: where the load was the limit, as the runs' own reports say.
_AT_LEAST = {"": ("", ""), "at most": ("≥ ", ""), "at least": ("", "≥ "), "unknown": ("≥ ", "≥ ")}
_SIDES = {"": "", "at most": "≤ ", "at least": "≥ ", "unknown": ""}


def what_changed(differences: Sequence[Difference]) -> Fragment:
    """Everything that the records of both runs state differently; what should have been the same comes first."""
    groups = [
        Group(
            title,
            [[TableCell(each.field), TableCell(each.a, kind="long"), TableCell(each.b, kind="long")] for each in rows],
        )
        for title, rows in (
            ("Not measured alike", [each for each in differences if not each.allowed]),
            ("What was changed", [each for each in differences if each.allowed]),
        )
        if rows
    ]
    nothing = [Group("", [[TableCell("nothing that the records hold"), TableCell("–"), TableCell("–")]])]
    return table("What differs between the two runs", [("fact", ""), ("A", ""), ("B", "")], groups or nothing)


def compared(found: BeforeAfter) -> Fragment:
    """Every cell that both runs have: rates, ratios and verdict."""
    heads = [
        ("system", ""),
        ("A", "requests/s, 95 % interval"),
        ("B", "requests/s, 95 % interval"),
        ("B ÷ A", "throughput, 95 % interval"),
        ("B is", "by this interval"),
        ("p99, B ÷ A", "service time, 95 % interval"),
        ("CPU, B ÷ A", "per request, 95 % interval"),
    ]
    groups = []
    for workload in ordered(found.cells["workload"]):
        rows = found.cells[found.cells["workload"] == workload].to_dict("records")
        groups.append(Group(workload_title(found.cells, workload), [_row(row) for row in rows]))
    return table("Throughput, service time and cost of both runs", heads, groups)


def _row(row: Mapping[str, object]) -> list[TableCell]:
    verdict = _said(str(row["verdict"]))
    words, kind = _VERDICTS.get(verdict, (verdict, ""))
    muted, (limited_a, limited_b) = row["system"] == CONTROL, _AT_LEAST[str(row["bound"])]
    note = "A/A control" if muted else "server unchanged" if row["unchanged"] else ""
    return [
        TableCell(str(row["system"]), note, "muted" if muted else ""),
        estimate_cell(row, "a_rps", RATES, limited_a),
        estimate_cell(row, "b_rps", RATES, limited_b),
        _ratio(row, "ratio", _SIDES[str(row["bound"])]),
        TableCell(words, kind="muted name" if muted else kind),
        _ratio(row, "p99_ratio"),
        _ratio(row, "cpu_ratio"),
    ]


def _ratio(row: Mapping[str, object], name: str, side: str = "") -> TableCell:
    value, low, high = (float(str(row[f"{name}{part}"])) for part in ("", "_low", "_high"))
    if pd.isna(value):
        return TableCell("–", "not estimable", "muted")
    text, interval = quantity_parts(value, low, high, RATIOS)
    return TableCell(side + text, interval)


def _said(verdict: str) -> str:
    """Return the word for a verdict: what cannot be compared is not ranked."""
    return "not ranked" if verdict == "not comparable" else verdict


def comparison_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """Return the cells of a comparison's ``summary.json`` as the rows of a table for a terminal; the first names the columns."""
    lines = [["workload", "system", "A", "B", "B ÷ A", "B is"]]
    for cell in summary["cells"]:
        rates = (
            limited + amount(cell[f"throughput_{side}_rps"]["value"], RATES)
            for side, limited in zip("ab", _AT_LEAST[cell["bound"]], strict=True)
        )
        value, low, high = (math.nan if part is None else part for part in cell["ratio"].values())
        ratio = _SIDES[cell["bound"]] + quantity(value, low, high, RATIOS)
        verdict = (
            f"(A/A control: {cell['server']} launched twice)" if cell["system"] == CONTROL else _said(cell["verdict"])
        )
        lines.append([cell["workload"], system_title(cell["system"]), *rates, ratio, verdict])
    return lines
