"""Conclusions about endpoints: their limits, the cost of a query, and two generators; computed, so true of any run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.analyse.results import Results
from runners.core.records import GENERATOR_LIMITED
from runners.core.units import RATIOS, TIMES, amount, listing
from runners.present.endpoints.latency import slowest_and_quickest
from runners.present.endpoints.tables import (
    LIMITS,
    ROLES,
    columns,
    generator_of,
    in_shape,
    labelled,
    nearest,
    own_load,
    shapes,
    spread,
    title_of,
)
from runners.present.kit.frames import cell_of, measured, ordered, without_control
from runners.present.throughput.sentences import rate


def findings(results: Results, ratios: pd.DataFrame) -> list[str]:
    """The notebook's own conclusions, the headline first."""
    found = [
        headline(results),
        *rates(results),
        slowest_and_quickest(results.cells),
        *bottlenecks(results),
        records(results.cells),
    ]
    return [sentence for sentence in [*found, generators(results.cells, ratios), published(results)] if sentence]


def headline(results: Results) -> str:
    """The limit of each column under the run's own load, or who came nearest to being it, in one sentence."""
    parts = []
    for workload, title in columns(results.cells).items():
        rows = _rows(results.cells, workload).to_dict("records")
        limits = Counter(nearest(row, results.machine["pinning"]) for row in rows)
        some = len(limits) > 1
        words = [
            LIMITS[limit] + (f" ({count} of {len(rows)})" if some else "") for limit, count in limits.most_common()
        ]
        parts.append(f"{title}: {listing(words) or 'not measured'}")
    smoke = "Smoke run, not evidence: " if results.profile == "quick" else ""
    return f"{smoke}Limit of each column, or nearest to it, by {generator_of(results.cells, '')}: {'; '.join(parts)}."


def _rows(cells: pd.DataFrame, workload: str) -> pd.DataFrame:
    rows = without_control(measured(cells))
    return rows[rows["workload"] == workload]


def rates(results: Results) -> list[str]:
    """The highest throughput of every column, a sentence for each load generator."""
    found = []
    for shape in shapes(results.cells):
        parts = []
        for workload, title in columns(results.cells).items():
            rows = _rows(results.cells, labelled(results.cells, workload, shape)).sort_values(
                "throughput_rps", ascending=False
            )
            if len(rows):
                best = rows.iloc[0]
                least = "at least " if best["bottleneck"] in GENERATOR_LIMITED else ""
                parts.append(f"{title} {least}{rate(results, best['system'], best['workload'])} ({best['system']})")
        if parts:
            found.append(f"Most requests by {generator_of(results.cells, shape)}: {'; '.join(parts)}.")
    return found


def bottlenecks(results: Results) -> list[str]:
    """Return a sentence about the limit of each column and load generator."""
    found, pinning = [], results.machine["pinning"]
    for workload, title in columns(results.cells).items():
        for shape in shapes(results.cells):
            groups: dict[tuple[bool, str], list[dict[Any, Any]]] = defaultdict(list)
            for row in _rows(results.cells, labelled(results.cells, workload, shape)).to_dict("records"):
                groups[row["bottleneck"] == "unsaturated", nearest(row, pinning)].append(row)
            parts = [_limit(*group, rows, pinning) for group, rows in sorted(groups.items())]
            if parts:
                name = title_of(results.cells, workload, title)
                found.append(f"{name}, by {generator_of(results.cells, shape)}: the limit was {'; '.join(parts)}.")
    return found


def _limit(unsaturated: bool, limit: str, rows: list[dict[Any, Any]], pinning: Mapping[str, str]) -> str:
    """Return the sentence about the limit of some systems: how busy its CPUs were, and the other roles on them."""
    role = limit if limit in ROLES else "server"
    names = listing([row["system"] for row in rows])
    who = f"nobody quite for {names}, {LIMITS[limit]} being nearest" if unsaturated else f"{LIMITS[limit]} for {names}"
    text = f"{who} (CPU {pinning[role]} {spread(row[f'{role}_busy_fraction'] for row in rows)} busy"
    sharing = [other for other in ("backend", "generator") if pinning.get(other) == pinning[role]]
    sharing = [other for other in sharing if pd.notna(rows[0][f"{other}_used_fraction"])]
    if len(sharing) > 1:
        parts = [f"{LIMITS[other]} {spread(row[f'{other}_used_fraction'] for row in rows)}" for other in sharing]
        text += f", which they share: {', '.join(parts)} of its time"
    return f"{text})"


def threats_of_endpoints(results: Results) -> list[str]:
    """Return threats to these numbers: a database that was the limit, a coarse or busy load generator."""
    cells, tools = without_control(measured(results.cells)), shapes(results.cells)
    found = []
    behind = cells[cells["bottleneck"] == "backend"]
    if len(behind):
        names = listing([f"{row.system} ({row.workload})" for row in behind.itertuples()])
        found.append(
            f"The database, not the server, was the limit of {names}: with a quicker one they could rank otherwise."
        )
    for shape in tools[1:]:
        busy = in_shape(cells, shape)["generator_busy_fraction"].dropna()
        if len(busy):
            tool = generator_of(results.cells, shape)
            held = f"Service times that {tool} saw hold the time that responses waited in it"
            found.append(f"{held}: its CPUs were {spread(busy)} busy.")
    rows = results.published
    coarse = ordered(rows[rows["p50_s"].isna()]["source"]) if "p50_s" in rows else []
    if coarse:
        found.append(
            f"{listing(coarse)} kept service times in whole milliseconds, and most responses took less than one: only requests per "
            "second stand beside those measured here."
        )
    return found


def records(cells: pd.DataFrame) -> str:
    """Return the sentence about the cost of more records in a response: throughput at the most against the fewest."""
    rows = measured(own_load(without_control(cells)))
    if "records_count" not in rows or rows["records_count"].nunique() < 2:
        return ""
    least, most = rows["records_count"].min(), rows["records_count"].max()
    parts = []
    for system in ordered(rows["system"]):
        own = rows[rows["system"] == system].set_index("records_count")
        if {least, most} <= set(own.index):
            few, many = own.loc[least, "throughput_rps"], own.loc[most, "throughput_rps"]
            each = (1 / many - 1 / few) / (most - least)
            parts.append(f"{system} {amount(few / many, RATIOS)} ({amount(each, TIMES)} a record)")
    said = f"From {least:g} to {most:g} records in a response, throughput falls by"
    return f"{said}: {'; '.join(parts)}." if parts else ""


def generators(cells: pd.DataFrame, ratios: pd.DataFrame) -> str:
    """Return the sentence on how the load generators agree, and their own part of the difference."""
    if ratios.empty:
        return ""
    first, others = generator_of(cells, ""), listing(ordered(ratios["shape"]))
    low, high = ratios.loc[ratios["ratio"].idxmin()], ratios.loc[ratios["ratio"].idxmax()]
    ends = [f"{amount(row['ratio'], RATIOS)} ({row['system']}, {row['workload']})" for row in (low, high)]
    text = f"{others} saw {ends[0]} to {ends[1]} the throughput that {first} saw of the same server"
    bound = [_is_limit(cells, row) for row in ratios.to_dict("records")]
    text += f"; in {sum(bound)} of {len(bound)} cells it was the limit itself"
    medians = [_medians(cells, row) for row in ratios.to_dict("records")]
    known = sorted(value for value in medians if pd.notna(value))
    if known:
        text += f"; the median service times that it saw were {amount(known[0], RATIOS)} to {amount(known[-1], RATIOS)} those of {first}"
    return f"{text}."


def _is_limit(cells: pd.DataFrame, row: Mapping[str, str]) -> bool:
    cell = cell_of(cells, row["system"], labelled(cells, row["workload"], row["shape"]))
    return cell is not None and bool(cell["bottleneck"] in GENERATOR_LIMITED)


def _medians(cells: pd.DataFrame, row: Mapping[str, str]) -> float:
    sides = [cell_of(cells, row["system"], labelled(cells, row["workload"], shape)) for shape in (row["shape"], "")]
    first, second = (float(side["p50_s"]) if side is not None else float("nan") for side in sides)
    return first / second


def published(results: Results) -> str:
    """Return the sentence about published and measured values, each column as a share of the first."""
    rows, found, parts = results.published, columns(results.cells), []
    for system, source in rows[["system", "source"]].drop_duplicates().itertuples(index=False):
        own = rows[(rows["system"] == system) & (rows["source"] == source)]
        first, *others = [workload for workload in found if workload in set(own["workload"])] or [""]
        for other in others:
            there, here = (_share(frame, system, other, first) for frame in (own, measured(results.cells)))
            if pd.notna(here):
                shares_said = (
                    f"{amount(there, RATIOS)} {found[first]} as {source} published it, {amount(here, RATIOS)} here"
                )
                parts.append(f"{found[other]} is {shares_said} ({system})")
    return f"Of another machine only ratios say something: {'; '.join(parts)}." if parts else ""


def _share(cells: pd.DataFrame, system: str, workload: str, of: str) -> float:
    sides = [cell_of(cells, system, name) for name in (workload, of)]
    values = [float(side["throughput_rps"]) if side is not None else float("nan") for side in sides]
    return values[0] / values[1]
