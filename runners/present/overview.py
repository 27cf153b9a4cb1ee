"""The pages over all runs: the index of the experiments, and the history of one: the ratio of each system to the leader, run by run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from runners.analyse.standings import Ratio
from runners.core.records import Interval
from runners.core.units import RATIOS, quantity_parts, system_title
from runners.present.html import relative_link, render
from runners.present.kit.frames import ordered
from runners.present.kit.markup import TEMPLATES, Fragment, Group, TableCell, joined, table
from runners.present.kit.rows import name_rows, point
from runners.present.kit.theme import Chart, Style, legend, panels, styles, themed

# More runs than these are in the table only, and more workloads too.
_DRAWN_RUNS, _DRAWN_WORKLOADS = 12, 6
_APART = 0.6
_DATE_LENGTH = len("2026-01-31 12:34")
# Of the sparkline's box, with room for the dot.
_SPARK_LEFT, _SPARK_WIDTH, _SPARK_TOP, _SPARK_HEIGHT = 3.0, 94.0, 3.0, 18.0


@dataclass(frozen=True)
class IndexEntry:
    """One row of the index page: the newest run of an experiment, or two runs compared.

    Attributes
    ----------
    experiment : str
        Rows are in the order of these names.
    report : str
        Path of the report from the index page; empty where there is none.
    links : Mapping[str, str]
        Name → path of what else there is, for example the history.
    leads : Sequence[float]
        The leader's throughput over that of the next system, run by run, oldest first.
    lead_text : str
        The last of them in words.
    """

    experiment: str
    title: str
    run_id: str
    date: str
    profile: str
    machine: str
    headline: str
    report: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    leads: Sequence[float] = ()
    lead_text: str = ""
    runs_count: int = 1


def write_index(
    entries: Sequence[IndexEntry],
    html_path: Path,
    comparisons: Sequence[IndexEntry] = (),
    *,
    title: str = "wrkbook: all experiments",
) -> Path:
    """Write the page with a row for each experiment, and the comparisons of two runs below it, the newest on top.

    Raises
    ------
    ValueError
        When a link is not a relative path.
    """
    page = render(
        "index.html.j2",
        title=title,
        kind="overview",
        extra_style=_css(),
        experiments=[_shown(entry) for entry in sorted(entries, key=lambda entry: entry.experiment)],
        comparisons=[_shown(entry) for entry in sorted(comparisons, key=lambda entry: entry.date, reverse=True)],
        runs_count=sum(entry.runs_count for entry in entries),
    )
    html_path.write_text(page, encoding="utf-8")
    return html_path


def _shown(entry: IndexEntry) -> dict[str, object]:
    points = spark_points(entry.leads)
    return {
        **vars(entry),
        "report": relative_link(entry.report) if entry.report else "",
        "links": [(name, relative_link(target)) for name, target in entry.links.items()],
        "when": _when(entry.date),
        "spark": " ".join(f"{x:.1f},{y:.1f}" for x, y in points),
        "spark_end": [f"{part:.1f}" for part in points[-1]] if points else [],
    }


def spark_points(values: Sequence[float]) -> list[tuple[float, float]]:
    """Return the points of a small line through `values` in a box of 100 × 24, the largest on top; none for fewer than two values."""
    if len(values) < 2:
        return []
    low, high = min(values), max(values)
    step, reach = _SPARK_WIDTH / (len(values) - 1), high - low or 1.0
    flat = _SPARK_HEIGHT / 2 if high == low else 0.0
    return [
        (_SPARK_LEFT + step * place, _SPARK_TOP + flat + (0.0 if flat else _SPARK_HEIGHT * (high - value) / reach))
        for place, value in enumerate(values)
    ]


def _css() -> str:
    return (TEMPLATES / "overview.css").read_text(encoding="utf-8")


def _when(date: str) -> str:
    """Return ``3 Feb 2026, 04:05 UTC``; a date that is none stays as it is."""
    try:
        moment = datetime.fromisoformat(date).astimezone(UTC)
    except ValueError:
        return date
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"


@dataclass(frozen=True)
class HistoryRun:
    """One run: when and where it was measured, its answer, the ratios of its systems to their leaders, and its report.

    `systems` has a row for each system: system, server, codec. `report` is the path from the history page; empty without one.
    """

    run_id: str
    date: str
    profile: str
    machine: str
    answer: str
    ratios: Sequence[Ratio]
    systems: pd.DataFrame = field(default_factory=pd.DataFrame)
    report: str = ""


def write_history(runs: Sequence[HistoryRun], html_path: Path, *, title: str) -> Path:
    """Write the page that compares the runs of one experiment; the newest is on top."""
    newest_first = sorted(runs, key=lambda run: (run.date, run.run_id), reverse=True)
    parts = [ratios_table(newest_first)]
    if chart := ratios_chart(newest_first):
        parts.insert(0, chart.fragment)
    shown = [
        {
            "answer": run.answer,
            "when": _when(run.date),
            "date": run.date,
            "profile": run.profile,
            "machine": run.machine,
            "run_id": run.run_id,
            "report": relative_link(run.report) if run.report else "",
        }
        for run in newest_first
    ]
    page = render(
        "history.html.j2",
        title=title,
        kind="overview",
        extra_style=_css(),
        runs=shown,
        machines_count=len({run.machine for run in runs}),
        ratios=Markup(joined(*parts).html),  # noqa: S704  (the kit escaped it)
    )
    html_path.write_text(page, encoding="utf-8")
    return html_path


def ratios_table(runs: Sequence[HistoryRun]) -> Fragment:
    """Return the ratio of each system to the leader of its workload: a row for each system, a column for each run."""
    groups = []
    for workload in _workloads(runs):
        found = [{ratio.system: ratio for ratio in run.ratios if ratio.workload == workload} for run in runs]
        leaders = [next((ratio.leader for ratio in own.values()), "") for own in found]
        orders = [sorted(own, key=lambda name, own=own: -own[name].interval.value) for own in found]  # type: ignore[misc]
        names = dict.fromkeys(
            filter(None, (name for pair in zip(leaders, orders, strict=True) for name in (pair[0], *pair[1])))
        )
        rows = [
            [
                TableCell(system_title(name)),
                *(_cell(own.get(name), name == leader) for leader, own in zip(leaders, found, strict=True)),
            ]
            for name in names
        ]
        groups.append(Group(workload, rows))
    heads = [("system", ""), *((_moment(run.date), run.run_id) for run in runs)]
    return table("Throughput relative to the leader of the run, 95 % intervals", heads, groups)


def _cell(ratio: Ratio | None, leads: bool) -> TableCell:
    if ratio is None:
        return TableCell("leader" if leads else "–", kind="" if leads else "muted")
    text, interval = quantity_parts(ratio.interval.value, ratio.interval.low, ratio.interval.high, RATIOS)
    side = {"at most": "≤ ", "at least": "≥ "}.get(ratio.bound, "")
    return TableCell(
        side + text,
        f"{'both limited' if ratio.bound == 'unknown' else interval or 'no interval'}, n\u00a0{ratio.blocks_count}",
    )


@themed
def ratios_chart(runs: Sequence[HistoryRun]) -> Chart | None:
    """Return a chart with a panel for each workload, a row for each run, and a point for each system; None without a ratio."""
    drawn, workloads = runs[:_DRAWN_RUNS], _workloads(runs)[:_DRAWN_WORKLOADS]
    if not workloads or len(runs) < 2:  # of one run, its report has the chart
        return None
    systems = ordered(pd.Series([ratio.system for run in drawn for ratio in run.ratios if ratio.workload in workloads]))
    style_of = styles(pd.concat([run.systems for run in drawn]).drop_duplicates("system"))
    chart, axes = panels(
        workloads,
        [len(drawn)] * len(workloads),
        title="How far behind the leader, run by run",
        caption="Points: throughput relative to the leader of the run. Lines: 95 % intervals.",
        description=f"Ratio to the leader of each of {len(systems)} systems in {len(drawn)} runs, newest on top.",
        row_in=0.45,
        handles=legend(systems, style_of, lines=False),
    )
    for ax, workload in zip(axes, workloads, strict=True):
        name_rows(ax, [_moment(run.date) for run in drawn])
        ax.set_xlim(0, 1.15)
        ax.set_xlabel("× the leader's throughput")
        ax.axvline(1.0, color="#5f6871", linewidth=0.8)
        for row, run in enumerate(drawn):
            own = [ratio for ratio in run.ratios if ratio.workload == workload]
            for place, ratio in enumerate(own):
                shift = _APART * ((place + 0.5) / len(own) - 0.5)
                _draw(ax, row + shift, ratio.interval, style_of[ratio.system], filled=not ratio.bound)
    return chart


def _draw(ax: object, row: float, interval: Interval, style: Style, *, filled: bool) -> None:
    low, high = (interval.value if math.isnan(end) else end for end in (interval.low, interval.high))
    point(ax, row, (interval.value, low, high), style, filled=filled)  # type: ignore[arg-type]


def _workloads(runs: Sequence[HistoryRun]) -> list[str]:
    """Return the workloads of all runs, those of the newest first."""
    return list(dict.fromkeys(ratio.workload for run in runs for ratio in run.ratios))


def _moment(date: str) -> str:
    return date[:_DATE_LENGTH].replace("T", " ")
