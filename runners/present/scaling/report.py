"""The report about growth with CPUs: its answer, decision table, main chart, and the sentences of its further questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.analyse.fixed_rates import base_titles
from runners.analyse.results import Results
from runners.analyse.scaling import scaling_of
from runners.core.units import PERCENT, RATIOS, TIMES
from runners.present.how_sure import how_sure as how_sure_of
from runners.present.kit.decision import Column, behind, decision_table as table_of, estimates, launches
from runners.present.kit.frames import ordered, without_control
from runners.present.kit.markup import Fragment
from runners.present.kit.ranking import Ranking
from runners.present.kit.theme import Chart
from runners.present.kit.wording import MOST_CONCLUSIONS, PER_SECOND
from runners.present.scaling import charts, sentences


def answer(results: Results) -> str:
    """Return the answer: who grows most and least, or who serves most where there is one number of CPUs."""
    return sentences.answer(results, scaling_of(results))


def decision_table(results: Results) -> Fragment:
    """Return the table of what to choose for the first workload: throughput on most CPUs, growth, and the cost of a request."""
    scaling = scaling_of(results)
    base = next(iter(ordered(scaling.growth["base_workload"])), "")
    rows, costs = (_of(frame, base) for frame in (scaling.growth, scaling.costs))
    most, tied = rows[rows["cpus_count"] == rows["cpus_count"].max()], list[str]()
    dearest = costs[costs["cpus_count"] == costs["cpus_count"].max()]
    columns = [estimates("throughput", "requests/s, 95 % interval", most, "throughput_rps", PER_SECOND, at_least=True)]
    if rows["cpus_count"].nunique() > 1:
        columns += [
            estimates("speed-up", "over the fewest CPUs", most, "speedup_ratio", RATIOS),
            estimates("efficiency", "of ideal growth", most, "efficiency_ratio", PERCENT),
        ]
    columns += [_cost(dearest)] if len(dearest) else []
    if rows["cpus_count"].nunique() == 1:
        found = Ranking.of(results, str(most["workload"].iloc[0]))
        columns.insert(1, behind(found))
        tied = found.not_behind if len(found.names) > 1 else []
    values = {str(row["system"]): float(row["throughput_rps"]) for row in most.to_dict("records")}
    count = int(most["cpus_count"].max()) if len(most) else 0
    title = f"{base_titles(results.manifest).get(base, base)} on {count} server CPU{'' if count == 1 else 's'}"
    return table_of(title, values, [*columns, launches(most)], tied)


def _of(frame: pd.DataFrame, base: str) -> pd.DataFrame:
    rows = without_control(frame)
    return rows[(rows["base_workload"] == base) & (rows["status"] == "ok")]


def _cost(rows: pd.DataFrame) -> Column:
    count = int(rows["cpus_count"].max())
    shared = ", shared" if rows["shared"].any() else ""
    return estimates(
        "CPU",
        f"per request on {count} CPUs{shared}, {rows['offered_rps'].min():,.0f}/s",
        rows,
        "cpu_per_request_s",
        TIMES,
    )


def message(results: Results) -> str:
    """Return the title of the main chart: from which growth to which the systems reach."""
    scaling = scaling_of(results)
    rows = without_control(scaling.growth)
    rows = rows[(rows["status"] == "ok") & (rows["cpus_count"] == rows["cpus_count"].max())]
    if len(scaling.counts) < 2 or rows.empty:
        count = scaling.counts[0] if scaling.counts else 0
        return f"Requests per second on {count} server CPU{'' if count == 1 else 's'}"
    ends = rows["speedup_ratio"].min(), rows["speedup_ratio"].max()
    return f"On {scaling.counts[-1]} CPUs the speed-up reaches from {ends[0]:.3g} × to {ends[1]:.3g} ×"


def main_chart(results: Results) -> Chart:
    """Return the chart of speed-up; of throughput where there is one number of CPUs."""
    scaling = scaling_of(results)
    found = charts.speedup(results, scaling) if len(scaling.counts) > 1 else charts.throughput(results, scaling)
    assert isinstance(found, Chart)
    return found


def how_sure(results: Results) -> list[str]:
    """Return at most three sentences about intervals, control, and valid trials."""
    return how_sure_of(results)


def conclusions(results: Results) -> list[str]:
    """Return the sentences of all further questions, at most eight."""
    scaling = scaling_of(results)
    parts = (sentences.others, sentences.reasons, sentences.costs, sentences.limited)
    return [text for part in parts for text in part(results, scaling)][:MOST_CONCLUSIONS]


def summary(results: Results) -> Mapping[str, Any]:
    """Return what ``summary.json`` holds besides: growth, costs and laws."""
    return sentences.summary(scaling_of(results))
