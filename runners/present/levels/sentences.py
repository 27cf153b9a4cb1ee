"""Conclusions about latency under load: who carries most under each objective, what a request costs, and what was confirmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from runners.analyse.capacities import ROUND_RPS
from runners.analyse.fixed_rates import base_titles, equal_rates, half_load
from runners.analyse.results import Results
from runners.analyse.sessions import CostSpread
from runners.core.parameter_values import objective
from runners.core.units import RATES, RATIOS, TIMES, listing, quantity
from runners.present.kit.frames import inverse, ordered, without_control

_UNKNOWN = "interval not known"


def conclusions(results: Results, cost_spread: CostSpread | None = None) -> list[str]:
    """Return the conclusions, the headline first: the system that carries most under the first objective."""
    frame = results.capacities
    bases = [base for base in ordered(results.cells["base_workload"]) if base in set(frame["base_workload"])]
    said = [most(results, base, goal) for goal in ordered(frame["objective"]) for base in bases]
    if not any(said):
        said = ["No system has a capacity under an objective: nothing was searched."]
    if results.profile == "quick":
        said[0] = f"Smoke run, not evidence: {said[0]}"
    costs = [cost(results, base) for base in bases]
    first = [said[0], confirmed(results), *costs[:1], agreed(cost_spread), *said[1:2]]
    rest = [
        *said[2:],
        *costs[1:],
        *(longest(results, base) for base in bases),
        *(cpus(results, base) for base in bases),
    ]
    return [text for text in [*first, *rest, *without_capacity(results), saturated(results)] if text]


def most(results: Results, base: str, goal: str) -> str:
    """Return the sentence about the system that carries most of a workload under an objective: how much, and how sure."""
    rows, title = _family(results, base, goal), base_titles(results.manifest)[base]
    keeps = objective(goal).title
    if rows.empty:
        reasons = results.capacities.loc[_is(results.capacities, base, goal), "status"]
        why = str(reasons.iloc[0]).removeprefix("failed: ") if len(reasons) else "not searched"
        return f"{title}: no system has a capacity at {keeps}: {why}."
    leader, count = rows.iloc[0], f"n = {int(rows['launches_count'].iloc[0])}"
    if (rows["bound"] == "at most").all():
        return f"{title}: no system kept {keeps} at every lowest rate: {leader['system']} {_capacity(leader)}, {count}."
    if len(rows) == 1:
        return f"{title}: {leader['system']} carries {_capacity(leader)} at {keeps}, {count}; no other was compared."
    others = rows[rows["system"] != leader["system"]]
    if others["ratio_low"].isna().all():
        return f"{title}: {leader['system']} shows most at {keeps}: {_capacity(leader)}, {count}; one launch decides nothing."
    less = others[others["verdict"] == "slower"]
    behind = f", {_times(less.iloc[-1])} {less['system'].iloc[-1]}" if len(less) else ""
    known = f"{_capacity(leader)}{behind}, {count}"
    capped = others["bound"] == "at least" if leader["bound"] == "at least" else pd.Series(False, index=others.index)
    apart = others["verdict"] == "not comparable"
    aside = listing(list(others[apart & ~capped]["system"]))
    rest = f"; not ranked with it: {aside}" if aside else ""
    if capped.any():
        names = listing([leader["system"], *others[capped]["system"]])
        return f"{title}: {names} keep {keeps} at the highest rates tried: {leader['system']} {known}{rest}."
    ties = listing([leader["system"], *others[others["verdict"].isin(["undecided", "equivalent"])]["system"]])
    if ties != leader["system"]:
        return f"{title}: {ties} tie for most at {keeps}: {leader['system']} {known}{rest}."
    return f"{title}: {leader['system']} carries most at {keeps}: {known}{rest}."


def _is(frame: pd.DataFrame, base: str, goal: str) -> pd.Series:
    return (frame["base_workload"] == base) & (frame["objective"] == goal)


def _family(results: Results, base: str, goal: str) -> pd.DataFrame:
    """Return the compared systems that have a capacity, the leader first and the others from the largest to the smallest."""
    frame = without_control(results.capacities[_is(results.capacities, base, goal)])
    rows = frame[frame["capacity_rps"].notna()]
    leads = (rows["system"] == rows["leader"]).rename("leads")
    return rows.assign(leads=leads).sort_values(["leads", "capacity_rps"], ascending=False, kind="stable")


def _capacity(row: Mapping[str, Any]) -> str:
    said = quantity(row["capacity_rps"], row["capacity_low_rps"], row["capacity_high_rps"], RATES)
    said = f"{said} ({_UNKNOWN})" if pd.isna(row["capacity_low_rps"]) and not row["bound"] else said
    bound = "an unknown bound of" if row["bound"] == "unknown" else row["bound"]
    return f"{bound} {said}".strip()


def _times(row: Mapping[str, Any]) -> str:
    """Return the leader's capacity as a multiple of another system's."""
    said = quantity(*inverse(row), RATIOS)
    return f"at least {said}" if row["ratio_bound"] == "at most" else said


def confirmed(results: Results) -> str:
    """Return the sentence about the windows of fresh launches that held at the low end of the intervals."""
    rows = without_control(results.capacities).dropna(subset=["confirmations_count"])
    rows = rows[rows["confirmations_count"] > 0]
    if rows.empty:
        return "No capacity was confirmed by a fresh launch."
    held, tried = int(rows["held_count"].sum()), int(rows["confirmations_count"].sum())
    lost = rows[rows["held_count"] < rows["confirmations_count"]]
    names = [f"{row.system} ({row.base_workload}, {objective(row.objective).title})" for row in lost.itertuples()]
    more = f"{listing(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}"
    said = f"Fresh launches at the low ends of these intervals held in {held} of {tried} windows"
    return f"{said}; not in all: {more}." if names else f"{said}."


def cost(results: Results, base: str) -> str:
    """Return the sentence about the systems that need least and most CPU time for a request at the same rate."""
    rows = without_control(half_load(results.levels))
    rows = rows[(rows["base_workload"] == base) & rows["cpu_per_request_s"].notna()].sort_values(
        "cpu_per_request_s", kind="stable"
    )
    if rows.empty:
        return ""
    where = f"{base_titles(results.manifest)[base]} at {rows['offered_rps'].iloc[0]:,.0f}/s"
    least, largest = rows.iloc[0], rows.iloc[-1]
    if len(rows) == 1:
        return f"{where}: a request costs {least['system']} {_cpu(least)} of CPU."
    apart = least["cpu_per_request_high_s"] < largest["cpu_per_request_low_s"]
    if not apart:
        return f"{where}: CPU per request does not tell them apart: {least['system']} {_cpu(least)}, {largest['system']} {_cpu(largest)}."
    near = [
        row.system
        for row in rows.iloc[1:-1].itertuples()
        if not least["cpu_per_request_high_s"] < row.cpu_per_request_low_s
    ]
    also = f", not told apart from {listing(near)}" if near else ""
    return f"{where}: a request costs {least['system']} least CPU, {_cpu(least)}{also}; {largest['system']} most, {_cpu(largest)}."


def _cpu(row: Mapping[str, Any]) -> str:
    return quantity(row["cpu_per_request_s"], row["cpu_per_request_low_s"], row["cpu_per_request_high_s"], TIMES)


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
    where = f"{base_titles(results.manifest)[base]} at {rows['offered_rps'].iloc[0]:,.0f}/s"
    low, high = rows.iloc[0], rows.iloc[-1]
    overlap = "" if low["p99_high_s"] < high["p99_low_s"] else "; the intervals overlap"
    return f"{where}: p99 is shortest with {low['system']}, {_p99(low)}, and longest with {high['system']}, {_p99(high)}{overlap}."


def _p99(row: Mapping[str, Any]) -> str:
    return quantity(row["p99_s"], row["p99_low_s"], row["p99_high_s"], TIMES)


def cpus(results: Results, base: str) -> str:
    """Return the sentence about the CPUs that a round number of requests takes, of the leader and the last."""
    goal = next(iter(ordered(results.capacities["objective"])), "")
    rows = _family(results, base, goal) if goal else results.capacities.iloc[:0]
    ends = [rows.iloc[0], rows.iloc[-1]] if len(rows) > 1 else [row for _, row in rows.iterrows()]
    parts = [f"{row['system']} {_cpus(row)}" for row in ends]
    if not parts:
        return ""
    title = base_titles(results.manifest)[base]
    return f"{title}: {ROUND_RPS:,.0f} requests/s at {objective(goal).title} take, if they scale linearly: {listing(parts)} CPUs."


def _cpus(row: Mapping[str, Any]) -> str:
    sign = {"at least": "at most ", "at most": "at least "}.get(row["bound"], "")
    return (
        sign
        + quantity(row["cpus_count"], row["cpus_low_count"], row["cpus_high_count"], ((1.0, ""),))
        .replace("  (", " (")
        .strip()
    )


def without_capacity(results: Results) -> list[str]:
    """Return a sentence for each system and workload without a capacity."""
    rows = without_control(results.capacities)
    rows = rows[rows["status"] != "ok"].drop_duplicates(["base_workload", "system"])
    titles = base_titles(results.manifest)
    return [f"{titles[row.base_workload]}: {row.system} has no capacity ({row.status})." for row in rows.itertuples()]


def saturated(results: Results) -> str:
    """Return the sentence about the systems that completed less than 99 % of the arrivals at a rate."""
    rows = without_control(equal_rates(results.levels))
    rows = rows[rows["saturated"]].drop_duplicates(["base_workload", "system"])
    parts = [f"{row.system} ({row.base_workload}) from {row.offered_rps:,.0f}/s on" for row in rows.itertuples()]
    return f"Less than 99 % of the arrivals were completed: {listing(parts)}." if parts else ""


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


_CAPACITY = {"capacity_rps": "capacity_{}_rps", "ratio": "ratio_{}", "cpus_count": "cpus_{}_count"}
_LEVEL = {name: name.replace("_s", "_{}_s") for name in ("p50_s", "p99_s", "p99_9_s")} | {
    "cpu_per_request_s": "cpu_per_request_{}_s"
}
_PLAIN: tuple[str, ...] = (
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
)
_PLAIN += ("achieved_fraction", "launches_count", "launches_made_count", "leader", "verdict", "bound", "ratio_bound")
_PLAIN += ("held_count", "confirmations_count", "confirmed_rps", "cpu_user_per_request_s", "cpu_system_per_request_s")


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
