"""A figure that teaches coordinated omission: an open and a closed loop before the same server, which stops at times."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from runners.analyse.results import Results
from runners.core.records import PERCENTILES
from runners.core.units import format_duration
from runners.present.kit.theme import HUES, QUIET, Chart, panels, themed
from runners.stats.queues import EVERY_S, STALL_S, stalled_response_s

_SHAPES = {"open": "open loop", "closed": "closed loop"}
_COLORS = {"open": HUES[1], "closed": HUES[0]}


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
    return f"A server stops for 100 ms in every second: the open loop sees a p99 of {seen} (calculated: {known}), the closed loop {hidden}."
