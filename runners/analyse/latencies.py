"""Service times of systems at the same offered rate: what one adds to another, with intervals over blocks.

At a rate that all carry, what differs is how long a response takes. A percentile of one block has few samples beyond it, so the value is
that of all blocks' samples together; the interval is Student's t over the blocks' own ratios or differences, which cancels what a block did
to both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from runners import histograms
from runners.analyse.estimates import UNKNOWN, mean_interval
from runners.analyse.percentiles import HALF_A_MICROSECOND, launch_histograms
from runners.generators.perf_gauge import PerfGauge
from runners.records import PERCENTILES, Histogram, Interval, percentile_column

STATISTICS = (*(percentile_column(percentile) for percentile in PERCENTILES), "tm99_s")
ADDED_COLUMNS = ["workload", "system", "statistic", "added_s", "added_low_s", "added_high_s"]

IN_BURSTS = frozenset({PerfGauge.name})
"""Load generators whose clients tick together: a p50 holds half of the queue that a burst makes, so no system is ranked by such times."""

Floats = NDArray[np.float64]
Blocks = dict[int, Histogram]
_TRIMMED = 0.01


@dataclass(frozen=True)
class Latencies:
    """Compares cells by their service times.

    Attributes
    ----------
    cells : (system, workload) → block → histogram
    """

    cells: dict[tuple[str, str], Blocks]

    def difference(self, workload: str, first: str, second: str) -> dict[str, Interval]:
        """Return statistic → first − second in seconds, with its 95 % interval over the blocks that have both.

        The value is that of all these blocks' samples together; the interval is as wide as that of the blocks' own differences. All NaN
        where a percentile has fewer than 10 samples beyond it on either side.
        """
        sides = [self.cells[name, workload] for name in (first, second)]
        blocks = sorted(sides[0].keys() & sides[1].keys())
        if not blocks:
            return dict.fromkeys(STATISTICS, UNKNOWN)
        merged = [_merged([side[block] for block in blocks]) for side in sides]
        each = [np.array([_values(side[block]) for block in blocks]) for side in sides]
        value, apart = merged[0] - merged[1], each[0] - each[1]
        found = {}
        for place, name in enumerate(STATISTICS):
            own = mean_interval(apart[:, place])
            ends = (value[place] + end - own.value for end in (own.value, own.low, own.high))
            found[name] = Interval(*map(float, ends))
        return found


def latencies_of(latency: pd.DataFrame, cells: pd.DataFrame) -> Latencies:
    """The service times of all `cells` that have a number; `latency` as in :class:`runners.analyse.tables.Tables`."""
    sound = cells[cells["status"] == "ok"]
    names = [(str(system), str(workload)) for system, workload in zip(sound["system"], sound["workload"], strict=True)]
    return Latencies({name: launch_histograms(latency, *name) for name in names})


def added_latencies(latencies: Latencies, workloads: Iterable[str], direct: str) -> pd.DataFrame:
    """What each system adds to the time of direct access, in seconds: a row per workload, system and statistic; columns `ADDED_COLUMNS`."""
    rows = []
    for workload in workloads:
        for system in _systems(latencies, workload):
            if system == direct or direct not in _systems(latencies, workload):
                continue
            for name, added in latencies.difference(workload, system, direct).items():
                rows.append((workload, system, name, added.value, added.low, added.high))
    return pd.DataFrame(rows, columns=ADDED_COLUMNS)


def _systems(latencies: Latencies, workload: str) -> list[str]:
    return [system for system, asked in latencies.cells if asked == workload and latencies.cells[system, asked]]


def _merged(launches: Sequence[Histogram]) -> Floats:
    """Return `STATISTICS` of all launches' samples in seconds; NaN for percentiles with fewer than 10 samples beyond them."""
    merged = histograms.merge(launches)
    values = _values(merged)
    for place, percentile in enumerate(PERCENTILES):
        if not histograms.estimable(merged.total_count, percentile):
            values[place] = math.nan
    return values


def _values(histogram: Histogram) -> Floats:
    """Return `STATISTICS` of one histogram in seconds; half a microsecond, the resolution, stands for 0."""
    values, counts = histogram.values_us, histogram.counts
    found = [*histograms.percentiles(values, counts, PERCENTILES), histograms.trimmed_mean(values, counts, _TRIMMED)]
    return np.maximum(np.array(found, dtype=np.float64), HALF_A_MICROSECOND) * 1e-6
