"""The gain by tuning: each tuned build over the plain build of the same row, paired in the blocks that have both."""

from __future__ import annotations

import math
from dataclasses import dataclass

from runners.analyse.results import Results
from runners.core.records import LOWER_BOUND_LIMITS, Bound, Interval, System
from runners.core.units import RATIOS, percent_more, quantity_parts
from runners.present.kit.frames import has_errors, measured, ordered, workload_title
from runners.present.kit.markup import Fragment, Group, TableCell, table
from runners.present.kit.wording import sentence
from runners.present.throughput.workloads import compared_workloads, main_workload, title
from runners.stats.verdicts import bound

_SIGNS: dict[Bound, str] = {"": "", "at most": "≤ ", "at least": "≥ ", "unknown": "? "}


@dataclass(frozen=True)
class Gain:
    """The throughput of a tuned build over that of the plain build, at one workload."""

    tuned: System
    ratio: Interval
    blocks_count: int
    bound: Bound

    @property
    def is_shown(self) -> bool:
        """Return whether the whole interval lies above 1."""
        return self.ratio.low > 1

    @property
    def words(self) -> str:
        """Return how much more it serves: ``8.1 % (6.0 to 10.2)``."""
        more, interval = percent_more(self.ratio.value, self.ratio.low, self.ratio.high)
        return f"{f'{self.bound} ' if self.bound else ''}{more} ({interval or 'interval not known'})"


def gains(results: Results, workload: str) -> list[Gain]:
    """Return the gain of each tuned build at a workload, where both builds were measured and may be ranked."""
    cells = measured(results.cells)
    limits = cells[cells["workload"] == workload].set_index("system")["bottleneck"].to_dict()
    found = []
    for tuned in results.manifest.systems.values():
        names = (tuned.name, tuned.plain.name)
        if tuned.control or tuned.earlier or not tuned.variant or not set(names) <= set(limits):
            continue
        if any(has_errors(results.cells, name, workload) for name in names):
            continue
        ratio = results.paired((names[0], workload), (names[1], workload))
        side = bound(*(limits[name] in LOWER_BOUND_LIMITS for name in names))
        if not math.isnan(ratio.interval.value):
            found.append(Gain(tuned, ratio.interval, ratio.blocks_count, side))
    return found


def sentences(results: Results) -> list[str]:
    """Return for each stack what tuning buys at the main workload: the most, and the most of each other variant."""
    workload = main_workload(results)
    ranked = [gain for gain in gains(results, workload) if gain.bound != "unknown"]
    ranked.sort(key=lambda gain: -gain.ratio.value)
    found = []
    for server in ordered(gain.tuned.server for gain in ranked):
        best = {gain.tuned.variant: gain for gain in reversed(ranked) if gain.tuned.server == server}
        first, *others = sorted(best.values(), key=lambda gain: -gain.ratio.value)
        where = f"at {title(results, workload)}"
        row = f"{first.tuned.plain.name} with {first.tuned.variant}"
        buys = f"more requests/s {where}: {row}, {first.words}"
        nothing = f"nothing that this run can show {where}: at best {row}, {first.words}"
        also = [f"; with {gain.tuned.variant} at best {gain.words}" for gain in others]
        found.append(sentence(f"Tuning buys {server} {buys if first.is_shown else nothing}", *also))
    return found


def comparison(results: Results) -> Fragment:
    """Return the table of all tuned builds; empty if none was measured, so that the report leaves out the question."""
    groups = [
        Group(workload_title(results.cells, workload), [_row(gain) for gain in found])
        for workload in compared_workloads(results)
        if (found := gains(results, workload))
    ]
    if not groups:
        return Fragment("", "")
    heads = [("tuned build", ""), ("plain build", ""), ("tuned ÷ plain", "throughput, 95 % interval"), ("n", "blocks")]
    return table("What tuning buys: single intervals, paired in blocks", heads, groups)


def _row(gain: Gain) -> list[TableCell]:
    text, interval = quantity_parts(gain.ratio.value, gain.ratio.low, gain.ratio.high, RATIOS)
    names = [TableCell(gain.tuned.name), TableCell(gain.tuned.plain.name, kind="name")]
    return [*names, TableCell(_SIGNS[gain.bound] + text, interval), TableCell(f"{gain.blocks_count}")]
