"""The theme of all charts: panels that stand beside each other, as one picture in a notebook and as SVG in a report."""

from __future__ import annotations

import base64
import functools
import io
import math
import textwrap
import zlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from runners.present.kit.markup import MARK, REPORT, Fragment, picture
from runners.present.kit.palette import (
    BAD,
    BAND,
    FAINT,
    GOOD,
    HUES,
    INK,
    MARKERS,
    MUTED,
    PAPER,
    QUIET,
    RULE,
    Style,
    mixed,
    styles,
)
from runners.present.kit.picture import (
    COLUMNS,
    LINE_IN,
    SCREEN_DPI,
    SHARP_DPI,
    THEME,
    composed,
    figure_of,
    pixels,
    themed,
    words,
)
from runners.present.kit.svg import small_svg

__all__ = [
    "BAD", "BAND", "FAINT", "GOOD", "HUES", "INK", "MARKERS", "MUTED", "PAPER", "QUIET", "RULE", "Chart", "Style", "legend", "mixed",
    "panels", "styles", "themed",
]  # fmt: skip

_LETTERS = 42  # in a line of a panel's title
_KEY_LETTERS = 44  # of the longest entries of both columns of a key
ROW_IN = 0.3
_AROUND_IN = 0.75  # a panel's title, axis and axis label


class Chart:
    """Panels under one title: a picture when a notebook shows it as a cell's last value, SVG for each panel in a report.

    Its figures belong to no pyplot state: they are drawn once, and freed like any object.

    Attributes
    ----------
    caption : str
        What marks and lines stand for.
    description : str
        What is to be seen, for those who cannot see it.
    """

    def __init__(self, title: str, caption: str, description: str) -> None:
        self.title = title
        self.caption = caption
        self.description = description
        self._key: Figure | None = None
        self._panels: list[Figure] = []

    def add_panel(self, title: str, height_in: float) -> Axes:
        """Return the axes of a new panel."""
        ax = figure_of(height_in).add_subplot()
        ax.set_title(textwrap.fill(title, _LETTERS))
        self._panels.append(ax.figure)  # type: ignore[arg-type]
        return ax

    def add_key(self, handles: Sequence[Artist]) -> None:
        """Say above all panels what their marks stand for."""
        lengths = [len(str(handle.get_label())) for handle in handles]
        half = math.ceil(len(lengths) / 2)
        fits = len(lengths) > 1 and max(lengths[:half]) + max(lengths[half:]) <= _KEY_LETTERS
        columns = COLUMNS if fits else 1
        figure = figure_of(LINE_IN * 1.3 * math.ceil(len(handles) / columns) + 0.12)
        ax = figure.add_subplot()
        ax.set_axis_off()
        ax.legend(handles=list(handles), loc="upper left", ncols=columns, borderaxespad=0, borderpad=0)
        self._key = figure

    @property
    def axes(self) -> list[Axes]:
        """The axes of all panels."""
        return [ax for figure in self._panels for ax in figure.axes]

    @functools.cached_property
    def _picture(self) -> Image.Image:
        drawn = [pixels(figure) for figure in self._panels]
        lines = [[words(self.title, 12, "bold", INK)], [pixels(self._key)] if self._key else []]
        lines += [drawn[start : start + COLUMNS] for start in range(0, len(drawn), COLUMNS)]
        lines.append([words(self.caption, 8.5, "normal", QUIET)] if self.caption else [])
        return composed([line for line in lines if line])

    def png(self) -> bytes:
        """Return the chart as a PNG file without a ground, legible on a light page and on a dark one."""
        small = io.BytesIO()
        # Charts have few colours: a palette makes the file a third, and nothing of it is to be seen.
        palette = self._picture.quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        palette.save(small, format="png")
        return small.getvalue()

    @functools.cached_property
    def html(self) -> str:
        """The chart as markup of a report: a figure with an SVG for each panel; nothing where it has none."""
        if not self._panels:
            return ""
        prefix = f"c{zlib.crc32(f'{self.title} {self.description}'.encode('utf-8', 'replace')):x}-"
        with mpl.rc_context(THEME):
            key = small_svg(self._key, "key", f"{prefix}k") if self._key else ""
            drawn = [
                small_svg(
                    figure, (figure.axes[0].get_title(loc="left") or self.title).replace("\n", " "), f"{prefix}{place}-"
                )
                for place, figure in enumerate(self._panels)
            ]
        caption = "<br>".join(escape(line) for line in self.caption.splitlines())
        return (
            f'<figure class="wb-chart" aria-label="{escape(f"{self.title}. {self.description}")}">'
            f'<p class="wb-chart-title">{escape(self.title)}</p><div class="wb-key">{key}</div>'
            f'<div class="wb-panels">{"".join(drawn)}</div><figcaption>{caption}</figcaption></figure>'
        )

    @property
    def fragment(self) -> Fragment:
        """The chart as markup, to stand inside another fragment."""
        if not self._panels:
            return Fragment("", self.description)
        shown = picture(self.png(), self.description, *self._shown_size)  # before SVG: see pixels()
        return Fragment(self.html, self.description, shown.html)

    @property
    def _shown_size(self) -> tuple[int, int]:
        width, height = (round(pixels * SCREEN_DPI / SHARP_DPI) for pixels in self._picture.size)
        return width, height

    def _ipython_display_(self) -> None:
        from IPython.display import display

        data: dict[str, Any] = {"text/plain": self.description}
        facts: dict[str, Any] = {}
        if self._panels:  # before SVG: see pixels()
            width, height = self._shown_size
            data["image/png"] = base64.b64encode(self.png()).decode()
            facts["image/png"] = {"width": width, "height": height, "alt": self.description}
        data[REPORT], facts[REPORT] = {"html": self.html}, {MARK: True}
        display(data, raw=True, metadata=facts)  # type: ignore[no-untyped-call]


def panels(
    titles: Sequence[str],
    rows_counts: Sequence[int],
    *,
    title: str,
    caption: str,
    description: str,
    row_in: float = ROW_IN,
    handles: Sequence[Artist] = (),
) -> tuple[Chart, list[Axes]]:
    """A chart with one panel per title, each as high as its rows need.

    Rows run downwards from 0. ``handles`` become the key of all panels.
    """
    chart = Chart(title, caption, description)
    if handles:
        chart.add_key(handles)
    axes = [
        chart.add_panel(text, _AROUND_IN + row_in * max(count, 2))
        for text, count in zip(titles, rows_counts, strict=True)
    ]
    for ax, count in zip(axes, rows_counts, strict=True):
        ax.set_ylim(max(count, 2) - 0.4, -0.6)
    return chart, axes


def legend(systems: Iterable[str], style_of: Mapping[str, Style], *, lines: bool = True) -> list[Artist]:
    """Return the entries of the key, in the order given: lines with markers, or points."""
    return [
        Line2D([], [], color=style.color, marker=style.marker if lines else "o", linestyle="-" if lines else "", markersize=5, label=name)
        for name, style in ((name, style_of[name]) for name in systems)
    ]  # fmt: skip
