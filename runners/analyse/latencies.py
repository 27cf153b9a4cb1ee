"""Response times of systems at the same offered rate: what one adds to another, with intervals over blocks.

A percentile of one block has few samples beyond it, so the value is that of all blocks' samples together. The interval
is Student's t over the blocks' own differences, which cancels what a block did to both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from runners.core.load import Histogram
from runners.core.records import PERCENTILES, Interval, percentile_column
from runners.generators.perf_gauge import PerfGauge
from runners.stats import histograms
from runners.stats.estimates import UNKNOWN, Floats, mean_interval
from runners.stats.percentiles import HALF_A_MICROSECOND, launch_histograms

STATISTICS = (*map(percentile_column, PERCENTILES), "tm99_s")
ADDED_COLUMNS = ["workload", "system", "statistic", "added_s", "added_low_s", "added_high_s"]

IN_BURSTS = frozenset({PerfGauge.name})
"""Load generators whose clients tick together: half of a burst's queue is in the p50, so no system is ranked by it."""


def in_bursts(cells: pd.DataFrame) -> pd.Series:
    """Return, for each cell, whether it was measured with requests in bursts."""
    if "generator" not in cells:
        return pd.Series(data=False, index=cells.index)
    return cells["generator"].isin(IN_BURSTS)


@dataclass(frozen=True)
class Latencies:
    """The times of cells: (system, workload) → block → histogram; response times where the load generator knows them."""

    cells: dict[tuple[str, str], dict[int, Histogram]]

    def difference(self, workload: str, first: str, second: str, systems_count: int = 2) -> dict[str, Interval]:
        """Return statistic → first − second in seconds, with its 95 % interval over the blocks that have both.

        The value is that of all these blocks' samples together; the interval is as wide as that of the blocks' own
        differences, and holds for all pairs of `systems_count` systems together. All NaN where a percentile has fewer
        than 10 samples beyond it on either side.
        """
        sides = [self.cells[name, workload] for name in (first, second)]
        blocks = sorted(sides[0].keys() & sides[1].keys())
        if not blocks:
            return dict.fromkeys(STATISTICS, UNKNOWN)
        merged = [histograms.merge(side[block] for block in blocks) for side in sides]
        value = _values(merged[0]) - _values(merged[1])
        apart = np.array([_values(sides[0][block]) - _values(sides[1][block]) for block in blocks])
        found = {}
        for name, together, each in zip(STATISTICS, value.tolist(), apart.T, strict=True):
            own = mean_interval(each, systems_count)
            found[name] = Interval(*(together + end - own.value for end in (own.value, own.low, own.high)))
        for percentile in PERCENTILES:
            if not all(histograms.estimable(side.total_count, percentile) for side in merged):
                found[percentile_column(percentile)] = UNKNOWN
        return found


def latencies_of(latency: pd.DataFrame, cells: pd.DataFrame) -> Latencies:
    """Return the times of all `cells` with a number; `latency` as in :class:`runners.analyse.tables.Tables`."""
    names = cells.loc[cells["status"] == "ok", ["system", "workload"]].itertuples(index=False, name=None)
    return Latencies({name: launch_histograms(latency, *name) for name in names})


def added_latencies(latencies: Latencies, workloads: Iterable[str], direct: str) -> pd.DataFrame:
    """Return what each system adds to the time of direct access, in seconds; columns `ADDED_COLUMNS`."""
    rows = []
    for workload in workloads:
        systems = [system for (system, of), blocks in latencies.cells.items() if of == workload and blocks]
        for system in systems:
            if system != direct and direct in systems:
                found = latencies.difference(workload, system, direct)
                rows += [(workload, system, name, each.value, each.low, each.high) for name, each in found.items()]
    return pd.DataFrame(rows, columns=ADDED_COLUMNS)


def _values(histogram: Histogram) -> Floats:
    """Return `STATISTICS` of one histogram in seconds; half a microsecond, the resolution, stands for 0."""
    values, counts = histogram.values_us, histogram.counts
    found = [*histograms.percentiles(values, counts, PERCENTILES), histograms.trimmed_mean(values, counts)]
    return np.maximum(np.array(found, dtype=np.float64), HALF_A_MICROSECOND) * 1e-6
