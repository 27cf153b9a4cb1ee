"""Charts of distributions and of time: percentile curves, also at saturation, and how steady the run was."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from runners.core.records import CONTROL, PERCENTILES
from runners.core.units import minus
from runners.present.kit.frames import ordered, workload_title
from runners.present.kit.lines import direct_labels, height_of, percentile_axes, rows_for
from runners.present.kit.markup import Fragment, folded, joined
from runners.present.kit.svg import mark
from runners.present.kit.theme import BAD, BAND, QUIET, Chart, Style, legend, panels, styles, themed
from runners.present.kit.wording import Narrative
from runners.present.throughput.tables import service_times

_PANEL_ROWS = 7
_MOST_BLOCKS = 100
"""Blocks that are drawn one by one; of more, consecutive ones are drawn as one, and only outliers have dots of their own."""

TITLE = "Service times at saturation"
RESTATED = (
    "Every connection is always busy here, so these percentiles restate the throughput; "
    "notebook 08-latency-under-load has response times under a given load."
)


@themed
def percentile_curves(curves: pd.DataFrame, cells: pd.DataFrame) -> Chart:
    """Service time against percentile, from the median to p99.99.

    The axis grows with 1 / (1 − q), as HdrHistogram draws it: every decade is one more nine, and the tail gets the room
    that the users in it deserve. What too few samples support is dashed.
    """
    workloads = ordered(curves["workload"])
    systems, style_of = ordered(curves["system"]), styles(cells)
    chart, axes = panels(
        [workload_title(cells, workload) for workload in workloads],
        [rows_for(len(systems), _PANEL_ROWS)] * len(workloads),
        title="Service time by percentile",
        caption="Both axes logarithmic; further right is rarer. Dashed: fewer than 10 samples beyond, no estimate.",
        description=f"Curves of service time from the median to the 99.99th percentile for {', '.join(systems)}.",
    )
    family = dict(zip(cells["workload"], cells["workload_name"], strict=True))
    for ax, workload in zip(axes, workloads, strict=True):
        rows = curves[curves["workload"] == workload]
        related = curves[curves["workload"].map(family) == family[workload]]
        percentile_axes(ax, related["value_s"], "service time")
        ends = {}
        for system in ordered(rows["system"]):
            own = rows[rows["system"] == system].sort_values("percentile")
            _curve(ax, own, style_of[system], system)
            ends[system] = height_of(ax, float(own["value_s"].iloc[-1]))
        direct_labels(ax, ends, style_of)
    return chart


def _curve(ax: Axes, rows: pd.DataFrame, style: Style, system: str) -> None:
    muted = system == CONTROL
    nines = 1 / (1 - rows["percentile"].to_numpy() / 100)
    values, known = rows["value_s"].to_numpy(), rows["estimable"].to_numpy(dtype=bool)
    lines = ax.plot(nines, np.where(known, values, np.nan), color=style.color, zorder=1.5 if muted else 2)
    marked = [np.abs(rows["percentile"].to_numpy() - percentile).argmin() for percentile in PERCENTILES]
    lines += ax.plot(
        nines[marked],
        np.where(known, values, np.nan)[marked],
        style.marker,
        color=style.color,
        markersize=4.5,
        zorder=1.6 if muted else 2.1,
    )
    if not known.all() and known.any():
        # The dashed part starts at the last estimate, so that the curve has no gap.
        beyond = ~known | np.append(~known[1:], False)
        dashes: dict[str, Any] = {"color": style.color, "linewidth": 1.0, "linestyle": (0, (3, 2)), "alpha": 0.7}
        lines += ax.plot(nines, np.where(beyond, values, np.nan), **dashes)
    for line in lines:
        mark(line, system, system)


@themed
def stability(trials: pd.DataFrame, cells: pd.DataFrame) -> Chart:
    """Throughput of every window by block, each system relative to its own median: drift, and outliers.

    Outliers lie beyond Tukey's fences, 1.5 interquartile ranges outside the quartiles (Tukey, Exploratory Data
    Analysis, 1977). They are marked and kept.
    """
    windows = relative_windows(trials)
    # In the order of all other charts; the ledger keeps its own.
    known = {name: set(windows[name].unique()) for name in ("workload", "system")}
    workloads, systems = ([value for value in ordered(cells[name]) if value in known[name]] for name in known)
    style_of = styles(cells)
    outliers = windows[windows["outlier"]]
    together = math.ceil(windows["block"].nunique() / _MOST_BLOCKS)
    shown, of = ("a block", " of every window") if together == 1 else (f"{together} blocks", "")
    probed = ["the server's CPUs"] if windows["speed_ratio"].notna().any() else []
    chart, axes = panels(
        [*probed, *(workload_title(cells, workload) for workload in workloads)],
        [_PANEL_ROWS - 1] * (len(probed) + len(workloads)),
        title=f"Stability: speed of the CPU, and throughput{of} relative to the system's median",
        caption=f"CPU: share of its undisturbed speed. Others: throughput; lines: mean of {shown}; ringed: beyond "
        "Tukey's fences, kept; shaded: ±2 %.",
        description=f"Throughput of {len(windows)} windows by block, relative to each system's median; "
        f"{len(outliers)} are outliers.",
        handles=legend(systems, style_of, lines=False),
    )
    blocks = np.unique(windows["block"])
    # Blocks that are drawn together stand in the place of the first.
    first = dict(zip(blocks, np.repeat(blocks[::together], together), strict=False))
    windows["block"] = windows["block"].map(first)
    for ax in axes[: len(probed)]:
        _speed_panel(ax, windows, systems, style_of, means=together > 1)
    for ax, workload in zip(axes[len(probed) :], workloads, strict=True):
        _stability_panel(ax, windows[windows["workload"] == workload], systems, style_of, means=together > 1)
    return chart


def relative_windows(trials: pd.DataFrame) -> pd.DataFrame:
    """The sound windows with their throughput relative to the system's median, and whether it is an outlier."""
    windows = trials[(trials["kind"] == "window") & ~trials["void"].astype(bool)].copy()
    groups = windows.groupby(["system", "workload"], sort=False)["throughput_rps"]
    windows["relative_ratio"] = windows["throughput_rps"] / groups.transform("median")
    lower, upper = (groups.transform(lambda values, share=share: values.quantile(share)) for share in (0.25, 0.75))
    reach = 1.5 * (upper - lower)
    windows["outlier"] = ~windows["throughput_rps"].between(lower - reach, upper + reach)
    return windows


def _speed_panel(
    ax: Axes, windows: pd.DataFrame, systems: list[str], style_of: Mapping[str, Style], *, means: bool
) -> None:
    rows = _beside_each_other(windows.assign(speed=100 * windows["speed_ratio"]), systems).sort_values("system")
    if means:
        rows = rows.groupby(["system", "block", "place"], as_index=False)["speed"].mean()
    ax.axhline(100, color=QUIET, linewidth=0.8)
    palette = {system: style_of[system].color for system in systems}
    common: dict[str, Any] = {"x": "place", "y": "speed", "legend": False, "ax": ax}
    # One collection: a strip plot has one for each block and system, thousands in a long run.
    sns.scatterplot(rows, hue="system", hue_order=systems, palette=palette, s=16, alpha=0.75, linewidth=0, **common)
    ax.set_ylim(0, 110)
    _block_axis(ax, rows["block"])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f} %"))
    ax.set_ylabel("of undisturbed speed")


def _block_axis(ax: Axes, blocks: pd.Series) -> None:
    """Give the axis room for all blocks, also where the dots of a few systems stand on one side of them, and whole numbers."""
    ax.set_xlim(blocks.min() - 0.6, blocks.max() + 0.6)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("block (in the order measured)")


def _beside_each_other(rows: pd.DataFrame, systems: list[str]) -> pd.DataFrame:
    """Return the rows with a place for each: systems stand beside each other within a block, so that none hides another."""
    width = 0.8 * float(np.diff(np.unique(rows["block"])).min(initial=1.0)) / len(systems)
    shift = {system: (place - (len(systems) - 1) / 2) * width for place, system in enumerate(systems)}
    return rows.assign(place=rows["block"] + rows["system"].map(shift).astype(float))


def _stability_panel(
    ax: Axes, windows: pd.DataFrame, systems: list[str], style_of: Mapping[str, Style], *, means: bool
) -> None:
    ax.axhspan(-2, 2, color=BAND, zorder=0)
    ax.axhline(0, color=QUIET, linewidth=0.8)
    rows = _beside_each_other(windows.assign(offset=100 * (windows["relative_ratio"] - 1)), systems)
    for system in systems:
        own, color = rows[rows["system"] == system].sort_values("block"), style_of[system].color
        line = own.groupby("place")["offset"].mean()
        drawn = own[own["outlier"]] if means else own
        # Markers of a line: a scatter plot writes a colour for each dot.
        dots = ax.plot(drawn["place"], drawn["offset"], "o", color=color, alpha=0.75, ms=3.7, mew=0, zorder=1)
        for part in (*dots, *ax.plot(line.index, line, color=color, linewidth=1.0, alpha=0.8)):
            mark(part, system, system)
    odd = rows[rows["outlier"]]
    ax.plot(odd["place"], odd["offset"], "o", ms=8, mew=1.2, markerfacecolor="none", markeredgecolor=BAD, zorder=3)
    reach = max(3.0, 1.15 * float(rows["offset"].abs().max()))
    ax.set_ylim(-reach, reach)
    _block_axis(ax, rows["block"])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: minus(f"{value:+.0f} %") if value else "0 %"))
    ax.set_ylabel("from the median")


def at_saturation(curves: pd.DataFrame, cells: pd.DataFrame) -> Fragment:
    """Return the percentiles of a closed loop, folded: a sentence, the curves (:func:`percentile_curves`), and the table."""
    shown: Chart = percentile_curves(curves, cells)
    return folded(TITLE, joined(Narrative([RESTATED]).fragment, shown.fragment, service_times(cells)))
