"""The report about proxies: its answer, decision table, main chart, and the sentences of its further questions."""

from __future__ import annotations

import math

import pandas as pd

from runners.analyse.fixed_rates import added_latencies, in_bursts
from runners.analyse.results import Results
from runners.core.records import LOWER_BOUND_LIMITS, percentile_column
from runners.core.units import PERCENT, TIMES, Scale, amount, format_size
from runners.present import how_sure as certainty
from runners.present.kit.decision import Column, decision_table as table_of, estimate_cell
from runners.present.kit.frames import BACKEND, measured, ordered, without_control
from runners.present.kit.markup import Fragment, TableCell
from runners.present.kit.rows import Bar, bars
from runners.present.kit.theme import Chart, panels, styles, themed
from runners.present.kit.wording import PER_SECOND
from runners.present.proxies import sentences
from runners.present.throughput import charts

answer = sentences.answer
conclusions = sentences.conclusions
how_sure = certainty.how_sure
_MEDIAN = percentile_column(50.0)
_SIZES: Scale = ((2.0**30, "GiB"), (2.0**20, "MiB"))


def decision_table(results: Results) -> Fragment:
    """Return the table of what to choose: CPU, capacity, median added, memory and relay cases of each proxy."""
    rows = without_control(results.cells)
    names = [name for name in ordered(rows["system"]) if name != results.baseline]
    first = results.fixed_rate[0] if results.fixed_rate else ""
    by_cost = sentences.costs(results, first)
    cost = dict(zip(by_cost["system"], by_cost["cpu_per_request_s"], strict=True))
    columns = [
        *(_cpu(results, workload) for workload in sentences.cost_workloads(results)),
        *(_carried(results, workload) for workload in ordered([*results.ranked[:1], *results.ranked[-1:]])),
        *_added(results),
        _memory(results),
        _relays(results),
    ]
    tied = sentences.tied(by_cost) if len(by_cost) > 1 else []
    values = {name: cost.get(name, math.nan) for name in [*names, results.baseline]}
    note = f"Last row: {results.baseline}, direct access. ≥: the load generator, or what is behind the proxy, was the limit."
    return table_of("What to choose: least CPU first", values, columns, tied, smallest_first=True, notes=[note])


def _cpu(results: Results, workload: str) -> Column:
    cells = _measured(results, workload)
    found = {row["system"]: estimate_cell(row, "cpu_per_request_s", TIMES) for row in cells.to_dict("records")}
    unit = sentences.unit_of(results, workload)
    return Column(f"CPU per {unit}", _at_rate(results, workload), found)


def _at_rate(results: Results, workload: str) -> str:
    offered = results.cells.loc[results.cells["workload"] == workload, "offered_rps"].iloc[0]
    return f"at {offered:,.0f}/s"


def _carried(results: Results, workload: str) -> Column:
    found = {}
    for row in _measured(results, workload).to_dict("records"):
        bound = "≥ " if row["bottleneck"] in (*LOWER_BOUND_LIMITS, BACKEND) else ""
        found[row["system"]] = estimate_cell(row, "throughput_rps", PER_SECOND, bound)
    return Column("carries", sentences.load_title(results, workload), found)


def _added(results: Results) -> list[Column]:
    """Return the column of the median added to direct access; none where requests came in bursts."""
    cells = results.cells[results.cells["workload"].isin(results.fixed_rate)]
    if not results.fixed_rate or in_bursts(cells).any():
        return []
    workload = results.fixed_rate[-1]
    frame = added_latencies(results.latencies, [workload], results.baseline)
    frame = without_control(frame[frame["statistic"] == _MEDIAN])
    found = {row["system"]: estimate_cell(row, "added_s", TIMES) for row in frame.to_dict("records")}
    return [Column("p50 added", _at_rate(results, workload), found)]


def _memory(results: Results) -> Column:
    rows = without_control(measured(results.cells))
    peaks = rows.groupby("system", sort=False)["rss_peak_bytes"].max().dropna()
    return Column("memory", "peak", {name: TableCell(format_size(size)) for name, size in peaks.items()})


def _relays(results: Results) -> Column:
    found = {}
    for name, notes in results.manifest.notes.items():
        if notes is not None:
            failed = len(notes.failed)
            found[name] = TableCell(
                f"✗ {failed} failed" if failed else "✓ all", f"of {notes.tried} cases", "warn" if failed else "good"
            )
    return Column("relays", "half-closed connections, resets, slow readers", found)


def _measured(results: Results, workload: str) -> pd.DataFrame:
    cells = without_control(measured(results.cells))
    return cells[cells["workload"] == workload]


def message(results: Results) -> str:
    """Return the title of the main chart: the kernel's part of the CPU time."""
    rows = sentences.proxies(results)
    rows = rows[rows["workload"].isin(sentences.cost_workloads(results))]
    shares = (rows["cpu_system_per_request_s"] / rows["cpu_per_request_s"]).dropna()
    if shares.empty:
        return "CPU time of a request"
    low, high = amount(shares.min(), PERCENT), amount(shares.max(), PERCENT)
    return f"Of the CPU time of a request, the kernel takes {low} to {high}"


@themed
def memory_chart(results: Results) -> Chart:
    """Return the chart of the peak of memory of each proxy, over all launches and loads."""
    peaks, look = sentences.peaks_bytes(results), styles(results.cells)
    chart, (ax,) = panels(
        ["all loads"],
        [len(peaks)],
        title="Peak memory",
        caption="Resident memory of all processes of the proxy: the highest of all launches and loads.",
        description="Bar chart of peak memory: "
        + ", ".join(f"{name} {format_size(size)}" for name, size in peaks.items()),
    )
    bars(ax, [Bar(str(name), str(name), float(size), look[str(name)].color) for name, size in peaks.items()], _SIZES)
    return chart


def main_chart(results: Results) -> Chart:
    """Return the chart of the CPU time of a connection, and of a request on one that is kept."""
    cells = results.cells[results.cells["workload"].isin(sentences.cost_workloads(results))]
    return charts.cpu_per_request(sentences.titled(results, cells))
