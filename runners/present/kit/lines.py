"""Parts of charts with one line per system: names beside the ends of lines, points with upright intervals, log axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import ArrayLike

from runners.core.records import PERCENTILES
from runners.core.units import format_duration
from runners.present.kit.svg import mark
from runners.present.kit.theme import INK, ROW_IN, Style

_APART_PT = 10.5  # of two names
_LINE_OF_TEXT = 72.0
# Where words over a line may begin, and the room that they and a point need, as shares of the axes.
_WORDS_AT, _WORDS_WIDTH, _WORDS_HEIGHT, _MARKER_WIDTH = (0.01, 0.36, 0.7), 0.3, 0.06, 0.03


def height_of(ax: Axes, value: float) -> float:
    """Return where a value is on the upright axis, as a share of its height."""
    low, high = ax.get_ylim()
    if ax.get_yscale() == "log":
        low, high, value = math.log(low), math.log(high), math.log(max(value, 1e-300))
    return (value - low) / (high - low)


def rows_for(names_count: int, least: int) -> int:
    """Return how many rows a panel needs to have room for so many names beside its lines; `least` at least."""
    return max(least, math.ceil(names_count * _APART_PT / _LINE_OF_TEXT / ROW_IN))


def direct_labels(ax: Axes, ends: Mapping[str, float], style_of: Mapping[str, Style]) -> None:
    """Write each name beside the end of its line, in the order of the ends and none over another.

    `ends`: system → height, as :func:`height_of` returns it.
    """
    placed = sorted(ends.items(), key=lambda item: item[1])
    figure = ax.figure
    apart = _APART_PT / (_LINE_OF_TEXT * (figure.get_figheight() - 0.9))  # type: ignore[union-attr]
    heights = [min(1.0, max(0.0, height)) for _, height in placed]
    for place in range(1, len(heights)):
        heights[place] = max(heights[place], heights[place - 1] + apart)
    over = max(0.0, heights[-1] - 1.02) if heights else 0.0
    for place in range(len(heights) - 1, -1, -1):
        above = heights[place + 1] - apart if place + 1 < len(heights) else heights[place] - over
        heights[place] = min(heights[place], above)
    for height, (system, _) in zip(heights, placed, strict=True):
        look = style_of[system]
        free: dict[str, Any] = {"transform": ax.transAxes, "clip_on": False, "markersize": 5}
        dot = ax.plot(1.035, height, look.marker, color=look.color, **free)
        where: dict[str, Any] = {"xycoords": "axes fraction", "va": "center", "fontsize": 8.5, "color": INK}
        for part in (*dot, ax.annotate(system, (1.065, height), **where)):
            mark(part, system)


def free_place(ax: Axes, places: ArrayLike, estimates: ArrayLike, level: float) -> float:
    """Return where words over a level hide the fewest points, and of such places the fewest intervals.

    Parameters
    ----------
    places : ArrayLike
        Where points stand, as shares of the axis.
    estimates : ArrayLike
        Their value, low and high on a logarithmic axis that is scaled already.
    level : float
        The value over which the words stand.
    """
    at, (value, low, high) = np.asarray(places, float), np.asarray(estimates, float).reshape(-1, 3).T
    least, most = ax.get_ylim()
    top = level * (most / least) ** _WORDS_HEIGHT

    def hidden(start: float) -> tuple[int, int]:
        beside = (at > start - _MARKER_WIDTH) & (at < start + _WORDS_WIDTH)
        points, intervals = (value > level) & (value < top), (low < top) & (high > level)
        return int((beside & points).sum()), int((beside & intervals).sum())

    return min(_WORDS_AT, key=hidden)


def upright(
    ax: Axes,
    x: ArrayLike,
    estimates: ArrayLike,
    style: Style,
    system: str,
    *,
    hollow: ArrayLike = False,
    said: Sequence[str] = (),
) -> None:
    """Draw points of one system with upright intervals in its colour; `estimates` has a column for value, low and high."""
    places, (value, low, high) = np.atleast_1d(np.asarray(x, float)), np.asarray(estimates, float).reshape(-1, 3).T
    least, most = ax.get_ylim()
    is_hollow = np.broadcast_to(np.asarray(hollow, bool), places.shape)
    for place, at in enumerate(places):
        face = "none" if is_hollow[place] else style.color
        dots = ax.plot(at, value[place], style.marker, color=style.color, markerfacecolor=face, markersize=5, zorder=3)
        ends = max(low[place], least), min(high[place], most)
        if ends[1] > ends[0]:
            dots += ax.plot([at, at], ends, color=style.color, linewidth=1.1, zorder=2.5)
            for cut, end, arrow in ((low[place] < least, ends[0], "v"), (high[place] > most, ends[1], "^")):
                dots += ax.plot(at, end, arrow, color=style.color, markersize=4, clip_on=False) if cut else []
        for dot in dots:
            mark(dot, system, said[place] if place < len(said) else "")


def durations(ax: Axes, label: str) -> None:
    """Label a logarithmic upright axis with durations."""
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_duration(value)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylabel(label)


def percentile_axes(ax: Axes, values_s: pd.Series | list[float], label: str) -> None:
    """Scale both axes of a percentile curve: x is 1 / (1 − q), every decade one more nine."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ticks = [1 / (1 - percentile / 100) for percentile in PERCENTILES]
    # The second is too near to the first for a name.
    ax.set_xticks(ticks, [f"p{percentile:g}" if place != 1 else "" for place, percentile in enumerate(PERCENTILES)])
    ax.set_xlim(ticks[0] * 0.9, ticks[-1] * 1.15)
    finite = [value for value in values_s if value > 0]
    if finite:
        ax.set_ylim(min(finite) / 1.4, max(finite) * 1.4)
    ax.xaxis.set_minor_locator(NullLocator())
    durations(ax, label)
    ax.set_xlabel("percentile of all requests")
    ax.grid()
