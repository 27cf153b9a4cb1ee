"""The report about endpoints: its answer, decision table, main chart, and the sentences of its further questions."""

from __future__ import annotations

from runners.analyse.results import Results
from runners.present import how_sure as certainty
from runners.present.endpoints import charts, sentences
from runners.present.endpoints.tables import columns, title_of
from runners.present.kit.decision import BELOW, by_workload, decision_table as table_of
from runners.present.kit.markup import Fragment
from runners.present.kit.ranking import Ranking
from runners.present.kit.theme import Chart

answer = sentences.answer
conclusions = sentences.conclusions
how_sure = certainty.how_sure


def decision_table(results: Results) -> Fragment:
    """Return the table of what to choose: a row a system, a column a workload."""
    heads = {label: (title_of(results.cells, label, title), "") for label, title in columns(results.cells).items()}
    values, found, tied = by_workload(results, heads)
    return table_of(
        "What to choose: requests per second",
        values,
        found,
        tied,
        notes=[f"{BELOW} Rows: by the number of workloads led or tied for."],
    )


def message(results: Results) -> str:
    """Return the title of the main chart: in which workload the leader is furthest ahead of the slowest server, and in which least."""
    spans = {}
    for label, title in columns(results.cells).items():
        found = Ranking.of(results, label)
        ratios = [ratio for name in (*found.ties, *found.behind) if (ratio := found.ratio(name))]
        if ratios:
            spans[title_of(results.cells, label, title)] = max(ratios, key=lambda ratio: ratio.value)
    if not spans:
        return "Requests per second"
    order = sorted(spans, key=lambda title: -spans[title].value)
    ends = [f"{spans[title].cell.text} on {title}" for title in dict.fromkeys((order[0], order[-1]))]
    return f"From the slowest to the fastest server: {'; '.join(ends)}"


def main_chart(results: Results) -> Chart:
    """Return the chart of requests per second by endpoint."""
    return charts.requests_by_endpoint(results.cells, results.published)
