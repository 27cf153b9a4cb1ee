"""Charts that compare systems row by row: throughput, CPU, what decoding costs, and ratios."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MultipleLocator

from runners.core.records import CONTROL, LOWER_BOUND_LIMITS
from runners.core.units import PERCENT, RATES, RATIOS, TIMES, amount, quantity, significant, unit_of
from runners.present.kit.frames import (
    RUNS_BAND,
    band_ratio,
    band_words,
    highest,
    interval_words,
    measured,
    ordered,
    share_bound,
    systems_in,
    workload_title,
)
from runners.present.kit.rows import (
    BAR,
    axis_end,
    beside,
    by_value,
    drawn,
    failed,
    from_zero,
    log_axis,
    name_rows,
    point,
    shared_ends,
    told,
    value_label,
    whisker,
)
from runners.present.kit.svg import mark
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
    """Completed requests per second with 95 % intervals: one panel per workload, one bar per system, the fastest on top.

    A bar whose load generator was the limit is hollow and its value marked "≥": the server could do more. What limited each cell stands
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
        f"Hollow and ≥: the load was the limit, the server could do more.{named}",
        description=f"Bar chart of completed requests per second for {systems_in(cells)}. {highest(cells)}",
    )
    ends, style_of = shared_ends(measured(cells), "throughput_rps", "throughput_high_rps"), styles(cells)
    for ax, workload in zip(axes, workloads, strict=True):
        shown = by_value(cells[cells["workload"] == workload], "throughput_rps")
        _throughput_panel(ax, shown, style_of, ends.get(workload, 1.0), room=1.0 if limits is None else 1.25)
        for row, system in enumerate(shown["system"] if limits is not None else ()):
            beside(ax, row, (limits or {}).get((system, workload), ""), QUIET, system)
    return chart


def _throughput_panel(ax: Axes, cells: pd.DataFrame, style_of: Mapping[str, Style], end: float, room: float) -> None:
    factor, unit = unit_of(end, RATES)
    end /= factor
    # The value labels of long bars need the room that words beside take from the panel.
    from_zero(ax, end * room, unit)
    for row, cell in enumerate(cells.to_dict("records")):
        if cell["status"] != "ok" or pd.isna(cell["throughput_rps"]):
            failed(ax, row, cell)
            continue
        parts = [cell[name] / factor for name in ("throughput_rps", "throughput_low_rps", "throughput_high_rps")]
        value, low, high = drawn(*parts)
        bound = "≥ " if cell["bottleneck"] in LOWER_BOUND_LIMITS else ""
        color = style_of[cell["system"]].color
        bars = ax.barh(row, value, BAR, color="none" if bound else color, edgecolor=color)
        said = told(cell, "throughput_rps", RATES, bound)
        for part in [*bars, *whisker(ax, row, low, high, n=cell["launches_count"], end=end)]:
            mark(part, cell["system"], said)
        value_label(ax, min(high, end), row, f"{bound}{significant(value)}", cell["system"])
    name_rows(ax, list(cells["system"]))


@themed
def cpu_per_request(cells: pd.DataFrame) -> Chart:
    """CPU seconds that a server spends per completed request, split into user and system time; the least on top."""
    workloads = ordered(cells["workload"])
    chart, axes = panels(
        [workload_title(cells, workload) for workload in workloads],
        [int((cells["workload"] == workload).sum()) for workload in workloads],
        title="CPU time of the server per completed request",
        caption="Full colour: user time (the server's own code); pale: system time (kernel, network). "
        "Whiskers: 95 % interval of the sum.",
        description=f"Stacked bar chart of CPU time per completed request, user and system, for {systems_in(cells)}.",
        handles=[
            Patch(color=QUIET, label="user time"),
            Patch(facecolor=mixed(QUIET, 0.65), edgecolor=QUIET, label="system time"),
        ],
    )
    ends, style_of = shared_ends(measured(cells), "cpu_per_request_s", "cpu_per_request_high_s"), styles(cells)
    for ax, workload in zip(axes, workloads, strict=True):
        rows = by_value(cells[cells["workload"] == workload], "cpu_per_request_s", largest_first=False)
        _cpu_panel(ax, rows, style_of, ends.get(workload, 1e-6))
    return chart


def _cpu_panel(ax: Axes, cells: pd.DataFrame, style_of: Mapping[str, Style], end: float) -> None:
    factor, unit = unit_of(end, TIMES)
    end /= factor
    from_zero(ax, end, f"{unit} per request")
    for row, cell in enumerate(cells.to_dict("records")):
        if pd.isna(cell["cpu_per_request_s"]):
            failed(ax, row, cell)
            continue
        color = style_of[cell["system"]].color
        user, system = cell["cpu_user_per_request_s"] / factor, cell["cpu_system_per_request_s"] / factor
        bars = [
            *ax.barh(row, user, BAR, color=color, edgecolor=color),
            *ax.barh(row, system, BAR, left=user, color=mixed(color, 0.65), edgecolor=color),
        ]
        _, low, high = drawn(*(cell[f"cpu_per_request_{part}s"] / factor for part in ("", "low_", "high_")))
        said = told(cell, "cpu_per_request_s", TIMES)
        for part in [*bars, *whisker(ax, row, low, high, n=cell["launches_count"], end=end)]:
            mark(part, cell["system"], said)
        value_label(ax, min(high, end), row, significant(cell["cpu_per_request_s"] / factor), cell["system"])
    name_rows(ax, list(cells["system"]))


@themed
def share_of_floor(shares: pd.DataFrame, cells: pd.DataFrame) -> Chart | None:
    """Throughput with JSON as a share of that of the same server when it reads the same body and decodes nothing; None without that."""
    if shares.empty:
        return None
    workloads = ordered(shares["workload"])
    chart, axes = panels(
        [workload_title(cells, workload) for workload in workloads],
        [int((shares["workload"] == workload).sum()) for workload in workloads],
        title="What JSON leaves of a server's throughput",
        caption="100 %, the line: the same server reads the same body and decodes nothing. Whiskers: 95 % interval. "
        "Hollow: the load was the limit.",
        description="Dot chart of the throughput as a share of the same server's throughput without decoding, "
        f"for {systems_in(shares)}.",
    )
    end = 1.05 * max(1.0, axis_end(shares["share_ratio"], shares["share_high_ratio"]))
    for ax, workload in zip(axes, workloads, strict=True):
        ax.set_xlim(0, end)
        _share_panel(ax, by_value(shares[shares["workload"] == workload], "share_ratio"), cells)
    return chart


def _share_panel(ax: Axes, rows: pd.DataFrame, cells: pd.DataFrame) -> None:
    style_of = styles(cells)
    ax.axvline(1.0, color=QUIET, linewidth=1.2)
    for place, share in enumerate(rows.to_dict("records")):
        value, low, high = share["share_ratio"], share["share_low_ratio"], share["share_high_ratio"]
        bound, system = share_bound(cells, share), share["system"]
        words = ("" if bound == "=" else f"{bound} ") + quantity(value, low, high, PERCENT)
        mark(ax.hlines(place, 0, value, color=RULE, linewidth=1.5, zorder=1), system)
        ends = drawn(value, low, high)
        point(ax, place, ends, style_of[system], filled=bound == "=", system=system, said=f"{system}: {words}")
        beside(ax, place, words, FAINT if system == CONTROL else INK, system)
    name_rows(ax, list(rows["system"]))
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
    rows = comparisons[comparisons["family"].isin(["leader", "control"])].rename(columns={"system_a": "system"})
    workloads = [workload for workload in ordered(cells["workload"]) if workload in set(rows["workload"])]
    chart, axes = panels(
        [workload_title(cells, workload) for workload in workloads],
        [int((rows["workload"] == workload).sum()) for workload in workloads],
        title=f"Throughput relative to {beside_}",
        caption=f"Points: {points}; whiskers: {interval_words(comparisons, 's')}; log axis.\n"
        "Shaded: the noise band. Hollow: undecided. ≤: a bound, as the load was the limit.",
        row_in=0.42,
        description=f"Forest plot of throughput relative to {beside_}: "
        + "; ".join(
            f"{row.system} {amount(row.ratio, RATIOS)} on {row.workload} ({row.verdict})" for row in rows.itertuples()
        ),
    )
    for ax, workload in zip(axes, workloads, strict=True):
        own = by_value(rows[rows["workload"] == workload], "ratio")
        _ratio_panel(ax, own, styles(cells), band_ratio(noise_floor_ratio, workload))
        others = own[own["family"] == "leader"]["system_b"]
        axis = f"ratio to {others.iloc[0]}" if paired and len(others) else "ratio" if paired else "B ÷ A"
        # In two lines: in one it would be wider than the panel.
        ax.set_xlabel(f"{axis}\nshaded: {band_words(noise_floor_ratio, workload, whose)}", fontsize=8.5)
    return chart


def _ratio_panel(ax: Axes, rows: pd.DataFrame, style_of: Mapping[str, Style], band: float) -> None:
    reached = rows[["ratio", "ratio_low", "ratio_high"]].to_numpy(float)
    log_axis(ax, [1 / band, band, *reached.flat], [1 / band, band, *rows["ratio"]])
    ax.axvspan(1 / band, band, color=BAND, zorder=0)
    ax.axvline(1.0, color=QUIET, linewidth=1.0)
    for place, row in enumerate(rows.to_dict("records")):
        estimate, system, words = (row["ratio"], row["ratio_low"], row["ratio_high"]), row["system"], "no number"
        if pd.notna(row["ratio"]):
            decided = row["verdict"] in ("faster", "slower", "equivalent")
            side = {"at most": "≤ ", "at least": "≥ "}.get(row["bound"], "")
            words = f"{side}{quantity(*estimate, RATIOS)}"
            n = row.get("blocks_count", float("nan"))
            said = f"{system}: {words}" + (f", n = {n:.0f}" if n > 0 else "")
            point(ax, place, drawn(*estimate), style_of[system], filled=decided, system=system, said=said, n=n)
        color = {"faster": GOOD, "slower": BAD}.get(row["verdict"], QUIET)
        words = f"{words}\n{row['verdict'] or 'control'}"
        beside(ax, place, words, FAINT if system == CONTROL else color, system)
    name_rows(ax, list(rows["system"]))
