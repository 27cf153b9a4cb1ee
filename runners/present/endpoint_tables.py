"""Tables of endpoints: the published table filled in, who was busy, and what every server has behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.present.endpoints import (
    LIMITS,
    columns,
    generator_of,
    labelled,
    nearest,
    shapes,
    title_of,
)
from runners.present.frames import cell_of, measured, ordered, without_placebo
from runners.present.markup import Cell, Fragment, Group, table
from runners.present.tables import throughput, without_number
from runners.present.wording import PERCENT, RATES, amount

_ROLES = {"server": "servers", "backend": "database", "generator": "load generator"}


def published_table(cells: pd.DataFrame, published: pd.DataFrame) -> Fragment:
    """The published table with our numbers: a row per system, a column per endpoint, a group per load generator."""
    found = columns(cells)
    heads = [("average requests/s", ""), *((title_of(*column), "") for column in found.items())]
    groups = []
    for shape in shapes(cells):
        rows = []
        for system in ordered(without_placebo(cells)["system"]):
            labels = [labelled(workload, shape) for workload in found]
            rows.append([Cell(system), *(_rate(cell_of(cells, system, label)) for label in labels)])
        groups.append(Group(f"here, by {generator_of(cells, shape)}, with 95 % intervals and n", rows))
    for source in ordered(published["source"]):
        rows = []
        for system in ordered(published["system"]):
            own = published[(published["source"] == source) & (published["system"] == system)]
            rows.append([Cell(system), *(_published(cell_of(own, system, workload)) for workload in found)])
        groups.append(Group(f"published by {source}, on another machine", rows))
    return table("Text, JSON and PostgreSQL: the published table, filled in", heads, groups)


def _rate(cell: pd.Series | None) -> Cell:
    if cell is None:
        return Cell("–", "not asked for", "muted")
    if cell["status"] != "ok":
        return without_number(cell["status"])
    return throughput(cell.to_dict())


def _published(cell: pd.Series | None) -> Cell:
    return Cell("?", kind="published") if cell is None else Cell(_short(cell["throughput_rps"]), kind="published")


def _short(rate: float) -> str:
    return amount(rate, RATES).replace(" requests/s", "")


def limits(cells: pd.DataFrame, pinning: Mapping[str, str]) -> Fragment:
    """How busy the CPUs of each role were, what of their time the role itself used, and who therefore was the limit."""
    roles = [role for role in _ROLES if role in pinning]
    heads: list[tuple[str, str]] = [("system", ""), ("by", "")]
    heads += [(f"CPU of the {_ROLES[role]}", f"CPU {pinning[role]}: busy, and used by it") for role in roles]
    groups = []
    for workload, title in columns(cells).items():
        rows = []
        for system in ordered(without_placebo(cells)["system"]):
            for shape in shapes(cells):
                cell = cell_of(measured(cells), system, labelled(workload, shape))
                if cell is not None:
                    rows.append(_busy_row(cell, generator_of(cells, shape), roles, pinning))
        groups.append(Group(title_of(workload, title), rows))
    return table("Who was busy, and who was the limit", [*heads, ("limit", "")], groups)


def _busy_row(cell: pd.Series, tool: str, roles: list[str], pinning: Mapping[str, str]) -> list[Cell]:
    parts = [
        Cell(amount(cell[f"{role}_busy_fraction"], PERCENT), f"itself {amount(cell[f'{role}_used_fraction'], PERCENT)}")
        if pd.notna(cell[f"{role}_busy_fraction"])
        else Cell("–", "takes no part", "muted")
        for role in roles
    ]
    unsaturated = cell["bottleneck"] == "unsaturated"
    near = f"nearest: {LIMITS[nearest(cell, pinning)]}" if unsaturated else ""
    return [Cell(cell["system"]), Cell(tool, kind="name"), *parts, Cell(LIMITS[cell["bottleneck"]], near, "name")]


def behind(backends: Mapping[str, Any]) -> Fragment:
    """What every server has behind it: how many connections, which statements, which settings, as this run recorded them."""
    groups = []
    for name, about in backends.items():
        each = about["pool_per_cpu_count"]
        facts = {
            "connections": f"{about['pool_count']} from each server, kept open: {each} for each of its CPUs",
            **{f"statement of {workload}": text for workload, text in about["statements"].items()},
            "how": "each statement prepared once on a connection; one query for a request, and one request's query at a time on a "
            "connection: no pipelining, no batching",
            "proof": "queries and rows, counted by it in every window, are those of the requests within 1 %, or the trial is void",
            "settings": ", ".join(f"{setting} = {value or 'none'}" for setting, value in about["settings"].items()),
        }
        rows = [[Cell(head), Cell(text, kind="long")] for head, text in facts.items()]
        groups.append(Group(f"{about['title']} (servers/{name})", rows))
    return table("Behind every server, the same for all", [("what", ""), ("is", "")], groups)
