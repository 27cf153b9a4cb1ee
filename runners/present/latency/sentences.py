"""Conclusions about systems at the same offered rate: what each adds to direct access, and how far bursts move a median."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from runners.analyse.fixed_rates import in_bursts
from runners.analyse.results import Results
from runners.core.records import CONTROL, Interval, percentile_column
from runners.core.units import TIMES
from runners.present.kit.frames import cell_of, measured, workload_title
from runners.present.kit.wording import factor, few, known, sentence
from runners.present.latency.charts import statistic_words
from runners.stats.estimates import ratio_of

_RANKED = (50.0, 99.0)


def conclusions(results: Results) -> list[str]:
    """Return what proxies add to the response time of direct access; of times in bursts only that they rank nothing."""
    first = results.fixed_rate[-1:]
    cells = results.cells[results.cells["workload"].isin(results.fixed_rate)]
    if in_bursts(cells).any():
        return ["perf-gauge sent in bursts: times hold the queue within a burst, and rank no proxy."]
    found = [added(results, workload, percentile_column(each)) for workload in first for each in _RANKED]
    found += [bursts(results, again, workload) for again, workload in results.repeated.items() if workload in first]
    return [said for said in found if said]


def added(results: Results, workload: str, statistic: str) -> str:
    """Return which proxies add least to direct access, and which most, over the blocks that all have."""
    direct, blocks = results.baseline, results.latencies.cells
    names = [name for name, of in blocks if of == workload and name not in (direct, CONTROL)]
    if (direct, workload) not in blocks or not names:
        return ""
    found = {name: results.latencies.difference(workload, name, direct)[statistic] for name in names}
    order = sorted((name for name in names if not math.isnan(found[name].value)), key=lambda name: found[name].value)
    if not order:
        return ""
    title, what = at_rate(results.cells, workload), f"{direct}'s {statistic_words(statistic)}"
    least, most = order[0], order[-1]
    if len(order) == 1:
        return sentence(f"{title}: {least} adds {_signed(found[least])} to {what}")
    apart = {name: _apart(results, workload, statistic, (name, least), len(order)) for name in order[1:]}
    near = [name for name, difference in apart.items() if not difference.low > 0]
    if len(near) == len(apart):
        first = f"{title}: the added {statistic_words(statistic)} tells no proxies apart: {least} adds {_signed(found[least])}"
        return sentence(first, f", {most} {_signed(found[most])}")
    adds = "add" if near else "adds"
    first = f"{title}: {few([least, *near])} {adds} least to {what}, {_signed(found[least])}"
    return sentence(first, f"; {most} most, {_signed(found[most])}")


def _apart(results: Results, workload: str, statistic: str, pair: tuple[str, str], systems_count: int) -> Interval:
    return results.latencies.difference(workload, *pair, systems_count)[statistic]


def bursts(results: Results, again: str, workload: str) -> str:
    """Return how far the bursts of the second load generator move the p50, against arrivals one by one at the same rate."""
    cells = measured(results.cells)
    pairs = [(cell_of(cells, name, again), cell_of(cells, name, workload)) for name in dict.fromkeys(cells["system"])]
    ratios = {
        str(second["system"]): ratio_of(_interval(second, "p50"), _interval(first, "p50"))
        for second, first in pairs
        if second is not None and first is not None and second["system"] != CONTROL
    }
    order = sorted((name for name in ratios if not math.isnan(ratios[name].value)), key=lambda name: ratios[name].value)
    if not order:
        return ""
    tools = [str(cells.loc[cells["workload"] == name, "generator"].iloc[0]) for name in (again, workload)]
    title, low, high = at_rate(cells, workload), ratios[order[0]], ratios[order[-1]]
    if low.value < 1:
        longer = high.value * low.value >= 1
        name, far = (order[-1], high) if longer else (order[0], _inverse(low))
        how = "longer" if longer else "shorter"
        return sentence(
            f"{title}: with {tools[0]}'s bursts p50 is up to {_times(far)} {how} ({name}) than with {tools[1]}"
        )
    ends = [f"{_times(ratios[name])} ({name})" for name in dict.fromkeys((order[0], order[-1]))]
    return sentence(f"{title}: with {tools[0]}'s bursts p50 is {' to '.join(ends)} that of {tools[1]}")


def _inverse(ratio: Interval) -> Interval:
    return Interval(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)


def _times(ratio: Interval) -> str:
    return factor(ratio.value, ratio.low, ratio.high)


def at_rate(cells: pd.DataFrame, workload: str) -> str:
    """Return a workload in words, with its rate."""
    offered = cells[cells["workload"] == workload]["offered_rps"].dropna()
    title = workload_title(cells, workload)
    return f"{title}, {offered.iloc[0]:,.0f}/s" if len(offered) else title


def _interval(cell: Mapping[str, float], stem: str) -> Interval:
    return Interval(*(float(cell[f"{stem}{end}_s"]) for end in ("", "_low", "_high")))


def _signed(interval: Interval) -> str:
    return known(interval.value, interval.low, interval.high, TIMES).replace("-", "−")
