"""What stands behind each endpoint: its published name, the loads that asked it, and who was the limit there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from runners.present.frames import ordered

# As the columns of the published table are called.
TITLES = {"text": "Text", "json": "JSON", "sql1": "PgSQL 1", "sql2": "PgSQL 2"}
ROLES = ("server", "backend", "generator")
LIMITS = {
    "server": "the server",
    "generator": "the load generator",
    "both": "server and load generator",
    "backend": "the database",
    "unsaturated": "nobody",
}


def shape_of(workload: str) -> str:
    """The shape in a workload's label: ``autocannon`` of ``text@autocannon``; empty for the run's own load."""
    return workload.partition("@")[2]


def in_shape(frame: pd.DataFrame, shape: str) -> pd.DataFrame:
    """The rows of one shape of the load."""
    return frame[frame["workload"].map(shape_of) == shape]


def own_load(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the run's own load, without those of other shapes."""
    return in_shape(frame, "")


def columns(cells: pd.DataFrame) -> dict[str, str]:
    """The workloads that are columns of the published table, with its names; of several sizes the first."""
    found: dict[str, str] = {}
    for workload in ordered(own_load(cells)["workload"]):
        title = TITLES.get(workload.partition("-")[0])
        if title is not None and title not in found.values():
            found[workload] = title
    return found


def title_of(workload: str, title: str) -> str:
    """A column's name with the number of records that a request asks for: ``PgSQL 2, 20 records``."""
    count = workload.partition("@")[0].partition("-")[2]
    return f"{title}, {count} record{'' if count == '1' else 's'}" if count else title


def shapes(cells: pd.DataFrame) -> list[str]:
    """The shapes of the load that the columns were asked for in; the first is the run's own, an empty name."""
    known = set(columns(cells))
    return ordered(shape_of(label) for label in cells["workload"] if label.partition("@")[0] in known)


def labelled(workload: str, shape: str) -> str:
    """A workload's label in one shape."""
    return f"{workload}@{shape}" if shape else workload


def generator_of(cells: pd.DataFrame, shape: str) -> str:
    """The load generator of a shape."""
    if "generator" in cells:
        for name in in_shape(cells, shape)["generator"].dropna():
            return str(name)
    return shape or "the load generator"


def nearest(cell: Mapping[Any, Any], pinning: Mapping[str, str]) -> str:
    """Who was the limit, or came nearest to it: of the busiest CPUs, the role that used most of them, as ``LIMITS`` names it."""
    if cell["bottleneck"] != "unsaturated":
        return str(cell["bottleneck"])
    busy = {role: cell[f"{role}_busy_fraction"] for role in ROLES if pd.notna(cell[f"{role}_busy_fraction"])}
    busiest = max(busy, key=lambda role: busy[role])
    sharing = [role for role in busy if pinning[role] == pinning[busiest]]
    return max(sharing, key=lambda role: cell[f"{role}_used_fraction"])


def spread(values: Iterable[float]) -> str:
    """Shares as whole percent: ``97 %``, or ``55 to 61 %``."""
    known = sorted(round(100 * value) for value in values if pd.notna(value))
    if not known:
        return "an unknown share"
    return f"{known[0]} %" if known[0] == known[-1] else f"{known[0]} to {known[-1]} %"
