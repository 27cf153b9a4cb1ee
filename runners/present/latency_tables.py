"""Tables of systems at the same offered rate: the published form, verdicts, what a connection costs, and how proxies behave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.present.frames import cell_of, control_pairs, later_first, ordered
from runners.present.latency_charts import statistic_words
from runners.present.markup import Cell, Fragment, Group, table
from runners.present.tables import VERDICTS, estimate, p_value, without_number
from runners.present.wording import RATES, RATIOS, TIMES, amount, quantity
from runners.records import PLACEBO
from runners.units import format_size

_PUBLISHED = ("p50_s", "p90_s", "p99_s", "p99_9_s", "p99_99_s", "max_s", "tm99_s", "stddev_s")
_WITHOUT_INTERVAL = ("max_s", "tm99_s", "stddev_s")


def rates(record: Mapping[str, Any], cells: pd.DataFrame) -> Fragment:
    """What each system carries without a rate, what was offered, and what of it was achieved."""
    planned = record.get("rates") or {"capacities": {}, "loads": []}
    capacities = planned["capacities"]
    offered = ordered(cells.dropna(subset=["offered_rps"])["workload"])
    heads = [
        ("system", ""),
        *((name, "carried in one window before the first block") for name in capacities),
        *((workload, f"achieved of {_offered(cells, workload)}") for workload in offered),
    ]
    rows = []
    for system in ordered(cells["system"]):
        carried = [Cell(_rate(values.get(system, float("nan")))) for values in capacities.values()]
        rows.append([_name(system), *carried, *(_achieved(cell_of(cells, system, workload)) for workload in offered)])
    return table("Rates: planned from what the slowest of those compared carries", heads, [Group("", rows)])


def published_form(cells: pd.DataFrame, figures: pd.DataFrame) -> Fragment:
    """Measured and published side by side, with the columns of the source: one group per offered rate."""
    heads = [
        ("system", ""),
        ("offered", "achieved"),
        *((statistic_words(name), "") for name in _PUBLISHED),
    ]
    groups = []
    for workload in ordered(cells.dropna(subset=["offered_rps"])["workload"]):
        rows = []
        for row in cells[cells["workload"] == workload].to_dict("records"):
            if row["status"] != "ok":
                rows.append([_name(row["system"]), without_number(row["status"]), *[Cell("–")] * len(_PUBLISHED)])
                continue
            beside = _published_row(cells, figures, row)
            rate = Cell(_rate(row["offered_rps"]), f"{row['unadjusted_rps'] / row['offered_rps']:.1%}")
            rows.append([_name(row["system"]), rate, *(_both(row, name, beside) for name in _PUBLISHED)])
        groups.append(Group(f"{workload}, {_offered(cells, workload)} offered", rows))
    return table(
        "Service times measured here, with 95 % intervals; below them the published ones, of another machine and other versions",
        heads,
        groups,
    )


def comparisons(frame: pd.DataFrame, cells: pd.DataFrame) -> Fragment:
    """Every pair by each statistic: the ratio of service times and what follows; the A/A control beside its own system only."""
    names = ordered(frame["statistic"])
    heads = [("a", ""), ("b", ""), *((f"{statistic_words(name)}, a ÷ b", "95 % interval; p; a is") for name in names)]
    control = control_pairs(cells)
    groups = []
    for workload in ordered(frame["workload"]):
        rows = later_first(frame[frame["workload"] == workload], cells)
        lines = []
        for (a, b), pair in rows.groupby(["system_a", "system_b"], sort=False):
            if PLACEBO in (a, b) and frozenset((a, b)) not in control:
                continue
            by_name = {row["statistic"]: row for row in pair.to_dict("records")}
            kind = "muted name" if PLACEBO in (a, b) else "name"
            lines.append([Cell(a, kind=kind), Cell(b, kind=kind), *(_verdict(by_name[name]) for name in names)])
        groups.append(Group(f"{workload}, {_offered(cells, workload)} offered", lines))
    return table("Comparisons of service times: faster is the lower time", heads, groups)


def connection_costs(cells: pd.DataFrame) -> Fragment:
    """CPU time for 1,000 requests, which without keep-alive are connections, user and kernel apart; memory while they came."""
    heads = [
        ("system", ""),
        ("CPU", "per 1,000 requests, 95 % interval"),
        ("user", "per 1,000"),
        ("kernel", "per 1,000"),
        ("memory", "PSS in the window"),
        ("memory", "per 1,000 requests/s"),
        ("connections", "of clients, open in the middle of the window"),
        ("context switches", "per request"),
    ]
    groups = []
    for workload in ordered(cells["workload"]):
        rows = [_cost(row) for row in cells[cells["workload"] == workload].to_dict("records") if row["status"] == "ok"]
        groups.append(Group(workload, rows))
    return table("What a connection costs the system itself", heads, groups)


def relaying(notes: Mapping[str, Mapping[str, Any] | None]) -> Fragment:
    """What the users of each proxy should know: the cases that are not required and that it did not pass."""
    heads = [("proxy", ""), ("passed", "cases"), ("what it does otherwise", "")]
    rows = []
    for system, found in notes.items():
        if found is None:
            continue
        failed = found["failed"]
        words = "; ".join(f"not so: {note['case']} ({note['difference']})" for note in failed)
        rows.append(
            [
                Cell(system),
                Cell(f"{found['tried'] - len(failed)} of {found['tried']}"),
                Cell(words or "nothing", kind="words"),
            ]
        )
    return table("How the proxies relay: ends, resets, slow readers", heads, [Group("", rows)])


def _cost(row: Mapping[str, Any]) -> list[Cell]:
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
        _name(row["system"]),
        estimate(thousand, "cpu_per_request_s", TIMES),
        Cell(amount(thousand["cpu_user_per_request_s"], TIMES)),
        Cell(amount(thousand["cpu_system_per_request_s"], TIMES)),
        Cell(format_size(row["pss_bytes"])),
        Cell(format_size(1000 * row["pss_bytes"] / row["unadjusted_rps"])),
        Cell("–" if pd.isna(row["established_count"]) else f"{row['established_count']:.0f}"),
        Cell(f"{row['context_switches_per_request_ratio']:.2f}"),
    ]


def _published_row(cells: pd.DataFrame, figures: pd.DataFrame, row: Mapping[str, Any]) -> pd.Series | None:
    """What was published of a system, beside the highest rate at which it was measured: that is how it was published."""
    found = figures[figures["system"] == row["system"]]
    found = found[[row["workload"].startswith(workload) for workload in found["workload"]]]
    if found.empty:
        return None
    stem = found["workload"].iloc[0]
    rated = cells[(cells["system"] == row["system"]) & (cells["status"] == "ok") & cells["offered_rps"].notna()]
    rated = rated[rated["workload"].str.startswith(stem)]
    return found.iloc[0] if row["offered_rps"] == rated["offered_rps"].max() else None


def _both(row: Mapping[str, Any], name: str, published: pd.Series | None) -> Cell:
    if name in _WITHOUT_INTERVAL:
        own = Cell(amount(row[name], TIMES))
    else:
        stem = name.removesuffix("_s")
        low, high = (float(row.get(f"{stem}_{end}_s", float("nan"))) for end in ("low", "high"))
        own = (
            Cell(quantity(row[name], low, high, TIMES)) if pd.notna(row[name]) else Cell("not estimable", kind="muted")
        )
    if published is None or pd.isna(published.get(name)):
        return own
    return Cell(own.text, f"published {amount(published[name], TIMES)}", own.kind)


def _verdict(row: Mapping[str, Any]) -> Cell:
    words, kind = VERDICTS.get(row["verdict"], (row["verdict"], ""))
    if pd.isna(row["ratio"]):
        return Cell("–", "not estimable", "muted")
    ratio = quantity(row["ratio"], row["ratio_low"], row["ratio_high"], RATIOS)
    return Cell(f"{words} {ratio}", f"p {p_value(row['p_adjusted'])}", "" if PLACEBO in row.values() else kind)


def _achieved(cell: pd.Series | None) -> Cell:
    if cell is None:
        return Cell("not at this rate", kind="muted")
    if cell["status"] != "ok":
        return without_number(cell["status"])
    share = cell["unadjusted_rps"] / cell["offered_rps"]
    return Cell(_rate(cell["unadjusted_rps"]), f"{share:.1%}", "" if share >= 0.99 else "warn")


def _offered(cells: pd.DataFrame, workload: str) -> str:
    return f"{cells[cells['workload'] == workload]['offered_rps'].dropna().iloc[0]:,.0f}/s"


def _rate(value: float) -> str:
    return amount(value, RATES).replace(" requests/s", "/s")


def _name(system: str) -> Cell:
    return Cell(system, "A/A control" if system == PLACEBO else "", "muted" if system == PLACEBO else "")
