"""Tables of latency under load: capacities with their cost, and response times at equal rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.analyse.capacities import ROUND_RPS
from runners.analyse.fixed_rates import base_titles, equal_rates, half_load
from runners.analyse.results import Results
from runners.core.parameter_values import objective
from runners.core.records import CONTROL
from runners.core.units import PERCENT, RATES, RATIOS, TIMES, amount, quantity_parts
from runners.present.kit.decision import estimate_cell, without_number
from runners.present.kit.frames import ordered
from runners.present.kit.markup import Fragment, Group, TableCell, table
from runners.present.throughput.tables import VERDICTS

_SIGNS = {"at least": "≥ ", "at most": "≤ ", "unknown": "? "}
_SHOWN = ("p50_s", "p99_s", "p99_9_s")


def capacities(results: Results) -> Fragment:
    """Return the table of capacities: each with its interval, its ratio to the leader and verdict, its confirmation, and its cost."""
    frame, titles = results.capacities, base_titles(results.manifest)
    costs = half_load(results.levels)
    heads = [
        ("system", "n: launches used/made"),
        ("capacity", "requests/s, 95 % interval"),
        ("of the leader's", "of a further session" if frame["sessions_count"].max() > 1 else "intervals hold together"),
        ("it is", "by this interval"),
        ("confirmed", "windows of fresh launches"),
        ("CPU", "per request at half load"),
        ("user, kernel", "per request"),
        (f"for {ROUND_RPS:,.0f}/s", "CPUs, if it scales linearly"),
    ]
    groups = []
    for base in (base for base in ordered(results.cells["base_workload"]) if base in set(frame["base_workload"])):
        for goal in ordered(frame["objective"]):
            rows = frame[(frame["base_workload"] == base) & (frame["objective"] == goal)]
            lines = [_line(row, _cost(costs, base, row["system"])) for row in rows.to_dict("records")]
            groups += [Group(f"{titles[base]}: {objective(goal).title}{_half(costs, base)}", lines)] if lines else []
    return table("Capacity under each objective, and what a request costs the server", heads, groups)


def _half(costs: pd.DataFrame, base: str) -> str:
    offered = costs.loc[costs["base_workload"] == base, "offered_rps"]
    return f" (half load: {offered.iloc[0]:,.0f}/s)" if len(offered) else ""


def _cost(costs: pd.DataFrame, base: str, system: str) -> Mapping[str, Any]:
    rows = costs[(costs["base_workload"] == base) & (costs["system"] == system)].to_dict("records")
    return rows[0] if rows else {}


def _name(row: Mapping[str, Any]) -> TableCell:
    launches = f"n = {int(row['launches_count'])}/{int(row['launches_made_count'])}"
    return TableCell(
        row["system"],
        launches + (", control" if row["system"] == CONTROL else ""),
        "muted" if row["system"] == CONTROL else "",
    )


def _line(row: Mapping[str, Any], cost: Mapping[str, Any]) -> list[TableCell]:
    spent = [TableCell("–"), TableCell("–")]
    if cost and pd.notna(cost["cpu_per_request_s"]):
        split = f"{amount(cost['cpu_user_per_request_s'], TIMES)}, {amount(cost['cpu_system_per_request_s'], TIMES)}"
        spent = [estimate_cell(cost, "cpu_per_request_s", TIMES), TableCell(split)]
    if row["status"] != "ok":
        return [
            _name(row),
            without_number(row["status"]),
            TableCell("–"),
            TableCell("–"),
            TableCell("–"),
            *spent,
            TableCell("–"),
        ]
    capacity = estimate_cell(row, "capacity_rps", RATES, _SIGNS.get(row["bound"], ""))
    return [_name(row), capacity, *_against(row), _confirmed(row), *spent, _cpus(row)]


def _against(row: Mapping[str, Any]) -> list[TableCell]:
    if row["system"] == row["leader"]:
        return [TableCell("1"), TableCell("the leader", kind="name")]
    if pd.isna(row["ratio"]):
        return [TableCell("–"), TableCell("–", kind="name")]
    ratio, interval = quantity_parts(row["ratio"], row["ratio_low"], row["ratio_high"], RATIOS)
    words, kind = VERDICTS.get(row["verdict"], ("control: no verdict", "muted name"))
    less = {"▲ faster": "▲ more", "▼ slower": "▼ less"}.get(words, words)
    return [TableCell(_SIGNS.get(row["ratio_bound"], "") + ratio, interval), TableCell(less, kind=kind)]


def _confirmed(row: Mapping[str, Any]) -> TableCell:
    if pd.isna(row["confirmations_count"]):
        return TableCell("–", "not tried", "muted")
    held, tried = int(row["held_count"]), int(row["confirmations_count"])
    rate = amount(row["confirmed_rps"], RATES).replace(" requests/s", "/s")
    where = f"at {rate}" if row["sessions_count"] == 1 else "each session at its own rate"
    return TableCell(f"{held} of {tried}", where, "good" if held == tried else "warn")


def _cpus(row: Mapping[str, Any]) -> TableCell:
    """Return the CPUs for `ROUND_RPS`; a capacity of at least something needs at most so many."""
    sign = {"at least": "≤ ", "at most": "≥ ", "unknown": "? "}.get(row["bound"], "")
    text, interval = quantity_parts(row["cpus_count"], row["cpus_low_count"], row["cpus_high_count"], ((1.0, ""),))
    return TableCell(sign + text.strip(), interval)


def levels(results: Results) -> Fragment:
    """Return the table of response times and CPU time at each equal rate."""
    titles, rows = base_titles(results.manifest), equal_rates(results.levels)
    further = " of a further session" if rows["sessions_count"].max() > 1 else ""
    heads = [
        ("system", "n: launches"),
        ("achieved", "of the rate"),
        *((name.removesuffix("_s").replace("_", "."), f"response time, 95 % interval{further}") for name in _SHOWN),
        ("CPU", "of the server, per request"),
        ("user", "per request"),
        ("kernel", "per request"),
    ]
    groups = []
    for base in (base for base in ordered(results.cells["base_workload"]) if base in set(rows["base_workload"])):
        for rate, own in rows[rows["base_workload"] == base].groupby("offered_rps"):
            share = own["share"].iloc[0]
            of = f", {amount(share, PERCENT)} of the slowest system's capacity" if pd.notna(share) else ""
            lines = [_level(row, alone=bool(further)) for row in own.to_dict("records")]
            groups.append(Group(f"{titles[base]}, {rate:,.0f}/s{of}", lines))
    return table("Response times and CPU time at equal rates", heads, groups)


def _level(row: Mapping[str, Any], *, alone: bool) -> list[TableCell]:
    """Return the cells of one system; with `alone`, those that are of this session only say so."""
    launches = f"n = {int(row['launches_count'])}" + (", this session" if alone and row["sessions_count"] == 1 else "")
    name = TableCell(row["system"], launches, "muted" if row["system"] == CONTROL else "")
    if row["status"] != "ok" and not row["saturated"]:
        return [name, without_number(row["status"]), *[TableCell("–")] * (len(_SHOWN) + 3)]
    achieved = TableCell(
        amount(row["achieved_fraction"], PERCENT),
        "saturated" if row["saturated"] else "",
        "bad" if row["saturated"] else "",
    )
    cost = [TableCell(amount(row[column], TIMES)) for column in ("cpu_user_per_request_s", "cpu_system_per_request_s")]
    return [
        name,
        achieved,
        *(estimate_cell(row, column, TIMES) for column in _SHOWN),
        estimate_cell(row, "cpu_per_request_s", TIMES),
        *cost,
    ]
