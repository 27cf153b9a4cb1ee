"""Tables against the number of connections: what was really open, errors by kind, memory; and builds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.analyse.checks.trial import OPEN_TOLERANCE
from runners.analyse.results import Results
from runners.analyse.usage import levels, memory_per_connection
from runners.core.units import SIZES, TIMES, amount, format_size
from runners.present.connections.sentences import busy_ratio
from runners.present.kit.decision import estimate_cell, without_number
from runners.present.kit.frames import ordered, without_control
from runners.present.kit.markup import Fragment, Group, TableCell, joined, table
from runners.present.throughput.tables import launches

_KINDS = ("connect", "read", "write", "timeout", "status")


def connections(results: Results) -> Fragment:
    """Per system and number of connections: what was open, errors by kind, memory, threads and descriptors; then the slopes."""
    cells = levels(without_control(results.cells))
    heads = [
        ("system", ""),
        ("open", "in mid-window"),
        ("ramp-up", "took"),
        ("busy", "by Little's law"),
        *((kind, _HEADS[kind]) for kind in _KINDS),
    ]
    heads += [("after start", "memory"), ("peak", "resident"), ("PSS", "mid-window"), ("load gone", "memory")]
    heads += [("threads", ""), ("files", "open")]
    groups = []
    for workload in ordered(cells["workload"]):
        rows = cells[cells["workload"] == workload].to_dict("records")
        groups.append(Group(workload, [_line(row, len(heads)) for row in rows]))
    return joined(table("Connections, errors by kind, and memory", heads, groups), _slopes(results))


_HEADS = {"connect": "errors", "read": "errors", "write": "errors", "timeout": "later than 2 s", "status": "errors"}


def _line(row: Mapping[str, Any], width: int) -> list[TableCell]:
    if row["status"] != "ok":
        return [TableCell(row["system"]), without_number(row["status"]), *[TableCell("–")] * (width - 2)]
    requested, seen = row["requested_connections_count"], row["established_count"]
    off = pd.notna(seen) and abs(seen - requested) > OPEN_TOLERANCE * requested
    errors = [int(row[f"errors_{kind}_count"]) for kind in _KINDS]
    memory = ("memory_before_rss_bytes", "rss_peak_bytes", "pss_bytes", "memory_after_rss_bytes")
    return [
        TableCell(row["system"], launches(row)),
        TableCell("–" if pd.isna(seen) else f"{seen:.0f}", kind="bad" if off else ""),
        TableCell(amount(row["ramp_up_s"], TIMES) if row["ramp_up_s"] else "at once"),
        TableCell(f"{100 * min(1.0, busy_ratio(row)):.0f} %"),
        *(TableCell(str(count), kind="bad" if count else "") for count in errors),
        *(TableCell(_size(row[name])) for name in memory),
        TableCell(str(row["threads_count"])),
        TableCell(_count(row["fds_count"])),
    ]


def _slopes(results: Results) -> Fragment:
    rows = memory_per_connection(results.usage)
    lines = []
    for row in rows[rows["system"].isin(without_control(results.cells)["system"])].to_dict("records"):
        slope = estimate_cell(row, "per_connection_bytes", SIZES)
        lines.append(
            [
                TableCell(row["system"]),
                TableCell(row["name"], kind="name"),
                slope,
                TableCell(_size(row["base_bytes"])),
                TableCell(str(row["most_connections_count"])),
            ]
        )
    heads = [("system", ""), ("workload", ""), ("a connection costs", "of peak memory, 95 % interval")]
    heads += [("without any", "intercept"), ("up to", "connections")]
    return table("Memory of one more connection: slope of the peaks, a line for each block", heads, [Group("", lines)])


def builds(results: Results) -> Fragment:
    """The timed builds: seconds, what was changed, and the size of what they leave."""
    heads = [
        ("system", ""),
        ("cold", "s"),
        ("warm", "s"),
        ("incremental", "s"),
        ("changed", "file"),
        ("output", "size"),
    ]
    lines = [
        [
            TableCell(row["system"], row["failure"]),
            *(TableCell(_seconds(row[name])) for name in ("cold_s", "warm_s", "incremental_s")),
            TableCell(row["changed"] or "–", kind="name"),
            TableCell(_size(row["output_bytes"])),
        ]
        for row in results.builds.to_dict("records")
    ]
    empty = [[TableCell("not timed in this run"), *[TableCell("–")] * (len(heads) - 1)]]
    return table("Builds", heads, [Group("", lines or empty)])


def _size(value: float) -> str:
    return "–" if pd.isna(value) else format_size(round(value))


def _count(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.0f}"


def _seconds(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.3g}"
