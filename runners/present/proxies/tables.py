"""Tables of what tells proxies apart: the cost of a connection, capacity with its limit, and how they relay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.core.records import CONTROL
from runners.core.run_manifest import BackendFacts, RelayNotes
from runners.core.units import RATIOS, TIMES, amount, format_size, quantity_parts
from runners.present.kit.decision import estimate_cell, without_number
from runners.present.kit.frames import (
    BACKEND,
    interval_words,
    leaders,
    limit,
    ordered,
    without_backend_verdicts,
    workload_title,
)
from runners.present.kit.markup import Fragment, Group, TableCell, table
from runners.present.throughput.tables import VERDICTS, launches, throughput


def connection_costs(cells: pd.DataFrame) -> Fragment:
    """CPU time for 1,000 requests, which without keep-alive are connections, user and kernel apart; memory while they came."""
    heads = [
        ("system", ""),
        ("CPU", "per 1,000 requests, 95 % interval"),
        ("user", "per 1,000"),
        ("kernel", "per 1,000"),
        ("memory", "peak RSS"),
        ("memory", "PSS in the window"),
        ("connections", "of clients, open in the middle of the window"),
        ("context switches", "per request"),
    ]
    groups = []
    for workload in ordered(cells["workload"]):
        rows = [_cost(row) for row in cells[cells["workload"] == workload].to_dict("records") if row["status"] == "ok"]
        groups.append(Group(workload_title(cells, workload), rows))
    return table("What a connection costs the system itself", heads, groups)


def capacity(comparisons: pd.DataFrame, cells: pd.DataFrame, backends: Mapping[str, BackendFacts]) -> Fragment:
    """The throughput of each cell with what limited it, and its ratio to the workload's leader.

    Where the backend limited either cell of a comparison, no verdict stands beside the ratio.
    """
    shown = without_backend_verdicts(leaders(comparisons), cells, backends)
    heads = [
        ("system", ""),
        ("throughput", "requests/s, 95 % interval"),
        ("limit", "what was busy"),
        ("relative to the leader", interval_words(comparisons)),
        ("it is", "by this interval"),
    ]
    groups = []
    for workload in ordered(cells["workload"]):
        against = {row["system_a"]: row for row in leaders(shown, workload).to_dict("records")}
        rows = cells[cells["workload"] == workload].to_dict("records")
        leader = next(iter(against.values()))["system_b"] if against else ""
        lines = [_capacity(row, against.get(row["system"]), leader, backends) for row in rows]
        groups.append(Group(workload_title(cells, workload), lines))
    return table(
        "Capacity and what limited it; where the backend was the limit, the throughput is the backend's", heads, groups
    )


def optional_cases(notes: Mapping[str, RelayNotes | None]) -> Fragment:
    """The relay cases that are not required, and which of them each proxy did not pass."""
    heads = [("proxy", ""), ("passed", "cases"), ("failed", "")]
    rows = []
    for system, found in notes.items():
        if found is None:
            continue
        failed = found.failed
        words = "; ".join(f"{note.case} ({note.difference})" for note in failed)
        passed = f"{found.tried - len(failed)} of {found.tried}"
        rows.append([TableCell(system), TableCell(passed), TableCell(words or "nothing", kind="words")])
    return table("How the proxies relay: half-closed connections, resets, slow readers", heads, [Group("", rows)])


def name_cell(system: str) -> TableCell:
    """A system's name; the control is set in grey."""
    return TableCell(system, "A/A control" if system == CONTROL else "", "muted" if system == CONTROL else "")


def _capacity(
    row: Mapping[str, Any], against: Mapping[str, Any] | None, leader: str, backends: Mapping[str, BackendFacts]
) -> list[TableCell]:
    if row["status"] != "ok":
        return [name_cell(row["system"]), without_number(row["status"]), TableCell("–"), TableCell("–"), TableCell("–")]
    by_backend = row["bottleneck"] == BACKEND
    return [
        name_cell(row["system"]),
        throughput(row),
        TableCell(
            limit(row["bottleneck"], backends), "the backend" if by_backend else "", "warn" if by_backend else "name"
        ),
        *_against(row, against, leader),
    ]


def _against(row: Mapping[str, Any], against: Mapping[str, Any] | None, leader: str) -> list[TableCell]:
    if row["system"] == leader:
        return [TableCell("1"), TableCell("the leader", kind="name")]
    if against is None or pd.isna(against["ratio"]):
        return [
            TableCell("–"),
            TableCell("control: no verdict" if row["system"] == CONTROL else "–", kind="muted name"),
        ]
    ratio, interval = quantity_parts(against["ratio"], against["ratio_low"], against["ratio_high"], RATIOS)
    side = {"at most": "≤ ", "at least": "≥ "}.get(against["bound"], "")
    words, kind = VERDICTS.get(against["verdict"], (against["verdict"], "name"))
    return [TableCell(side + ratio, interval), TableCell(words, kind=kind)]


def _cost(row: Mapping[str, Any]) -> list[TableCell]:
    thousand = {
        name: 1000 * row[name]
        for name in (
            "cpu_per_request_s",
            "cpu_per_request_low_s",
            "cpu_per_request_high_s",
            "cpu_user_per_request_s",
            "cpu_system_per_request_s",
        )
    }
    return [
        TableCell(row["system"], launches(row), "muted" if row["system"] == CONTROL else ""),
        estimate_cell(thousand, "cpu_per_request_s", TIMES),
        TableCell(amount(thousand["cpu_user_per_request_s"], TIMES)),
        TableCell(amount(thousand["cpu_system_per_request_s"], TIMES)),
        TableCell("–" if pd.isna(row["rss_peak_bytes"]) else format_size(row["rss_peak_bytes"])),
        TableCell(format_size(row["pss_bytes"])),
        TableCell("–" if pd.isna(row["established_count"]) else f"{row['established_count']:.0f}"),
        TableCell(f"{row['context_switches_per_request_ratio']:.2f}"),
    ]
