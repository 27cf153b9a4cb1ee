"""Run notebooks and print the answer of each report when it is ready, who leads at the end, and what to do next."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table

from runners.analyse.standings import Standing, answer, standings
from runners.cli.arguments import resuming
from runners.cli.console import console, hanging, table
from runners.core.errors import WrkbookError, visible
from runners.core.project import PROCESSED
from runners.core.summaries import ComparisonSummary, RunSummary
from runners.core.units import RATES, RATIOS, amount, quantity_parts, shortened, system_title
from runners.workbook import run as running
from runners.workbook.run import Report
from runners.workbook.series import Series, run_series

# With them, what is printed of three notebooks fits on one screen: 25 lines of 80 columns.
_SENTENCE_LONGEST, _REASON_LONGEST, _ROWS_COUNT = 230, 120, 6
_CELLS_NAMED = 3
_VOID_SAID = 0.1  # of all trials
# Columns of the leaders' tables that hold names, and how much wider one may stay than another; what stands between two columns.
_NAMES, _SHORTEST_NAME, _GAP = {0: 2.0, 1: 1.0, 5: 1.0}, 8, 2


def run_and_show(
    names: Sequence[str], values: dict[str, Any], budget_minutes: float, series: Series, *, as_json: bool
) -> None:
    """Execute notebooks, in one session or several, and print what they found: for people as they end, or all as JSON.

    Raises
    ------
    WrkbookError
        When a cell has no number.
    Interrupted
        After the command that continues the run was printed.
    """
    target = console()

    def shown(found: Report) -> None:
        if not as_json:
            show_report(target, found)

    try:
        if series.count > 1:
            reports = run_series(names, values, budget_minutes, series, shown)
        else:
            reports = running.run(names, values, budget_minutes, shown)
    except running.Interrupted as interrupt:
        given = values | {"run_id": interrupt.run_id}
        several = ["--sessions", str(series.count), "--every", f"{series.every_s:g}s"] if series.count > 1 else []
        print(f"\n{resuming(interrupt.names, given, budget_minutes, several)}", file=sys.stderr)
        raise
    if as_json:
        print(json.dumps([report.as_dict() for report in reports], indent=1))
    else:
        show_end(target, reports)
    if failed := failures(reports):
        again = f"--run-id {reports[0].run_id}"
        remedy = (
            f"see the reports. If a server failed, run ./wrkbook verify. If the machine was busy, rerun with {again}."
        )
        raise WrkbookError(f"no number for: {failed}", remedy)


def show_report(target: Console, report: Report) -> None:
    """Print the answer of one report, what has no number and what still holds, and where the report is."""
    number = report.experiment.partition("-")[0]
    said = shortened(answer(report.summary), _SENTENCE_LONGEST)
    target.print(hanging("✗" if report.failed else "✓", f"{number}: {said}"))
    if report.failed:
        cells_count = len(report.summary["cells"])
        count, reason = len(report.failed), shortened(report.failed[0], _REASON_LONGEST)
        holds = f"The other {cells_count - count} hold." if cells_count > count else "Nothing holds."
        target.print(hanging(" ", f"{count} of {cells_count} cells have no number: {reason}. {holds}"))
    if lost := _void(report.summary):
        target.print(hanging(" ", lost))
    target.print(f"  {report.html}", soft_wrap=True)


def _void(summary: RunSummary) -> str:
    """Return the check that made the most trials void, and what to do; empty where those are fewer than a tenth."""
    worst, found = 0, ""
    for check in summary["checks"]:
        void = [cell for cell in check["failed"] if cell["void"]]
        count, all_count = sum(cell["failed_count"] for cell in void), check["trials_count"]
        if count > worst and count >= _VOID_SAID * all_count:
            worst, found = count, f"{count} of {all_count} trials are void ({check['name']}): {void[-1]['advice']}."
    return found


def show_end(target: Console, reports: Sequence[Report]) -> None:
    """Print a table of the leaders, the next step, and where the index is."""
    for leaders in _leaders(reports, target.width):
        target.print()
        target.print(leaders)
    target.print()
    if step := next_step(reports):
        target.print(step, soft_wrap=True)
    target.print(f"All reports: {PROCESSED / 'index.html'}", soft_wrap=True)


def _leaders(reports: Sequence[Report], width: int) -> Iterator[Table]:
    """Yield a table of the leaders by throughput, and one of those by the largest rate within an objective; without rows none."""
    own = max(1, _ROWS_COUNT // max(1, len(reports)))
    for head, is_capacity in (("req/s", False), ("most req/s", True)):
        rows = []
        for report in reports:
            found = [each for each in standings(report.summary) if each.is_capacity == is_capacity]
            for place, each in enumerate(found[:own], start=1):
                more = f" +{len(found) - own}" if place == own < len(found) else ""
                rows.append([f"{report.experiment[:2]} {each.workload}{more}", *_row(each)])
        if rows:
            heads = ["workload", "leader", head, "× next", "95 %", "next", "n"]
            yield table(heads, _fitting(heads, rows, width), right=(2, 3, 4, 6))


def _fitting(heads: Sequence[str], rows: Sequence[list[str]], width: int) -> list[list[str]]:
    """Cut the longest names of the rows until these fit into `width` columns: what was a row stays one line."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    while sum(widths) + _GAP * (len(widths) - 1) > width and max(widths[place] for place in _NAMES) > _SHORTEST_NAME:
        widths[max(_NAMES, key=lambda place: widths[place] / _NAMES[place])] -= 1
    return [[shortened(cell, most) for cell, most in zip(row, widths, strict=True)] for row in rows]


def _row(found: Standing) -> list[str]:
    rate = amount(found.throughput_rps.value, RATES).replace(" requests/s", "")
    lead, interval = quantity_parts(found.lead.value, found.lead.low, found.lead.high, RATIOS)
    if found.bound == "unknown":
        lead, interval = "not known", ""
    return [
        system_title(found.leader),
        f"{'≥ ' if found.at_least else ''}{rate}",
        f"{'≥ ' if found.bound == 'at least' else ''}{lead.removesuffix(' ×')}",
        interval or "–",
        system_title(found.following),
        str(found.blocks_count),
    ]


def next_step(reports: Sequence[Report]) -> str:
    """Return what to do next; empty where a report has failed cells, whose error says it."""
    if not reports or any(report.failed for report in reports):
        return ""
    names = [report.experiment.partition("-")[0] for report in reports]
    summaries = [report.summary for report in reports]
    if any(summary["profile"] == "quick" for summary in summaries):
        return f"A smoke run decides nothing. To measure: {shlex.join(['./wrkbook', 'run', *names])}"
    reached = [summary["precision_reached_ratio"] for summary in summaries]
    wanted = [summary["parameters"]["precision"] for summary in summaries]
    if any(found is None or found > aim for found, aim in zip(reached, wanted, strict=True)):
        command = ["./wrkbook", "run", *names, "--run-id", reports[0].run_id, "--budget", "30"]
        return f"For narrower intervals: {shlex.join(command)}"
    return f"After a change, measure again, then: ./wrkbook compare {reports[0].run_id} NEW_RUN_ID"


def failures(reports: Sequence[Report]) -> str:
    """Return the cells without a number, each with its reason; empty when all have one."""
    failed = [line for report in reports for line in report.failed]
    more = f"; and {len(failed) - _CELLS_NAMED} more" if len(failed) > _CELLS_NAMED else ""
    return f"{'; '.join(failed[:_CELLS_NAMED])}{more}"


def comparison_parts(summary: ComparisonSummary) -> Iterator[RenderableType]:
    """Yield what ``compare`` prints: the runs, the answer, a table of the cells of each workload, and the conclusions."""
    from runners.present.comparison import comparison_rows  # with the charts: seconds, which `run` need not wait for

    yield f"{summary['experiment']}: {summary['run_a']} (A) and {summary['run_b']} (B)\n"
    yield f"{visible(summary['headline'])}\n"
    _, *rows = comparison_rows(summary)
    for workload in dict.fromkeys(row[0] for row in rows):
        own = [[cell.replace(" requests/s", "") for cell in row[1:]] for row in rows if row[0] == workload]
        yield table(["system", "A, req/s", "B, req/s", "B ÷ A", "B is"], own, title=workload, right=(1, 2, 3))
        yield ""
    for sentence in summary["conclusions"]:
        yield hanging("  •", sentence)
