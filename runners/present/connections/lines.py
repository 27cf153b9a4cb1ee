"""Lines of systems against the number of connections, and what was published beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from runners.analyse.results import Results
from runners.analyse.usage import levels
from runners.core.load import ERRORS_TOLERANCE
from runners.core.records import LOWER_BOUND_LIMITS
from runners.core.units import grouped
from runners.present.kit.frames import measured, ordered, without_control
from runners.present.kit.lines import direct_labels, height_of, rows_for, upright
from runners.present.kit.svg import mark
from runners.present.kit.theme import INK, Chart, Style, panels, styles

Label = Callable[[float], str]

_ROWS = 9
# Points of one number of connections stand beside each other by this factor, so that none hides another.
_APART = 1.05
_STARS = "Stars: published, another machine."


def against_connections(
    results: Results,
    columns: Sequence[tuple[str, str, tuple[str, str, str]]],
    *,
    title: str,
    caption: str,
    label: Label,
    axis: str,
    cells: pd.DataFrame | None = None,
    also: Sequence[float] = (),
    base: int = 10,
) -> Chart:
    """A panel for each of `columns`: its title, its workload, and the columns of value, low and high; all axes hold `also`.

    `base` is that of the ticks on the upright axis: 2 for sizes.
    """
    rows = measured(levels(without_control(results.cells))) if cells is None else measured(cells)
    style_of, systems = styles(results.cells), ordered(rows["system"])
    published = levels(results.published_amounts)
    starred = any(names[0] in published and (published[names[0]] > 0).any() for *_, names in columns)
    shown = [(text, name, names, rows[(rows["name"] == name) & (rows[names[0]] > 0)]) for text, name, names in columns]
    shown = [each for each in shown if len(each[-1])]
    chart, axes = panels(
        [text for text, *_ in shown],
        [rows_for(len(systems), _ROWS)] * len(shown),
        title=title,
        caption=f"{caption}\n{_STARS}" if starred else caption,
        description=f"{title}, a line for each of {', '.join(systems)}, at "
        f"{', '.join(map(str, sorted(rows['connections'].unique())))} connections.",
    )
    values = [*also, *(value for *_, names, own in shown for value in own[names[0]])]
    values += [
        float(value)
        for _, workload, names, _ in shown
        if starred and names[0] in published
        for value in published.loc[(published["name"] == workload) & published["system"].isin(systems), names[0]]
        if value > 0
    ]
    for ax, (_, workload, names, own) in zip(axes, shown, strict=True):
        _log_axes(ax, rows.loc[rows["name"] == workload, "connections"], values, label, axis)
        ax.yaxis.set_major_locator(_upright_ticks(*ax.get_ylim(), base))
        ends = _lines(ax, own, names, systems, style_of, label)
        _stars(ax, published, workload, names[0], style_of)
        direct_labels(ax, ends, style_of)
    return chart


def _lines(
    ax: Axes,
    rows: pd.DataFrame,
    names: tuple[str, str, str],
    systems: Sequence[str],
    style_of: Mapping[str, Style],
    label: Label,
) -> dict[str, float]:
    """Draw the line of each system; returns where each ends, as a share of the axis's height."""
    ends = {}
    for place, system in enumerate(systems):
        own = rows[rows["system"] == system].sort_values("connections")
        if own.empty:
            continue
        x = own["connections"].to_numpy(float) * _APART ** (place - (len(systems) - 1) / 2)
        value, low, high = (own[name].to_numpy(float) for name in names)
        estimates = np.column_stack([value, np.where(low > 0, np.fmin(low, value), value), np.fmax(high, value)])
        unranked = (own["errors_fraction"] > ERRORS_TOLERANCE) | own["bottleneck"].isin(LOWER_BOUND_LIMITS)
        (line,) = ax.plot(x, value, color=style_of[system].color, linewidth=1.4, zorder=2)
        mark(line, system, system)
        said = [_told(label, each, cell) for each, cell in zip(estimates, own.to_dict("records"), strict=True)]
        upright(ax, x, estimates, style_of[system], system, hollow=unranked.to_numpy(), said=said)
        ends[system] = height_of(ax, value[-1])
    return ends


def _told(label: Label, estimate: Sequence[float], cell: Mapping[Any, Any]) -> str:
    """Return in words what a point stands for."""
    value, low, high = (label(each) for each in estimate)
    interval = f" ({low} to {high})" if estimate[1] < estimate[2] else ""
    return f"{cell['system']}, {grouped(cell['connections'])} connections: {value}{interval}, n = {cell['launches_count']:.0f}"


def _stars(ax: Axes, published: pd.DataFrame, workload: str, column: str, style_of: Mapping[str, Style]) -> None:
    known = (
        published[(published["name"] == workload) & (published[column] > 0)] if column in published else published[:0]
    )
    for row in known.to_dict("records"):
        if row["system"] in style_of:
            style: dict[str, Any] = {"color": style_of[row["system"]].color, "markeredgecolor": INK}
            star = ax.plot(row["connections"], row[column], "*", markersize=10, markeredgewidth=0.6, zorder=4, **style)
            mark(star[0], row["system"], f"{row['system']}: published, another machine")


def _log_axes(ax: Axes, connections: pd.Series, values: Sequence[float], label: Label, axis: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(min(values) / 1.5, max(values) * 1.5)
    ticks = sorted(connections.unique())
    names = [f"{tick / 1000:g}k" if tick >= 1000 else f"{tick}" for tick in ticks]
    ax.set_xticks(ticks, names, rotation=45, ha="right", rotation_mode="anchor")
    if len(ticks):
        ax.set_xlim(min(ticks) / 1.5, max(ticks) * 1.6)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.tick_params(axis="x", labelsize=8)
    ax.set_xlabel("connections")
    ax.set_ylabel(axis)
    ax.grid()


def _upright_ticks(low: float, high: float, base: int) -> LogLocator:
    if base != 10:
        return LogLocator(base=base, subs=(1,), numticks=8)
    return LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,))
