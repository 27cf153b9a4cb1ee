"""Tables of systems at the same offered rate: the rates, times beside the published ones, and two load generators side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.core.load import LEAST_OFFERED
from runners.core.records import percentile_column
from runners.core.run_manifest import PlannedRates
from runners.core.units import RATES, RATIOS, TIMES, amount, quantity
from runners.present.kit.decision import without_number
from runners.present.kit.frames import cell_of, ordered
from runners.present.kit.markup import Fragment, Group, TableCell, table
from runners.present.kit.wording import Narrative
from runners.present.latency.charts import BURSTS, NOT_RANKED, caveat, kind, statistic_words
from runners.present.proxies.tables import name_cell

_PUBLISHED = ("p50_s", "p90_s", "p99_s", "p99_9_s", "p99_99_s", "max_s", "tm99_s", "stddev_s")
_SIDE_BY_SIDE = (50.0, 90.0, 99.0, 99.9)
_WITHOUT_INTERVAL = ("max_s", "tm99_s", "stddev_s")


def rates(planned: PlannedRates | None, cells: pd.DataFrame) -> Fragment:
    """Return the table of rates: the capacity of each system, the offered rate, and the achieved rate."""
    capacities = planned.capacities if planned else {}
    offered = ordered(cells.dropna(subset=["offered_rps"])["workload"])
    heads = [
        ("system", ""),
        *((name, "carried in one window before the first block") for name in capacities),
        *((workload, f"achieved of {_offered(cells, workload)}") for workload in offered),
    ]
    rows = []
    for system in ordered(cells["system"]):
        carried = [TableCell(_rate(values.get(system, float("nan")))) for values in capacities.values()]
        rows.append(
            [name_cell(system), *carried, *(_achieved(cell_of(cells, system, workload)) for workload in offered)]
        )
    return table(
        "Rates: planned from what direct access and the slowest of those compared carry", heads, [Group("", rows)]
    )


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
                rows.append(
                    [name_cell(row["system"]), without_number(row["status"]), *[TableCell("–")] * len(_PUBLISHED)]
                )
                continue
            beside = _published_row(cells, figures, row)
            rate = TableCell(_rate(row["offered_rps"]), f"{row['achieved_fraction']:.1%}")
            rows.append([name_cell(row["system"]), rate, *(_both(row, name, beside) for name in _PUBLISHED)])
        groups.append(Group(f"{workload}, {_offered(cells, workload)} offered", rows))
    return table(
        f"{kind(cells).capitalize()}s measured here, with 95 % intervals; below them the published ones of perf-gauge, of another "
        f"machine and other versions. {caveat(cells)} Not known: fewer than 10 samples beyond.",
        heads,
        groups,
    )


def generators_compared(cells: pd.DataFrame, repeated: Mapping[str, str]) -> Fragment:
    """Return the times of two load generators at the same rate side by side; `repeated` is the second's workload → the first's."""
    if not repeated:
        return Narrative(["This run measured each rate with one load generator."]).fragment
    first, second = _generators(cells, *next(iter(repeated.items())))
    heads = [("system", f"{second}: achieved"), *((f"p{at:g}", f"{first}; below: {second}") for at in _SIDE_BY_SIDE)]
    groups = []
    for again, workload in repeated.items():
        rows = []
        for system in ordered(cells[cells["workload"] == again]["system"]):
            sides = [cell_of(cells, system, name) for name in (workload, again)]
            rows.append(_side_by_side(system, *sides))
        groups.append(Group(f"{workload}, {_offered(cells, workload)} offered", rows))
    return table(
        f"{second}, the published tool, beside {first}. {BURSTS} {NOT_RANKED}",
        [*heads, ("p50", f"{second} ÷ {first}")],
        groups,
    )


def _generators(cells: pd.DataFrame, again: str, workload: str) -> tuple[str, str]:
    first, second = (
        str(cells.loc[cells["workload"] == name, "generator"].dropna().iloc[0]) for name in (workload, again)
    )
    return first, second


def _side_by_side(system: str, first: pd.Series | None, second: pd.Series | None) -> list[TableCell]:
    if first is None or second is None or "ok" not in (first["status"], second["status"]):
        return [name_cell(system), *[TableCell("–")] * (len(_SIDE_BY_SIDE) + 1)]
    columns = [percentile_column(at) for at in _SIDE_BY_SIDE]
    achieved = second["achieved_fraction"]
    cells = [TableCell(_known(first[name]), _known(second[name])) for name in columns]
    ratio = TableCell(amount(second["p50_s"] / first["p50_s"], RATIOS))
    return [TableCell(system, f"{achieved:.1%}", name_cell(system).kind), *cells, ratio]


def _known(value: float) -> str:
    return "not known" if pd.isna(value) else amount(value, TIMES)


def _published_row(cells: pd.DataFrame, figures: pd.DataFrame, row: Mapping[str, Any]) -> pd.Series | None:
    """Return the published row of a system, beside the highest rate at which it was measured, as it was published."""
    found = figures[(figures["system"] == row["system"]) & (figures["workload"] == row["planned_workload"])]
    if found.empty:
        return None
    fixed_rate = cells[(cells["system"] == row["system"]) & (cells["status"] == "ok") & cells["offered_rps"].notna()]
    fixed_rate = fixed_rate[fixed_rate["planned_workload"] == row["planned_workload"]]
    return found.iloc[0] if row["offered_rps"] == fixed_rate["offered_rps"].max() else None


def _both(row: Mapping[str, Any], name: str, published: pd.Series | None) -> TableCell:
    if name in _WITHOUT_INTERVAL:
        own = TableCell(amount(row[name], TIMES))
    else:
        stem = name.removesuffix("_s")
        low, high = (float(row.get(f"{stem}_{end}_s", float("nan"))) for end in ("low", "high"))
        own = (
            TableCell(quantity(row[name], low, high, TIMES))
            if pd.notna(row[name])
            else TableCell("not known", kind="muted")
        )
    if published is None or pd.isna(published.get(name)):
        return own
    return TableCell(own.text, f"published {amount(published[name], TIMES)}", own.kind)


def _achieved(cell: pd.Series | None) -> TableCell:
    if cell is None:
        return TableCell("not at this rate", kind="muted")
    if cell["status"] != "ok":
        return without_number(cell["status"])
    share = cell["achieved_fraction"]
    return TableCell(_rate(cell["throughput_rps"]), f"{share:.1%}", "" if share >= LEAST_OFFERED else "warn")


def _offered(cells: pd.DataFrame, workload: str) -> str:
    return f"{cells[cells['workload'] == workload]['offered_rps'].dropna().iloc[0]:,.0f}/s"


def _rate(value: float) -> str:
    return amount(value, RATES).replace(" requests/s", "/s")
