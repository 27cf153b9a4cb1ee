"""Conclusions about systems at the same offered rate: what each adds to direct access, and how far bursts move a median."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from runners.analyse.fixed_rates import in_bursts
from runners.analyse.results import Results
from runners.core.records import CONTROL, Interval, percentile_column
from runners.core.units import RATIOS, TIMES, amount, listing, quantity
from runners.present.kit.frames import cell_of, measured, workload_title
from runners.present.latency.charts import BURSTS, NOT_RANKED, statistic_words
from runners.stats.estimates import ratio_of

_RANKED = (50.0, 99.0)


def conclusions(results: Results) -> list[str]:
    """Return what proxies add to the response time of direct access; of times in bursts only that they rank nothing."""
    cells = results.cells[results.cells["workload"].isin(results.fixed_rate)]
    if in_bursts(cells).any():
        return [f"{BURSTS} {NOT_RANKED}"]
    found = [
        added(results, workload, percentile_column(percentile))
        for workload in results.fixed_rate
        for percentile in _RANKED
    ]
    found += [bursts(results, again, workload) for again, workload in results.repeated.items()]
    return [sentence for sentence in found if sentence]


def added(results: Results, workload: str, statistic: str) -> str:
    """Return which proxy adds least and most to direct access, and which are not told apart from the least, over common blocks."""
    direct, blocks = results.baseline, results.latencies.cells
    names = [name for name, of in blocks if of == workload and name not in (direct, CONTROL)]
    if (direct, workload) not in blocks or not names:
        return ""
    found = {name: results.latencies.difference(workload, name, direct)[statistic] for name in names}
    known = sorted((name for name in names if not math.isnan(found[name].value)), key=lambda name: found[name].value)
    if not known:
        return ""
    title, own = at_rate(results.cells, workload), cell_of(results.cells, direct, workload)
    base = f" ({_amount(own, statistic)})" if own is not None else ""
    what = f"the {statistic_words(statistic)} response time of {direct}, direct access{base}"
    least, most = known[0], known[-1]
    if len(known) == 1:
        return f"{title}: {least} adds {_signed(found[least])} to {what}."
    apart = {
        name: results.latencies.difference(workload, name, least, len(known))[statistic]
        for name in known
        if name != least
    }
    near = [name for name, interval in apart.items() if not interval.low > 0]
    if len(near) == len(apart):
        ends = f"{least} {_signed(found[least])}, {most} {_signed(found[most])}"
        return f"{title}: what the proxies add to {what} does not tell them apart: {ends}."
    said = f"{title}: {least} adds least to {what}: {_signed(found[least])}; {most} most, {_signed(found[most])}."
    return f"{said} Not told apart from {least}: {listing(near)}." if near else said


def bursts(results: Results, again: str, workload: str) -> str:
    """Return how far the bursts of the second load generator move the p50, against arrivals one by one at the same rate."""
    cells = measured(results.cells)
    pairs = [(cell_of(cells, name, again), cell_of(cells, name, workload)) for name in dict.fromkeys(cells["system"])]
    ratios = {
        str(second["system"]): ratio_of(_interval(second, "p50"), _interval(first, "p50"))
        for second, first in pairs
        if second is not None and first is not None and second["system"] != CONTROL
    }
    known = sorted((name for name in ratios if not math.isnan(ratios[name].value)), key=lambda name: ratios[name].value)
    if not known:
        return ""
    tools = [str(cells.loc[cells["workload"] == name, "generator"].iloc[0]) for name in (again, workload)]
    ends = [
        f"{quantity(ratios[name].value, ratios[name].low, ratios[name].high, RATIOS)} ({name})"
        for name in dict.fromkeys((known[0], known[-1]))
    ]
    return f"{at_rate(cells, workload)}: with {tools[0]}'s bursts the p50 is {' to '.join(ends)} that of {tools[1]}."


def at_rate(cells: pd.DataFrame, workload: str) -> str:
    """Return a workload in words, with its rate."""
    offered = cells[cells["workload"] == workload]["offered_rps"].dropna()
    title = workload_title(cells, workload)
    return f"{title}, {offered.iloc[0]:,.0f}/s" if len(offered) else title


def _interval(cell: Mapping[str, float], stem: str) -> Interval:
    return Interval(*(float(cell[f"{stem}{end}_s"]) for end in ("", "_low", "_high")))


def _amount(cell: Mapping[str, float], statistic: str) -> str:
    return amount(float(cell[statistic]), TIMES)


def _signed(interval: Interval) -> str:
    return quantity(interval.value, interval.low, interval.high, TIMES).replace("-", "−")
