"""The ratio of any quantity of any two cells of a run, with the run's own interval, and its tests against a limit.

And the quantities that only claims are judged by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pandas as pd
from scipy import special

from runners.analyse.claims.register import CellName, over
from runners.analyse.fixed_rates import IN_BURSTS, STATISTICS
from runners.analyse.pooled import NO_MEANS, same_rate
from runners.core.records import LOWER_BOUND_LIMITS, Interval
from runners.stats.estimates import Comparison, as_columns, interval_columns, log_arm, mean_interval, ratio_of
from runners.stats.pooling import LEAST_SESSIONS, Estimate, Pooled, pool
from runners.stats.verdicts import band

# Read from the kernel, whichever generator makes the load.
_OF_THE_SERVER = {"build_s", "rss_peak_bytes", "threads_count", "cpu_per_request_s"}
# Statistics of times: at a fixed rate they depend on when requests are sent.
_TIMES = {*STATISTICS, "mean_s", "stddev_s", "max_s"}
# Sums over all windows of a run: there is nothing to estimate.
_COUNTS = {"errors_count", "threads_count"}


class Measured(Protocol):
    """The part of a run that claims are judged by; :class:`runners.analyse.results.Results` has it."""

    @property
    def cells(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def own_cells(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def session_cells(self) -> Sequence[pd.DataFrame]: ...  # noqa: D102
    @property
    def noise_floor_ratio(self) -> Mapping[str, float]: ...  # noqa: D102
    def paired(self, first: tuple[str, str], second: tuple[str, str]) -> Comparison: ...  # noqa: D102


@dataclass(frozen=True)
class CellRatio:
    """The first cell's amount over the second's.

    `interval` has NaN ends where the run has none; `freedom` is the degrees of freedom of its t. `floor` is the larger noise
    floor of their workloads: 0.013 is 1.3 %, NaN is unknown. `bound` says which cells the generator limited; of a quantity that does not
    depend on the load, none.
    """

    interval: Interval
    floor: float
    freedom: float
    bound: tuple[bool, ...]
    more_is_better: bool

    @property
    def inverse(self) -> CellRatio:
        """Return the second cell's amount over the first's."""
        inverted = Interval(*(over(1, end) for end in (self.interval.value, self.interval.high, self.interval.low)))
        return replace(self, interval=inverted, bound=self.bound[::-1])

    @property
    def edge(self) -> float:
        """Return the end of the noise band: above it the first cell has more."""
        return 1 + band(self.floor)

    @property
    def is_decidable(self) -> bool:
        """Return whether no cell was limited by the generator, or only the better one: then the true distance is larger still."""
        first_is_better = (self.interval.value > 1) == self.more_is_better
        return not any(self.bound) or self.bound == (first_is_better, not first_is_better)

    def p_above(self, limit: float) -> float:
        """Return the one-sided p-value of "the ratio is at most `limit`": below 0.025 exactly where the interval lies above it.

        The inverse of the t interval of a logarithm, from the arm that points to the limit; 1 without an interval.
        """
        value, low, high = self.interval.value, self.interval.low, self.interval.high
        if math.isnan(low) or math.isnan(high):
            return 1.0
        arm = log_arm(value, low if value > limit else high)
        if not arm:
            return 0.0 if value > limit else 1.0
        return float(special.stdtr(self.freedom, -math.log(value / limit) / arm * special.stdtrit(self.freedom, 0.975)))

    def p_below(self, limit: float) -> float:
        """Return the one-sided p-value of "the ratio is at least `limit`"."""
        return self.inverse.p_above(1 / limit)


def missing(run: Measured, metric: str, cell: CellName, generator: str) -> str:
    """Return why a run has no such amount as `generator` would print it; empty where it has one."""
    row = row_of(run, metric, cell)
    if row.empty:
        return f"{cell} was not measured"
    if row["status"] != "ok":
        return f"{cell} {row['status']}"
    used = row.get("generator", generator)
    if metric not in _OF_THE_SERVER and used != generator and not is_open_loop_time(run, metric, cell):
        return f"{cell} was measured with {used}, and published with {generator}"
    return "" if metric in row and pd.notna(row[metric]) else f"{cell} has no {metric}"


def is_open_loop_time(run: Measured, metric: str, cell: CellName) -> bool:
    """Return whether a metric of a cell is a response time at a fixed rate: it is what published ones at a rate stand for."""
    return _at_rate(run, metric, cell) and not is_burst_time(run, metric, cell)


def is_burst_time(run: Measured, metric: str, cell: CellName) -> bool:
    """Return whether a metric of a cell is a time at a fixed rate from a load generator that sends in bursts."""
    return _at_rate(run, metric, cell) and row_of(run, metric, cell).get("generator") in IN_BURSTS


def _at_rate(run: Measured, metric: str, cell: CellName) -> bool:
    row = row_of(run, metric, cell)
    return metric in _TIMES and not row.empty and pd.notna(row.get("offered_rps", math.nan))


def amount(run: Measured, metric: str, cell: CellName) -> Interval:
    """Return the amount of a metric in a cell; low and high are NaN where the run gives no interval."""
    return _amount_in(row_of(run, metric, cell), metric)


def _amount_in(row: pd.Series, metric: str) -> Interval:
    value = float(row.get(metric, math.nan))
    if metric in _COUNTS:
        return Interval(value, value, value)
    stem, _, unit = metric.rpartition("_")
    return Interval(value, *(float(row.get(name, math.nan)) for name in interval_columns(stem, f"_{unit}")[1:]))


def cell_ratio(run: Measured, metric: str, first: CellName, second: CellName) -> CellRatio:
    """Return the ratio of two cells that have the metric.

    Throughputs are paired within the run's blocks. For all else the interval is made from those of the two amounts. It is wider than a
    paired one, as what a block did to both does not cancel. What a session did to both does: where cells are pooled, so are the ratios of
    their sessions.
    """
    rows = [row_of(run, metric, cell) for cell in (first, second)]
    if metric == "throughput_rps":
        found = run.paired(first, second)
        interval, freedom = found.interval, found.freedom
    elif (over_sessions := _over_sessions(run, metric, first, second)) is not None:
        interval, freedom = over_sessions.further, over_sessions.sessions_count - 1
    else:
        here, theirs = amount(run, metric, first), amount(run, metric, second)
        # Counts of zero are decided: against some, and against zero.
        known = here.value > 0 and theirs.value > 0
        interval = ratio_of(here, theirs) if known else Interval(*[over(here.value, theirs.value)] * 3)
        freedom = min(_freedom(run, metric, cell) for cell in (first, second))
    floors = [run.noise_floor_ratio.get(cell.workload, math.nan) - 1 for cell in (first, second)]
    loaded = metric not in _OF_THE_SERVER | _COUNTS
    return CellRatio(
        interval=interval,
        floor=float(np.fmax.reduce(floors)),
        freedom=freedom,
        bound=tuple(loaded and row.get("bottleneck") in LOWER_BOUND_LIMITS for row in rows),
        more_is_better=metric.endswith("_rps"),
    )


def _over_sessions(run: Measured, metric: str, first: CellName, second: CellName) -> Pooled | None:
    """Return the ratios of the sessions pooled; None where too few have both cells, at the rates of the run's own."""
    own = [row_of(run, metric, cell) for cell in (first, second)]
    if not all(_is_pooled(row, metric) for row in own):
        return None
    estimates = []
    for cells in run.session_cells:
        rows = [_row_in(cells, metric, cell) for cell in (first, second)]
        if all(row.get("status") == "ok" and same_rate(row, here) for row, here in zip(rows, own, strict=True)):
            ratio = ratio_of(*(_amount_in(row, metric) for row in rows))
            estimates.append(Estimate(ratio, int(min(row["launches_count"] for row in rows))))
    found = pool(estimates)
    return found if found is not None and found.sessions_count >= LEAST_SESSIONS else None


def _is_pooled(cell: pd.Series, metric: str) -> bool:
    """Return whether a cell's amount is over sessions."""
    return metric.rpartition("_")[0] not in NO_MEANS and float(cell.get("sessions_count", 1)) >= LEAST_SESSIONS


def _freedom(run: Measured, metric: str, cell: CellName) -> float:
    """Return the degrees of freedom of an interval: it is over sessions where it is pooled, else over the launches of the run's own."""
    row = row_of(run, metric, cell)
    if _is_pooled(row, metric):
        return float(row["sessions_count"]) - 1
    return float(_row_in(run.own_cells, metric, cell).get("launches_count", math.nan)) - 1


def row_of(run: Measured, metric: str, cell: CellName) -> pd.Series:
    """Return the row of a cell, empty where it was not measured; a build belongs to the system, whatever the load."""
    return _row_in(run.cells, metric, cell)


def _row_in(cells: pd.DataFrame, metric: str, cell: CellName) -> pd.Series:
    known = (cells["system"] == cell.system).to_numpy()
    if metric != "build_s":
        known = known & (cells["workload"] == cell.workload).to_numpy()
    elif metric in cells:
        known = known & cells[metric].notna().to_numpy()
    return cells.iloc[known.argmax()] if known.any() else pd.Series(dtype=object)


@dataclass(frozen=True)
class ForClaims:
    """A run as the judge of claims reads it: with what was seen of servers after their start, and of their builds.

    ``cells`` has rows of the workload ``start`` (memory of a launched server after one request:
    ``rss_peak_bytes``) and the column ``build_s``.
    """

    cells: pd.DataFrame
    own_cells: pd.DataFrame
    session_cells: Sequence[pd.DataFrame]
    noise_floor_ratio: dict[str, float]
    paired: Callable[[tuple[str, str], tuple[str, str]], Comparison]


def for_claims(run: Measured, build_s: Mapping[str, float]) -> ForClaims:
    """Return the run with what claims need besides its cells; `build_s` is system → seconds of its build."""
    cells = pd.concat([run.cells, _after_start(run.cells)], ignore_index=True)
    cells["build_s"] = cells["system"].map(build_s).astype(float)
    return ForClaims(cells, run.own_cells, run.session_cells, dict(run.noise_floor_ratio), run.paired)


def _after_start(cells: pd.DataFrame) -> pd.DataFrame:
    if "memory_before_rss_bytes" not in cells:
        return cells.iloc[:0]
    rows = []
    for system, values in cells.groupby("system", sort=False)["memory_before_rss_bytes"]:
        if values.notna().any():
            peak = as_columns(mean_interval(values.to_numpy(float)), "rss_peak", "_bytes")
            rows.append({"system": system, "workload": "start", "status": "ok", "bottleneck": "unsaturated", **peak})
    return pd.DataFrame(rows)
