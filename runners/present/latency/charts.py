"""Charts of systems at the same offered rate: their response times, and what they add to direct access.

Times that perf-gauge measured are service times of requests in bursts: they are shown with that caveat, and rank nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from runners.analyse.fixed_rates import in_bursts
from runners.core.load import LEAST_OFFERED
from runners.core.records import CONTROL, percentile_column
from runners.core.units import RATES, TIMES, amount, format_duration, shortened
from runners.present.kit.frames import measured, ordered, without_control
from runners.present.kit.rows import beside, drawn, name_rows
from runners.present.kit.theme import BAD, FAINT, INK, MARKERS, QUIET, Chart, Style, mixed, panels, styles, themed

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
    """Chart the time that each system adds to direct access (:func:`runners.analyse.fixed_rates.added_latencies`)."""
    workloads = ordered(frame["workload"])
    parts = [frame[frame["workload"] == workload] for workload in workloads]
    chart, axes = panels(
        [_title(cells, workload) for workload in workloads],
        [part["system"].nunique() for part in parts],
        title=f"Added to the {kind(cells)} of direct access ({direct})",
        caption="Difference of the percentiles of both, over the same blocks; whiskers: 95 % interval. What is not known is left out.\n"
        f"{caveat(cells)}",
        description=f"Dot chart of the latency that each system adds to {direct}. {_at_the_median(frame)} {caveat(cells)}",
        row_in=0.5,
        handles=_handles(_ADDED),
    )
    style_of = styles(cells)
    for ax, part in zip(axes, parts, strict=True):
        systems = ordered(part["system"])
        factor, unit = _unit(part)
        for row, system in enumerate(systems):
            own = part[part["system"] == system].set_index("statistic")
            estimates = [_added_estimate(own, percentile, factor) for percentile in _ADDED]
            _points(ax, row, estimates, style_of[system])
            beside(ax, row, _added_words(own), FAINT if system == CONTROL else INK)
        ax.axvline(0, color=QUIET, linewidth=1.0)
        name_rows(ax, systems)
        ax.set_xlabel(f"{unit} more than {direct}")
    return chart


def statistic_words(column: str) -> str:
    """``p99_9_s`` is "p99.9"."""
    return column.removesuffix("_s").replace("_", ".")


@themed
def _times(cells: pd.DataFrame, percentiles: Sequence[float], title: str) -> Chart:
    workloads = ordered(cells["workload"])
    parts = [cells[cells["workload"] == workload] for workload in workloads]
    chart, axes = panels(
        [_title(cells, workload) for workload in workloads],
        [len(part) for part in parts],
        title=title,
        caption="Log axis; whiskers: 95 % interval over launches; right: the rate that was achieved, ▲ where it is below 99 % of the "
        f"offered one.\n{caveat(cells)}",
        description=f"Dot chart of {title} for {', '.join(ordered(without_control(cells)['system']))}. {caveat(cells)}",
        row_in=0.42,
        handles=_handles(percentiles),
    )
    style_of = styles(cells)
    for ax, part in zip(axes, parts, strict=True):
        for row, cell in enumerate(part.to_dict("records")):
            if cell["status"] != "ok":
                ax.annotate(
                    shortened(cell["status"], 40),
                    (0.02, row),
                    xycoords=("axes fraction", "data"),
                    color=BAD,
                    fontsize=8.5,
                )
                continue
            _points(ax, row, [_estimate(cell, percentile) for percentile in percentiles], style_of[cell["system"]])
            beside(ax, row, *_achieved(cell))
        _log_axis(ax, measured(part), percentiles, kind(cells))
        name_rows(ax, list(part["system"]))
    return chart


def _title(cells: pd.DataFrame, workload: str) -> str:
    """The workload with what was offered."""
    offered = cells[cells["workload"] == workload]["offered_rps"].dropna()
    return f"{workload}: {offered.iloc[0]:,.0f}/s offered" if len(offered) else workload


def _achieved(cell: Mapping[str, float]) -> tuple[str, str]:
    share = cell["achieved_fraction"]
    words = f"{amount(cell['throughput_rps'], RATES).replace(' requests/s', '/s')}\n{share:.1%}"
    return (words, FAINT) if share >= LEAST_OFFERED else (f"{words} ▲", BAD)


def _estimate(cell: Mapping[str, float], percentile: float) -> tuple[float, float, float]:
    name = percentile_column(percentile)
    stem = name.removesuffix("_s")
    return drawn(cell[name], cell[f"{stem}_low_s"], cell[f"{stem}_high_s"])


def _added_estimate(own: pd.DataFrame, percentile: float, factor: float) -> tuple[float, float, float]:
    row = own.loc[percentile_column(percentile)]
    return drawn(*(float(row[name]) / factor for name in ("added_s", "added_low_s", "added_high_s")))


def _points(ax: Axes, row: int, estimates: Sequence[tuple[float, float, float]], style: Style) -> None:
    """The estimates of one row, one below the other so that their whiskers are told apart."""
    middle = (len(estimates) - 1) / 2
    for place, (value, low, high) in enumerate(estimates):
        if math.isnan(value):
            continue
        ax.errorbar(
            value,
            row + (place - middle) * 0.22,
            xerr=[[value - low], [high - value]],
            fmt=MARKERS[place],
            color=mixed(style.color, 0.35 * (1 - place / max(1, len(estimates) - 1))),
            markersize=4.5,
            elinewidth=1.4,
        )


def _log_axis(ax: Axes, cells: pd.DataFrame, percentiles: Sequence[float], label: str) -> None:
    values = cells[[percentile_column(percentile) for percentile in percentiles]].to_numpy(float)
    ax.set_xscale("log")
    if np.isfinite(values).any():
        ax.set_xlim(np.nanmin(values) / 1.5, np.nanmax(values) * 1.5)
    else:
        ax.text(0.5, 0.5, "not known: too few requests", transform=ax.transAxes, ha="center", color=QUIET)
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_duration(value)))
    ax.set_xlabel(label)


def _handles(percentiles: Sequence[float]) -> list[Artist]:
    return [
        Line2D([], [], color=QUIET, marker=MARKERS[place], linestyle="", markersize=5, label=f"p{percentile:g}")
        for place, percentile in enumerate(percentiles)
    ]


def _unit(part: pd.DataFrame) -> tuple[float, str]:
    top = part[part["statistic"].isin([percentile_column(percentile) for percentile in _ADDED])]["added_s"].abs().max()
    return (1e-3, "ms") if top >= 1e-3 else (1e-6, "µs")


def _added_words(own: pd.DataFrame) -> str:
    known = [(percentile, own.loc[percentile_column(percentile), "added_s"]) for percentile in _ADDED[:2]]
    return "\n".join(f"p{percentile:g} {_signed(float(added))}" for percentile, added in known if pd.notna(added))


def _signed(value_s: float) -> str:
    return f"{'+' if value_s >= 0 else '−'}{amount(abs(value_s), TIMES)}"


def _at_the_median(frame: pd.DataFrame) -> str:
    rows = frame[(frame["statistic"] == "p50_s") & (frame["system"] != CONTROL) & frame["added_s"].notna()]
    words = [f"{row.system} {_signed(row.added_s)} on {row.workload}" for row in rows.itertuples()]
    return f"At the median: {'; '.join(words)}." if words else "Nothing could be estimated."
