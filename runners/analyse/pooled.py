"""Cells and ratios over several sessions: from three on, an interval is that of one further session."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from runners.analyse.comparisons import Place, compare_sides, launches_by_cell
from runners.analyse.searches import Searches
from runners.core.records import CONTROL, LOWER_BOUND_LIMITS, Interval, Workload
from runners.stats.estimates import UNKNOWN, Comparison, as_columns, interval_columns, interval_in, p_value_of
from runners.stats.pooling import LEAST_SESSIONS, Estimate, pool

RATIO = interval_columns("ratio")
_OF_SESSIONS = [*interval_columns("own_ratio"), *interval_columns("mean_ratio")]
_COUNTS = ("blocks_count", "own_blocks_count", "sessions_count")
RATIOS = [*RATIO, "p_value", *_COUNTS, *_OF_SESSIONS, "between_ratio"]
"""Columns of :func:`ratio_columns`."""

# How much of a cell's throughput or CPU time is of a kind: the parts move with the whole.
_PARTS = {
    "throughput_rps": ("goodput_rps",),
    "cpu_per_request_s": ("cpu_user_per_request_s", "cpu_system_per_request_s"),
}
NO_MEANS = frozenset({"rss_peak"})
"""Stems of intervals that are not pooled: the largest of the launches' peaks is no mean."""


@dataclass(frozen=True)
class Launches:
    """The throughputs of a session's launches, as :func:`runners.analyse.comparisons.launch_throughputs` returns them."""

    throughputs: pd.Series

    def launches(self, system: str, workload: str) -> pd.Series:
        """Return block → throughput of a cell's launch, in requests per second; empty where it has none."""
        return self._by_cell.get((system, workload), pd.Series(dtype=float))

    @cached_property
    def _by_cell(self) -> dict[Place, pd.Series]:
        return launches_by_cell(self.throughputs)


@dataclass(frozen=True)
class Session(Launches):
    """One session: the launches and the cells of a run, as another run reads them.

    `cells` are as :func:`runners.analyse.cells.build_cells` returns them.
    """

    run_id: str
    started_at: str
    cells: pd.DataFrame
    searches: Searches


@dataclass(frozen=True)
class SpreadBefore:
    """The spread between a machine's sessions before: the median and the largest standard deviation of a ratio to the leader."""

    sessions_count: int
    median_ratio: float
    largest_ratio: float


@dataclass(frozen=True)
class SessionsRatio(Comparison):
    """A ratio over sessions; from `LEAST_SESSIONS` on, `interval` is that of one further session.

    Attributes
    ----------
    own : Interval
        The ratio of the run's own session, with the interval over its blocks.
    mean : Interval
        The mean over sessions; NaN ends with one session.
    between : float
        Standard deviation between sessions (see :class:`runners.stats.pooling.Pooled`); NaN with one session.
    sessions_count : int
        Sessions that have both systems in two blocks or more.
    own_blocks_count : int
        Blocks of the run's own session.
    """

    own: Interval = UNKNOWN
    mean: Interval = UNKNOWN
    between: float = math.nan
    sessions_count: int = 1
    own_blocks_count: int = 0

    @property
    def freedom(self) -> float:
        """Return the degrees of freedom of the interval."""
        return self.sessions_count - 1 if self.sessions_count >= LEAST_SESSIONS else super().freedom


def ratio_over(sessions: Sequence[Launches], first: Place, second: Place, systems_count: int = 2) -> SessionsRatio:
    """Return the throughput of one cell over that of another, over sessions.

    Parameters
    ----------
    sessions : Sequence[Launches]
        The launches of each session; the last is the run's own.
    systems_count : int
        Number of systems whose intervals hold together, in one session; see :func:`runners.stats.estimates.critical_value`. The interval of
        a further session is that of each ratio for itself.
    """
    sides = [(each.launches(*first), each.launches(*second)) for each in sessions]
    own = compare_sides(*sides[-1], systems_count)
    alone = [compare_sides(*each) for each in sides] if len(sides) > 1 else []
    found = pool([Estimate(each.interval, each.blocks_count) for each in alone])
    if found is None:
        counted = own.interval, own.interval, math.nan, 1, own.blocks_count
        return SessionsRatio(own.interval, own.p_value, own.blocks_count, *counted)
    counted = own.interval, found.mean, found.between, found.sessions_count, own.blocks_count
    if found.sessions_count < LEAST_SESSIONS:
        return SessionsRatio(own.interval, own.p_value, own.blocks_count, *counted)
    p_value = p_value_of(math.log(found.further.value), found.standard_error, found.sessions_count - 1)
    return SessionsRatio(found.further, p_value, sum(each.blocks_count for each in alone), *counted)


def ratio_columns(found: SessionsRatio) -> dict[str, float]:
    """Return a ratio as columns.

    Columns
    -------
    ratio, ratio_low, ratio_high; p_value (of "they are the same", unadjusted); blocks_count (of all sessions from `LEAST_SESSIONS` on);
    own_blocks_count; own_ratio (of the run's own session) and mean_ratio (over sessions) with _low and _high; between_ratio;
    sessions_count.
    """
    ends = (
        as_columns(found.interval, "ratio") | as_columns(found.own, "own_ratio") | as_columns(found.mean, "mean_ratio")
    )
    counts = {name: getattr(found, name) for name in _COUNTS}
    return ends | counts | {"p_value": found.p_value, "between_ratio": found.between}


def shape_ratios(
    cells: pd.DataFrame, workloads: Mapping[str, Workload], paired: Callable[[Place, Place], SessionsRatio]
) -> pd.DataFrame:
    """Return the ratio of each cell with a load of its own to the same cell in the run's load: system, workload, shape, `RATIO`."""
    known = cells[(cells["status"] == "ok") & (cells["system"] != CONTROL)]
    names = list(known[["system", "workload"]].itertuples(index=False, name=None))
    rows = []
    for system, label in names:
        workload = workloads[label]
        if workload.shape.name and (system, workload.base_label) in names:
            ratio = paired((system, label), (system, workload.base_label)).interval
            rows.append((system, workload.base_label, workload.shape.name, ratio.value, ratio.low, ratio.high))
    return pd.DataFrame(rows, columns=["system", "workload", "shape", *RATIO])


def pooled_cells(own: pd.DataFrame, others: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return a run's cells with each estimate over all sessions, where `LEAST_SESSIONS` have it.

    The column ``sessions_count`` is the number of sessions behind a cell's throughput, `launches_count` and `launches_made_count` are those
    of all of them. A cell that the load generator limited in one session counts as limited, and ``achieved_fraction`` is that of the
    session in which it was least, valid or not. A cell at a fixed rate is pooled with those that had the same rate: a given one, not one
    that each session plans for itself. Errors, memory and shares of busy CPUs stay as they are.
    """
    found = own.assign(sessions_count=1)
    if not others or own.empty or "throughput_low_rps" not in own:
        return found
    stems = _interval_stems(own)
    known = [{(cell["system"], cell["workload"]): cell for cell in table.to_dict("records")} for table in others]
    changed: dict[str, dict[Hashable, object]] = {}
    for index, cell in own.to_dict("index").items():
        place = (cell["system"], cell["workload"])
        rows = [cell, *(cells[place] for cells in known if place in cells and same_rate(cells[place], cell))]
        for name, value in (_pooled_cell(rows, stems) | _least_achieved(rows)).items():
            changed.setdefault(name, {})[index] = value
    for name, values in changed.items():
        found.loc[list(values), name] = list(values.values())
    return found


def same_rate(first: Mapping[Any, Any] | pd.Series, second: Mapping[Any, Any] | pd.Series) -> bool:
    """Return whether two cells were offered the same rate, or none."""
    rates = first.get("offered_rps", math.nan), second.get("offered_rps", math.nan)
    return rates[0] == rates[1] or all(map(pd.isna, rates))


def _pooled_cell(cells: Sequence[Mapping[Hashable, Any]], stems: Mapping[str, tuple[str, str]]) -> dict[str, object]:
    own, rows, changed = cells[0], [cell for cell in cells if cell["status"] == "ok"], dict[str, object]()
    if own["status"] != "ok" or len(rows) < LEAST_SESSIONS:
        return changed
    for column, (stem, unit) in stems.items():
        known = [row for row in rows if row.keys() >= {*interval_columns(stem, unit)}]
        pooled = pool([Estimate(interval_in(row, stem, unit), int(row["launches_count"])) for row in known])
        if pooled is None or pooled.sessions_count < LEAST_SESSIONS:
            continue
        further = pooled.further
        changed |= dict(zip(interval_columns(stem, unit), (further.value, further.low, further.high), strict=True))
        changed |= {part: own[part] * further.value / own[column] for part in _PARTS.get(column, ())}
        if column == "throughput_rps":
            changed["sessions_count"] = pooled.sessions_count
            changed |= {name: int(sum(row[name] for row in rows)) for name in ("launches_count", "launches_made_count")}
    limits = [row["bottleneck"] for row in rows if row["bottleneck"] in LOWER_BOUND_LIMITS]
    return changed | ({"bottleneck": limits[0]} if limits else {})


def _least_achieved(cells: Sequence[Mapping[Hashable, Any]]) -> dict[str, object]:
    """Return the least share of the rate that a session completed; where it has no valid trial, in the void ones."""
    shares = [float(share) for cell in cells if pd.notna(share := cell.get("achieved_fraction", math.nan))]
    return {"achieved_fraction": min(shares)} if len(shares) >= LEAST_SESSIONS else {}


def _interval_stems(cells: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Return the columns of means that have an interval, each with its stem and its unit."""
    parts = (name.partition("_low_") for name in cells.columns if "_low_" in name)
    return {f"{stem}_{unit}": (stem, f"_{unit}") for stem, _, unit in parts if stem not in NO_MEANS}
