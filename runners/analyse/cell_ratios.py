"""The ratio of any quantity of any two cells of a run, with its interval, from the cells and comparisons alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from runners.analyse.claims import CellName
from runners.analyse.verdicts import LARGEST_EQUIVALENCE, band
from runners.records import Interval

# What a quantity without an interval is given as one: peaks and build times vary between launches like this.
UNKNOWN_SPREAD = 0.10
# Of these a client-bound cell says only how much the generator could ask for.
_MORE_IS_BETTER = {"throughput_rps", "goodput_rps"}
_WHOLE_SYSTEM = {"build_s"}
_NOT_OF_THE_LOAD = {"build_s", "rss_peak_bytes", "threads_count", "cpu_per_request_s", "errors_count"}


class Measured(Protocol):
    """What is asked of a run: :class:`runners.analyse.results.Results` has it."""

    @property
    def cells(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def comparisons(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def noise_floor_ratio(self) -> dict[str, float]: ...  # noqa: D102


@dataclass(frozen=True)
class CellRatio:
    """The first cell's amount over the second's.

    Attributes
    ----------
    interval : low and high are NaN where one launch was measured
    floor : the noise floor of their workloads, 0.013 is 1.3 %; NaN where it is unknown
    bound : which cells were client-bound in a quantity that depends on the load
    more_is_better : whether the metric is one of which more is better
    """

    interval: Interval
    floor: float
    bound: tuple[bool, bool] = (False, False)
    more_is_better: bool = False

    @property
    def inverse(self) -> CellRatio:
        """The second cell's amount over the first's."""
        interval = self.interval
        inverted = Interval(*(_over(1, end) for end in (interval.value, interval.high, interval.low)))
        return CellRatio(inverted, self.floor, (self.bound[1], self.bound[0]), self.more_is_better)

    @property
    def edge(self) -> float:
        """Beyond this ratio the two differ: 1 and the noise band."""
        return 1 + band(self.floor)

    @property
    def near(self) -> float:
        """Up to this ratio the two are equal: the band, but at most 5 % (see :mod:`runners.analyse.verdicts`)."""
        return min(self.edge, 1 + LARGEST_EQUIVALENCE)

    @property
    def is_lower_bound(self) -> bool:
        """Whether only the better cell was client-bound: the true distance is at least the measured one."""
        first_is_better = (self.interval.value > 1) == self.more_is_better
        return self.bound == (first_is_better, not first_is_better)


def missing(measured: Measured, metric: str, cell: CellName) -> str:
    """Why a run has no such amount; empty where it has one."""
    row = _row(measured.cells, metric, cell)
    if row is None:
        return f"{cell} was not measured"
    if row["status"] != "ok":
        return f"{cell} {row['status']}"
    return "" if metric in row and pd.notna(row[metric]) else f"{cell} has no {metric}"


def amount(measured: Measured, metric: str, cell: CellName) -> Interval:
    """The amount of a metric in a cell, with ±10 % where the run gives no interval."""
    row = _row(measured.cells, metric, cell)
    assert row is not None
    value = float(row[metric])
    stem, _, unit = metric.rpartition("_")
    low, high = f"{stem}_low_{unit}", f"{stem}_high_{unit}"
    if low in row and high in row:
        return Interval(value, float(row[low]), float(row[high]))
    return Interval(value, value / (1 + UNKNOWN_SPREAD), value * (1 + UNKNOWN_SPREAD))


def cell_ratio(measured: Measured, metric: str, first: CellName, second: CellName) -> CellRatio:
    """The ratio of two cells that have the metric.

    Throughputs of one workload are compared in pairs by the run itself. For all else the interval is made from those
    of the two amounts, as logarithms (the method of variance estimates recovery: Zou & Donner, Statistics in Medicine
    27, 2008): wider than a paired one, as what a block did to both does not cancel.
    """
    floors = [measured.noise_floor_ratio.get(cell.workload, math.nan) - 1 for cell in (first, second)]
    known = [floor for floor in floors if math.isfinite(floor)]
    rows = [_row(measured.cells, metric, cell) for cell in (first, second)]
    bound = [row is not None and row.get("bottleneck") == "client" for row in rows]
    load_free = metric in _NOT_OF_THE_LOAD
    return CellRatio(
        interval=_paired(measured, metric, first, second)
        or _unpaired(*(amount(measured, metric, c) for c in (first, second))),
        floor=max(known) if known else math.nan,
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


def _paired(measured: Measured, metric: str, first: CellName, second: CellName) -> Interval | None:
    if metric != "throughput_rps" or first.workload != second.workload:
        return None
    for _, row in measured.comparisons[measured.comparisons["workload"] == first.workload].iterrows():
        if (row["system_a"], row["system_b"]) == (first.system, second.system):
            return Interval(float(row["ratio"]), float(row["ratio_low"]), float(row["ratio_high"]))
        if (row["system_b"], row["system_a"]) == (first.system, second.system):
            return Interval(1 / float(row["ratio"]), 1 / float(row["ratio_high"]), 1 / float(row["ratio_low"]))
    return None


def _unpaired(first: Interval, second: Interval) -> Interval:
    ratio = _over(first.value, second.value)
    if not (first.value > 0 and second.value > 0):
        # Counts of what should not happen: none against some is decided, and so is none against none.
        return Interval(ratio, ratio, ratio)
    down = math.hypot(math.log(_over(first.value, first.low)), math.log(second.high / second.value))
    up = math.hypot(math.log(first.high / first.value), math.log(_over(second.value, second.low)))
    return Interval(ratio, ratio * math.exp(-down), ratio * math.exp(up))


def _over(a: float, b: float) -> float:
    if b == 0:
        return 1.0 if a == 0 else math.inf
    return a / b
