"""Who leads each workload, and by how much: read from the ``summary.json`` of a run, for the terminal, the index and the history."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.core.records import Interval

_TURNED = {"at most": "at least", "at least": "at most"}


@dataclass(frozen=True)
class Ratio:
    """The throughput of a system divided by that of the leader of a workload; `bound` says whether it is one.

    `blocks_count` is the number of blocks that have both.
    """

    workload: str
    system: str
    leader: str
    interval: Interval
    blocks_count: int
    bound: str


@dataclass(frozen=True)
class Standing:
    """The leader of a workload, its throughput, and how many times that of the next system it is."""

    workload: str
    leader: str
    throughput_rps: Interval
    at_least: bool
    following: str
    lead: Interval
    bound: str
    blocks_count: int


def answer(summary: Mapping[str, Any]) -> str:
    """Return the one sentence that is the answer of a report to its question."""
    return str(summary.get("answer") or summary["headline"])


def ratios_to_leader(summary: Mapping[str, Any]) -> list[Ratio]:
    """Return the ratio of each system to the leader of its workload, in the order of the summary."""
    return [
        Ratio(
            row["workload"],
            row["system_a"],
            row["system_b"],
            interval_of(row["ratio"]),
            row["blocks_count"],
            row["bound"],
        )
        for row in summary.get("comparisons", [])
        if row["family"] == "leader" and row["ratio"]["value"]
    ]


def standings(summary: Mapping[str, Any]) -> list[Standing]:
    """Return the leader of each workload that compares systems."""
    cells = {(cell["system"], cell["workload"]): cell for cell in summary.get("cells", [])}
    nearest: dict[str, Ratio] = {}
    for ratio in ratios_to_leader(summary):
        known = nearest.get(ratio.workload)
        if known is None or ratio.interval.value > known.interval.value:
            nearest[ratio.workload] = ratio
    return [
        Standing(
            workload,
            ratio.leader,
            interval_of(cells[ratio.leader, workload]["throughput_rps"]),
            # The leader could do more where the ratio of another to it is "at most" this, or where nothing is known of either.
            ratio.bound in ("at most", "unknown"),
            ratio.system,
            _inverse(ratio.interval),
            _TURNED.get(ratio.bound, ratio.bound),
            ratio.blocks_count,
        )
        for workload, ratio in nearest.items()
        if (ratio.leader, workload) in cells
    ]


def interval_of(parts: Mapping[str, float | None]) -> Interval:
    """Return a quantity of a summary; what is missing there is NaN."""
    return Interval(
        *(math.nan if parts[name] is None else float(parts[name] or 0.0) for name in ("value", "low", "high"))
    )


def _inverse(ratio: Interval) -> Interval:
    return Interval(
        1 / ratio.value, 1 / ratio.high if ratio.high else math.inf, 1 / ratio.low if ratio.low else math.inf
    )
