"""Charts against the number of connections: throughput, service times, memory and errors; and how long builds take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from runners.analyse.results import Results
from runners.analyse.usage import levels
from runners.core.load import ERRORS_TOLERANCE
from runners.core.records import GENERATOR_LIMITED
from runners.core.units import RATES, TIMES, amount, format_duration, shortened
from runners.present.kit.frames import measured, ordered, without_control
from runners.present.kit.rows import BAR, from_zero, name_rows, value_label
from runners.present.kit.theme import BAD, INK, QUIET, Chart, Style, legend, mixed, panels, styles, themed

_ROWS = 10
# Points of one number of connections stand beside each other by this factor, so that none hides another.
_APART = 1.05
_MOST_ERRORS = f"{ERRORS_TOLERANCE * 100:g} %"
_PUBLISHED = "*"
# Go 1.8, of which a build was published, came with its library compiled: its build was neither of the two.
_PUBLISHED_BESIDE = ("cold", "incremental")


@themed
def throughput(results: Results) -> Chart:
    """Completed requests per second against connections, with 95 % intervals; hollow where a cell is not ranked."""
    columns = ("throughput_rps", "throughput_low_rps", "throughput_high_rps")
    return _against_connections(
        results,
        [(name, name, columns) for name in _names(results)],
        title="Throughput against connections",
        caption="Geometric mean over launches with 95 % interval; both axes logarithmic.\nHollow: the load generator was the limit, "
        f"or more than {_MOST_ERRORS} errors: not ranked.",
        label=lambda value: amount(value, RATES).replace(" requests/s", "").replace("requests/s", ""),
        axis="requests/s",
    )


@themed
def service_times(results: Results) -> Chart:
    """Median and 99th percentile of the service time against connections."""
    columns = [
        (f"{name}, {words}", name, (f"{at}_s", f"{at}_low_s", f"{at}_high_s"))
        for name in _names(results)
        for at, words in (("p50", "median"), ("p99", "99th percentile"))
    ]
    return _against_connections(
        results,
        columns,
        title="Service time against connections",
        caption="With 95 % interval; both axes logarithmic. Hollow: the load generator was the limit, "
        f"or more than {_MOST_ERRORS} errors:\n"
        "responses later than 2 s are missing among the service times, the value is a lower bound.",
        label=format_duration,
        axis="service time",
    )


@themed
def memory(results: Results) -> Chart:
    """The peak of resident memory against connections, over all processes of a server."""
    columns = ("rss_peak_bytes", "rss_peak_low_bytes", "rss_peak_high_bytes")
    return _against_connections(
        results,
        [(name, name, columns) for name in _names(results)],
        title="Peak memory against connections",
        caption="Resident memory of all processes of the server: the highest of all launches, with the 95 % interval of their mean.\n"
        "Both axes logarithmic.",
        label=lambda value: f"{value / 1e6:g} MB",
        axis="peak resident memory",
    )


@themed
def errors(results: Results) -> Chart:
    """Errors as a share of the requests against connections; none are drawn at the foot."""
    cells = levels(without_control(results.cells))
    known = cells.loc[cells["errors_fraction"] > 0, "errors_fraction"]
    foot = min(1e-5, float(known.min()) / 2 if len(known) else 1e-5)
    shown = cells.assign(errors_fraction=cells["errors_fraction"].clip(lower=foot))
    chart = _against_connections(
        results,
        [(name, name, ("errors_fraction",) * 3) for name in _names(results)],
        title="Errors and timeouts against connections",
        caption="Connect, read, write and status errors, and responses later than wrk's 2 s, per request; both axes logarithmic.\n"
        f"Dashed: {_MOST_ERRORS}, above which a cell is not ranked.",
        label=lambda value: "none" if value <= foot * 1.01 else f"{value * 100:g} %",
        axis="share of the requests",
        cells=shown,
    )
    for ax in chart.axes:
        if ax.get_xlabel():
            ax.axhline(ERRORS_TOLERANCE, color=BAD, linewidth=1.0, linestyle=(0, (4, 3)))
            ax.set_ylim(foot / 1.6, max(0.004, ax.get_ylim()[1]))
            ticks = [foot, *(10.0**power for power in range(-6, 1) if 10.0**power > 2 * foot)]
            ax.set_yticks([tick for tick in ticks if tick <= ax.get_ylim()[1]])
    return chart


def _against_connections(
    results: Results,
    columns: Sequence[tuple[str, str, tuple[str, str, str]]],
    *,
    title: str,
    caption: str,
    label: object,
    axis: str,
    cells: pd.DataFrame | None = None,
) -> Chart:
    """A panel for each of `columns`: its title, its workload, and the columns of value, low and high."""
    rows = measured(levels(without_control(results.cells))) if cells is None else measured(cells)
    style_of, systems = styles(results.cells), ordered(rows["system"])
    chart, axes = panels(
        [text for text, _, _ in columns],
        [_ROWS] * len(columns),
        title=title,
        caption=caption,
        description=f"{title}, a line for each of {', '.join(systems)}, at "
        f"{', '.join(map(str, sorted(rows['connections'].unique())))} connections.",
        handles=_handles(systems, style_of),
    )
    for ax, (_, workload, names) in zip(axes, columns, strict=True):
        _lines(ax, rows[rows["name"] == workload], names, systems, style_of)
        _stars(ax, levels(results.published_amounts), workload, names[0], style_of)
        _log_axes(ax, rows.loc[rows["name"] == workload, "connections"], label, axis)
    return chart


def _lines(
    ax: Axes, rows: pd.DataFrame, names: tuple[str, str, str], systems: Sequence[str], style_of: Mapping[str, Style]
) -> None:
    for place, system in enumerate(systems):
        own = rows[(rows["system"] == system) & (rows[names[0]] > 0)].sort_values("connections")
        if own.empty:
            continue
        x = own["connections"].to_numpy(float) * _APART ** (place - (len(systems) - 1) / 2)
        value, low, high = (own[name].to_numpy(float) for name in names)
        reach = np.nan_to_num(
            [value - np.minimum(value, np.where(low > 0, low, value)), np.maximum(high, value) - value]
        )
        color = style_of[system].color
        ax.errorbar(x, value, yerr=reach, color=color, linewidth=1.4, elinewidth=1.2, zorder=2)
        unranked = (
            (own["errors_fraction"] > ERRORS_TOLERANCE) | (own["bottleneck"].isin(GENERATOR_LIMITED))
        ).to_numpy()
        for where, face in ((~unranked, color), (unranked, "white")):
            ax.plot(
                x[where],
                value[where],
                style_of[system].marker,
                color=color,
                markerfacecolor=face,
                markersize=5,
                zorder=3,
            )


def _stars(ax: Axes, published: pd.DataFrame, workload: str, column: str, style_of: Mapping[str, Style]) -> None:
    if column not in published:
        return
    for row in published[(published["name"] == workload) & (published[column] > 0)].to_dict("records"):
        if row["system"] in style_of:
            style: dict[str, Any] = {
                "color": style_of[row["system"]].color,
                "markeredgecolor": INK,
                "markeredgewidth": 0.6,
            }
            ax.plot(row["connections"], row[column], _PUBLISHED, markersize=10, zorder=4, **style)


def _log_axes(ax: Axes, connections: pd.Series, label: object, axis: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.autoscale(axis="y")
    low, high = ax.get_ylim()
    ax.set_ylim(*sorted((low, high)))
    ticks = sorted(connections.unique())
    # Without a space, as the last two stand near each other.
    ax.set_xticks(ticks, [f"{tick / 1000:g}k" if tick >= 1000 else f"{tick}" for tick in ticks])
    if len(ticks):
        ax.set_xlim(min(ticks) / 1.5, max(ticks) * 1.6)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))  # type: ignore[operator]
    ax.yaxis.set_minor_locator(NullLocator())
    ax.tick_params(axis="x", labelsize=8)
    ax.set_xlabel("connections")
    ax.set_ylabel(axis)
    ax.grid()


@themed
def builds(results: Results) -> Chart:
    """Chart the build time of each server: cold, warm, and after a change of one file; published values beside."""
    rows = results.builds.to_dict("records")
    style_of = styles(results.cells)
    published = results.published_amounts.dropna(subset=["build_s"]) if len(rows) else pd.DataFrame()
    beside = [] if published.empty else published.to_dict("records")
    kinds = {"cold": "cold_s", "warm": "warm_s", "incremental": "incremental_s"}
    titles = {kind: f"clean build, {kind} compiler cache" for kind in kinds} | {
        "incremental": "after a change of one file"
    }
    shown = list(kinds) if rows else []
    chart, axes = panels(
        [titles[kind] for kind in shown],
        [len(rows) + len(beside) * (kind in _PUBLISHED_BESIDE) for kind in shown],
        title="How long does a build take?" if rows else "Builds were not timed in this run",
        caption="One build each, on all measured CPUs; packages were downloaded before. Grey: published, another machine and program:\n"
        "that Go came with its library compiled, which with a cold cache Go compiles here."
        if rows
        else "The quick profile leaves them out; -p build_times yes times them.",
        description="; ".join(f"{row['system']} {row['cold_s']:.3g} s" for row in rows if row["cold_s"] > 0)
        or "No builds.",
    )
    for ax, kind in zip(axes, shown, strict=True):
        bars = [(row["system"], row[kinds[kind]], style_of[row["system"]].color, row["failure"]) for row in rows]
        also = beside if kind in _PUBLISHED_BESIDE else []
        bars += [(f"{row['system']} (published)", row["build_s"], mixed(QUIET, 0.5), "") for row in also]
        _build_panel(ax, bars)
    return chart


def _build_panel(ax: Axes, bars: Sequence[tuple[str, float, str, str]]) -> None:
    for place, (name, seconds, color, failure) in enumerate(bars):
        if pd.isna(seconds):
            ax.text(0, place, f" {shortened(failure or 'not timed', 40)}", va="center", color=BAD, fontsize=8.5)
            continue
        ax.barh(place, seconds, BAR, color=color)
        value_label(ax, seconds, place, amount(seconds, TIMES), name)
    name_rows(ax, [name for name, *_ in bars])
    from_zero(ax, max([seconds for _, seconds, *_ in bars if pd.notna(seconds)], default=1.0), "s")


def _names(results: Results) -> list[str]:
    return ordered(levels(results.cells)["name"])


def _handles(systems: Sequence[str], style_of: Mapping[str, Style]) -> list[Artist]:
    star = Line2D([], [], marker=_PUBLISHED, color="white", markeredgecolor=INK, linestyle="", markersize=9)
    star.set_label("published, another machine")
    return [*legend(systems, style_of), star]
