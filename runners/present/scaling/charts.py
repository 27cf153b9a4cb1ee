"""Charts against the number of server CPUs: throughput and speed-up with the ideal line, and the CPU time of a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from runners.analyse.fixed_rates import base_titles
from runners.analyse.results import Results
from runners.analyse.scaling import Scaling
from runners.core.units import RATES, amount, format_duration
from runners.present.kit.frames import ordered, without_control
from runners.present.kit.markup import Fragment
from runners.present.kit.theme import QUIET, Chart, Style, legend, panels, styles, themed
from runners.present.kit.wording import Narrative
from runners.present.scaling.sentences import larger_machine
from runners.present.throughput import charts
from runners.stats.estimates import Floats

_ROWS = 10
# Points of one number of CPUs stand beside each other by this factor, so that none hides another.
_APART = 1.02
_DASHED = (0, (4, 3))


def throughput(results: Results, scaling: Scaling) -> Chart:
    """Throughput against the number of CPUs; a bar for each system where there is one number alone."""
    if len(scaling.counts) > 1:
        return _throughput(results, scaling)
    return charts.throughput(results.cells[results.cells["workload"].isin(scaling.growth["workload"])])


def throughput_again(results: Results, scaling: Scaling) -> Chart | None:
    """Return the chart of throughput; None where there is one number of CPUs, and the main chart has shown it."""
    return throughput(results, scaling) if len(scaling.counts) > 1 else None


@themed
def _throughput(results: Results, scaling: Scaling) -> Chart:
    chart, axes, look = _panels(
        results,
        scaling.growth,
        title="Throughput against server CPUs",
        caption="Closed loop, geometric mean over launches with 95 % interval; both axes logarithmic. Dashed: ideal growth from the "
        "first point.\nHollow: the load was the limit, the server could do more.",
    )
    for ax, (_, rows) in zip(axes, _by_workload(scaling.growth), strict=True):
        names = ("throughput_rps", "throughput_low_rps", "throughput_high_rps")
        for system, own, x in _lines(rows, names[0]):
            _line(ax, x, own, names, look[system], own["limited"].to_numpy(bool))
            ideal = own["throughput_rps"].iloc[0] * own["ideal_ratio"].to_numpy(float)
            ax.plot(x, ideal, color=look[system].color, linewidth=0.8, linestyle=_DASHED, zorder=1)
        _upwards(ax, log=10)
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(
            FuncFormatter(lambda value, _: amount(value, RATES).replace(" requests/s", "").replace("requests/s", ""))
        )
        ax.yaxis.set_minor_locator(NullLocator())
        _cpu_axis(ax, rows, "requests/s")
    return chart


def speedup(results: Results, scaling: Scaling) -> Chart | Fragment:
    """Speed-up against the number of CPUs with the ideal line; where there is one number alone, what would show it."""
    if len(scaling.counts) > 1:
        return _speedup(results, scaling)
    return Narrative([larger_machine(scaling)]).fragment


@themed
def _speedup(results: Results, scaling: Scaling) -> Chart:
    chart, axes, look = _panels(
        results,
        scaling.growth,
        title="Speed-up against server CPUs",
        caption="Throughput over that of the fewest CPUs, paired by block, with 95 % interval. Dashed: ideal.\n"
        "Thin: the Universal Scalability Law, where it could be estimated. Hollow: a bound, the load was the limit.",
    )
    for ax, (base, rows) in zip(axes, _by_workload(scaling.growth), strict=True):
        names = ("speedup_ratio", "speedup_low_ratio", "speedup_high_ratio")
        for system, own, x in _lines(rows, names[0]):
            law = scaling.laws.get((str(base), system))
            _line(ax, x, own, names, look[system], (own["bound"] != "").to_numpy(bool), joined=law is None)
            if law is not None:
                grid = np.geomspace(own["cpus_count"].min(), own["cpus_count"].max(), 60)
                shown = law.throughput_rps(grid) / law.throughput_rps(grid[:1])
                ax.plot(grid, shown, color=look[system].color, linewidth=1.0, zorder=1)
        ends = np.array([rows["cpus_count"].min(), rows["cpus_count"].max()], dtype=float)
        ax.plot(ends, ends / ends[0], color=QUIET, linewidth=1.0, linestyle=_DASHED, zorder=1)
        _upwards(ax, log=2)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} ×"))
        _cpu_axis(ax, rows, "speed-up")
    return chart


@themed
def cost(results: Results, scaling: Scaling) -> Chart:
    """CPU time of a request against the number of CPUs, at the same rate for all systems of a workload."""
    chart, axes, look = _panels(
        results,
        scaling.costs,
        title="CPU time of the server per request, at the same rate on any number of CPUs",
        caption="Open loop, 95 % interval where it is known. Hollow: the server also ran on the load generator's CPUs.",
    )
    for ax, (_, rows) in zip(axes, _by_workload(scaling.costs), strict=True):
        names = ("cpu_per_request_s", "cpu_per_request_low_s", "cpu_per_request_high_s")
        for system, own, x in _lines(rows, names[0]):
            _line(ax, x, own, names, look[system], own["shared"].to_numpy(bool))
        _upwards(ax)
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_duration(value) if value else "0"))
        rates = ordered(rows["offered_rps"].dropna().astype(str))
        _cpu_axis(ax, rows, f"CPU per request at {', '.join(f'{float(rate):,.0f}/s' for rate in rates)}")
    return chart


def _panels(
    results: Results, frame: pd.DataFrame, *, title: str, caption: str
) -> tuple[Chart, list[Axes], dict[str, Style]]:
    """Return a chart with a panel for each workload, and the look of each system."""
    titles, look = base_titles(results.manifest), styles(results.cells)
    systems = ordered(without_control(frame)["system"])
    groups = _by_workload(frame)
    counts = ", ".join(f"{count:g}" for count in sorted(frame["cpus_count"].unique()))
    handles: list[Artist] = legend(systems, look)
    if "speedup_ratio" in frame:
        handles.append(Line2D([], [], color=QUIET, linestyle=_DASHED, linewidth=1.0, label="ideal"))
    chart, axes = panels(
        [titles[str(base)] for base, _ in groups],
        [_ROWS] * len(groups),
        title=title,
        caption=caption,
        description=f"{title}: a line for each of {', '.join(systems)}, on {counts} CPUs.",
        handles=handles,
    )
    return chart, axes, look


def _by_workload(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(str(base), rows) for base, rows in without_control(frame).groupby("base_workload", sort=False)]


def _lines(rows: pd.DataFrame, name: str) -> list[tuple[str, pd.DataFrame, Floats]]:
    """Return each system with its known rows and where they stand on the axis of CPUs; of each rate apart."""
    systems, found = ordered(rows["system"]), []
    for place, system in enumerate(systems):
        own = rows[(rows["system"] == system) & (rows[name].astype(float) > 0)]
        shift = _APART ** (place - (len(systems) - 1) / 2)
        groups: Sequence[pd.DataFrame] = (
            [part for _, part in own.groupby("offered_rps")] if "offered_rps" in own else [own]
        )
        found += [(system, part, part["cpus_count"].to_numpy(float) * shift) for part in groups if len(part)]
    return found


def _line(
    ax: Axes,
    x: Floats,
    rows: pd.DataFrame,
    names: tuple[str, str, str],
    style: Style,
    hollow: NDArray[np.bool_],
    *,
    joined: bool = True,
) -> None:
    """Draw the estimates of one system, joined by a line; some of them hollow."""
    value, low, high = (rows[name].to_numpy(float) for name in names)
    reach = np.nan_to_num([value - np.minimum(value, np.where(low > 0, low, value)), np.maximum(high, value) - value])
    common: dict[str, Any] = {"linewidth": 1.4 if joined else 0.0, "elinewidth": 1.2, "zorder": 2}
    ax.errorbar(x, value, yerr=reach, color=style.color, **common)
    for where, face in ((~hollow, style.color), (hollow, "white")):
        ax.plot(x[where], value[where], style.marker, color=style.color, markerfacecolor=face, markersize=5, zorder=3)


def _upwards(ax: Axes, log: int | None = None) -> None:
    """Scale the axis of values to what is drawn, upwards: panels of rows run downwards."""
    if log:
        ax.set_yscale("log", base=log)
    ax.autoscale(axis="y")
    ax.set_ylim(*sorted(ax.get_ylim()))


def _cpu_axis(ax: Axes, rows: pd.DataFrame, label: str) -> None:
    """Scale the axis of CPUs by powers of two, with a tick at each number that was measured."""
    counts = sorted(rows["cpus_count"].unique())
    ax.set_xscale("log", base=2)
    ax.set_xticks(counts, [f"{count:g}" for count in counts])
    ax.set_xlim(min(counts) / 1.25, max(counts) * 1.25)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("server CPUs")
    ax.set_ylabel(label)
    ax.grid()
