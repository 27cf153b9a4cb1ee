"""Parts of charts with one row per system: named rows, points and whiskers, values beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from runners.core.records import CONTROL
from runners.core.units import Scale, amount, minus, quantity, shortened, significant, too_wide, unit_of
from runners.present.kit.svg import mark
from runners.present.kit.theme import BAD, FAINT, INK, PAPER, Style, mixed

BAR = 0.62
LONGEST_WHISKER = 1.5
"""Of the largest value on an axis from zero: a whisker that is longer ends in an arrow, so that it does not shrink the bars."""
_LONG_NAME, _LONGEST_NAME = 20, 36
_ROOM = 1.25
_SHARED = 4.0  # times the bars of a panel must at most be shorter to have the axis of its family

_BELOW_ONE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98, 0.99)
_NICE = (*_BELOW_ONE, 1, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 7, 10, 20, 50, 100)

DrawnEstimate = tuple[float, float, float]


def name_rows(ax: Axes, names: list[str]) -> None:
    """One row per name, the first on top; the A/A control is named in grey."""
    ax.set_yticks(range(len(names)), list(map(_in_lines, names)))
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    for label, name in zip(ax.get_yticklabels(), names, strict=True):
        mark(label, name)
        if name == CONTROL:
            label.set_color(FAINT)


def _in_lines(name: str) -> str:
    """Return a row's name, shortened, with its decoder on a second line where the first would be long."""
    server, plus, decoder = name.partition("+")
    parts = [server + plus, decoder] if len(name) > _LONG_NAME and decoder else name.splitlines()
    return "\n".join(shortened(part, _LONGEST_NAME) for part in parts)


def by_value(rows: pd.DataFrame, column: str, *, largest_first: bool = True) -> pd.DataFrame:
    """Return rows in the order of a column: the best first, then what has no number, the A/A control last."""
    ranks = rows[column].astype(float)
    ranks = ranks.where(rows["status"] == "ok") if "status" in rows else ranks
    by_rank = rows.assign(_last=rows["system"] == CONTROL, _rank=-ranks if largest_first else ranks)
    return by_rank.sort_values(["_last", "_rank"], kind="stable", na_position="last").drop(columns=["_last", "_rank"])


def from_zero(ax: Axes, top: float, label: str) -> None:
    """An axis from zero, with room for the value label beside the longest bar."""
    ax.set_xlim(0, top * _ROOM)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set_xlabel(label)


def end_of(ax: Axes) -> float:
    """Return the `top` of an axis from zero."""
    return ax.get_xlim()[1] / _ROOM


def axis_end(values: Iterable[float], highs: Iterable[float]) -> float:
    """Return the end of an axis from zero: the longest whisker, or less where it is longer than `LONGEST_WHISKER`."""
    top = max((value for value in values if value > 0), default=math.nan)
    longest = max((high for high in highs if high > 0), default=top)
    return 1.0 if math.isnan(top) else max(top, min(longest, LONGEST_WHISKER * top))


def shared_ends(cells: pd.DataFrame, column: str, high: str) -> dict[str, float]:
    """Return workload → the end of its axis: the same for the workloads of one family, but for those with bars far shorter."""
    own = {str(name): axis_end(rows[column], rows[high]) for name, rows in cells.groupby("workload", sort=False)}
    family = dict(zip(cells["workload"], cells["workload_name"], strict=True))
    longest = {name: max(end for other, end in own.items() if family[other] == family[name]) for name in own}
    return {name: longest[name] if end > longest[name] / _SHARED else end for name, end in own.items()}


def drawn(value: float, low: float, high: float) -> DrawnEstimate:
    """An estimate as it can be drawn: an interval that is not known (one block only), or too wide to say anything, has no width."""
    return (value, value, value) if math.isnan(low) or math.isnan(high) or too_wide(low, high) else (value, low, high)


def log_axis(ax: Axes, ends: Iterable[float], values: Iterable[float]) -> None:
    """Scale a log axis of ratios to intervals, but to no more than twice beyond what the values reach."""
    known, reached = ([each for each in part if each > 0 and math.isfinite(each)] for part in (ends, values))
    low, high = max(min(known), min(reached) / 2), min(max(known), max(reached) * 2)
    room = max((high / low) ** 0.08, 1.002)
    ax.set_xscale("log")
    ax.set_xlim(low / room, high * room)
    ax.set_xticks(log_ticks(low / room, high * room))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.minorticks_off()


def log_ticks(low: float, high: float, parts: int = 5) -> list[float]:
    """Round numbers on a log axis, 1 among them, none closer to another than a fifth of the axis, or another part of it."""
    chosen = [1.0]
    for tick in sorted(_NICE, key=lambda tick: abs(math.log(tick))):
        apart = min(abs(math.log(tick / other)) for other in chosen)
        if low <= tick <= high and apart > math.log(high / low) / parts:
            chosen.append(tick)
    return sorted(chosen)


def point(
    ax: Axes,
    row: float,
    estimate: DrawnEstimate,
    style: Style,
    *,
    filled: bool,
    system: str = "",
    said: str = "",
    n: float = math.nan,
) -> None:
    """An estimate with its interval over it; hollow when it must not be read as it stands.

    An interval that leaves the axis ends in an arrow, with `n` beside it; so set the axis first.
    """
    value, low, high = estimate
    face = style.color if filled else "none"
    dot = ax.plot(value, row, style.marker, color=style.color, markersize=6, markerfacecolor=face, zorder=3)
    parts = [*dot, *_interval(ax, row, (low, high), n, rim=1.2 if filled else 0.0)]
    for part in parts:
        mark(part, system, said)


def whisker(ax: Axes, row: float, low: float, high: float, *, n: float, end: float) -> list[Artist]:
    """The interval of a bar, with a rim of the page's colour so that it is seen on dark bars too; beyond `end` an arrow and n."""
    return _interval(ax, row, (low, high), n, rim=3.0, end=end)


def _interval(
    ax: Axes, row: float, ends: tuple[float, float], n: float, *, rim: float, end: float = math.inf
) -> list[Artist]:
    least, most = ax.get_xlim()
    most = min(most, end)
    low, high = max(ends[0], least), min(ends[1], most)
    parts: list[Artist] = []
    if high > low:
        for color, width in ((PAPER, 1.3 + rim), (INK, 1.3)):
            if color == INK or rim:
                parts += ax.plot([low, high], [row, row], color=color, linewidth=width, zorder=4, solid_capstyle="butt")
        ticks = [end for end, own in zip((low, high), ends, strict=True) if end == own]
        parts += ax.plot(ticks, [row] * len(ticks), "|", color=INK, markersize=5, markeredgewidth=1.3, zorder=4)
    for cut, end, arrow, shift in ((ends[0] < least, least, "<", 1), (ends[1] > most, most, ">", -1)):
        if cut and high > low:
            parts += ax.plot(end, row, arrow, color=INK, markersize=5, zorder=5, clip_on=False)
            # Once is enough where both ends are cut.
            words = f"n = {n:.0f}" if n > 0 and (shift < 0 or ends[1] <= most) else ""
            place: dict[str, Any] = {"xytext": (7 * shift, 6), "textcoords": "offset points"}
            parts.append(
                ax.annotate(words, (end, row), ha="left" if shift > 0 else "right", fontsize=8, color=INK, **place)
            )
    return parts


def value_label(ax: Axes, end: float, row: float, text: str, system: str) -> None:
    """A value beside the end of its bar."""
    color = FAINT if system == CONTROL else INK
    words = ax.annotate(
        minus(text), (end, row), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9, color=color
    )
    mark(words, system)


def beside(ax: Axes, row: float, words: str, color: str, system: str = "") -> None:
    """Words in the margin to the right of a row."""
    where = ("axes fraction", "data")
    text = ax.annotate(
        minus(words), (1.03, row), xycoords=where, va="center", fontsize=8.5, linespacing=1.25, color=color
    )
    if system:
        mark(text, system)


def told(cell: Mapping[Any, Any], column: str, scale: Scale, bound: str = "") -> str:
    """Return in words what a mark stands for: system, workload, value with interval, and n."""
    stem, unit = column.rsplit("_", 1)
    value = quantity(cell[column], cell[f"{stem}_low_{unit}"], cell[f"{stem}_high_{unit}"], scale)
    n = cell.get("launches_count", math.nan)
    return f"{cell['system']}, {cell['workload_title']}: {bound}{value}" + (f", n = {n:.0f}" if n > 0 else "")


def failed(ax: Axes, row: int, cell: Mapping[Any, Any]) -> None:
    """Write in the place of a bar why there is none."""
    words = ax.text(0, row, f" {shortened(cell['status'], 40)}", va="center", color=BAD, fontsize=8.5)
    mark(words, cell["system"], cell["status"])


def stack(ax: Axes, row: int, parts: list[tuple[float, float]], style: Style, system: str, said: str) -> None:
    """Parts of a sum beside each other, each (value, paleness)."""
    left = 0.0
    for value, pale in parts:
        if pd.notna(value):
            color = mixed(style.color, pale) if pale else style.color
            bar = ax.barh(row, value, BAR, left=left, color=color, edgecolor=style.color, linewidth=0.6)
            mark(bar[0], system, said)
            left += value


@dataclass(frozen=True)
class Bar:
    """A bar without an interval: its system, the name of its row, its value, and why there is none."""

    system: str
    name: str
    value: float
    color: str
    failure: str = ""


def bars(ax: Axes, shown: Sequence[Bar], scale: Scale) -> None:
    """Draw a bar for each row, the least on top, with its value beside it; rows without a value stand last, with the reason."""
    order = sorted(shown, key=lambda bar: math.inf if math.isnan(bar.value) else bar.value)
    top = max([bar.value for bar in order if not math.isnan(bar.value)], default=1.0)
    factor, unit = unit_of(top, scale)
    from_zero(ax, top / factor, unit)
    for row, bar in enumerate(order):
        if math.isnan(bar.value):
            failed(ax, row, {"system": bar.system, "status": bar.failure})
            continue
        drawn_bar = ax.barh(row, bar.value / factor, BAR, color=bar.color)[0]
        mark(drawn_bar, bar.system, f"{bar.name}: {amount(bar.value, scale)}")
        value_label(ax, bar.value / factor, row, significant(bar.value / factor), bar.system)
    name_rows(ax, [bar.name for bar in order])
