"""Published against measured, as pictures: ratios with their verdicts, and what the flaws of the set-ups change."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from runners.analyse.claims.judgements import NOT_REPRODUCED, REPRODUCED, SIZE_OFF, UNDECIDED, VERDICTS
from runners.analyse.claims.review import ReviewedClaims
from runners.core.units import RATIOS, amount, quantity
from runners.present.kit.frames import ordered
from runners.present.kit.rows import beside, drawn, log_axis, name_rows, point
from runners.present.kit.svg import mark
from runners.present.kit.theme import BAND, INK, QUIET, RULE, Chart, Style, panels, themed

_STYLES = {
    REPRODUCED: Style("#009e73", "o"),
    SIZE_OFF: Style("#0072b2", "s"),
    NOT_REPRODUCED: Style("#d55e00", "X"),
    UNDECIDED: Style("#a97a08", "D"),
}
_PANEL_IN = 4.2
# Where the number of a point may stand, in typographic points from it, the best place first; its size; and that of a panel.
_BESIDE = (
    (4, -9),
    (4, 4),
    (-13, -9),
    (-13, 4),
    (9, -3),
    (-18, -3),
    (-4, 9),
    (-4, -15),
    (14, 4),
    (14, -9),
    (-4, 17),
    (-4, -23),
)
_NUMBER_PT, _PANEL_PT = (12.0, 8.0), 235.0
_LETTERS = 22  # in a line of a flaw's name
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000)


@themed
def published_against_measured(reviewed: ReviewedClaims) -> Chart:
    """Every statement that is a ratio with a published size: that size, the measured one, and the verdict; a panel per source."""
    rows = reviewed.claims[reviewed.claims["verdict"].isin(_STYLES) & reviewed.claims["kind"].isin(["ratio", "word"])]
    rows = rows[
        (rows["published"] > 0)
        & np.isfinite(rows["published"])
        & (rows["measured"] > 0)
        & np.isfinite(rows["measured"])
    ]
    sources = ordered(rows["source"])
    chart = Chart(
        "Published against measured ratios",
        "A point per statement, with its number in the table; bars: 95 % interval of the measured value; log axes.\n"
        "Dashed: measured equals published.\n"
        "Shaded: the other way round than published. Hollow: claimed in words; the direction is judged, not the size."
        + ("" if sources else "\nNo statement about a ratio could be judged here."),
        _description(rows),
    )
    there = set(rows["verdict"])
    handles = [
        Line2D([], [], linestyle="", marker=style.marker, color=style.color, label=name)
        for name, style in _STYLES.items()
        if name in there
    ]
    if handles:
        chart.add_key(handles)
    for source in sources:
        _against(chart.add_panel(source, _PANEL_IN), rows[rows["source"] == source])
    return chart


def _against(ax: Axes, rows: pd.DataFrame) -> None:
    reached = rows[["published", "measured", "measured_low", "measured_high"]].to_numpy(float)
    reached = reached[np.isfinite(reached) & (reached > 0)]
    low, high = min(0.8, reached.min()) / 1.3, max(1.25, reached.max()) * 1.3
    for sides in (((low, 1), (1, high)), ((1, high), (low, 1))):
        (left, right), (bottom, top) = sides
        ax.fill_between([left, right], bottom, top, color=BAND, linewidth=0, zorder=0)
    ax.plot([low, high], [low, high], linestyle="--", linewidth=1.0, color=QUIET, zorder=1)
    rows = rows.sort_values("published")
    taken: list[tuple[float, float]] = []
    for number, row in zip(rows.index, rows.to_dict("records"), strict=True):
        style = _STYLES[row["verdict"]]
        value, least, most = drawn(row["measured"], row["measured_low"], row["measured_high"])
        face = "none" if row["kind"] == "word" else style.color
        points: dict[str, Any] = {
            "fmt": style.marker,
            "color": style.color,
            "markerfacecolor": face,
            "markersize": 5.5,
            "elinewidth": 1.3,
        }
        shown = ax.errorbar(row["published"], value, yerr=[[value - least], [most - value]], **points)
        measured = quantity(row["measured"], row["measured_low"], row["measured_high"], RATIOS)
        for part in (*shown.lines[:1], *shown.lines[2]):
            mark(
                part,
                "",
                f"{number + 1}: published {amount(row['published'], RATIOS)}, measured {measured}: {row['verdict']}",
            )
        ax.annotate(
            str(number + 1),
            (row["published"], value),
            xytext=_free_place(
                taken, (_PANEL_PT * np.log([row["published"] / low, value / low]) / np.log(high / low)).tolist()
            ),
            textcoords="offset points",
            fontsize=7,
            color=QUIET,
        )
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(low, high),
        ylim=(low, high),
        xlabel="published ratio",
        ylabel="ratio measured here",
    )
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(ticks)
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
    ax.grid(color=RULE)


def _free_place(taken: list[tuple[float, float]], point_pt: Sequence[float]) -> tuple[int, int]:
    """Return the best place beside a point where no number stands yet, and take it; the first place where none is free."""
    for right, up in _BESIDE:
        x, y = point_pt[0] + right, point_pt[1] + up
        if all(abs(x - a) >= _NUMBER_PT[0] or abs(y - b) >= _NUMBER_PT[1] for a, b in taken):
            taken.append((x, y))
            return right, up
    return _BESIDE[0]


def _description(rows: pd.DataFrame) -> str:
    found = rows["verdict"].value_counts()
    said = ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found.get(verdict))
    return f"Scatter chart of published against measured ratios of {len(rows)} statements: {said or 'none could be judged'}."


@themed
def flaw_effects(reviewed: ReviewedClaims) -> Chart:
    """The throughput with each flaw relative to that without it: a forest plot on a log axis."""
    rows = reviewed.effects[reviewed.effects["ratio"].notna()].sort_values("ratio", ascending=False, kind="stable")
    told = [f"{row.title} {amount(row.ratio, RATIOS)} ({row.verdict})" for row in rows.itertuples()]
    chart, axes = panels(
        ["all flaws"] * (len(rows) > 0),
        [len(rows)] * (len(rows) > 0),
        title="What the flaws of the published set-ups change",
        caption="Points: geometric mean of the ratio per block; whiskers: 95 % interval; log axis. Shaded: noise. Hollow: undecided.",
        row_in=0.42,
        description=f"Forest plot of the throughput with a flaw over that without it: {'; '.join(told) or 'nothing was measured'}.",
    )
    floors = reviewed.run.noise_floor_ratio
    for ax in axes:
        _forest(ax, rows.to_dict("records"), max([1.02, *floors.values()]))
    return chart


def _forest(ax: Axes, rows: list[Mapping[str, float | str]], band: float) -> None:
    ends = [float(row[name]) for row in rows for name in ("ratio", "ratio_low", "ratio_high")]
    log_axis(ax, [1 / band, band, *ends], [1 / band, band, *(float(row["ratio"]) for row in rows)])
    ax.axvspan(1 / band, band, color=BAND, zorder=0)
    ax.axvline(1.0, color=QUIET, linewidth=1.0)
    for place, row in enumerate(rows):
        value, least, most = (float(row[name]) for name in ("ratio", "ratio_low", "ratio_high"))
        decided = row["verdict"] in ("faster", "slower", "equivalent")
        words = quantity(value, least, most, RATIOS)
        said = f"{row['title']}: {words}"
        point(ax, place, drawn(value, least, most), Style("#0072b2", "o"), filled=decided, said=said)
        beside(ax, place, f"{words}\n{row['verdict']}", INK)
    ax.set_xlabel("throughput with the flaw ÷ without it")
    name_rows(ax, [textwrap.fill(str(row["title"]), _LETTERS) for row in rows])
