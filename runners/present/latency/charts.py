"""Charts of systems at the same offered rate: their response times, and what they add to direct access.

Times that perf-gauge measured are service times of requests in bursts: they are shown with that caveat, and rank nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from runners.analyse.fixed_rates import in_bursts
from runners.core.load import LEAST_OFFERED
from runners.core.records import CONTROL, percentile_column
from runners.core.units import RATES, TIMES, amount, format_duration, grouped, listing, minus, quantity, shortened
from runners.present.kit.frames import measured, ordered, without_control, workload_title
from runners.present.kit.rows import beside, by_value, drawn, name_rows, point, told
from runners.present.kit.svg import mark
from runners.present.kit.theme import BAD, FAINT, INK, QUIET, Chart, Style, panels, styles, themed

REGULAR = (50.0, 90.0, 99.0)
TAIL = (99.9, 99.99)
_ADDED = (50.0, 99.0, 99.9)

BURSTS = "perf-gauge's clients tick together, so requests come in bursts: the p50 holds about half of a burst's queue."
NOT_RANKED = "No proxy is ranked by these times."
"""The caveat at every figure and table of times from a load generator whose requests come in bursts."""
FROM_INTENDED = "Response times count from the intended moment of each request; the arrivals are a Poisson process."


def kind(cells: pd.DataFrame) -> str:
    """Return what the times of these cells are: service times where requests came in bursts, else response times."""
    return "service time" if in_bursts(cells).any() else "response time"


def caveat(cells: pd.DataFrame) -> str:
    """Return what a reader must know of these cells' times."""
    return f"{BURSTS} {NOT_RANKED}" if in_bursts(cells).any() else FROM_INTENDED


def regular(cells: pd.DataFrame) -> Chart:
    """The times that most requests see: p50, p90, p99."""
    return _times(cells, REGULAR, f"{kind(cells).capitalize()}s at the offered rate: p50, p90, p99")


def tail(cells: pd.DataFrame) -> Chart:
    """The times that few requests see: p99.9, p99.99."""
    return _times(cells, TAIL, f"Tail of the {kind(cells)}s at the offered rate: p99.9, p99.99")


@themed
def added(frame: pd.DataFrame, cells: pd.DataFrame, direct: str) -> Chart:
    """Chart the time that each system adds to direct access (:func:`runners.analyse.fixed_rates.added_latencies`).

    A panel for each workload and percentile: one axis for all would hide the small ones.
    """
    shown = [
        (workload, percentile, own)
        for workload in ordered(frame["workload"])
        for percentile in _ADDED
        if len(own := _added_rows(frame, workload, percentile))
    ]
    chart, axes = panels(
        [f"{_title(cells, workload)}, p{percentile:g}" for workload, percentile, _ in shown],
        [len(own) for *_, own in shown],
        title=f"Added to the {kind(cells)} of direct access ({direct})",
        caption="Difference of the percentiles of both, over the same blocks; whiskers: 95 % interval. What is not known is left out.\n"
        f"{caveat(cells)}",
        description=f"Dot chart of the latency that each system adds to {direct}. {_at_the_median(frame)} {caveat(cells)}",
        row_in=0.36,
    )
    style_of = styles(cells)
    for ax, (workload, percentile, own) in zip(axes, shown, strict=True):
        factor, unit = (1e-3, "ms") if own["added_s"].abs().max() >= 1e-3 else (1e-6, "µs")
        values = own["added_s"].to_numpy(float) / factor
        ends = np.nan_to_num(own[["added_low_s", "added_high_s"]].to_numpy(float) / factor)
        reach = max(2 * np.abs(values).max(), 1e-9)
        low, high = max(min(0.0, *ends.flat, *values), -reach), min(max(0.0, *ends.flat, *values), reach)
        ax.set_xlim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        ax.axvline(0, color=QUIET, linewidth=1.0)
        for row, each in enumerate(own.to_dict("records")):
            system, parts = each["system"], [each[f"added_{end}s"] for end in ("", "low_", "high_")]
            words = quantity(parts[0], parts[1], parts[2], TIMES)
            said = f"{system}, {workload}, p{percentile:g}: {words} more than {direct}"
            estimate = drawn(*(part / factor for part in parts))
            point(ax, row, estimate, style_of[system], filled=True, system=system, said=said)
            beside(ax, row, _signed(each["added_s"]), FAINT if system == CONTROL else INK, system)
        name_rows(ax, list(own["system"]))
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: minus(f"{value:g}")))
        ax.set_xlabel(f"{unit} more than {direct}")
    return chart


def _added_rows(frame: pd.DataFrame, workload: str, percentile: float) -> pd.DataFrame:
    own = frame[(frame["workload"] == workload) & (frame["statistic"] == percentile_column(percentile))]
    return by_value(own[own["added_s"].notna()], "added_s", largest_first=False)


def statistic_words(column: str) -> str:
    """``p99_9_s`` is "p99.9"."""
    return column.removesuffix("_s").replace("_", ".")


@themed
def _times(cells: pd.DataFrame, percentiles: Sequence[float], title: str) -> Chart:
    """Chart the times of each workload: a panel for each percentile that is known, the shortest on top."""
    shown = [
        (workload, percentile, by_value(rows, percentile_column(percentile), largest_first=False))
        for workload, rows in ((name, cells[cells["workload"] == name]) for name in ordered(cells["workload"]))
        for percentile in percentiles
        if rows[percentile_column(percentile)].notna().any() or not len(measured(rows))
    ]
    known = {(workload, percentile) for workload, percentile, _ in shown}
    missing = [
        f"p{percentile:g} of {workload}"
        for workload in ordered(cells["workload"])
        for percentile in percentiles
        if (workload, percentile) not in known
    ]
    unknown = f"\nNot known, for want of requests: {listing(missing)}." if missing else ""
    chart, axes = panels(
        [f"{_title(cells, workload)}, p{percentile:g}" for workload, percentile, _ in shown],
        [len(rows) for *_, rows in shown],
        title=title,
        caption="Log axis; whiskers: 95 % interval over launches; right: the rate that was achieved, ▲ where it is below 99 % of the "
        f"offered one.\n{caveat(cells)}{unknown}",
        description=f"Dot chart of {title} for {', '.join(ordered(without_control(cells)['system']))}. {caveat(cells)}",
        row_in=0.42,
    )
    style_of = styles(cells)
    for ax, (_, percentile, rows) in zip(axes, shown, strict=True):
        _times_panel(ax, rows, percentile, style_of, kind(cells))
    return chart


def _times_panel(ax: Axes, rows: pd.DataFrame, percentile: float, style_of: Mapping[str, Style], label: str) -> None:
    column = percentile_column(percentile)
    _log_axis(ax, rows.loc[rows["status"] == "ok", column], label)
    for row, cell in enumerate(rows.to_dict("records")):
        system = cell["system"]
        if cell["status"] != "ok":
            where: dict[str, Any] = {"xycoords": ("axes fraction", "data")}
            reason = ax.annotate(
                shortened(cell["status"], 40), (0.02, row), color=BAD, fontsize=8.5, va="center", **where
            )
            mark(reason, system, cell["status"])
            continue
        if pd.notna(cell[column]):
            estimate, said = _estimate(cell, percentile), told(cell, column, TIMES)
            n = cell.get("launches_count", math.nan)
            point(ax, row, estimate, style_of[system], filled=True, system=system, said=said, n=n)
        words, color = _achieved(cell)
        value = "not known" if pd.isna(cell[column]) else amount(cell[column], TIMES)
        beside(ax, row, f"{value}\n{words}", color, system)
    name_rows(ax, list(rows["system"]))


def _title(cells: pd.DataFrame, workload: str) -> str:
    """The workload with what was offered."""
    offered = cells[cells["workload"] == workload]["offered_rps"].dropna()
    title = workload_title(cells, workload)
    return f"{title}, {grouped(offered.iloc[0])}/s" if len(offered) else title


def _achieved(cell: Mapping[str, float]) -> tuple[str, str]:
    share = cell["achieved_fraction"]
    words = f"{amount(cell['throughput_rps'], RATES).replace(' requests/s', '/s')}, {share * 100:.1f} %"
    return (words, FAINT) if share >= LEAST_OFFERED else (f"{words} ▲", BAD)


def _estimate(cell: Mapping[str, float], percentile: float) -> tuple[float, float, float]:
    name = percentile_column(percentile)
    stem = name.removesuffix("_s")
    return drawn(cell[name], cell[f"{stem}_low_s"], cell[f"{stem}_high_s"])


def _log_axis(ax: Axes, values: pd.Series, label: str) -> None:
    ax.set_xscale("log")
    if values.notna().any():
        ax.set_xlim(values.min() / 1.6, values.max() * 1.6)
        spread = values.max() / values.min()
        narrow, wide = MaxNLocator(3), LogLocator(subs=(1,) if spread > 12 else (1, 3))
        ax.xaxis.set_major_locator(narrow if spread < 4 else wide)
    else:
        ax.set_xticks([])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_duration(value)))
    ax.set_xlabel(label)


def _signed(value_s: float) -> str:
    return f"{'+' if value_s >= 0 else '−'}{amount(abs(value_s), TIMES)}"


def _at_the_median(frame: pd.DataFrame) -> str:
    rows = frame[(frame["statistic"] == "p50_s") & (frame["system"] != CONTROL) & frame["added_s"].notna()]
    words = [f"{row.system} {_signed(row.added_s)} on {row.workload}" for row in rows.itertuples()]
    return f"At the median: {'; '.join(words)}." if words else "Nothing could be estimated."
