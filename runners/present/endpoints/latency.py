"""Response times of endpoints at a fixed rate, the same for all servers of a column, beside their throughput."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from runners.core.units import TIMES
from runners.present.endpoints.tables import columns, title_of, titled
from runners.present.kit.decision import estimate_cell, without_number
from runners.present.kit.frames import cell_of, measured, ordered, without_control
from runners.present.kit.markup import Fragment, Group, TableCell, table
from runners.present.kit.theme import Chart
from runners.present.latency import charts
from runners.present.throughput.tables import throughput


def at_rates(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells of the published columns at a fixed rate."""
    if "offered_rps" not in cells:
        return cells.iloc[:0]
    return cells[cells["base_workload"].isin(columns(cells)) & cells["offered_rps"].notna()]


def at_fixed_rate(cells: pd.DataFrame) -> Chart | None:
    """Chart p50, p90 and p99 at the fixed rate of each column; None where none was measured."""
    rows = at_rates(cells)
    return None if rows.empty else charts.regular(titled(rows))


def beside_throughput(cells: pd.DataFrame) -> Fragment:
    """Return the table of throughput at saturation, and of the response times at the fixed rate."""
    heads = [
        ("system", ""),
        ("throughput", "requests/s at saturation, 95 % interval"),
        ("achieved", "of the fixed rate"),
        ("p50", "response time at the rate, 95 % interval"),
        ("p99", "response time at the rate, 95 % interval"),
    ]
    groups = []
    for base, label in _labels(cells).items():
        own = cells[cells["workload"] == label]
        rows = [_row(cell_of(cells, system, base), cell_of(own, system, label)) for system in ordered(own["system"])]
        groups.append(Group(_titled(cells, base, label), rows))
    return table("Throughput, and response times at the same rate for all", heads, groups)


@dataclass(frozen=True)
class P99Range:
    """The cells with the shortest and the longest p99 of one column at its fixed rate."""

    title: str
    low: pd.Series
    high: pd.Series

    @property
    def are_apart(self) -> bool:
        """Return whether the two intervals do not overlap."""
        return bool(self.low["p99_high_s"] < self.high["p99_low_s"])


def widest(cells: pd.DataFrame) -> P99Range | None:
    """Return the column whose p99 differs most among its servers, of those that tell them apart where there is one."""
    found = []
    for base, label in _labels(cells).items():
        rows = without_control(measured(cells))
        rows = rows[(rows["workload"] == label) & rows["p99_s"].notna()].sort_values("p99_s", kind="stable")
        if len(rows) > 1:
            found.append(P99Range(_titled(cells, base, label), rows.iloc[0], rows.iloc[-1]))
    return max(found, key=lambda each: (each.are_apart, each.high["p99_s"] / each.low["p99_s"]), default=None)


def _labels(cells: pd.DataFrame) -> dict[str, str]:
    """Return the workload of each column → the same at its fixed rate."""
    rows = at_rates(cells).drop_duplicates("base_workload")
    return dict(zip(rows["base_workload"], rows["workload"], strict=True))


def _titled(cells: pd.DataFrame, base: str, label: str) -> str:
    offered = cells.loc[cells["workload"] == label, "offered_rps"].dropna().iloc[0]
    return f"{title_of(cells, base, columns(cells)[base])}, {offered:,.0f}/s"


def _row(closed: pd.Series | None, at_rate: pd.Series | None) -> list[TableCell]:
    assert at_rate is not None, "the row of a cell"
    name, known = TableCell(at_rate["system"]), TableCell("–", kind="muted")
    if closed is not None:
        known = throughput(closed.to_dict()) if closed["status"] == "ok" else without_number(closed["status"])
    if at_rate["status"] != "ok":
        return [name, known, without_number(at_rate["status"]), TableCell("–"), TableCell("–")]
    achieved = TableCell(f"{at_rate['achieved_fraction']:.1%}")
    return [name, known, achieved, *(estimate_cell(at_rate.to_dict(), column, TIMES) for column in ("p50_s", "p99_s"))]
