"""The ratio of any quantity of any two cells of a run, with the run's own interval, and its tests against a limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd
from scipy import stats

from runners.analyse.claims import CellName, over
from runners.analyse.estimates import log_arm, ratio_of
from runners.analyse.verdicts import LARGEST_EQUIVALENCE, band
from runners.records import GENERATOR_LIMITED, Interval

# More of these is better. A cell that the generator limited shows only a lower bound of them.
_MORE_IS_BETTER = {"throughput_rps", "goodput_rps"}
_WHOLE_SYSTEM = {"build_s"}
# Read from the kernel, whichever generator makes the load.
_OF_THE_SERVER = {"build_s", "rss_peak_bytes", "threads_count", "cpu_per_request_s"}
# Sums over all windows of a run: there is nothing to estimate.
_COUNTS = {"errors_count", "threads_count"}


class Measured(Protocol):
    """The part of a run that claims are judged by; :class:`runners.analyse.results.Results` has it."""

    @property
    def cells(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def noise_floor_ratio(self) -> Mapping[str, float]: ...  # noqa: D102
    def paired(self, first: tuple[str, str], second: tuple[str, str]) -> Mapping[str, Any]: ...  # noqa: D102


@dataclass(frozen=True)
class CellRatio:
    """The first cell's amount over the second's.

    Attributes
    ----------
    interval : low and high are NaN where the run has no interval
    floor : the noise floor of their workloads, 0.013 is 1.3 %; NaN where it is unknown
    launches_count : launches behind the interval, those of the cell with fewer
    bound : which cells the generator limited, for a quantity that depends on the load
    more_is_better : whether the metric is one of which more is better
    """

    interval: Interval
    floor: float
    launches_count: float
    bound: tuple[bool, bool] = (False, False)
    more_is_better: bool = False

    @property
    def inverse(self) -> CellRatio:
        """The second cell's amount over the first's."""
        inverted = Interval(*(over(1, end) for end in (self.interval.value, self.interval.high, self.interval.low)))
        return CellRatio(inverted, self.floor, self.launches_count, self.bound[::-1], self.more_is_better)

    @property
    def edge(self) -> float:
        """The end of the noise band: above it the first cell has more."""
        return 1 + band(self.floor)

    @property
    def near(self) -> float:
        """The largest ratio of equals: the end of the band, but at most 5 % (see :mod:`runners.analyse.verdicts`)."""
        return min(self.edge, 1 + LARGEST_EQUIVALENCE)

    @property
    def is_decidable(self) -> bool:
        """Whether no cell was limited by the generator, or only the better one: then the true distance is larger still."""
        first_is_better = (self.interval.value > 1) == self.more_is_better
        return not any(self.bound) or self.bound == (first_is_better, not first_is_better)

    def p_above(self, limit: float) -> float:
        """One-sided p-value of "the ratio is at most `limit`": below 0.025 exactly where the interval lies above it.

        The inverse of the t interval of a logarithm, from the arm that points to the limit; 1 without an interval.
        """
        value, low, high = self.interval.value, self.interval.low, self.interval.high
        if math.isnan(low) or math.isnan(high):
            return 1.0
        arm = log_arm(value, low) if value > limit else log_arm(value, high)
        if not arm:
            return 0.0 if value > limit else 1.0
        freedom = self.launches_count - 1
        return float(stats.t.sf(math.log(value / limit) / arm * stats.t.ppf(0.975, freedom), freedom))

    def p_below(self, limit: float) -> float:
        """One-sided p-value of "the ratio is at least `limit`"."""
        return self.inverse.p_above(1 / limit)


def missing(run: Measured, metric: str, cell: CellName, generator: str) -> str:
    """Return why a run has no such amount as `generator` would print it; empty where it has one."""
    row = _row(run.cells, metric, cell)
    if row is None:
        return f"{cell} was not measured"
    if row["status"] != "ok":
        return f"{cell} {row['status']}"
    used = row.get("generator", generator)
    if metric not in _OF_THE_SERVER and used != generator:
        return f"{cell} was measured with {used}, and published with {generator}"
    return "" if metric in row and pd.notna(row[metric]) else f"{cell} has no {metric}"


def amount(run: Measured, metric: str, cell: CellName) -> Interval:
    """Return the amount of a metric in a cell; low and high are NaN where the run gives no interval."""
    row = _row(run.cells, metric, cell)
    assert row is not None
    value = float(row[metric])
    if metric in _COUNTS:
        return Interval(value, value, value)
    stem, _, unit = metric.rpartition("_")
    return Interval(value, *(float(row.get(f"{stem}_{end}_{unit}", math.nan)) for end in ("low", "high")))


def cell_ratio(run: Measured, metric: str, first: CellName, second: CellName) -> CellRatio:
    """Return the ratio of two cells that have the metric.

    Throughputs are paired within the run's blocks. For all else the interval is made from those of the two amounts. It is wider than a
    paired one, as what a block did to both does not cancel.
    """
    floors = [run.noise_floor_ratio.get(cell.workload, math.nan) - 1 for cell in (first, second)]
    rows = [row for cell in (first, second) if (row := _row(run.cells, metric, cell)) is not None]
    if metric == "throughput_rps":
        found = run.paired(first, second)
        interval = Interval(*(float(found[name]) for name in ("ratio", "ratio_low", "ratio_high")))
        launches = float(found["blocks_count"])
    else:
        interval = _unpaired(*(amount(run, metric, cell) for cell in (first, second)))
        launches = min(float(row["launches_count"]) for row in rows)
    bound = [row.get("bottleneck") in GENERATOR_LIMITED for row in rows]
    load_free = metric in _OF_THE_SERVER | _COUNTS
    return CellRatio(
        interval=interval,
        floor=max((floor for floor in floors if math.isfinite(floor)), default=math.nan),
        launches_count=launches,
        bound=(False, False) if load_free else (bound[0], bound[1]),
        more_is_better=metric in _MORE_IS_BETTER,
    )


def _row(cells: pd.DataFrame, metric: str, cell: CellName) -> pd.Series | None:
    found = cells[cells["system"] == cell.system]
    if metric in _WHOLE_SYSTEM:
        found = found.dropna(subset=[metric]) if metric in found else found
    else:
        found = found[found["workload"] == cell.workload]
    return found.iloc[0] if len(found) else None


def _unpaired(first: Interval, second: Interval) -> Interval:
    if first.value > 0 and second.value > 0:
        return ratio_of(first, second)
    # Of counts, none against some is decided, and so is none against none.
    ratio = over(first.value, second.value)
    return Interval(ratio, ratio, ratio)
