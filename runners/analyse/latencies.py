"""Service times of systems at the same offered rate: ratios, and what one adds to another, with intervals.

At a rate that all carry, what differs is how long an answer takes. A percentile of one block has few samples beyond it, so
percentiles are of all blocks' samples together, and the interval comes from drawing whole blocks with replacement: the same
drawn blocks for both systems, which cancels what a block did to both (Efron & Tibshirani, An introduction to the bootstrap,
1993, chapter 8). Arms are scaled for few blocks as :mod:`runners.analyse.estimates` describes: by √(n/(n−1)), and from
normal to t. Verdicts are those of throughput turned round, ``faster`` is the lower time, with Holm's correction over all
comparisons of a workload and the noise band from the A/A control's own ratio of the same statistic.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from runners import histograms
from runners.analyse.estimates import p_value
from runners.analyse.percentiles import HISTOGRAM_RESAMPLES, interval_of
from runners.analyse.verdicts import holm, noise_floor, verdict
from runners.records import PERCENTILES, PLACEBO, Histogram, Interval, percentile_column

# What systems are ranked by: the middle, two tails, and the mean without the best and the worst 1 %.
RANKED = ("p50_s", "p99_s", "p99_9_s", "tm99_s")
STATISTICS = (*(percentile_column(percentile) for percentile in PERCENTILES), "tm99_s")
COMPARED_COLUMNS = ["workload", "statistic", "system_a", "system_b", "ratio", "ratio_low", "ratio_high"]
ADDED_COLUMNS = ["workload", "system", "statistic", "added_s", "added_low_s", "added_high_s"]

Floats = NDArray[np.float64]
Blocks = dict[int, Histogram]
_TRIMMED = 0.01
_HALF_A_MICROSECOND = 0.5


@dataclass
class Latencies:
    """Compares cells by their service times; what was drawn is kept, as one cell takes part in many comparisons.

    Attributes
    ----------
    cells : (system, workload) → block → histogram
    seed : of the drawn blocks
    """

    cells: dict[tuple[str, str], Blocks]
    seed: int
    resamples: int = HISTOGRAM_RESAMPLES
    _drawn: dict[tuple[str, str, tuple[int, ...]], tuple[Floats, Floats]] = field(default_factory=dict)

    def paired(
        self, workload: str, first: str, second: str, kind: Literal["ratio", "difference"]
    ) -> dict[str, tuple[Interval, float]]:
        """Statistic → first ÷ second or first − second (in s) with its interval, and the p-value of "they are the same".

        All NaN where a percentile has fewer than 10 samples beyond it on either side.
        """
        sides = [(name, workload) for name in (first, second)]
        blocks = tuple(sorted(self.cells[sides[0]].keys() & self.cells[sides[1]].keys()))
        if not blocks:
            return dict.fromkeys(STATISTICS, (Interval(math.nan, math.nan, math.nan), math.nan))
        (a, a_drawn), (b, b_drawn) = (self._statistics(*side, blocks) for side in sides)
        values, drawn = (np.log(a / b), np.log(a_drawn / b_drawn)) if kind == "ratio" else (a - b, a_drawn - b_drawn)
        found = {}
        for place, name in enumerate(STATISTICS):
            interval = _symmetric(interval_of(float(values[place]), drawn[:, place], len(blocks)))
            p = p_value(interval, len(blocks) - 1)
            if kind == "ratio":
                interval = Interval(*(math.exp(end) for end in (interval.value, interval.low, interval.high)))
            found[name] = (interval, p)
        return found

    def _statistics(self, system: str, workload: str, blocks: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Each statistic in seconds: of all samples, and of each resample (resamples × statistics)."""
        key = (system, workload, blocks)
        if key not in self._drawn:
            launches = [self.cells[system, workload][block] for block in blocks]
            self._drawn[key] = _resampled(launches, self.seed, self.resamples)
        return self._drawn[key]


def latencies_of(latency: pd.DataFrame, cells: pd.DataFrame, seed: int) -> Latencies:
    """The service times of all `cells` that have a number; `latency` as in :class:`runners.analyse.tables.Tables`."""
    sound = cells[cells["status"] == "ok"]
    names = [(str(system), str(workload)) for system, workload in zip(sound["system"], sound["workload"], strict=True)]
    return Latencies({name: _blocks(latency, *name) for name in names}, seed)


def _blocks(latency: pd.DataFrame, system: str, workload: str) -> Blocks:
    rows = latency[(latency["system"] == system) & (latency["workload"] == workload)]
    return {
        int(block): Histogram(tuple(group["value_us"]), tuple(group["count"])) for block, group in rows.groupby("block")
    }


def compare_latencies(latencies: Latencies, workloads: Iterable[str], original: str) -> pd.DataFrame:
    """Every pair within each workload, by each of `RANKED`: a row with the ratio of a to b, p_adjusted, noise_ratio, verdict of a.

    Parameters
    ----------
    original : the system of which the A/A control is a second launch
    """
    frames = [_compared(latencies, workload, original) for workload in workloads]
    columns = [*COMPARED_COLUMNS, "p_adjusted", "noise_ratio", "verdict"]
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True)[columns] if filled else pd.DataFrame(columns=columns)


def added_latencies(latencies: Latencies, workloads: Iterable[str], direct: str) -> pd.DataFrame:
    """What each system adds to the time of direct access, in seconds: a row per workload, system and statistic; columns `ADDED_COLUMNS`."""
    rows = []
    for workload in workloads:
        for system in _systems(latencies, workload):
            if system == direct or direct not in _systems(latencies, workload):
                continue
            for name, (added, _) in latencies.paired(workload, system, direct, "difference").items():
                rows.append((workload, system, name, added.value, added.low, added.high))
    return pd.DataFrame(rows, columns=ADDED_COLUMNS)


def _compared(latencies: Latencies, workload: str, original: str) -> pd.DataFrame:
    systems = _systems(latencies, workload)
    pairs = list(itertools.combinations([system for system in systems if system != PLACEBO], 2))
    control = [(PLACEBO, original)] if {PLACEBO, original} <= set(systems) else []
    rows: list[dict[str, Any]] = []
    floors: dict[str, float] = {}
    for a, b in [*control, *pairs]:
        for name, (ratio, p) in latencies.paired(workload, a, b, "ratio").items():
            if name not in RANKED:
                continue
            if a == PLACEBO:
                # The control is shown, but not tested: it is what the others are tested against.
                floors[name], p = noise_floor([ratio]), math.nan
            rows.append(
                dict(zip(COMPARED_COLUMNS, (workload, name, a, b, ratio.value, ratio.low, ratio.high), strict=True))
                | {"p": p, "noise_ratio": 1 + floors.get(name, math.nan)}
            )
    frame = pd.DataFrame(rows, columns=[*COMPARED_COLUMNS, "p", "noise_ratio"])
    frame["p_adjusted"] = holm(frame["p"].to_numpy(float)) if len(frame) else []
    frame["verdict"] = [_verdict(row) for row in frame.to_dict("records")]
    return frame


def _symmetric(interval: Interval) -> Interval:
    """With the longer arm on both sides: a percentile of few drawn blocks takes few values, and may have no arm on one side by chance."""
    reach = max(interval.value - interval.low, interval.high - interval.value)
    return Interval(interval.value, interval.value - reach, interval.value + reach)


def _verdict(row: dict[str, Any]) -> str:
    """Of the first system: the verdict on a throughput that is as many times higher as the time is lower."""
    turned = Interval(1 / row["ratio"], 1 / row["ratio_high"], 1 / row["ratio_low"])
    return verdict(turned, row["noise_ratio"] - 1, row["p_adjusted"])


def _systems(latencies: Latencies, workload: str) -> list[str]:
    return [system for system, asked in latencies.cells if asked == workload and latencies.cells[system, asked]]


def _resampled(launches: Sequence[Histogram], seed: int, resamples: int) -> tuple[Floats, Floats]:
    merged, n = histograms.merge(launches), len(launches)
    grid = np.asarray(merged.values_us, dtype=np.int64)
    counts = np.zeros((n, len(grid)))
    for row, launch in zip(counts, launches, strict=True):
        row[np.searchsorted(grid, launch.values_us)] = launch.counts
    # The same seed draws the same blocks for every system.
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), resamples).astype(np.float64)
    values = _values(grid, np.asarray(merged.counts, dtype=np.float64))
    resampled = np.array([_values(grid, times @ counts) for times in drawn])
    for place, percentile in enumerate(PERCENTILES):
        if not histograms.estimable(merged.total_count, percentile):
            values[place] = math.nan
            resampled[:, place] = math.nan
    return values, resampled


def _values(grid: NDArray[np.int64], counts: Floats) -> Floats:
    """`STATISTICS` of one histogram, in seconds; half a microsecond, the resolution, stands for 0."""
    found = [*histograms.percentiles(grid, counts, PERCENTILES), histograms.trimmed_mean(grid, counts, _TRIMMED)]
    return np.maximum(np.array(found, dtype=np.float64), _HALF_A_MICROSECOND) * 1e-6
