"""Conclusions about latency under load: who carries most under each objective, what a request costs, and what was confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.analyse.claims.ratios import cell_ratio
from runners.analyse.claims.register import CellName
from runners.analyse.fixed_rates import base_titles, equal_rates, half_load
from runners.analyse.results import Results
from runners.analyse.sessions import CostSpread
from runners.core.parameter_values import objective
from runners.core.records import Interval
from runners.core.units import TIMES, amount
from runners.present.kit.frames import inverse, ordered, without_control
from runners.present.kit.wording import PER_SECOND, at_most, factor, few, known, sentence
from runners.present.load_generators import omitted
from runners.stats.pooling import LEAST_SESSIONS

_UNTOLD = ("undecided", "equivalent")
_MOST_OTHERS = 4


def answer(results: Results) -> str:
    """Return the system that carries most of the first workload under the first objective, how much, and how sure."""
    bases, goals = bases_of(results), objectives_of(results)
    found = [said for goal in goals for base in bases if (said := most(results, base, goal))]
    return found[0] if found else "No system has a capacity under an objective: nothing was searched."


def conclusions(results: Results, cost_spread: CostSpread | None = None) -> list[str]:
    """Return the conclusions besides the answer, the most important first."""
    found = [
        *other_capacities(results),
        *request_costs(results, cost_spread),
        *response_times(results),
        omitted(results),
    ]
    return at_most(found)


def other_capacities(results: Results) -> list[str]:
    """Return who carries most of the other workloads under the first objective, and of the first under the second."""
    bases, goals = bases_of(results), objectives_of(results)
    found = [most(results, base, goal) for goal in goals[:1] for base in bases[1:]]
    found += [most(results, base, goal) for goal in goals[1:2] for base in bases[:1]]
    first = answer(results)
    return [said for said in found[:_MOST_OTHERS] if said != first]


def request_costs(results: Results, cost_spread: CostSpread | None = None) -> list[str]:
    """Return who needs least CPU time for a request of the first workload, and how far sessions agree."""
    found = [*(cost(results, base) for base in bases_of(results)[:1]), agreed(cost_spread)]
    return [said for said in found if said]


def response_times(results: Results) -> list[str]:
    """Return the shortest and the longest p99 of the first workload at the same rate."""
    return [said for base in bases_of(results)[:1] if (said := longest(results, base))]


def bases_of(results: Results) -> list[str]:
    """Return the labels of the workloads that were searched, in the order of the plan."""
    searched = set(results.capacities["base_workload"])
    return [base for base in ordered(results.cells["base_workload"]) if base in searched]


def objectives_of(results: Results) -> list[str]:
    """Return the objectives, the first of them that of the answer."""
    return ordered(results.capacities["objective"])


def most(results: Results, base: str, goal: str) -> str:
    """Return the sentence about the system that carries most of a workload under an objective: how much, and how sure."""
    rows, title = family(results, base, goal), base_titles(results.manifest)[base]
    keeps = objective(goal).title
    if rows.empty:
        reasons = results.capacities.loc[_is(results.capacities, base, goal), "status"]
        why = str(reasons.iloc[0]).removeprefix("failed: ") if len(reasons) else "not searched"
        return sentence(f"{title}: no system has a capacity at {keeps}", f": {why}")
    leader = rows.iloc[0]
    name, carries = str(leader["system"]), capacity(leader)
    if (rows["bound"] == "at most").all():
        return sentence(f"{title}: no system kept {keeps} at every lowest rate: {name} {carries}")
    if len(rows) == 1:
        return sentence(f"{title}: {name} carries {carries} at {keeps}", "; no other was compared")
    others = rows[rows["system"] != name]
    if others["ratio_low"].isna().all():
        return sentence(f"{title}: {name} shows most at {keeps}: {carries}", "; one launch decides nothing")
    capped = others["bound"] == "at least" if leader["bound"] == "at least" else pd.Series(False, index=others.index)
    behind = others[others["verdict"] == "slower"]
    more = f"{_times(behind.iloc[0])} {behind['system'].iloc[0]}" if len(behind) else ""
    also = more and f", {more}"
    if capped.any():
        first = f"{title}: {few([name, *others[capped]['system']])} keep {keeps} at the highest rates"
        return sentence(first, f": {name} {carries}", also)
    ties = list(others[others["verdict"].isin(_UNTOLD)]["system"])
    if ties:
        # The number is the first one's: the others may carry less.
        first = f"{title} at {keeps}: {name}, {carries}, ties with {few(ties)}"
        return sentence(first, more and f"; {more}")
    return sentence(f"{title} at {keeps}: {name} carries most, {carries}", also)


def _is(frame: pd.DataFrame, base: str, goal: str) -> pd.Series:
    return (frame["base_workload"] == base) & (frame["objective"] == goal)


def family(results: Results, base: str, goal: str) -> pd.DataFrame:
    """Return the compared systems that have a capacity, the leader first and the others from the largest to the smallest."""
    frame = without_control(results.capacities[_is(results.capacities, base, goal)])
    rows = frame[frame["capacity_rps"].notna()]
    leads = (rows["system"] == rows["leader"]).rename("leads")
    return rows.assign(leads=leads).sort_values(["leads", "capacity_rps"], ascending=False, kind="stable")


def capacity(row: Mapping[str, Any]) -> str:
    """Return a capacity with its interval, or the bound that it is."""
    ends = (row["capacity_rps"], row["capacity_low_rps"], row["capacity_high_rps"])
    # A bound has no interval: no rate beyond it was tried.
    said = known(*ends, PER_SECOND) if not row["bound"] or pd.notna(row["capacity_low_rps"]) else _plain(ends[0])
    return f"{'an unknown bound of' if row['bound'] == 'unknown' else row['bound']} {said}".strip()


def _plain(rate_rps: float) -> str:
    return amount(rate_rps, PER_SECOND)


def _times(row: Mapping[str, Any]) -> str:
    """Return the leader's capacity as a multiple of another system's."""
    said = factor(*inverse(row))
    return f"at least {said}" if row["ratio_bound"] == "at most" else said


def confirmed(results: Results) -> str:
    """Return the sentence about the windows of fresh launches that held at the low end of the intervals."""
    rows = without_control(results.capacities).dropna(subset=["confirmations_count"])
    rows = rows[rows["confirmations_count"] > 0]
    if rows.empty:
        return "No capacity was confirmed by a fresh launch."
    held, tried = int(rows["held_count"].sum()), int(rows["confirmations_count"].sum())
    lost = rows[rows["held_count"] < rows["confirmations_count"]]
    names = few(ordered(lost["system"]))
    whose = "the intervals" if rows["sessions_count"].max() == 1 else "each session's intervals"
    said = f"Fresh launches at the low ends of {whose} held in {held} of {tried} windows"
    return sentence(said, f"; not in all: {names}" if names else "")


def cost(results: Results, base: str) -> str:
    """Return the systems that need least CPU time for a request at the same rate, and how much more the last one needs."""
    rows = costs(results, base)
    if rows.empty:
        return ""
    where = f"{base_titles(results.manifest)[base]}, {rows['offered_rps'].iloc[0]:,.0f}/s"
    least, largest = rows.iloc[0], rows.iloc[-1]
    if len(rows) == 1:
        return sentence(f"{where}: a request costs {least['system']} {_cpu(least)} of CPU")
    near = [str(row["system"]) for _, row in rows.iterrows() if not _is_more(results, "cpu_per_request_s", row, least)]
    if len(near) == len(rows):
        first = f"{where}, CPU per request, not told apart: {least['system']} {_cpu(least)}"
        return sentence(first, f", {largest['system']} {_cpu(largest)}")
    largest = rows[~rows["system"].isin(near)].iloc[-1]
    more = _ratio(results, "cpu_per_request_s", largest, least)
    tied = f", not told apart from {few(near[1:])}" if len(near) > 1 else ""
    first = f"{where}: {least['system']} needs least CPU, {_cpu(least)}{tied}"
    return sentence(first, f"; {largest['system']} {factor(more.value, more.low, more.high)}")


def costs(results: Results, base: str) -> pd.DataFrame:
    """Return the systems of a workload at half load, by CPU time of a request from the least."""
    rows = without_control(half_load(results.levels))
    rows = rows[(rows["base_workload"] == base) & rows["cpu_per_request_s"].notna()]
    return rows.sort_values("cpu_per_request_s", kind="stable")


def _is_more(results: Results, metric: str, row: pd.Series, least: pd.Series) -> bool:
    """Return whether a system needs more than another: by the intervals that are shown, or by the ratio over sessions."""
    stem, _, unit = metric.rpartition("_")
    if least[f"{stem}_high_{unit}"] < row[f"{stem}_low_{unit}"]:
        return True
    pooled = min(row["sessions_count"], least["sessions_count"]) >= LEAST_SESSIONS
    return bool(pooled and _ratio(results, metric, row, least).low > 1)


def _ratio(results: Results, metric: str, first: pd.Series, second: pd.Series) -> Interval:
    cells = [CellName(str(row["system"]), str(row["workload"])) for row in (first, second)]
    return cell_ratio(results, metric, *cells).interval


def _cpu_interval(row: Mapping[str, Any]) -> Interval:
    return Interval(*(float(row[f"cpu_per_request{end}_s"]) for end in ("", "_low", "_high")))


def _cpu(row: Mapping[str, Any]) -> str:
    interval = _cpu_interval(row)
    return known(interval.value, interval.low, interval.high, TIMES)


def agreed(cost_spread: CostSpread | None) -> str:
    """Return the sentence about how far the CPU times per request differ between sessions."""
    if cost_spread is None:
        return ""
    spread = cost_spread.spread
    if spread.empty:
        return "CPU per request: this is the only session on this machine, so how far others differ is not known."
    base, system = spread.index[0]
    within = f"within {100 * spread.iloc[0]:.1f} % (largest: {system}, {base})"
    return f"CPU per request agrees between {cost_spread.sessions_count} sessions {within}."


def longest(results: Results, base: str) -> str:
    """Return the sentence about the shortest and the longest p99 at half of the slowest system's capacity."""
    rows = without_control(half_load(results.levels))
    rows = rows[(rows["base_workload"] == base) & rows["p99_s"].notna()].sort_values("p99_s", kind="stable")
    if len(rows) < 2:
        return ""
    where = f"{base_titles(results.manifest)[base]}, {rows['offered_rps'].iloc[0]:,.0f}/s"
    low, high = rows.iloc[0], rows.iloc[-1]
    if not _is_more(results, "p99_s", high, low):
        first = f"{where}, p99, not told apart: {low['system']} {_p99(low)}"
        return sentence(first, f", {high['system']} {_p99(high)}")
    first = f"{where}: p99 is shortest with {low['system']}, {_p99(low)}"
    return sentence(first, f"; longest with {high['system']}, {_p99(high)}")


def _p99(row: Mapping[str, Any]) -> str:
    return known(row["p99_s"], row["p99_low_s"], row["p99_high_s"], TIMES)


def threats_of_levels(results: Results) -> list[str]:
    """Return threats to these numbers: systems without a capacity, and rates that were not carried."""
    missing = without_control(results.capacities)
    missing = missing[missing["status"] != "ok"].drop_duplicates(["base_workload", "system"])
    names = few([f"{row.system} ({row.base_workload})" for row in missing.itertuples()])
    found = [f"No capacity was found of {names}: the table has the reasons."] if names else []
    return [*found, *filter(None, [saturated(results)])]


def saturated(results: Results) -> str:
    """Return the sentence about the systems that completed less than 99 % of a rate."""
    rows = without_control(equal_rates(results.levels))
    rows = rows[rows["saturated"]].drop_duplicates(["base_workload", "system"])
    names = few([f"{row.system} ({row.base_workload}, from {row.offered_rps:,.0f}/s on)" for row in rows.itertuples()])
    return f"Less than 99 % of the rate was completed by {names}." if names else ""
