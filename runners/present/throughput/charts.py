"""Charts that compare systems row by row: throughput, CPU, what decoding costs, and ratios."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MultipleLocator

from runners.core.records import CONTROL, GENERATOR_LIMITED
from runners.core.units import PERCENT, RATES, RATIOS, TIMES, amount, decimals, quantity, shortened, unit_of
from runners.present.kit.frames import (
    RUNS_BAND,
    band_ratio,
    band_words,
    is_client_bound,
    measured,
    ordered,
    share_bound,
    without_control,
    workload_title,
)
from runners.present.kit.rows import BAR, beside, drawn, from_zero, log_ticks, name_rows, point, value_label, whisker
from runners.present.kit.theme import (
    BAD,
    BAND,
    FAINT,
    GOOD,
    INK,
    QUIET,
    RULE,
    Chart,
    Style,
    mixed,
    panels,
    styles,
    themed,
)


@themed
def throughput(cells: pd.DataFrame, limits: Mapping[tuple[str, str], str] | None = None) -> Chart:
    """Completed requests per second with 95 % intervals: one panel per workload, one bar per system.

    A bar whose load generator was the limit is hatched and its value marked "≥": the server could do more. What limited each cell stands
    beside it where `limits` are given: (system, workload) → words.
    """
    limited = "\nRight: what limited each; where that is the backend, the throughput is the backend's."
    named = "" if limits is None else limited
    workloads = ordered(cells["workload"])
    chart, axes = panels(
        [workload_title(cells, workload) for workload in workloads],
        [int((cells["workload"] == workload).sum()) for workload in workloads],
        title="Throughput: completed requests per second",
        caption="Bars: geometric mean over launches; whiskers: 95 % interval. "
        f"Hatched and ≥: the load generator was the limit, the server could do more.{named}",
        description=f"Bar chart of completed requests per second for {_systems(cells)}. {_highest(cells)}",
    )
    for ax, workload in zip(axes, workloads, strict=True):
        shown = cells[cells["workload"] == workload]
        _throughput_panel(ax, shown, styles(cells))
        if limits is not None:
            # The value labels of long bars need the room that the words take from the panel.
            ax.set_xlim(0, 1.25 * ax.get_xlim()[1])
            for row, system in enumerate(shown["system"]):
                beside(ax, row, limits.get((system, workload), ""), QUIET)
    return chart


def _throughput_panel(ax: Axes, cells: pd.DataFrame, style_of: Mapping[str, Style]) -> None:
    top = measured(cells)[["throughput_rps", "throughput_high_rps"]].max().max()
    factor, unit = unit_of(top if top > 0 else 1.0, RATES)
    for row, cell in enumerate(cells.to_dict("records")):
        if cell["status"] != "ok" or pd.isna(cell["throughput_rps"]):
            ax.text(0, row, f" {shortened(cell['status'], 40)}", va="center", color=BAD, fontsize=8.5)
            continue
        parts = (cell[name] / factor for name in ("throughput_rps", "throughput_low_rps", "throughput_high_rps"))
        value, low, high = drawn(*parts)
        bound = cell["bottleneck"] in GENERATOR_LIMITED
        color = style_of[cell["system"]].color
        ax.barh(
            row,
            value,
            BAR,
            color=mixed(color, 0.55) if bound else color,
            edgecolor=color,
            hatch="///" if bound else None,
        )
        whisker(ax, row, low, high)
        text = f"{value:.{decimals(value)}f}"
        value_label(ax, high, row, f"≥ {text}" if bound else text, cell["system"])
    name_rows(ax, list(cells["system"]))
    from_zero(ax, top / factor if top > 0 else 1.0, unit)


@themed
def cpu_per_request(cells: pd.DataFrame) -> Chart:
    """CPU seconds that a server spends per completed request, split into user and system time."""
    workloads = ordered(cells["workload"])
    chart, axes = panels(
        [workload_title(cells, workload) for workload in workloads],
        [int((cells["workload"] == workload).sum()) for workload in workloads],
        title="CPU time of the server per completed request",
        caption="Full colour: user time (the server's own code); pale: system time (kernel, network). "
        "Whiskers: 95 % interval of the sum.",
        description=f"Stacked bar chart of CPU time per completed request, user and system, for {_systems(cells)}.",
        handles=[
            Patch(color=QUIET, label="user time"),
            Patch(facecolor=mixed(QUIET, 0.65), edgecolor=QUIET, label="system time"),
        ],
    )
    for ax, workload in zip(axes, workloads, strict=True):
        _cpu_panel(ax, cells[cells["workload"] == workload], styles(cells))
    return chart


def _cpu_panel(ax: Axes, cells: pd.DataFrame, style_of: Mapping[str, Style]) -> None:
    top = cells[["cpu_per_request_s", "cpu_per_request_high_s"]].max().max()
    factor, unit = unit_of(top if top > 0 else 1e-6, TIMES)
    for row, cell in enumerate(cells.to_dict("records")):
        if pd.isna(cell["cpu_per_request_s"]):
            ax.text(0, row, f" {shortened(cell['status'], 40)}", va="center", color=BAD, fontsize=8.5)
            continue
        color = style_of[cell["system"]].color
        user, system = cell["cpu_user_per_request_s"] / factor, cell["cpu_system_per_request_s"] / factor
        ax.barh(row, user, BAR, color=color, edgecolor=color)
        ax.barh(row, system, BAR, left=user, color=mixed(color, 0.65), edgecolor=color)
        parts = (cell[f"cpu_per_request_{part}s"] / factor for part in ("", "low_", "high_"))
        _, low, high = drawn(*parts)
        whisker(ax, row, low, high)
        value_label(ax, high, row, amount(cell["cpu_per_request_s"], TIMES), cell["system"])
    name_rows(ax, list(cells["system"]))
    from_zero(ax, top / factor if top > 0 else 1.0, f"{unit} per request")


@themed
def share_of_floor(shares: pd.DataFrame, cells: pd.DataFrame) -> Chart:
    """Decode throughput as a share of what the same server does when it reads the same body and decodes nothing."""
    workloads = ordered(shares["workload"])
    chart, axes = panels(
        [workload_title(cells, workload) for workload in workloads],
        [int((shares["workload"] == workload).sum()) for workload in workloads],
        title="What decoding leaves of a server's throughput",
        caption="100 %, the line: the same server reads the same body and decodes nothing. Whiskers: 95 % interval. "
        "Hollow: the load generator was the limit.",
        description="Dot chart of decode throughput as a share of the same server's throughput without decoding, "
        f"for {_systems(shares)}.",
    )
    for ax, workload in zip(axes, workloads, strict=True):
        _share_panel(ax, shares[shares["workload"] == workload], cells)
    return chart


def _share_panel(ax: Axes, rows: pd.DataFrame, cells: pd.DataFrame) -> None:
    style_of = styles(cells)
    ax.axvline(1.0, color=QUIET, linewidth=1.2)
    for place, share in enumerate(rows.to_dict("records")):
        value, low, high = share["share_ratio"], share["share_low_ratio"], share["share_high_ratio"]
        bound = share_bound(cells, share)
        ax.hlines(place, 0, value, color=RULE, linewidth=1.5, zorder=1)
        point(ax, place, drawn(value, low, high), style_of[share["system"]], filled=bound == "=")
        words = ("" if bound == "=" else f"{bound} ") + quantity(value, low, high, PERCENT)
        beside(ax, place, words, FAINT if share["system"] == CONTROL else INK)
    name_rows(ax, list(rows["system"]))
    ax.set_xlim(0, 1.05 * max(1.0, rows[["share_ratio", "share_high_ratio"]].max().max()))
    ax.xaxis.set_major_locator(MultipleLocator(0.5))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * 100:.0f} %"))
    ax.set_xlabel("share of the throughput without decoding")


@themed
def ratios(
    comparisons: pd.DataFrame,
    cells: pd.DataFrame,
    noise_floor_ratio: Mapping[str, float],
    *,
    paired: bool = True,
) -> Chart:
    """Throughput of every system relative to its workload's leader, with the noise band shaded: a forest plot on a log axis.

    ``paired`` says that ratios are of systems within blocks; otherwise they are of the same systems in two runs.
    """
    points, beside_, whose = "geometric mean of the ratio per block", "the leader", "this run"
    if not paired:
        points, beside_, whose = "ratio of the runs' geometric means", "run A", RUNS_BAND
    rows = comparisons[comparisons["family"].isin(["leader", "control"])]
    workloads = [workload for workload in ordered(cells["workload"]) if workload in set(rows["workload"])]
    chart, axes = panels(
        [workload_title(cells, workload) for workload in workloads],
        [int((rows["workload"] == workload).sum()) for workload in workloads],
        title=f"Throughput relative to {beside_}",
        caption=f"Points: {points}; whiskers: simultaneous 95 % intervals; log axis.\n"
        "Shaded: the noise band. Hollow: undecided. ≤: a bound, as the load generator was the limit.",
        row_in=0.42,
        description=f"Forest plot of throughput relative to {beside_}: "
        + "; ".join(
            f"{row.system_a} {amount(row.ratio, RATIOS)} on {row.workload} ({row.verdict})" for row in rows.itertuples()
        ),
    )
    for ax, workload in zip(axes, workloads, strict=True):
        _ratio_panel(ax, rows[rows["workload"] == workload], styles(cells), band_ratio(noise_floor_ratio, workload))
        others = rows[(rows["workload"] == workload) & (rows["family"] == "leader")]["system_b"]
        axis = f"ratio to {others.iloc[0]}" if paired and len(others) else "ratio" if paired else "B ÷ A"
        # In two lines: in one it would run into the panel beside it.
        ax.set_xlabel(f"{axis}\nshaded: {band_words(noise_floor_ratio, workload, whose)}", fontsize=8.5)
    return chart


def _ratio_panel(ax: Axes, rows: pd.DataFrame, style_of: Mapping[str, Style], band: float) -> None:
    ax.axvspan(1 / band, band, color=BAND, zorder=0)
    ax.axvline(1.0, color=QUIET, linewidth=1.0)
    for place, row in enumerate(rows.to_dict("records")):
        value, low, high = row["ratio"], row["ratio_low"], row["ratio_high"]
        words = row["verdict"] or "control"
        if pd.notna(value):
            decided = row["verdict"] in ("faster", "slower", "equivalent")
            point(ax, place, drawn(value, low, high), style_of[row["system_a"]], filled=decided)
            side = {"at most": "≤ ", "at least": "≥ "}.get(row["bound"], "")
            words = f"{side}{quantity(value, low, high, RATIOS)}\n{words}"
        color = {"faster": GOOD, "slower": BAD}.get(row["verdict"], QUIET)
        beside(ax, place, words, FAINT if row["system_a"] == CONTROL else color)
    ax.set_xscale("log")
    reached = rows[["ratio", "ratio_low", "ratio_high"]].to_numpy(float)
    low, high = np.nanmin([1 / band, *reached.flat]), np.nanmax([band, *reached.flat])
    room = (high / low) ** 0.08
    low, high = low / room, high * room
    ax.set_xlim(low, high)
    ax.set_xticks(log_ticks(low, high))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.minorticks_off()
    name_rows(ax, list(rows["system_a"]))


def _systems(frame: pd.DataFrame) -> str:
    return ", ".join(ordered(without_control(frame)["system"]))


def _highest(cells: pd.DataFrame) -> str:
    """The highest bar of every panel, in words."""
    found = without_control(measured(cells))
    best = found.loc[found.groupby("workload", sort=False)["throughput_rps"].idxmax()]
    words = [
        f"{row.workload}: {'≥ ' if is_client_bound(cells, row.system, row.workload) else ''}"
        f"{amount(row.throughput_rps, RATES)} by {row.system}"
        for row in best.itertuples()
    ]
    return f"Highest: {'; '.join(words)}." if words else "No system has a number."
