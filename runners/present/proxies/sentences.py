"""Conclusions about proxies: what tells them apart is CPU time, memory, capacity and how they relay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.analyse.results import Results
from runners.core.load import LEAST_OFFERED
from runners.core.records import LOWER_BOUND_LIMITS, Interval
from runners.core.run_manifest import RelayNotes
from runners.core.units import TIMES, format_size
from runners.present.kit.frames import (
    BACKEND,
    backend_name,
    cell_of,
    measured,
    ordered,
    without_control,
)
from runners.present.kit.wording import PER_SECOND, at_most, factor, few, known, sentence
from runners.present.latency import sentences as latency_sentences
from runners.present.latency.sentences import at_rate
from runners.stats.estimates import ratio_of

_OPEN = (*LOWER_BOUND_LIMITS, BACKEND)
"""Limits under which a proxy could carry more than was measured."""


def answer(results: Results) -> str:
    """Return the proxies that need least CPU time for a connection, and how much more the last one needs."""
    for workload in results.fixed_rate:
        if said := cost(results, workload):
            return said
    return next(filter(None, (carried(results, each) for each in results.ranked)), "No proxy has a number.")


def conclusions(results: Results) -> list[str]:
    """Return the conclusions besides the answer, the most important first."""
    first = answer(results)
    found = [
        kept_cost(results),
        *capacities(results),
        memory(results),
        relay_cases(results.manifest.notes),
        *latency_sentences.conclusions(results),
    ]
    return at_most([said for said in found if said != first])


def kept_cost(results: Results) -> str:
    """Return the cost of a request on a connection that is kept: of the last load at a fixed rate."""
    found = cost_workloads(results)
    return cost(results, found[-1]) if len(found) > 1 else ""


def cost_workloads(results: Results) -> list[str]:
    """Return the loads at a fixed rate that tell the costs: the first, and the last of another unit."""
    first = results.fixed_rate[:1]
    others = [each for each in results.fixed_rate if unit_of(results, each) != unit_of(results, first[0])]
    return [*first, *others[-1:]]


def capacities(results: Results) -> list[str]:
    """Return who carries most with a connection for each request, and on kept connections: the first and the last load."""
    return [carried(results, each) for each in ordered([*results.ranked[:1], *results.ranked[-1:]])]


def cost(results: Results, workload: str) -> str:
    """Return the proxies that need least CPU time at a rate, and how much more the last one needs."""
    rows = costs(results, workload)
    if rows.empty:
        return ""
    least, most = rows.iloc[0], rows.iloc[-1]
    unit = unit_of(results, workload)
    if len(rows) == 1:
        return sentence(f"{least['system']} needs {_time(least)} of CPU per {unit}", "; no other proxy was measured")
    near = tied(rows)
    if len(near) == len(rows):
        first = f"CPU per {unit} does not tell the proxies apart: {least['system']} {_time(least)}"
        return sentence(first, f", {most['system']} {_time(most)}")
    needs = "needs" if len(near) == 1 else "need"
    more = ratio_of(_interval(most), _interval(least))
    first = f"{few(near)} {needs} least CPU per {unit}, {_time(least)}"
    return sentence(first, f"; {most['system']} needs {factor(more.value, more.low, more.high)}", " as much")


def tied(rows: pd.DataFrame) -> list[str]:
    """Return the proxy with the least CPU time, and those whose intervals overlap its own; rows as of :func:`costs`."""
    return [str(row["system"]) for _, row in rows.iterrows() if _overlap(rows.iloc[0], row)] if len(rows) else []


def memory(results: Results) -> str:
    """Return the smallest and the largest peak of memory, over all launches and loads."""
    peaks = peaks_bytes(results).sort_values(kind="stable")
    if peaks.empty:
        return ""
    if len(peaks) == 1:
        return sentence(f"Peak memory of {peaks.index[0]} over all loads is {format_size(peaks.iloc[0])}")
    least, most = (f"{peaks.index[place]} {format_size(peaks.iloc[place])}" for place in (0, -1))
    return sentence(f"Peak memory over all loads is smallest with {least} and largest with {most}")


def peaks_bytes(results: Results) -> pd.Series:
    """Return proxy → its largest resident memory, over all launches and loads."""
    return proxies(results).groupby("system", sort=False)["rss_peak_bytes"].max().dropna()


def carried(results: Results, workload: str) -> str:
    """Return the proxies that carry most of a load without a rate, beside direct access, and what limited them."""
    rows = proxies(results)
    rows = rows[rows["workload"] == workload].sort_values("throughput_rps", ascending=False, kind="stable")
    if rows.empty:
        return ""
    best, title = rows.iloc[0], load_title(results, workload)
    near = [str(row["system"]) for _, row in rows.iterrows() if _may_be_more(row, best)]
    if best["bottleneck"] == BACKEND:
        behind = backend_name(results.manifest.backends)
        return sentence(
            f"{title}: {behind} behind {best['system']} was the limit, so its {_rate(best)} is not the proxy's"
        )
    direct = cell_of(measured(results.cells), results.baseline, workload)
    also = "" if direct is None else f"; direct access carries {_rate(direct)}"
    said = f"{title}: {few(near)} {'carries' if len(near) == 1 else 'carry'} most, {_rate(best)}"
    return sentence(said, also)


def _may_be_more(row: pd.Series, best: pd.Series) -> bool:
    """Return whether a proxy may carry as much as the best: its limit was another's, or the intervals overlap or are unknown."""
    apart = row["throughput_high_rps"] < best["throughput_low_rps"]
    return bool(row["system"] == best["system"] or row["bottleneck"] in _OPEN or not apart)


def _rate(row: Mapping[str, Any]) -> str:
    least = "at least " if row["bottleneck"] in LOWER_BOUND_LIMITS else ""
    return least + known(row["throughput_rps"], row["throughput_low_rps"], row["throughput_high_rps"], PER_SECOND)


def relay_cases(notes: Mapping[str, RelayNotes | None]) -> str:
    """Return which proxies failed cases of half-closed connections, resets and slow readers, and how many passed all."""
    tried = {system: found for system, found in notes.items() if found is not None}
    if not tried:
        return ""
    failed = sorted((name for name in tried if tried[name].failed), key=lambda name: -len(tried[name].failed))
    passed = len(tried) - len(failed)
    if not failed:
        who = f"All {passed} proxies pass" if passed > 1 else "The one proxy passes"
        return sentence(f"{who} all cases of half-closed connections, resets and slow readers")
    worst = tried[failed[0]]
    most = f" (at most {len(worst.failed)} of {worst.tried})"
    first = f"{few(failed)} {'fails' if len(failed) == 1 else 'fail'} cases of half-closed connections, resets or slow readers"
    return sentence(first + most, f"; {passed} {'passes' if passed == 1 else 'pass'} all" if passed else "")


def threats_of_proxies(results: Results) -> list[str]:
    """Return threats to these numbers: rates that were not reached, and throughputs that are the backend's."""
    rows = measured(results.cells)
    found = []
    limited = proxies(results)
    limited = limited[limited["bottleneck"] == BACKEND]
    if len(limited):
        behind = backend_name(results.manifest.backends)
        names = few([f"{row.system} ({row.workload})" for row in limited.itertuples()])
        found.append(f"{behind} behind the proxy was the limit of {names}: these throughputs are not the proxy's.")
    for workload in results.fixed_rate:
        slow = rows[(rows["workload"] == workload) & (rows["achieved_fraction"] < LEAST_OFFERED)]
        names = few([f"{row.system} {row.achieved_fraction:.1%}" for row in slow.itertuples()])
        if names:
            found.append(f"{at_rate(results.cells, workload)}: less than 99 % of the rate achieved by {names}.")
    return found


def proxies(results: Results) -> pd.DataFrame:
    """Return the cells of proxies that have a number."""
    cells = without_control(measured(results.cells))
    return cells[cells["system"] != results.baseline]


def costs(results: Results, workload: str) -> pd.DataFrame:
    """Return the proxies' cells of a workload, by CPU time from the least."""
    rows = proxies(results)
    rows = rows[(rows["workload"] == workload) & rows["cpu_per_request_s"].notna()]
    return rows.sort_values("cpu_per_request_s", kind="stable")


def _interval(row: Mapping[str, float]) -> Interval:
    return Interval(*(float(row[f"cpu_per_request{end}_s"]) for end in ("", "_low", "_high")))


def _time(row: Mapping[str, float]) -> str:
    interval = _interval(row)
    return known(interval.value, interval.low, interval.high, TIMES)


def _overlap(less: pd.Series, more: pd.Series) -> bool:
    """Return whether two intervals overlap; an unknown interval overlaps all."""
    low, high = sorted((less, more), key=lambda row: float(row["cpu_per_request_s"]))
    return not low["cpu_per_request_high_s"] < high["cpu_per_request_low_s"]


def unit_of(results: Results, workload: str) -> str:
    """Return the unit of a request: a new connection where each has one of its own."""
    shapes = set(results.cells.loc[results.cells["workload"] == workload, "shape"])
    loads = results.manifest.rates.loads if results.manifest.rates else []
    planned = [load.shape for load in loads] + [each.shape for each in results.manifest.workloads.values()]
    single = {shape.name for shape in planned if shape.keepalive_requests == 1}
    return "new connection" if shapes & single else "request"


def load_title(results: Results, workload: str) -> str:
    """Return what a load consists of, with its name: ``new connections (no-keepalive)``."""
    shape = str(results.cells.loc[results.cells["workload"] == workload, "shape"].iloc[0])
    if unit_of(results, workload) == "new connection":
        return f"new connections ({shape})"
    # The record of an old run holds no load profiles without a rate.
    profiles = [each.shape.keepalive_requests for each in results.manifest.workloads.values()]
    return f"kept connections ({shape})" if workload in results.fixed_rate or any(profiles) else shape


def titled(results: Results, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells with what their loads consist of as titles of the workloads."""
    titles = {str(name): load_title(results, str(name)) for name in ordered(cells["workload"])}
    return cells.assign(workload_title=cells["workload"].map(titles))
