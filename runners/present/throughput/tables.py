"""Tables: results, comparisons, checks and provenance, with the unit in the head and every text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from runners.core.records import CONTROL, LOWER_BOUND_LIMITS, PERCENTILES, percentile_column
from runners.core.units import RATES, RATIOS, TIMES, amount, format_size, quantity_parts
from runners.present.kit.decision import estimate_cell, without_number
from runners.present.kit.frames import cell_of, ordered, workload_title
from runners.present.kit.markup import Fragment, Group, TableCell, dotted_facts, joined, table
from runners.present.sessions import blocks

_COST_HEADS = (
    ("system", "n: used/made"),
    ("throughput", "requests/s, 95 % interval"),
    ("CPU", "per request"),
    ("memory", "peak"),
    ("errors", "count"),
    ("limit", "what was busy"),
)
_LIMITS = {"generator": "load generator", "both": "both", "backend": "database", "network": "network"}
_TIME_HEADS = (("system", ""), *((f"p{percentile:g}", "95 % interval") for percentile in PERCENTILES), ("max", ""))


def results(cells: pd.DataFrame, published: pd.DataFrame | None = None) -> Fragment:
    """Return the table of results, one group of rows per workload, with published values of another machine beside them.

    Two tables, throughput with its cost and service times: neither is wider than a laptop's window.
    """
    return joined(costs(cells, published), service_times(cells))


def costs(cells: pd.DataFrame, published: pd.DataFrame | None = None) -> Fragment:
    """Return the table of throughput and what it costs, with published throughputs of another machine beside them."""
    return _costs([(_group_title(cells, name), rows) for name, rows in _by_workload(cells)], published)


def service_times(cells: pd.DataFrame) -> Fragment:
    """Return the table of percentiles."""
    rows = [
        (_group_title(cells, name), [_times(row) for row in part.to_dict("records")])
        for name, part in _by_workload(cells)
    ]
    return table("Service times", _TIME_HEADS, [Group(*each) for each in rows])


def _by_workload(cells: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(name, cells[cells["workload"] == name]) for name in ordered(cells["workload"])]


def _group_title(cells: pd.DataFrame, workload: str) -> str:
    size = cells.loc[cells["workload"] == workload, "body_bytes"].iloc[0]
    return workload_title(cells, workload) + (f" (request body: {format_size(size)})" if size > 0 else "")


def _costs(groups: Sequence[tuple[str, pd.DataFrame]], published: pd.DataFrame | None) -> Fragment:
    """Throughput and what it costs; the published column only where there is something in it."""
    shown = published is not None and not published.empty
    machines = ", ".join(ordered(published["machine"])) if published is not None and shown else ""
    sources = ordered(published["source"]) if published is not None and shown else []
    named = f"; {sources[0]}" if len(sources) == 1 else ""
    beside = [("published", f"another machine: {machines}{named}")] if shown else []

    def line(row: Mapping[str, Any]) -> list[TableCell]:
        also = [_published(published, row, with_source=not named)] if published is not None and shown else []
        return [*_cost(row), *also, TableCell("; ".join(row["remarks"]), kind="words")]

    parts = [Group(title, [line(row) for row in rows.to_dict("records")]) for title, rows in groups]
    return table("Results: throughput and what it costs", [*_COST_HEADS, *beside, ("remarks", "")], parts)


def _system(row: Mapping[str, Any]) -> TableCell:
    is_control = row["system"] == CONTROL
    return TableCell(row["system"], launches(row) + (", control" if is_control else ""), "muted" if is_control else "")


def _cost(row: Mapping[str, Any]) -> list[TableCell]:
    if row["status"] != "ok":
        return [_system(row), without_number(row["status"]), *[TableCell("–")] * (len(_COST_HEADS) - 2)]
    return [
        _system(row),
        estimate_cell(row, "throughput_rps", RATES, _at_least(row)),
        estimate_cell(row, "cpu_per_request_s", TIMES),
        TableCell(format_size(row["rss_peak_bytes"])),
        TableCell(
            "–" if pd.isna(row["errors_count"]) else f"{int(row['errors_count'])}",
            kind="bad" if row["errors_count"] else "",
        ),
        TableCell(_LIMITS.get(row["bottleneck"], row["bottleneck"]), kind="name"),
    ]


def throughput(row: Mapping[str, Any]) -> TableCell:
    """The throughput of a cell with its interval, its bound, and n: launches used of launches made."""
    shown = estimate_cell(row, "throughput_rps", RATES, _at_least(row))
    return TableCell(shown.text, "; ".join(filter(None, [shown.note, launches(row)])))


def _at_least(row: Mapping[str, Any]) -> str:
    return "≥ " if row["bottleneck"] in LOWER_BOUND_LIMITS else ""


def launches(row: Mapping[str, Any]) -> str:
    """Say how many launches of a cell are used, of those made: ``n = 4/4``."""
    return f"n = {int(row['launches_count'])}/{int(row['launches_made_count'])}"


def _times(row: Mapping[str, Any]) -> list[TableCell]:
    if row["status"] != "ok":
        return [_system(row), *[TableCell("–")] * (len(_TIME_HEADS) - 1)]
    percentiles = (estimate_cell(row, percentile_column(percentile), TIMES) for percentile in PERCENTILES)
    return [_system(row), *percentiles, TableCell(amount(row["max_s"], TIMES))]


def _published(published: pd.DataFrame, row: Mapping[str, Any], *, with_source: bool) -> TableCell:
    found = cell_of(published, row["system"], row["workload"])
    if found is None:
        return TableCell("", kind="published")
    return TableCell(amount(found["throughput_rps"], RATES), found["source"] if with_source else "", "published")


_SHOWN_PLACES = 3


VERDICTS = {
    "faster": ("▲ faster", "good"),
    "slower": ("▼ slower", "bad"),
    "equivalent": ("= equivalent", "name"),
    "undecided": ("? undecided", "warn"),
    "not comparable": ("– not comparable", "name"),
}


_FAMILIES = {"control": "control: no verdict", "other": "exploratory: no verdict"}


def comparisons(frame: pd.DataFrame, cells: pd.DataFrame) -> Fragment:
    """Every pair: the ratio of throughputs, its interval, and the verdict of those with the leader.

    Intervals of the pairs with the leader hold together; those of all other pairs are unadjusted, and exploratory.
    """
    heads = [
        ("a", ""),
        ("b", ""),
        ("a ÷ b", "throughput, 95 % interval"),
        ("n", "blocks"),
        ("a is", "by this interval"),
    ]
    groups = []
    for workload in ordered(frame["workload"]):
        rows = frame[frame["workload"] == workload].sort_values(
            "family", key=lambda name: name.map(_ORDER), kind="stable"
        )
        groups.append(Group(workload_title(cells, workload), [_comparison(row) for row in rows.to_dict("records")]))
    return table("Comparisons of throughput", heads, groups)


_ORDER = {"leader": 0, "control": 1, "other": 2}


def _comparison(row: Mapping[str, Any]) -> list[TableCell]:
    text, interval = "–", ""
    if pd.notna(row["ratio"]):
        text, interval = quantity_parts(row["ratio"], row["ratio_low"], row["ratio_high"], RATIOS)
    side = {"at most": "≤ ", "at least": "≥ "}.get(row["bound"], "")
    muted = "" if row["family"] == "leader" else "muted name"
    words, kind = VERDICTS.get(row["verdict"], (_FAMILIES.get(row["family"], ""), ""))
    why = "the load was the limit" if row["bound"] else ""
    names = [TableCell(row[name], kind=muted or "name") for name in ("system_a", "system_b")]
    return [*names, TableCell(side + text, interval), blocks(row), TableCell(words, why, muted or kind)]


def checks(frame: pd.DataFrame, cells: pd.DataFrame) -> Fragment:
    """Return the table of checks: how many held per system and workload, with details and remedies below."""
    names = ordered(frame["name"])
    held = frame["ok"].astype(bool)
    counted = frame.assign(held=held, void=~held & frame["void"].astype(bool)).groupby(["workload", "system", "name"])
    counts = counted.agg(made=("held", "size"), held=("held", "sum"), void=("void", "sum")).to_dict("index")
    groups = []
    for workload in ordered(frame["workload"]):
        systems = ordered(frame.loc[frame["workload"] == workload, "system"])
        lines = [
            [TableCell(system), *(_light(**counts.get((workload, system, name), {})) for name in names)]
            for system in systems
        ]
        groups.append(Group(workload_title(cells, workload), lines))
    lights = table("Checks of every trial: how many held", [("system", ""), *((name, "") for name in names)], groups)
    failed = frame[~frame["ok"].astype(bool)]
    if failed.empty:
        return lights
    found = [
        _finding(name, void, advice, rows)
        for (name, void, advice), rows in failed.groupby(["name", "void", "advice"], sort=False, dropna=False)
    ]
    heads = [("check", ""), ("means", ""), ("times", ""), ("where", ""), ("found", "the first"), ("what to do", "")]
    return joined(lights, table("What the checks found", heads, [Group("", found)]))


def _finding(name: str, void: bool, advice: str, rows: pd.DataFrame) -> list[TableCell]:
    """One kind of finding: how often, where, and the first in words; a noisy machine has hundreds of one kind."""
    places = ordered(rows["system"] + ", " + rows["workload"])
    more = f" and {len(places) - _SHOWN_PLACES} more" if len(places) > _SHOWN_PLACES else ""
    return [
        TableCell(name),
        TableCell("✕ void" if void else "▲ flagged", kind="bad" if void else "warn"),
        TableCell(f"{len(rows)}"),
        TableCell("; ".join(places[:_SHOWN_PLACES]) + more, kind="words"),
        TableCell(rows["detail"].iloc[0], kind="words"),
        TableCell(advice, kind="words"),
    ]


def _light(made: int = 0, held: int = 0, void: int = 0) -> TableCell:
    """Return how many of the checks held, and how many of the others made their trials void."""
    if not made:
        return TableCell("–")
    flagged, text = made - held - void, f"{held} of {made}"
    if void:
        return TableCell(f"✕ {text}", f"{void} void" + (f", {flagged} flagged" if flagged else ""), "bad")
    return TableCell(f"▲ {text}", f"{flagged} flagged", "warn") if flagged else TableCell(f"✓ {text}", kind="good")


def provenance(machine: Mapping[str, Any], versions: Mapping[str, Any], parameters: Mapping[str, Any]) -> Fragment:
    """Return the table of provenance: machine, versions and flags, parameters; nested facts as dotted names."""
    parts = {"Machine": machine, "Versions and flags": versions, "Parameters": parameters}
    groups = [
        Group(title, [[TableCell(name), TableCell(text, kind="long")] for name, text in dotted_facts(part)])
        for title, part in parts.items()
    ]
    return table("Provenance", [("fact", ""), ("value", "")], groups)
