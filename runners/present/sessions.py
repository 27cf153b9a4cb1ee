"""Sessions in a report: the ratios of each beside what is printed of all, and how often an interval held the next session."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from runners.analyse.capacities import session_ratio
from runners.analyse.fixed_rates import base_titles
from runners.analyse.pooled import ratio_over
from runners.analyse.results import Results
from runners.analyse.session_record import FORWARD, LEFT_OUT, session_record
from runners.core.parameter_values import objective
from runners.core.project import experiments
from runners.core.units import RATIOS, quantity, shortlist
from runners.present.kit.frames import leaders, ordered, without_control, workload_title
from runners.present.kit.markup import Fragment, Group, TableCell, table
from runners.present.kit.rows import beside, by_value, log_ticks, name_rows
from runners.present.kit.svg import mark
from runners.present.kit.theme import INK, PAPER, QUIET, Chart, Style, mixed, panels, styles, themed
from runners.stats.pooling import LEAST_SESSIONS
from runners.store.ledger import is_reference

_APART = 0.7  # of a row's height, between the first session and the last
_BAND = 0.8
_MOST_PERCENT = 50.0  # that a logarithm and a percentage are about the same
_ENDS = ("ratio_low", "ratio_high", "mean_ratio_low", "mean_ratio_high")


def shown_workload(comparisons: pd.DataFrame) -> str:
    """Return the workload whose sessions are drawn: of the first kind, the last, which is the largest request."""
    names = ordered(leaders(comparisons)["workload"])
    kind = [name for name in names if name.split("-")[0] == names[0].split("-")[0]]
    return kind[-1] if kind else ""


def figure(results: Results) -> Chart | None:
    """Return the chart of sessions: each as a point, their mean with its interval, and the band of a further one; None without others."""
    workload = shown_workload(results.comparisons)
    rows = leaders(results.comparisons, workload)
    rows = rows[rows["sessions_count"] > 1].rename(columns={"system_a": "system", "system_b": "leader"})
    if len(rows):
        points = {row.system: _throughputs(results, row.system, row.leader, workload) for row in rows.itertuples()}
        return _drawn(results, by_value(rows, "ratio"), workload_title(results.cells, workload), points)
    return _of_capacities(results)


def _of_capacities(results: Results) -> Chart | None:
    """Return the same for the capacities of the first workload under the first objective; None where no ratio is over sessions."""
    found = without_control(results.capacities).dropna(subset=["between_ratio"])
    if found.empty:
        return None
    base, goal = found[["base_workload", "objective"]].iloc[0]
    rows = found[(found["base_workload"] == base) & (found["objective"] == goal)]
    points = {
        row.system: [session_ratio(each.searches, base, goal, row.system, row.leader) for each in results.sessions]
        for row in rows.itertuples()
    }
    title = f"{base_titles(results.manifest)[base]} at {objective(goal).title}"
    return _drawn(results, by_value(rows, "ratio"), title, points)


@themed
def _drawn(results: Results, rows: pd.DataFrame, title: str, points: Mapping[str, Sequence[float]]) -> Chart:
    leader, count = str(rows["leader"].iloc[0]), int(rows["sessions_count"].max())
    enough = count >= LEAST_SESSIONS
    handles = [
        Line2D([], [], color=INK, marker="o", markersize=4, linestyle="", label="session, oldest on top"),
        Line2D([], [], color=INK, marker="D", markersize=6, linestyle="-", label="mean, 95 %"),
        Patch(color=mixed(INK, 0.75), label="a further session, 95 %"),
    ]
    band = "" if enough else f" No band below {LEAST_SESSIONS} sessions."
    chart, axes = panels(
        [title],
        [len(rows)],
        title=f"{count} sessions: the ratio to {leader} in each",
        caption=f"Points: how far a session's ratio lies from {'the mean' if enough else 'that of this session'}.{band}",
        description=f"Ratios to {leader} in {count} sessions: "
        + "; ".join(
            f"{row.system} {quantity(row.ratio, row.ratio_low, row.ratio_high, RATIOS)}" for row in rows.itertuples()
        ),
        row_in=0.5,
        handles=handles if enough else handles[:1],
    )
    ax, style_of = axes[0], styles(results.cells)
    # Logarithms, so that a half and a double are as far away.
    off = {
        row.system: [_percent(each, row.ratio) for each in points[row.system] if not math.isnan(each)]
        for row in rows.itertuples()
    }
    ends = (
        [_percent(end, row.ratio) for row in rows.itertuples() for end in (row.ratio_low, row.ratio_high)]
        if enough
        else []
    )
    reach = 1.1 * max(map(abs, (0.1, *ends, *(each for found in off.values() for each in found))))
    ax.set_xlim(-reach, reach)
    ax.xaxis.set_major_locator(MaxNLocator(3, symmetric=True))
    ax.axvline(0.0, color=QUIET, linewidth=1.0)
    for place, row in enumerate(rows.to_dict("records")):
        _row(ax, place, row, off[row["system"]], style_of[row["system"]], enough=enough)
    name_rows(ax, list(rows["system"]))
    middle = "the mean" if enough else "this session"
    if reach > _MOST_PERCENT:
        # As a factor: on a logarithm, 150 % less is nothing that there is.
        ax.set_xticks([_percent(factor, 1.0) for factor in log_ticks(math.exp(-reach / 100), math.exp(reach / 100), 3)])
        ax.xaxis.set_major_formatter(FuncFormatter(lambda percent, _: f"{math.exp(percent / 100):.3g} ×"))
    ax.set_xlabel(f"as a multiple of {middle}" if reach > _MOST_PERCENT else f"% from {middle}")
    return chart


def _percent(ratio: float, mean: float) -> float:
    return 100 * math.log(ratio / mean)


def _throughputs(results: Results, system: str, leader: str, workload: str) -> list[float]:
    """Return the ratio of the throughputs in each session, the oldest first; NaN where one has none."""
    return [ratio_over([each], (system, workload), (leader, workload)).own.value for each in results.sessions]


def _row(ax: Axes, place: int, row: dict[Any, Any], off: Sequence[float], style: Style, *, enough: bool) -> None:
    system, ratio = row["system"], row["ratio"]
    words = quantity(ratio, row["ratio_low"], row["ratio_high"], RATIOS)
    parts: list[Any] = []
    if enough:
        low, high, *mean = (_percent(row[name], ratio) for name in _ENDS)
        parts += ax.barh(place, high - low, _BAND, left=low, color=mixed(style.color, 0.75), linewidth=0, zorder=1)
        parts += ax.plot(mean, [place, place], color=INK, linewidth=1.3, zorder=4)
        parts += ax.plot(0.0, place, "D", color=INK, markersize=6, markeredgecolor=PAPER, markeredgewidth=1.0, zorder=5)
    for number, each in enumerate(off):
        shift = _APART * ((number + 0.5) / len(off) - 0.5)
        parts += ax.plot(each, place + shift, "o", color=style.color, markersize=4, zorder=3)
    for part in parts:
        mark(part, system, f"{system}: {words}, {len(off)} sessions")
    beside(ax, place, f"{words}\n{_between(row)}", INK, system)


def _between(row: dict[Any, Any]) -> str:
    between = f"{100 * row['between_ratio']:.1f} %"
    return "sessions agree within noise" if between == _NONE else f"sessions vary by {between}"


def blocks(row: Mapping[str, Any]) -> TableCell:
    """Return the number of blocks of a comparison; below it, that of its sessions and how far they lie apart."""
    count = int(row.get("sessions_count", 1))
    apart = f"{count} sessions, which vary by {100 * row['between_ratio']:.1f} %" if count > 1 else ""
    return TableCell(f"{int(row['blocks_count'])}", apart)


_NONE = "0.0 %"  # beyond what the sessions' own blocks explain
THIS_SESSION = "Intervals are 95 % and cover this session only"


def sure(results: Results) -> str:
    """Return what intervals cover, where more than this session is known; else nothing."""
    rows = leaders(results.comparisons)
    count = int(rows["sessions_count"].max()) if len(rows) else 1
    between = f"{100 * rows['between_ratio'].max():.1f} %"
    agree = between == _NONE
    if count >= LEAST_SESSIONS and results.fixed_rate:
        return (
            f"Intervals (95 %) cover a further session, {_alone(results)} this one only; "
            f"{count} sessions within {_span(results)} {'agree' if agree else f'vary by at most {between}'}."
        )
    if count >= LEAST_SESSIONS:
        return (
            f"Intervals are 95 % and cover one further session: {count} sessions within {_span(results)}, "
            f"{'which agree within their own noise' if agree else f'between which ratios vary by at most {between}'}."
        )
    if count > 1:
        return f"{THIS_SESSION}; {count} sessions differ by at most {between}, and {LEAST_SESSIONS} give an interval of the next."
    known = results.before
    if known is None:
        return ""
    varied = f"between {known.sessions_count} earlier sessions of this machine ratios varied by at most {100 * known.largest_ratio:.1f} %"
    return f"{THIS_SESSION}; {varied}."


def _alone(results: Results) -> str:
    """Return which intervals are of this session: those at rates that no other session had, and all differences between times."""
    cells = results.cells[results.cells["workload"].isin(results.fixed_rate)]
    own = cells.loc[cells["status"] == "ok", "sessions_count"] < LEAST_SESSIONS
    return "at fixed rates" if own.all() else "for some rates and added times" if own.any() else "for added times"


def _span(results: Results) -> str:
    """Return the time from the start of the first session to that of the last: ``3 h``, ``2 days``; of those that have the ratio."""
    rows = leaders(results.comparisons).sort_values("sessions_count", ascending=False)
    a, b = ((rows[side].iloc[0], rows["workload"].iloc[0]) for side in ("system_a", "system_b"))
    having = [each for each in results.sessions if ratio_over([each], a, b).blocks_count > 1]
    moments = [datetime.fromisoformat(each.started_at) for each in having]
    hours = (max(moments) - min(moments)).total_seconds() / 3600
    if hours >= 48:
        return f"{hours / 24:.0f} days"
    return f"{hours:.0f} h" if hours >= 2 else f"{max(1.0, hours * 60):.0f} min"


def kept(results: Results) -> Fragment:
    """Return the table of how often a session's ratio lay inside the interval stated before it, over the whole ledger of a run."""
    return record_table(session_record(experiments(), results.run.base, reference=is_reference(results.run.run_id)))


def record_table(known: pd.DataFrame) -> Fragment:
    """Return the table of a :func:`runners.analyse.session_record.session_record`."""
    groups = []
    for experiment in ordered(known["experiment"]):
        rows = [_kept(known[known["experiment"] == experiment], *each) for each in _STATED]
        groups.append(Group(experiment, [row for row in rows if row]))
    heads = [("interval", ""), ("held", "of the ratios"), ("share", ""), ("sessions", "that it was held against")]
    if not groups:
        text = "No measurement of this machine has a second session yet: ./wrkbook run 02 --sessions 5 --every 45m."
        return Fragment(f'<p class="wb-sentence">{text}</p>', text)
    return table("How often an interval held the ratio of another session", heads, groups)


_STATED = (
    ("of one session, against the next", FORWARD, False),
    ("of three sessions or more, against the next", FORWARD, True),
    ("of all other sessions", LEFT_OUT, True),
)


def _kept(known: pd.DataFrame, title: str, kind: str, pooled: bool) -> list[TableCell]:
    rows = known[(known["kind"] == kind) & ((known["sessions_count"] >= LEAST_SESSIONS) == pooled)]
    if rows.empty:
        return []
    inside, count = int(rows["inside"].sum()), len(rows)
    sessions = ordered(without_control(rows.rename(columns={"system_a": "system"}))["run_id"])
    return [
        TableCell(title, kind="words"),
        TableCell(f"{inside} of {count}"),
        TableCell(f"{100 * inside / count:.0f} %"),
        TableCell(str(len(sessions)), shortlist(sessions, 2)),
    ]
