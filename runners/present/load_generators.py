"""The load generators: what they can drive, how they keep a schedule, whether their times are right, and coordinated omission.

The figure of coordinated omission shows an open and a closed loop before the same server, which stops at times.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from runners.analyse.load_generators import CEILING_OF, driven as driven_cells, paced, truth as known_times
from runners.analyse.results import Results
from runners.core.load import LATE_S, PACED_S
from runners.core.records import PERCENTILES
from runners.core.units import PERCENT, RATES, TIMES, amount, format_duration, listing, quantity_parts
from runners.present.kit.markup import Fragment, Group, TableCell, table
from runners.present.kit.theme import HUES, QUIET, Chart, panels, themed
from runners.present.kit.wording import Narrative
from runners.stats.histograms import EVERY_S, STALL_S, stalled_response_s

_ONE_ONLY = Narrative(["This run measured no load generator against a server whose response times are known."]).fragment

_SHAPES = {"open": "open loop", "closed": "closed loop"}
_COLORS = {"open": HUES[1], "closed": HUES[0]}


def driven(results: Results) -> Fragment:
    """Return the table of what each load generator drives a fixed response to, and of how it keeps a schedule."""
    pacing = paced(results.cells, results.trials).set_index("generator")
    rows = []
    for row in driven_cells(results.cells).to_dict("records"):
        rate, interval = quantity_parts(
            row["throughput_rps"], row["throughput_low_rps"], row["throughput_high_rps"], RATES
        )
        cells = [TableCell(row["generator"], kind="name"), TableCell(rate, interval)]
        cells.append(TableCell(amount(row["generator_busy_fraction"], PERCENT)))
        rows.append([*cells, *_pacing(pacing.loc[row["generator"]] if row["generator"] in pacing.index else None)])
    heads = [("load generator", ""), ("drives", "95 % interval"), ("its CPUs", "busy"), ("at a rate of", "")]
    heads += [(f"≤ {amount(PACED_S, TIMES)} late", "share of the sends"), ("99 % of sends", "late by at most")]
    heads += [(f"> {amount(LATE_S, TIMES)} late", "")]
    return table(f"Load generators against {CEILING_OF}", heads, [Group("", rows)])


def _pacing(row: pd.Series | None) -> list[TableCell]:
    if row is None:
        return [TableCell("has no schedule", kind="muted"), *[TableCell("–", kind="muted")] * 3]
    late = [TableCell(amount(row["on_time_fraction"], PERCENT)), TableCell(amount(row["late_p99_s"], TIMES))]
    return [TableCell(amount(row["offered_rps"], RATES)), *late, TableCell(amount(row["late_fraction"], PERCENT))]


def truth(results: Results) -> Fragment:
    """Return the table of known response times and those that each load generator measured; words where a run has none."""
    found = known_times(results.cells)
    if found.empty:
        return _ONE_ONLY
    rows = [
        [
            TableCell(row["system"], kind="name"),
            TableCell(row["generator"], "open loop" if row["open_loop"] else "closed loop", "words"),
            TableCell(row["statistic"]),
            TableCell(amount(row["known_s"], TIMES)),
            *_measured(row["measured_s"], row["known_s"]),
        ]
        for row in found.sort_values(["system", "generator", "known_s"]).to_dict("records")
    ]
    heads = [("server", ""), ("load generator", ""), ("", ""), ("known", ""), ("measured", ""), ("off by", "")]
    return table("Response times that are known by calculation", heads, [Group("", rows)])


def _measured(measured_s: float, known_s: float) -> list[TableCell]:
    if pd.isna(measured_s):
        return [TableCell("not known", kind="muted"), TableCell("–", kind="muted")]
    return [TableCell(amount(measured_s, TIMES)), TableCell(f"{measured_s / known_s - 1:+.1%}")]


def sentences(results: Results) -> list[str]:
    """Return sentences on the schedule of each load generator, and on known response times."""
    return [text for text in [*_paced(results), _truth(results)] if text]


def _paced(results: Results) -> list[str]:
    return [
        f"At {amount(row['offered_rps'], RATES)}, {row['generator']} sends {amount(row['on_time_fraction'], PERCENT)} of the "
        f"requests at most {amount(PACED_S, TIMES)} late, and 99 % at most {amount(row['late_p99_s'], TIMES)}."
        for row in paced(results.cells, results.trials).to_dict("records")
    ]


def _truth(results: Results) -> str:
    """Return the sentence about the worst percentile of each kind of loop before a server that stops at times."""
    found = known_times(results.cells).dropna()
    stalled = found[found["system"] == "calibration+stalled"]
    parts = []
    for open_loop, rows in stalled.groupby("open_loop", sort=False):
        worst = rows.loc[rows["off_ratio"].abs().idxmax()]
        loop = "open" if open_loop else "closed"
        parts.append(f"{100 * worst['off_ratio']:+.1f} % ({worst['generator']}, {loop} loop)".replace("-", "−"))
    return f"A server stops for 100 ms every second: percentiles are off by at most {listing(parts)}." if parts else ""


def stalled_curves(results: Results) -> pd.DataFrame:
    """Return the percentile curves of the server that stops at times, with the load's shape; empty where it was not measured."""
    curves = results.curves.merge(results.cells[["system", "workload", "shape"]], on=["system", "workload"])
    return curves[
        ~curves["workload"].isin(results.manifest.compared)
        & curves["shape"].isin(list(_SHAPES))
        & curves["estimable"].astype(bool)
    ]


def omission(results: Results) -> Chart | None:
    """Return the chart of response times by percentile in both loops, and as calculated; None where they were not measured."""
    curves = stalled_curves(results)
    return None if curves.empty else _chart(curves)


@themed
def _chart(curves: pd.DataFrame) -> Chart:
    chart, (ax,) = panels(
        ["the same server, which stands still for 100 ms in every second"],
        [11],
        title="Coordinated omission: a closed loop hides a stall",
        caption="A closed loop sends nothing while it waits, so it sees a stall once a connection. In an open one requests still arrive.\n"
        "Grey: the response times of arrivals at any moment, by calculation. Both axes logarithmic; further right is rarer.",
        description=_described(curves),
    )
    grid = 100 * (1 - np.geomspace(0.5, 1e-4, 200))
    ax.plot(1 / (1 - grid / 100), [stalled_response_s(each) for each in grid], color=QUIET, linewidth=5, alpha=0.35)
    _name(ax, 1 / 0.3, stalled_response_s(70.0), "as calculated", QUIET, (0, 14))
    for shape, words in _SHAPES.items():
        own = curves[curves["shape"] == shape].sort_values("percentile")
        if own.empty:
            continue
        ax.plot(1 / (1 - own["percentile"] / 100), own["value_s"], color=_COLORS[shape])
        at = own.iloc[(own["percentile"] - (96.0 if shape == "open" else 98.0)).abs().argmin()]
        # Where neither the other curve nor the calculated one is.
        offset = (0, -16) if shape == "closed" else (10, -14)
        _name(ax, 1 / (1 - at["percentile"] / 100), at["value_s"], words, _COLORS[shape], offset)
    _axes(ax, [*curves["value_s"], STALL_S])
    return chart


def _name(
    ax: Axes,
    x: float,
    y: float,
    words: str,
    color: str,
    offset: tuple[int, int],
    side: str = "left",
) -> None:
    ax.annotate(
        words, (x, y), xytext=offset, textcoords="offset points", fontsize=9, color=color, horizontalalignment=side
    )


def _axes(ax: Axes, values_s: list[float]) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ticks = [1 / (1 - percentile / 100) for percentile in PERCENTILES]
    ax.set_xticks(ticks, [f"p{percentile:g}" for percentile in PERCENTILES])
    ax.set_xlim(ticks[0] * 0.95, ticks[-1] * 1.1)
    ax.set_ylim(min(values_s) / 1.6, max(values_s) * 1.6)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_duration(value)))
    ax.set_xlabel("percentile of all requests")
    ax.set_ylabel("response time")
    ax.grid()


def _described(curves: pd.DataFrame) -> str:
    parts = [
        f"{shape} loop p99 {format_duration(_at(curves, shape, 99.0))}"
        for shape in _SHAPES
        if (curves["shape"] == shape).any()
    ]
    calculated = format_duration(stalled_response_s(99.0))
    return f"Response times of a server that stops for {STALL_S:g} s every {EVERY_S:g} s: {'; '.join(parts)}; calculated p99 {calculated}."


def _at(curves: pd.DataFrame, shape: str, percentile: float) -> float:
    own = curves[curves["shape"] == shape]
    return float(own.iloc[(own["percentile"] - percentile).abs().argmin()]["value_s"])


def omitted(results: Results) -> str:
    """Return the sentence about what a closed loop hides; empty where it was not measured."""
    curves = stalled_curves(results)
    if set(curves["shape"]) != set(_SHAPES):
        return ""
    seen, hidden = (format_duration(_at(curves, shape, 99.0)) for shape in _SHAPES)
    known = format_duration(stalled_response_s(99.0))
    return f"A server stops for 100 ms every second: an open loop sees p99 {seen} (calculated: {known}), a closed loop {hidden}."
