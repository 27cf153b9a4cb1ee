"""Tables of endpoints: the published table filled in, limits, and what stands behind each endpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from runners.core.run_manifest import BackendFacts
from runners.core.units import PERCENT, RATES, amount
from runners.core.workloads import WORKLOADS
from runners.present.kit.decision import without_number
from runners.present.kit.frames import cell_of, measured, ordered, without_control, without_rate
from runners.present.kit.markup import Fragment, Group, TableCell, table
from runners.present.throughput.tables import throughput

_ROLES = {"server": "servers", "backend": "database", "generator": "load generator"}


def published_table(cells: pd.DataFrame, published: pd.DataFrame) -> Fragment:
    """The published table with our numbers: a row per system, a column per endpoint, a group per load generator."""
    found = columns(cells)
    heads = [("average requests/s", ""), *((title_of(cells, *column), "") for column in found.items())]
    groups = []
    for shape in shapes(cells):
        rows = []
        for system in ordered(without_control(cells)["system"]):
            labels = [labelled(cells, workload, shape) for workload in found]
            rows.append([TableCell(system), *(_rate(cell_of(cells, system, label)) for label in labels)])
        groups.append(Group(f"here, by {generator_of(cells, shape)}, with 95 % intervals and n", rows))
    for source in ordered(published["source"]):
        rows = []
        for system in ordered(published["system"]):
            own = published[(published["source"] == source) & (published["system"] == system)]
            rows.append([TableCell(system), *(_published(cell_of(own, system, workload)) for workload in found)])
        groups.append(Group(f"published by {source}, on another machine", rows))
    return table("Text, JSON and PostgreSQL: the published table, filled in", heads, groups)


def _rate(cell: pd.Series | None) -> TableCell:
    if cell is None:
        return TableCell("–", "not planned", "muted")
    if cell["status"] != "ok":
        return without_number(cell["status"])
    return throughput(cell.to_dict())


def _published(cell: pd.Series | None) -> TableCell:
    return (
        TableCell("?", kind="published")
        if cell is None
        else TableCell(_short(cell["throughput_rps"]), kind="published")
    )


def _short(rate: float) -> str:
    return amount(rate, RATES).replace(" requests/s", "")


def limits(cells: pd.DataFrame, pinning: Mapping[str, str]) -> Fragment:
    """Return the table of limits: how busy the CPUs of each role were, its own share, and the resulting limit."""
    roles = [role for role in _ROLES if role in pinning]
    heads: list[tuple[str, str]] = [("system", ""), ("by", "")]
    heads += [(f"CPU of the {_ROLES[role]}", f"CPU {pinning[role]}: busy, and used by it") for role in roles]
    groups = []
    for workload, title in columns(cells).items():
        rows = []
        for system in ordered(without_control(cells)["system"]):
            for shape in shapes(cells):
                cell = cell_of(measured(cells), system, labelled(cells, workload, shape))
                if cell is not None:
                    rows.append(_busy_row(cell, generator_of(cells, shape), roles, pinning))
        groups.append(Group(title_of(cells, workload, title), rows))
    return table("Who was busy, and who was the limit", [*heads, ("limit", "")], groups)


def _busy_row(cell: pd.Series, tool: str, roles: list[str], pinning: Mapping[str, str]) -> list[TableCell]:
    parts = [
        TableCell(
            amount(cell[f"{role}_busy_fraction"], PERCENT), f"itself {amount(cell[f'{role}_used_fraction'], PERCENT)}"
        )
        if pd.notna(cell[f"{role}_busy_fraction"])
        else TableCell("–", "takes no part", "muted")
        for role in roles
    ]
    unsaturated = cell["bottleneck"] == UNSATURATED
    near = f"nearest: {LIMITS[nearest(cell, pinning)]}" if unsaturated else ""
    return [
        TableCell(cell["system"]),
        TableCell(tool, kind="name"),
        *parts,
        TableCell(LIMITS[cell["bottleneck"]], near, "name"),
    ]


def behind(backends: Mapping[str, BackendFacts]) -> Fragment:
    """Return the table of backends: connections, statements and settings, as this run recorded them."""
    groups = []
    for name, about in backends.items():
        each = about.pool_per_cpu_count
        facts = {
            "connections": f"{about.pool_count} from each server, kept open: {each} for each of its CPUs",
            **{f"statement of {workload}": text for workload, text in about.statements.items()},
            "how": "each statement prepared once on a connection; one query for a request, and one request's query at a time on a "
            "connection: no pipelining, no batching",
            "proof": "queries and rows, counted by it in every window, are those of the requests within 1 %, or the trial is void",
            "settings": ", ".join(f"{setting} = {value or 'none'}" for setting, value in about.settings.items()),
        }
        rows = [[TableCell(head), TableCell(text, kind="long")] for head, text in facts.items()]
        groups.append(Group(f"{about.title} (servers/{name})", rows))
    return table("Behind every server, the same for all", [("what", ""), ("is", "")], groups)


ROLES = ("server", "backend", "generator")
UNSATURATED = "unsaturated"
LIMITS = {
    "server": "the server",
    "generator": "the load generator",
    "both": "server and load generator",
    "backend": "the database",
    "network": "the network",
    UNSATURATED: "nothing was busy",
}


def in_shape(frame: pd.DataFrame, shape: str) -> pd.DataFrame:
    """The rows of one shape of the load; the run's own has an empty name."""
    return frame[frame["shape"] == shape]


def own_load(frame: pd.DataFrame, cells: pd.DataFrame | None = None) -> pd.DataFrame:
    """The rows of the run's own load, without those of other shapes; `cells` has the shapes where `frame` has none."""
    return frame[frame["workload"].isin(in_shape(frame if cells is None else cells, "")["workload"])]


def columns(cells: pd.DataFrame) -> dict[str, str]:
    """The workloads that are columns of the published table, with its names; of several sizes the first."""
    found: dict[str, str] = {}
    for row in own_load(cells).drop_duplicates("workload").itertuples():
        title = WORKLOADS[str(row.workload_name)].title
        if title not in found.values():
            found[str(row.workload)] = title
    return found


def title_of(cells: pd.DataFrame, workload: str, title: str) -> str:
    """A column's name with the number of records that a request names: ``PgSQL 2, 20 records``."""
    counts = (
        cells.loc[cells["workload"] == workload, "records_count"].dropna().to_list() if "records_count" in cells else []
    )
    return f"{title}, {counts[0]:.0f} record{'' if counts[0] == 1 else 's'}" if counts else title


def titled(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells with the names of the published columns as titles of their workloads."""
    found = {
        str(row.workload): title_of(cells, str(row.workload), WORKLOADS[str(row.workload_name)].title)
        for row in cells.drop_duplicates("workload").itertuples()
    }
    return cells.assign(workload_title=cells["workload"].map(found))


def shapes(cells: pd.DataFrame) -> list[str]:
    """The shapes of the load without a rate that the columns were planned in; the first is the run's own, an empty name."""
    cells = without_rate(cells)
    return ordered(cells.loc[cells["base_workload"].isin(columns(cells)), "shape"])


def labelled(cells: pd.DataFrame, workload: str, shape: str) -> str:
    """The label of a workload in one shape; empty where it was not planned in that."""
    labels = cells.loc[(cells["base_workload"] == workload) & (cells["shape"] == shape), "workload"]
    return str(labels.iloc[0]) if len(labels) else ""


def generator_of(cells: pd.DataFrame, shape: str) -> str:
    """The load generator of a shape."""
    if "generator" in cells:
        for name in in_shape(cells, shape)["generator"].dropna():
            return str(name)
    return shape or "the load generator"


def nearest(cell: Mapping[Any, Any], pinning: Mapping[str, str]) -> str:
    """Return the limit, or the role nearest to it: the role that used most of the busiest CPUs, as ``LIMITS`` names it."""
    if cell["bottleneck"] != UNSATURATED:
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
