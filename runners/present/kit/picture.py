"""Pictures of charts: the style of all figures, and figures beside each other in one picture."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from runners.present.kit.palette import INK, QUIET, RULE

P = ParamSpec("P")
R = TypeVar("R")

PANEL_IN = 4.4  # a panel fits a phone's window at nearly its own size
COLUMNS = 2
SCREEN_DPI = 96
SHARP_DPI = 1.5 * SCREEN_DPI
_GAP_IN = 0.1
_WIDTH_IN = COLUMNS * PANEL_IN + (COLUMNS + 1) * _GAP_IN
LINE_IN = 0.17
_LETTERS = 130  # in a line of a caption

THEME: Any = {
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "font.family": "DejaVu Sans",  # the one font that every Matplotlib brings; wider than those that browsers put in its place
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,  # a "$" in what a server prints is a dollar sign
    "text.hinting": "none",  # at a sharp screen's resolution nothing is to be seen of it, and text takes two thirds of the time
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
    "axes.unicode_minus": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelsize": 9,
    # Lines of the grid end where ticks would be.
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.major.pad": 5,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}


def themed(draw: Callable[P, R]) -> Callable[P, R]:
    """Give a chart function the house's style."""

    @functools.wraps(draw)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(THEME):
            return draw(*args, **kwargs)

    return wrapped


def figure_of(height_in: float) -> Figure:
    """Return an empty figure as wide as a panel."""
    return Figure(figsize=(PANEL_IN, height_in), layout=ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03))


def pixels(figure: Figure) -> Image.Image:
    """Return a figure as pixels, without a ground. The figure keeps its layout, so that SVG of it need not find one again."""
    with mpl.rc_context(THEME):
        canvas = FigureCanvasAgg(figure)
        figure.set_dpi(SHARP_DPI)
        canvas.draw()  # type: ignore[no-untyped-call]
        figure.set_layout_engine("none")
        return Image.frombytes("RGBA", canvas.get_width_height(), bytes(canvas.buffer_rgba()))  # type: ignore[no-untyped-call]


def words(text: str, size: float, weight: str, color: str) -> Image.Image:
    """Return text as pixels, wrapped to the width of a picture."""
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, _LETTERS) or [""]]
    with mpl.rc_context(THEME):
        figure = Figure(figsize=(_WIDTH_IN - 2 * _GAP_IN, LINE_IN * (len(lines) * size / 8.5 + 0.6)))
        figure.text(0, 0.5, "\n".join(lines), va="center", fontsize=size, fontweight=weight, color=color)
    return pixels(figure)


def composed(lines: Sequence[Sequence[Image.Image]]) -> Image.Image:
    """Return lines of pictures, one under the other, as one picture without a ground."""
    width, panel, gap = (round(SHARP_DPI * inches) for inches in (_WIDTH_IN, PANEL_IN, _GAP_IN))
    heights = [max(part.height for part in line) for line in lines]
    whole, top = Image.new("RGBA", (width, sum(heights) + gap * (len(lines) + 1)), (255, 255, 255, 0)), gap
    for line, height in zip(lines, heights, strict=True):
        for place, part in enumerate(line):
            whole.paste(part, (gap + place * (panel + gap), top))
        top += height + gap
    return whole
