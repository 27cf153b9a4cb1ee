"""The leader of each workload, and its lead: read from the ``summary.json`` of a run, for the terminal, the index and the history."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.core.records import CONTROL, Interval

_TURNED = {"at most": "at least", "at least": "at most"}


@dataclass(frozen=True)
class Ratio:
    """The throughput of a system divided by that of the leader of a workload, or its capacity by that of the leader of an objective.

    `bound` says whether the ratio is one. `blocks_count` is the number of blocks, or launches, that it is from.
    """

    workload: str
    system: str
    leader: str
    interval: Interval
    blocks_count: int
    bound: str


@dataclass(frozen=True)
class Standing:
    """The leader of a workload, its throughput, and how many times that of the next system it is.

    `is_capacity` says that both are the largest rates within an objective.
    """

    workload: str
    leader: str
    throughput_rps: Interval
    at_least: bool
    following: str
    lead: Interval
    bound: str
    blocks_count: int
    is_capacity: bool = False


def answer(summary: Mapping[str, Any]) -> str:
    """Return the one sentence that is the answer of a report to its question."""
    return str(summary.get("answer") or summary["headline"])


def ratios_to_leader(summary: Mapping[str, Any], *, own: bool = False) -> list[Ratio]:
    """Return the ratio of each system to the leader of its workload or objective, in the order of the summary.

    `own`: that of the run's own session, where the printed one is over several.
    """
    quantity = "own_ratio" if own else "ratio"
    throughputs = [
        Ratio(
            row["workload"],
            row["system_a"],
            row["system_b"],
            interval_of(row[quantity]),
            row["own_blocks_count" if own else "blocks_count"],
            row["bound"],
        )
        for row in summary.get("comparisons", [])
        if row["family"] == "leader" and row[quantity]["value"]
    ]
    return throughputs + [
        Ratio(
            _objective(row),
            row["system"],
            row["leader"],
            interval_of(row[quantity]),
            row["launches_count"],
            row["ratio_bound"],
        )
        for row in summary.get("capacities", [])
        if row["ratio"]["value"] and row["system"] not in (row["leader"], CONTROL)
    ]


def standings(summary: Mapping[str, Any], *, own: bool = False) -> list[Standing]:
    """Return the leader of each workload, and of each objective, that compares systems; `own` as of :func:`ratios_to_leader`."""
    rates = {(cell["workload"], cell["system"]): cell["throughput_rps"] for cell in summary.get("cells", [])}
    capacities = {(_objective(row), row["system"]): row["capacity_rps"] for row in summary.get("capacities", [])}
    nearest: dict[str, Ratio] = {}
    for ratio in ratios_to_leader(summary, own=own):
        known = nearest.get(ratio.workload)
        if known is None or ratio.interval.value > known.interval.value:
            nearest[ratio.workload] = ratio
    return [
        Standing(
            workload,
            ratio.leader,
            interval_of((rates | capacities)[workload, ratio.leader]),
            # The leader could do more where the ratio of another to it is "at most" this, or where nothing is known of either.
            ratio.bound in ("at most", "unknown"),
            ratio.system,
            _inverse(ratio.interval),
            _TURNED.get(ratio.bound, ratio.bound),
            ratio.blocks_count,
            (workload, ratio.leader) in capacities,
        )
        for workload, ratio in nearest.items()
        if (workload, ratio.leader) in rates | capacities
    ]


def interval_of(parts: Mapping[str, float | None]) -> Interval:
    """Return a quantity of a summary; what is missing there is NaN."""
    value, low, high = (parts[name] for name in ("value", "low", "high"))
    return Interval(*(math.nan if part is None else float(part) for part in (value, low, high)))


def _objective(row: Mapping[str, Any]) -> str:
    return f"{row['base_workload']}, {row['objective'].replace('<=', '≤')}"


def _inverse(ratio: Interval) -> Interval:
    low, high = (1 / end if end else math.inf for end in (ratio.high, ratio.low))
    return Interval(1 / ratio.value, low, high)
