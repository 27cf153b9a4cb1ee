"""Charts of latency under load: response times against the rate, and the capacity under each objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from runners.analyse.fixed_rates import base_titles, equal_rates, own_rates
from runners.analyse.results import Results
from runners.core.parameter_values import Objective, objectives
from runners.core.records import CONTROL, percentile_column
from runners.core.units import (
    RATES,
    TIMES,
    amount,
    format_duration,
    grouped,
    quantity,
    shortened,
    significant,
    unit_of,
)
from runners.present.kit.frames import ordered, without_control
from runners.present.kit.lines import direct_labels, durations, free_place, height_of, rows_for, upright
from runners.present.kit.rows import axis_end, beside, drawn, from_zero, name_rows, point
from runners.present.kit.svg import mark
from runners.present.kit.theme import BAD, INK, MARKERS, PAPER, QUIET, Chart, Style, mixed, panels, styles, themed

_ROWS = 9
_SIGNS = {"at least": "≥ ", "at most": "≤ ", "unknown": "? "}
_PALE = 0.45  # of the objectives after the first
_STEP = 0.014  # between two systems at the same rate, as a share of the axis
_BEYOND = 1.06  # the end of the axis, of the highest rate


@themed
def latency(results: Results, percentile: float = 99.0) -> Chart:
    """Response time at a percentile against the offered rate, equal for all systems of a workload."""
    return _against_load(
        results,
        equal_rates(results.levels),
        percentile,
        "offered_rps",
        title=f"Response time against load: p{percentile:g} at equal rates",
        axis="offered, requests/s",
    )


@themed
def latency_by_share(results: Results, percentile: float = 99.0) -> Chart:
    """Response time at a percentile against the rate as a share of each system's own capacity."""
    rows = own_rates(results.levels)
    return _against_load(
        results,
        rows[rows["own_share"].notna()],
        percentile,
        "own_share",
        title=f"Response time against load: p{percentile:g} at shares of each system's own capacity",
        axis="offered, of the system's own capacity (closed loop, before the first block)",
    )


def _against_load(results: Results, levels: pd.DataFrame, percentile: float, x: str, *, title: str, axis: str) -> Chart:
    rows = without_control(levels)
    name, titles = percentile_column(percentile), base_titles(results.manifest)
    rows = rows[rows[name].notna() | rows["saturated"]]
    bases, look = ordered(results.cells["base_workload"]), styles(results.cells)
    bases = [base for base in bases if (rows["base_workload"] == base).any()]
    goals = [goal for goal in _objectives(results) if goal.percentile == percentile]
    further = _further(rows[rows[name].notna()])
    chart, axes = panels(
        [titles[base] for base in bases],
        [rows_for(rows["system"].nunique(), _ROWS)] * len(bases),
        title=title,
        caption="Open loop: response times count from the intended moment. Log axis; "
        f"whiskers: 95 % interval{further}, ▲▼ where it goes on; none where it is too wide.\n"
        "Open markers on top: less than 99 % of the rate was completed, so the response times are not those of this rate.\n"
        "Systems at the same rate stand side by side.",
        description=f"{title}; a line for each of {', '.join(ordered(rows['system']))}. {_longest(rows, name, titles)}",
    )
    for ax, base in zip(axes, bases, strict=True):
        own = rows[rows["base_workload"] == base]
        _response_axis(ax, own, x, name, goals)
        _load_axis(ax, own, x, axis)
        systems = ordered(own["system"])
        step = _STEP * float(own[x].max())
        ends = {}
        for place, system in enumerate(systems):
            aside = (place - (len(systems) - 1) / 2) * step
            ends[system] = _line(ax, own[own["system"] == system], x, aside, name, look[system], system)
        direct_labels(ax, ends, look)
    return chart


def _line(ax: Axes, rows: pd.DataFrame, x: str, aside: float, name: str, style: Style, system: str) -> float:
    """Draw one system, so far beside its rates; returns where its last point is, as a share of the axis's height."""
    rows, stem = rows.drop_duplicates(x).sort_values(x), name.removesuffix("_s")
    known, lost = rows[rows[name].notna()], rows[rows["saturated"]]
    estimates = known[[name, f"{stem}_low_s", f"{stem}_high_s"]].astype(float).to_numpy()
    said = [
        f"{system} at {grouped(rate)} requests/s: {quantity(each[0], each[1], each[2], TIMES)}"
        for rate, each in zip(known["offered_rps"], estimates, strict=True)
    ]
    lines = ax.plot(known[x] + aside, known[name], color=style.color, linewidth=1.4)
    upright(ax, known[x] + aside, [drawn(*each) for each in estimates], style, system, said=said)
    top = ax.get_ylim()[1] / 1.12
    if len(lost):
        hollow: dict[str, Any] = {"color": style.color, "markerfacecolor": "none", "markersize": 5.5, "clip_on": False}
        lines += ax.plot(lost[x] + aside, [top] * len(lost), style.marker, **hollow)
    for line in lines:
        mark(line, system, system)
    end = top if len(lost) and (known.empty or lost[x].max() > known[x].max()) else float(known[name].iloc[-1])
    return height_of(ax, end)


def _response_axis(ax: Axes, rows: pd.DataFrame, x: str, name: str, goals: Sequence[Objective]) -> None:
    """Scale the axis of response times to values and objectives, and draw a line for each objective."""
    stem = name.removesuffix("_s")
    estimates = rows[[name, f"{stem}_low_s", f"{stem}_high_s"]].astype(float).to_numpy()
    values = [*estimates[:, 0], *(goal.limit_s for goal in goals)]
    seen = [value for value in values if value > 0] or [1e-3]
    shown = [drawn(*each) for each in estimates]
    ends = [*seen, *(end for each in shown for end in each if end > 0)]
    ax.set_yscale("log")
    # A whisker that reaches far beyond all values ends in an arrow, so that it does not flatten the lines.
    ax.set_ylim(max(min(ends), min(seen) / 2) / 1.4, min(max(ends), max(seen) * 2) * 1.7)
    durations(ax, "response time")
    ax.grid()
    for goal in goals:
        ax.axhline(goal.limit_s, color=BAD, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
        where = (free_place(ax, rows[x] / (_BEYOND * rows[x].max()), shown, goal.limit_s), goal.limit_s)
        words: dict[str, Any] = {"xytext": (0, 3), "textcoords": "offset points", "fontsize": 8, "color": BAD}
        # On a ground of its own, over the intervals that reach there all the same.
        words |= {"zorder": 4, "bbox": {"facecolor": PAPER, "edgecolor": "none", "pad": 0.6}}
        ax.annotate(goal.title, where, xycoords=("axes fraction", "data"), **words)


def _load_axis(ax: Axes, rows: pd.DataFrame, x: str, label: str) -> None:
    """Scale the axis of the load: requests per second, or shares of a capacity."""
    top = float(rows[x].max())
    ax.set_xlim(0, top * _BEYOND)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    as_share = x == "own_share"
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * 100:.0f} %" if as_share else grouped(value)))
    ax.set_xlabel(label.partition(" (")[0] if as_share else label)


def _longest(rows: pd.DataFrame, name: str, titles: Mapping[str, str]) -> str:
    """Return the description of the highest rate: the longest response time of each workload."""
    known = rows[rows[name].notna()]
    worst = known.loc[known.groupby("base_workload", sort=False)[name].idxmax()] if len(known) else known
    parts = [
        f"{titles[row['base_workload']]}: longest {format_duration(row[name])}, {row['system']} at {grouped(row['offered_rps'])}/s"
        for row in worst.to_dict("records")
    ]
    return "; ".join(parts)


@themed
def capacities(results: Results) -> Chart:
    """The largest rate that each system carries under each objective, with 95 % intervals; sorted by the first objective."""
    frame = results.capacities[results.capacities["capacity_rps"].notna()]
    titles, goals = base_titles(results.manifest), _objectives(results)
    bases, look = ordered(results.cells["base_workload"]), styles(results.cells)
    bases = [base for base in bases if (frame["base_workload"] == base).any()]
    further = _further(frame)
    chart, axes = panels(
        [titles[base] for base in bases],
        [frame.loc[frame["base_workload"] == base, "system"].nunique() for base in bases],
        title="Capacity under an objective: the largest rate that keeps the response times within it",
        caption=f"Mean over launches; whiskers: 95 % interval{further}, with the step of the search. "
        "Labels: the objectives in this order.\n"
        "▶ at least: no tried rate failed. ◀ at most: a launch met it at no tried rate.",
        description=f"Dot chart of capacities. {_largest(frame, titles)}",
        row_in=0.36,
        handles=_handles(goals),
    )
    for ax, base in zip(axes, bases, strict=True):
        _capacity_panel(ax, frame[frame["base_workload"] == base], [goal.text for goal in goals], look)
    return chart


def _further(rows: pd.DataFrame) -> str:
    """Return what an interval covers, where it is not this session alone; of some rates it may be."""
    known = rows["sessions_count"] > 1
    return " of a further session" + ("" if known.all() else ", some of this one") if known.any() else ""


def _capacity_panel(ax: Axes, frame: pd.DataFrame, goals: Sequence[str], look: Mapping[str, Style]) -> None:
    systems = ordered(frame["system"])
    ends = frame[["capacity_rps", "capacity_low_rps", "capacity_high_rps"]].astype(float).to_numpy()
    top = axis_end(ends[:, 0], [max(drawn(*each)) for each in ends])
    factor, unit = unit_of(top, RATES)
    from_zero(ax, top / factor, unit)
    middle = (len(goals) - 1) / 2
    for row, system in enumerate(systems):
        own = frame[frame["system"] == system].set_index("objective")
        own = own.reindex([goal for goal in goals if goal in own.index])
        for place, (goal, each) in enumerate(zip(own.index, own.to_dict("records"), strict=True)):
            parts = [each[f"capacity{end}_rps"] for end in ("", "_low", "_high")]
            style = Style(mixed(look[system].color, _PALE * (place > 0)), MARKERS[place % len(MARKERS)])
            said = (
                f"{system}, {goal}: {_SIGNS.get(str(each['bound']), '')}{quantity(parts[0], parts[1], parts[2], RATES)}"
            )
            estimate, y = drawn(*(part / factor for part in parts)), row + (place - middle) * 0.28
            point(ax, y, estimate, style, filled=not each["bound"], system=system, said=said)
            arrow, shift = {"at least": ("▶", 9), "at most": ("◀", -9)}.get(str(each["bound"]), ("", 0))
            common: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center", "fontsize": 7}
            mark(ax.annotate(arrow, (estimate[0], y), xytext=(shift, -0.5), color=INK, **common), system)
        _values(ax, row, system, own, factor)
    name_rows(ax, systems)


def _values(ax: Axes, row: int, system: str, own: pd.DataFrame, factor: float) -> None:
    """Write the capacities of one system beside its row, the first objective first."""
    said = [f"{_SIGNS.get(str(each.bound), '')}{significant(each.capacity_rps / factor)}" for each in own.itertuples()]
    beside(ax, row, "  ·  ".join(said), QUIET if system == CONTROL else INK, system)


def _largest(frame: pd.DataFrame, titles: Mapping[str, str]) -> str:
    rows = without_control(frame).drop_duplicates(["base_workload", "objective"])
    parts = [
        f"{titles[row.base_workload]}, {row.objective}: most {_SIGNS.get(row.bound, '')}{amount(row.capacity_rps, RATES)}, {row.system}"
        for row in rows.itertuples()
    ]
    return "; ".join(parts)


def _objectives(results: Results) -> list[Objective]:
    return objectives(ordered(results.capacities["objective"]))


def _handles(goals: Sequence[Objective]) -> list[Artist]:
    return [
        Line2D([], [], color=mixed(INK, _PALE * (place > 0)), marker=MARKERS[place % len(MARKERS)], linestyle="", markersize=5,
               label=shortened(goal.title, 30))
        for place, goal in enumerate(goals)
    ]  # fmt: skip
