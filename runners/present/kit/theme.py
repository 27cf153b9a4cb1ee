"""The theme: one colour per system, and figures that show themselves in the notebook.

Hues are those of Okabe and Ito (Color Universal Design, 2008), which people with any colour vision can tell apart;
one hue per server, one lightness and one marker per codec, by the order given.
"""

from __future__ import annotations

import base64
import functools
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from PIL import Image

from runners.core.records import CONTROL
from runners.present.kit.frames import ordered
from runners.present.kit.markup import Fragment, picture

P = ParamSpec("P")
R = TypeVar("R")

INK, QUIET, RULE, BAND = "#1f2328", "#5f6871", "#d5d9de", "#dde2e8"
GOOD, BAD = "#00664b", "#a33f00"
MUTED, FAINT = "#a3a9b0", "#70777f"  # the A/A control: its marks, and its words (which need more contrast)
HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#7f6a3f")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "p")

WIDTH_IN = 9.0
SCREEN_DPI = 96
SHARP_DPI = 1.5 * SCREEN_DPI
_LEGEND_COLUMNS = 4
_AROUND_IN = 0.75  # a panel's title, axis and axis label

THEME: Any = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "font.family": "DejaVu Sans",  # the one font that every Matplotlib brings: charts look the same everywhere
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,  # a "$" in what a server prints is a dollar sign
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.5,
    "axes.labelcolor": QUIET,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelsize": 9,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "figure.titlesize": 12,
    "figure.titleweight": "bold",
    "hatch.linewidth": 0.8,
}


def themed(draw: Callable[P, R]) -> Callable[P, R]:
    """Give a chart function the house's style."""

    @functools.wraps(draw)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(THEME):
            return draw(*args, **kwargs)

    return wrapped


class Chart(Figure):
    """A figure that a notebook shows when it is a cell's last value, at twice the screen's resolution.

    It belongs to no pyplot state: it is drawn once, and freed like any object.

    Attributes
    ----------
    description : what is to be seen, for those who cannot see it
    """

    def __init__(self, title: str, caption: str, height_in: float, description: str) -> None:
        super().__init__(figsize=(WIDTH_IN, height_in), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08))
        self.description = description
        self.suptitle(title, x=0.01, ha="left")
        self.supxlabel(caption, x=0.01, ha="left", fontsize=8.5, color=QUIET)

    def png(self) -> bytes:
        """The chart as a PNG file."""
        canvas = FigureCanvasAgg(self)
        self.set_dpi(SHARP_DPI)
        # Once; savefig draws a first time for the layout alone.
        canvas.draw()  # type: ignore[no-untyped-call]
        drawn = Image.frombytes("RGBA", canvas.get_width_height(), bytes(canvas.buffer_rgba()))  # type: ignore[no-untyped-call]
        small = io.BytesIO()
        # Charts have few colours: a palette makes the file a third, and nothing of it is to be seen.
        drawn.convert("RGB").quantize(96).save(small, format="png", optimize=True)
        return small.getvalue()

    @property
    def fragment(self) -> Fragment:
        """The chart as markup, to stand inside another fragment."""
        width, height = self._shown_size
        return picture(self.png(), self.description, width, height)

    @property
    def _shown_size(self) -> tuple[int, int]:
        width, height = (round(inches * SCREEN_DPI) for inches in self.get_size_inches())
        return width, height

    def _ipython_display_(self) -> None:
        from IPython.display import display

        width, height = self._shown_size
        data = {"image/png": base64.b64encode(self.png()).decode(), "text/plain": self.description}
        facts = {"image/png": {"width": width, "height": height, "alt": self.description}}
        display(data, raw=True, metadata=facts)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Style:
    """Colour and marker of one system, in all charts of a notebook."""

    color: str
    marker: str


def styles(cells: pd.DataFrame) -> dict[str, Style]:
    """The style of every system of ``cells``: its server gives the hue, its codec the lightness and the marker."""
    result: dict[str, Style] = {}
    for number, server in enumerate(ordered(cells["server"])):
        rows = cells[(cells["server"] == server) & (cells["system"] != CONTROL)].drop_duplicates("system")
        bare = rows[rows["codec"].isna()]
        coded = rows[rows["codec"].notna()]
        hue = HUES[number % len(HUES)]
        result |= {system: Style(hue, MARKERS[0]) for system in bare["system"]}
        for place, (system, color) in enumerate(zip(coded["system"], shades(hue, len(coded)), strict=True)):
            result[system] = Style(color, MARKERS[place % len(MARKERS)])
    result[CONTROL] = Style(MUTED, "x")
    return result


def shades(hue: str, count: int) -> list[str]:
    """``count`` colours of one hue, from dark to light; the hue itself when it is one."""
    if count == 1:
        return [hue]
    return [mixed(hue, -0.35 + 0.9 * step / (count - 1)) for step in range(count)]


def mixed(color: str, lightness: float) -> str:
    """A colour moved towards black (down to −1) or white (up to 1)."""
    target = 1.0 if lightness > 0 else 0.0
    red, green, blue = (part + (target - part) * abs(lightness) for part in to_rgb(color))
    return to_hex((red, green, blue))


def panels(
    titles: Sequence[str],
    rows_counts: Sequence[int],
    *,
    title: str,
    caption: str,
    description: str,
    row_in: float = 0.3,
    handles: Sequence[Artist] = (),
) -> tuple[Chart, list[Axes]]:
    """A chart with one panel per title, two beside each other, each line of them as high as its fullest panel needs.

    Rows run downwards from 0 and are equally high in the panels of a line. ``handles`` become the legend of all panels.
    """
    columns = min(2, len(titles)) or 1
    lines = [max(rows_counts[start : start + columns]) for start in range(0, len(titles), columns)] or [1]
    legend_in = [0.25 * math.ceil(len(handles) / _LEGEND_COLUMNS) + 0.05] if handles else []
    heights = [_AROUND_IN + row_in * max(count, 2) for count in lines]
    chart = Chart(title, caption, sum(legend_in + heights) + 0.75, description)
    grid = chart.add_gridspec(len(legend_in + heights), columns, height_ratios=legend_in + heights)
    if handles:
        # A place of its own: what is put outside the axes would be laid over the title.
        legend = chart.add_subplot(grid[0, :])
        legend.set_axis_off()
        legend.legend(handles=list(handles), loc="upper left", ncols=_LEGEND_COLUMNS, borderaxespad=0, borderpad=0)
    axes = []
    for place, (text, count) in enumerate(zip(titles, rows_counts, strict=True)):
        line = place // columns
        own = _AROUND_IN + row_in * max(count, 2)
        # A panel with fewer rows than the one beside it ends higher.
        parts = grid[len(legend_in) + line, place % columns].subgridspec(
            2, 1, height_ratios=[own, heights[line] - own + 1e-6]
        )
        ax = chart.add_subplot(parts[0])
        ax.set_title(text)
        ax.set_ylim(max(count, 2) - 0.4, -0.6)
        axes.append(ax)
    return chart, axes


def legend(systems: Iterable[str], style_of: Mapping[str, Style], *, lines: bool = True) -> list[Artist]:
    """Return the entries of the legend, in the order given: lines with markers, or points."""
    return [
        Line2D(
            [],
            [],
            color=style.color,
            marker=style.marker if lines else "o",
            linestyle="-" if lines else "",
            markersize=5,
            label=name,
        )
        for name, style in ((name, style_of[name]) for name in systems)
    ]
