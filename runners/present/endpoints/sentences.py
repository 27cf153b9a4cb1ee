"""Conclusions about endpoints: who leads, what limits it, the cost of a query, and two generators; computed, so true of any run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.analyse.results import Results
from runners.core.records import LOWER_BOUND_LIMITS, Interval
from runners.core.units import RATIOS, TIMES, amount, listing
from runners.present.endpoints.latency import widest
from runners.present.endpoints.leads import clearest, placed_columns
from runners.present.endpoints.tables import (
    LIMITS,
    UNSATURATED,
    columns,
    generator_of,
    in_shape,
    labelled,
    own_load,
    shapes,
    spread,
)
from runners.present.kit.frames import cell_of, measured, ordered, without_control, without_rate
from runners.present.kit.ranking import lead
from runners.present.kit.wording import at_most, changes, factor, few, known, sentence
from runners.stats.estimates import ratio_of


def answer(results: Results) -> str:
    """Return the server that is fastest in most workloads, and by how much in the one where it is clearest."""
    found = placed_columns(results)
    if not found:
        return "No server has a number that can be ranked."
    led = [each for each in found if each.is_led]
    limited = [each for each in found if each.found.limited]
    if not led:
        if len(limited) == len(found):
            every = f"all {len(found)} workloads" if len(found) > 1 else found[0].title
            return sentence(f"The database was the limit of {every}, so no server is fastest")
        first = next(each for each in found if not each.found.limited)
        return lead(results, first.found, first.title)
    best = clearest(found)
    own = [each for each in led if each.server == best.server]
    names = ordered(each.found.leader for each in own)
    who = names[0] if len(names) == 1 else best.server
    ratio = best.found.ratio(best.apart[0])
    by = ratio.briefly(best.apart[0]) if ratio else ""
    if len(found) == 1:
        return sentence(f"{who} is fastest on {best.title}: {by}")
    # "drogon" may be the last where drogon+glaze leads.
    there = f"{best.title} {best.found.leader} reaches" if best.found.leader != who else best.title
    said = f"{who} is fastest in {len(own)} of {len(found)} workloads: on {there} {by}"
    return sentence(said, f"; the database limited {len(limited)}" if limited else "")


def conclusions(results: Results) -> list[str]:
    """Return the conclusions besides the answer, the most important first."""
    return at_most(
        [
            *by_column(results),
            limits(results),
            response_times(results),
            records(results),
            generators(results),
            published(results),
        ]
    )


def by_column(results: Results) -> list[str]:
    """Return a sentence for each column about its leader, but for that of the answer; one for all that the database limited."""
    found = placed_columns(results)
    if any(each.is_led for each in found):
        found.remove(clearest(found))
    limited = [each for each in found if each.found.limited]
    said = [lead(results, each.found, each.title) for each in found if not each.found.limited]
    first = answer(results)
    said = [each for each in said if each != first]
    if len(limited) == 1:
        said.append(lead(results, limited[0].found, limited[0].title))
    elif limited:
        names = few([each.title for each in limited])
        said.append(sentence(f"{names}: the database was the limit of the leader, so these throughputs rank no server"))
    return said


def limits(results: Results) -> str:
    """Return what limited how many cells of the run's own load."""
    rows = without_control(measured(own_load(results.cells)))
    rows = without_rate(rows)
    counts = Counter(rows["bottleneck"])
    idle = counts.pop(UNSATURATED, 0)
    found = counts.most_common()
    rest = f"in {idle} nothing was busy throughout" if idle else ""
    if not found:
        return sentence(f"Of {len(rows)} cells, {rest}") if rest else ""
    said = listing(
        [f"{LIMITS[limit]} {'' if place else 'limited '}{count}" for place, (limit, count) in enumerate(found)]
    )
    return sentence(f"Of {len(rows)} cells, {said}", f"; {rest}" if rest else "")


def response_times(results: Results) -> str:
    """Return the shortest and the longest p99 at the fixed rate of the column in which they differ most."""
    found = widest(results.cells)
    if found is None:
        return ""
    least, most = (known(row["p99_s"], row["p99_low_s"], row["p99_high_s"], TIMES) for row in (found.low, found.high))
    if not found.are_apart:
        return sentence(
            f"{found.title}: p99 does not tell the servers apart: {found.low['system']} {least}",
            f", {found.high['system']} {most}",
        )
    first = f"{found.title}: p99 is shortest with {found.low['system']}, {least}"
    return sentence(first, f"; longest with {found.high['system']}, {most}")


def threats_of_endpoints(results: Results) -> list[str]:
    """Return threats to these numbers: a database that was the limit, a coarse or busy load generator."""
    cells, tools = without_control(measured(results.cells)), shapes(results.cells)
    found = []
    behind = cells[cells["bottleneck"] == "backend"]
    if len(behind):
        found.append(
            f"The database, not the server, was the limit of {len(behind)} of {len(cells)} cells: with a quicker one they could rank "
            "otherwise."
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
            f"{listing(coarse)} kept service times in whole milliseconds: only its requests per second stand beside these."
        )
    return found


def records(results: Results) -> str:
    """Return by how much throughput falls from the fewest to the most records in a response, least and most."""
    rows = measured(own_load(without_control(results.cells)))
    if "records_count" not in rows or rows["records_count"].nunique() < 2:
        return ""
    fewest, most = rows["records_count"].min(), rows["records_count"].max()
    falls = {}
    for system in ordered(rows["system"]):
        own = rows[rows["system"] == system].set_index("records_count")
        if {fewest, most} <= set(own.index):
            falls[system] = _over(own.loc[fewest], own.loc[most])
    return changes(f"From {fewest:g} to {most:g} records throughput", falls)


def _over(first: Mapping[str, Any], second: Mapping[str, Any]) -> Interval:
    """Return one throughput over another, as of independent estimates."""
    sides = [
        Interval(*(float(row[f"throughput{end}_rps"]) for end in ("", "_low", "_high"))) for row in (first, second)
    ]
    return ratio_of(*sides)


def generators(results: Results) -> str:
    """Return how far apart the load generators are at most, and how often the second was the limit itself."""
    ratios = results.shape_ratios
    if ratios.empty:
        return ""
    sizes = pd.concat([ratios["ratio"], 1 / ratios["ratio"]], axis=1).max(axis=1)
    row = ratios.loc[sizes.idxmax()]
    tools = [generator_of(results.cells, ""), generator_of(results.cells, str(row["shape"]))]
    ends = (row["ratio"], row["ratio_low"], row["ratio_high"])
    if row["ratio"] < 1:
        ends = (1 / row["ratio"], 1 / row["ratio_high"], 1 / row["ratio_low"])
    more, less = tools if row["ratio"] < 1 else tools[::-1]
    bound = sum(_is_limit(results.cells, each) for each in ratios.to_dict("records"))
    first = f"{more} drove up to {factor(*ends)} as many requests as {less} ({row['system']}, {row['workload']})"
    return sentence(first, f"; {tools[1]} was the limit in {bound} of {len(ratios)} cells")


def _is_limit(cells: pd.DataFrame, row: Mapping[Any, Any]) -> bool:
    cell = cell_of(cells, row["system"], labelled(cells, row["workload"], row["shape"]))
    return cell is not None and bool(cell["bottleneck"] in LOWER_BOUND_LIMITS)


def published(results: Results) -> str:
    """Return the factor between the first and another column as published and as measured, where it is largest."""
    rows, titles, parts = results.published, columns(results.cells), []
    for system, source in rows[["system", "source"]].drop_duplicates().itertuples(index=False):
        own = rows[(rows["system"] == system) & (rows["source"] == source)]
        first, *others = [workload for workload in titles if workload in set(own["workload"])] or [""]
        for other in others:
            there, here = (_share(frame, system, first, other) for frame in (own, measured(results.cells)))
            if pd.notna(here):
                names = (titles[first], titles[other])
                said = f"{source} published that {_more(names, there)}; here {_more(names, here)}"
                parts.append((max(there, 1 / there), f"{said} ({system}; intervals not known)"))
    return sentence(max(parts)[1]) if parts else ""


def _more(names: tuple[str, str], ratio: float) -> str:
    """Return which of two columns has more requests per second, as a factor of at least 1."""
    more, less = names if ratio >= 1 else names[::-1]
    return f"{more} is {amount(max(ratio, 1 / ratio), RATIOS)} {less}"


def _share(cells: pd.DataFrame, system: str, workload: str, of: str) -> float:
    sides = [cell_of(cells, system, name) for name in (workload, of)]
    values = [float(side["throughput_rps"]) if side is not None else float("nan") for side in sides]
    return values[0] / values[1]
