"""Conclusions about connections, each computed: who is faster at few and at many, what one costs, and who drops requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.analyse.results import Results
from runners.analyse.usage import levels, memory_per_connection
from runners.core.load import ERRORS_TOLERANCE
from runners.core.units import SIZES, Scale, amount
from runners.present.kit.frames import measured, ordered, without_control
from runners.present.kit.ranking import Ranking, lead, rate
from runners.present.kit.wording import at_most, changes, few, known, sentence

# Fewer connections than this had a request under way: the others wait for a response that does not come.
_BUSY = 0.9
# Of the published benchmark: so many were called few.
_FEW = 20
# With few connections the load generator's own work between two requests counts.
_MANY = 1000
_SECONDS: Scale = ((1.0, "s"),)


def answer(results: Results) -> str:
    """Return who completes most with the most connections, and by how much."""
    name, counts = main_counts(results)
    if not counts:
        return "No system completed a request."
    return _fastest(results, name, counts[-1], for_answer=True) or _unranked(results, name, counts[-1])


def conclusions(results: Results) -> list[str]:
    """Return the conclusions besides the answer, the most important first."""
    return at_most(
        [
            few_connections(results),
            kept(results),
            *other_workloads(results),
            per_connection(results),
            drops(results),
            busy(results),
            built(results),
        ]
    )


def few_connections(results: Results) -> str:
    """Return who completes most with few connections."""
    name, counts = main_counts(results)
    least = _least(counts)
    return _fastest(results, name, least) if len(counts) > 1 and least != counts[-1] else ""


def other_workloads(results: Results) -> list[str]:
    """Return who completes most of each further workload with its most connections."""
    rows = _levels(results)
    return [
        _fastest(results, name, int(rows.loc[rows["name"] == name, "connections"].max()))
        for name in ordered(rows["name"])[1:]
    ]


def few_and_others(results: Results) -> pd.DataFrame:
    """Return the cells that these sentences are about: few connections, and each further workload at its most connections."""
    name, counts = main_counts(results)
    rows = _levels(results)
    labels = [f"{name}@{_least(counts)}"]
    labels += [
        f"{other}@{rows.loc[rows['name'] == other, 'connections'].max()}"
        for other in ordered(rows["name"])
        if other != name
    ]
    return results.cells[results.cells["workload"].isin(labels)]


def kept(results: Results) -> str:
    """Return whose throughput falls most and least from few connections to many, over the blocks that have both."""
    name, counts = main_counts(results)
    few_count = _least(counts)
    if not counts or few_count == counts[-1]:
        return ""
    ends = [f"{name}@{count}" for count in (few_count, counts[-1])]
    rows = _levels(results)
    found = {}
    for system in ordered(rows["system"]):
        if set(ends) <= set(rows.loc[rows["system"] == system, "workload"]):
            found[system] = results.paired((system, ends[0]), (system, ends[1])).interval
    return changes(f"From {few_count:,} to {counts[-1]:,} connections throughput", found)


def per_connection(results: Results) -> str:
    """Return the least and the largest memory of one more connection."""
    rows = memory_per_connection(results.usage)
    name, _ = main_counts(results)
    rows = rows[(rows["name"] == name) & rows["system"].isin(without_control(results.cells)["system"])]
    rows = rows.sort_values("per_connection_bytes", kind="stable")
    if rows.empty:
        return ""
    least, most = (
        known(row["per_connection_bytes"], row["per_connection_low_bytes"], row["per_connection_high_bytes"], SIZES)
        for row in (rows.iloc[0], rows.iloc[-1])
    )
    first = f"One more connection costs {rows['system'].iloc[0]} {least} of peak memory"
    return sentence(first, f"; {rows['system'].iloc[-1]} {most}" if len(rows) > 1 else "")


def drops(results: Results) -> str:
    """Return which system failed, or responded late, most often, and how many had no error."""
    rows = _levels(results)
    bad = rows[rows["errors_count"] > 0]
    systems = ordered(rows["system"])
    if bad.empty:
        return sentence("No request failed, or took longer than the load generator waits") if systems else ""
    worst = bad.loc[bad["errors_fraction"].idxmax()]
    share = f"{worst['errors_fraction'] * 100:.2g} %"
    whole = len(set(systems) - set(bad["system"]))
    first = f"{worst['system']} failed, or was late, most often: in {share} of its requests at {_where(worst)}"
    return sentence(first, f"; {whole} of {len(systems)} had no error")


def busy(results: Results) -> str:
    """Return whose connections waited most, by Little's law: throughput × mean service time ÷ connections."""
    rows = _levels(results)
    rows = rows[rows["connections"] >= _MANY]
    if rows.empty:
        return ""
    shares = pd.Series([busy_ratio(row) for row in rows.to_dict("records")], index=rows.index)
    stuck = int((shares < _BUSY).sum())
    if not stuck:
        return ""
    worst = rows.loc[shares.idxmin()]
    first = f"By Little's law {worst['system']} served only {shares.min() * 100:.0f} % of its connections at {_where(worst)}"
    return sentence(first, f", the least of {stuck} cells below {_BUSY * 100:.0f} %" if stuck > 1 else "")


def busy_ratio(row: Mapping[str, Any]) -> float:
    """The share of a cell's connections that had a request under way, by Little's law: throughput × mean service time.

    What is under way when the window ends is completed by nobody, up to one service time of each connection; it counts as busy. wrk
    counts a request without a response nowhere: this is where it is seen.
    """
    return float(
        row["throughput_rps"] * row["mean_s"] / row["requested_connections_count"] + row["mean_s"] / row["window_s"]
    )


def built(results: Results) -> str:
    """Return the shortest and the longest cold build, and the longest after a change."""
    rows = results.builds.dropna(subset=["cold_s"]).sort_values("cold_s", kind="stable")
    if rows.empty:
        return ""
    least, most = rows.iloc[0], rows.iloc[-1]
    first = f"A cold build takes {amount(least['cold_s'], _SECONDS)} ({least['system']})"
    more = f" to {amount(most['cold_s'], _SECONDS)} ({most['system']})" if len(rows) > 1 else ""
    again = rows.dropna(subset=["incremental_s"]).sort_values("incremental_s", kind="stable")
    longest = again.iloc[-1] if len(again) else None
    changed = "" if longest is None else f"; after a change at most {amount(longest['incremental_s'], _SECONDS)}"
    return sentence(first, more, f"{changed} ({longest['system']})" if longest is not None else "")


def _fastest(results: Results, name: str, count: int, *, for_answer: bool = False) -> str:
    found = Ranking.of(results, f"{name}@{count}")
    if not found.names:
        return "" if for_answer else _unranked(results, name, count)
    title = f"{name} at {count:,} connections"
    if not for_answer or not found.behind:
        return lead(results, found, title)
    than = found.than(found.behind[0])
    if found.ties:
        first = f"{few(found.first)} tie at {name} with {count:,} connections"
        return sentence(f"{first}; {found.leader} completes {than}")
    return sentence(f"{found.leader} completes most {name} at {count:,} connections: {than}", ", the next")


def _unranked(results: Results, name: str, count: int) -> str:
    """Return the sentence about a level at which no system can be ranked, with the one that completed most."""
    rows = _levels(results)
    rows = rows[rows["workload"] == f"{name}@{count}"].sort_values("throughput_rps", ascending=False, kind="stable")
    if rows.empty:
        return ""
    best, where = str(rows["system"].iloc[0]), f"{name} at {count:,} connections"
    failing = rows["errors_fraction"].iloc[0] > ERRORS_TOLERANCE
    why = ", with errors" if failing else ""
    return sentence(
        f"{where}: no system is ranked", f"; {best} completes {rate(results, best, rows['workload'].iloc[0])}{why}"
    )


def _levels(results: Results) -> pd.DataFrame:
    """Return the cells with a number, whose load is a number of connections."""
    return levels(without_control(measured(results.cells)))


def main_counts(results: Results) -> tuple[str, list[int]]:
    """Return the first workload, and the numbers of connections at which it was measured, from few to many."""
    rows = _levels(results)
    if rows.empty:
        return "", []
    name = ordered(rows["name"])[0]
    return name, sorted(int(count) for count in rows.loc[rows["name"] == name, "connections"].unique())


def _least(counts: list[int]) -> int:
    return min(counts, key=lambda count: abs(count - _FEW), default=0)


def _where(row: pd.Series) -> str:
    return f"{row['connections']:,} connections ({row['name']})"
