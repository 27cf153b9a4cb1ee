"""The report about latency under load: its answer, decision table, main chart, the sentences of its further questions, its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from runners.analyse.fixed_rates import base_titles, half_load
from runners.analyse.results import Results
from runners.analyse.sessions import CostSpread, cost_spread
from runners.core.parameter_values import objective
from runners.core.records import CONTROL
from runners.core.units import RATIOS, TIMES, amount, format_half_width
from runners.present.how_sure import validity
from runners.present.kit.decision import Column, decision_table as table_of, estimates, value_cell
from runners.present.kit.frames import inverse, ordered, without_control
from runners.present.kit.markup import Fragment, TableCell, joined
from runners.present.kit.theme import Chart
from runners.present.kit.wording import PER_SECOND, few
from runners.present.levels import charts, sentences
from runners.present.sessions import THIS_SESSION
from runners.stats.pooling import LEAST_SESSIONS
from runners.stats.verdicts import band

answer = sentences.answer
_SIGNS = {"at least": "≥ ", "at most": "≤ ", "unknown": "? "}
_UNTOLD = ("undecided", "equivalent")


def conclusions(results: Results) -> list[str]:
    """Return the sentences of all further questions."""
    return sentences.conclusions(results, cost_spread(results))


def decision_table(results: Results) -> Fragment:
    """Return the table of what to choose for the first workload: capacity at the first objective, cost and p99 at equal rates."""
    return _tables(results, sentences.bases_of(results)[:1])


def other_decisions(results: Results) -> Fragment:
    """Return the same table for each other workload."""
    return _tables(results, sentences.bases_of(results)[1:])


def _tables(results: Results, bases: Sequence[str]) -> Fragment:
    goals = sentences.objectives_of(results)
    return joined(*(_table(results, base, goals[0]) for base in bases if goals))


def _table(results: Results, base: str, goal: str) -> Fragment:
    title, keeps = base_titles(results.manifest)[base], objective(goal).title
    rows = without_control(results.capacities)
    rows = rows[(rows["base_workload"] == base) & (rows["objective"] == goal)]
    half = without_control(half_load(results.levels))
    half = half[half["base_workload"] == base]
    at = f"at {half['offered_rps'].iloc[0]:,.0f}/s" if len(half) else "at equal rates"
    records = rows.to_dict("records")
    columns = [
        Column("capacity", "95 % interval", {row["system"]: _capacity(row) for row in records}),
        Column("leader carries", "× as much", {row["system"]: _behind(row) for row in records}),
        Column("confirmed", "fresh launches", {row["system"]: _confirmed(row) for row in records}),
        # Of the capacities alone: what follows has launches of its own.
        Column("n", "launches", {row["system"]: TableCell(str(int(row["launches_count"]))) for row in records}),
        estimates("CPU", f"per request {at}", half, "cpu_per_request_s", TIMES),
        estimates("p99", at, half, "p99_s", TIMES),
    ]
    values = {row["system"]: float(row["capacity_rps"]) for row in records}
    tied = [
        row["system"]
        for row in records
        if pd.notna(row["capacity_rps"]) and (row["system"] == row["leader"] or row["verdict"] in _UNTOLD)
    ]
    return table_of(f"{title}: capacity at {keeps}", values, columns, tied if len(values) > 1 else ())


def _capacity(row: Mapping[str, Any]) -> TableCell:
    ends = (row["capacity_rps"], row["capacity_low_rps"], row["capacity_high_rps"])
    return value_cell(*ends, PER_SECOND, _SIGNS.get(row["bound"], ""))


def _behind(row: Mapping[str, Any]) -> TableCell:
    if row["system"] == row["leader"]:
        return TableCell("leader", kind="name")
    if pd.isna(row["ratio"]):
        return TableCell("–", kind="muted")
    bound = {"at most": "≥ ", "at least": "≤ ", "unknown": "? "}.get(row["ratio_bound"], "")
    return value_cell(*inverse(row), RATIOS, bound)


def _confirmed(row: Mapping[str, Any]) -> TableCell:
    if pd.isna(row["confirmations_count"]):
        return TableCell("–", "not tried", "muted")
    held, tried = int(row["held_count"]), int(row["confirmations_count"])
    return TableCell(f"{held} of {tried}", kind="good" if held == tried else "warn")


def priced(results: Results) -> pd.DataFrame:
    """Return the cells at the rate at which requests are priced: half of what the slowest system carries."""
    return results.cells.merge(half_load(results.levels)[["system", "workload"]])


def message(results: Results) -> str:
    """Return the title of the main chart: from which capacity to which the systems reach, over all workloads."""
    goals = sentences.objectives_of(results)
    rows = without_control(results.capacities)
    rows = rows[(rows["objective"] == goals[0]) & rows["capacity_rps"].notna()] if goals else rows.iloc[:0]
    if rows.empty:
        return "Capacity under each objective"
    ends = [amount(float(value), PER_SECOND) for value in (rows["capacity_rps"].min(), rows["capacity_rps"].max())]
    return f"Capacities at {objective(goals[0]).title} reach from {ends[0]} to {ends[1]}"


def main_chart(results: Results) -> Chart:
    """Return the chart of capacities."""
    return charts.capacities(results)


def how_sure(results: Results) -> list[str]:
    """Return at most three sentences: the intervals and the control, what was confirmed, and the valid trials."""
    return [said for said in (_intervals(results), sentences.confirmed(results), validity(results)) if said]


def _intervals(results: Results) -> str:
    rows = without_control(results.capacities)
    widths = ((rows["capacity_high_rps"] - rows["capacity_low_rps"]) / 2 / rows["capacity_rps"]).dropna()
    if widths.empty:
        return "No capacity of this run has an interval."
    said = f"{_cover(results, rows)} is {format_half_width(widths.max())}"
    control = results.capacities[results.capacities["system"] == CONTROL]
    far = pd.concat([control["ratio_high"], 1 / control["ratio_low"]]).max() - 1
    return f"{said}; noise band {format_half_width(band(far))}." if pd.notna(far) else f"{said}."


def _cover(results: Results, rows: pd.DataFrame) -> str:
    """Return the beginning of the sentence: what intervals cover. A capacity that too few sessions have is that of this one."""
    if rows["sessions_count"].max() == 1:
        return f"{THIS_SESSION}; the widest of a capacity"
    alone = few(ordered(rows.loc[rows["sessions_count"] == 1, "system"]))
    rates = _of_this_session(without_control(results.levels))
    said = (
        f" ({' and '.join(filter(None, [alone, rates]))}: this one)"
        if alone
        else rates and f", at {rates} this one only"
    )
    return f"Intervals (95 %) cover a further session{said}; the widest"


def _of_this_session(levels: pd.DataFrame) -> str:
    """Return in words which rates have intervals of this session only: too few others have the same rate."""
    alone = levels.loc[levels["p99_s"].notna(), "sessions_count"] < LEAST_SESSIONS
    return "" if not alone.any() else "fixed rates" if alone.all() else "some fixed rates"


def summary(results: Results, cost_spread: CostSpread | None = None) -> dict[str, Any]:
    """Return what ``summary.json`` holds besides: capacities, levels, and how far costs differ between sessions."""
    found: dict[str, Any] = {
        "capacities": _records(results.capacities, _CAPACITY),
        "levels": _records(results.levels, _LEVEL),
    }
    if cost_spread is not None:
        spread = cost_spread.spread
        found["cost_spread"] = {
            "sessions_count": cost_spread.sessions_count,
            "largest_spread_ratio": spread.max() if len(spread) else None,
        }
    return found


_CAPACITY = {
    "capacity_rps": "capacity_{}_rps",
    "ratio": "ratio_{}",
    "own_ratio": "own_ratio_{}",
    "cpus_count": "cpus_{}_count",
}
_LEVEL = {name: name.replace("_s", "_{}_s") for name in ("p50_s", "p99_s", "p99_9_s")} | {
    "cpu_per_request_s": "cpu_per_request_{}_s"
}
_PLAIN = (
    *(
        "base_workload",
        "system",
        "workload",
        "objective",
        "status",
        "share",
        "share_of",
        "own_share",
        "offered_rps",
        "saturated",
    ),
    *(
        "achieved_fraction",
        "launches_count",
        "launches_made_count",
        "sessions_count",
        "between_ratio",
        "leader",
        "verdict",
        "bound",
    ),
    *(
        "ratio_bound",
        "held_count",
        "confirmations_count",
        "confirmed_rps",
        "cpu_user_per_request_s",
        "cpu_system_per_request_s",
    ),
)


def _records(frame: pd.DataFrame, intervals: Mapping[str, str]) -> Sequence[dict[str, Any]]:
    """Return rows as plain objects; quantities with an interval are ``{value, low, high}``."""
    return [
        {name: row[name] for name in _PLAIN if name in row}
        | {
            name: {"value": row[name], "low": row[text.format("low")], "high": row[text.format("high")]}
            for name, text in intervals.items()
        }
        for row in frame.to_dict("records")
    ]
