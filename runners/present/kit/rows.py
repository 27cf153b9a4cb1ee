"""Parts of charts with one row per system: named rows, points and whiskers, values beside them."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from runners.core.records import CONTROL
from runners.core.units import shortened
from runners.present.kit.theme import FAINT, INK, Style

BAR = 0.62
_LONGEST_NAME = 36

_BELOW_ONE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98, 0.99)
_NICE = (*_BELOW_ONE, 1, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 7, 10, 20, 50, 100)


def name_rows(ax: Axes, names: list[str]) -> None:
    """One row per name, the first on top; the A/A control is named in grey."""
    ax.set_yticks(range(len(names)), [shortened(name, _LONGEST_NAME) for name in names])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    for label in ax.get_yticklabels():
        if label.get_text() == CONTROL:
            label.set_color(FAINT)


def from_zero(ax: Axes, top: float, label: str) -> None:
    """An axis from zero, with room for the value label beside the longest bar."""
    ax.set_xlim(0, top * 1.25)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set_xlabel(label)


def drawn(value: float, low: float, high: float) -> tuple[float, float, float]:
    """An estimate as it can be drawn: an interval that is not known (one block only) has no width."""
    return (value, value, value) if math.isnan(low) or math.isnan(high) else (value, low, high)


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers on a log axis, 1 among them, none closer to another than an eighth of the axis."""
    chosen = [1.0]
    for tick in sorted(_NICE, key=lambda tick: abs(math.log(tick))):
        apart = min(abs(math.log(tick / other)) for other in chosen)
        if low <= tick <= high and apart > math.log(high / low) / 8:
            chosen.append(tick)
    return sorted(chosen)


def point(ax: Axes, row: float, estimate: tuple[float, float, float], style: Style, *, filled: bool) -> None:
    """An estimate with its interval; hollow when it must not be read as it stands."""
    value, low, high = estimate
    ax.errorbar(
        value,
        row,
        xerr=[[value - low], [high - value]],
        fmt=style.marker,
        color=style.color,
        markersize=5.5,
        markerfacecolor=style.color if filled else "white",
        elinewidth=1.8,
    )


def whisker(ax: Axes, row: float, low: float, high: float) -> None:
    """The interval of a bar, with a white rim so that it is seen on dark bars too."""
    middle, reach = (low + high) / 2, (high - low) / 2
    for color, width, cap in (("white", 3.4, 4.0), (INK, 1.3, 3.0)):
        ax.errorbar(middle, row, xerr=reach, fmt="none", ecolor=color, elinewidth=width, capsize=cap, capthick=width)


def value_label(ax: Axes, end: float, row: float, text: str, system: str) -> None:
    """A value beside the end of its bar."""
    color = FAINT if system == CONTROL else INK
    ax.annotate(text, (end, row), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9, color=color)


def beside(ax: Axes, row: float, words: str, color: str) -> None:
    """Words in the margin to the right of a row."""
    where = ("axes fraction", "data")
    ax.annotate(words, (1.03, row), xycoords=where, va="center", fontsize=8.5, linespacing=1.25, color=color)
