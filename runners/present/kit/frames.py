"""The shape of what this package presents, and the few questions that charts, tables and sentences all ask of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import pandas as pd

from runners.core.records import GENERATOR_LIMITED, PLACEBO
from runners.core.thresholds import ERRORS_TOLERANCE
from runners.core.units import plus_minus
from runners.stats.verdicts import SMALLEST_BAND

# METHOD: a verdict needs an interval beyond max(2 %, noise floor); below 2 % nobody would choose a server for it.
SMALLEST_BAND_RATIO = 1 + SMALLEST_BAND
# Whose noise two runs are judged by.
RUNS_BAND = "both runs"


class Results(Protocol):
    """The analysed run, as the narrative reads it.

    Attributes
    ----------
    cells : one row per system × workload, estimates with ``…_low``/``…_high`` columns
    comparisons : see :attr:`runners.analyse.results.Results.comparisons`
    shares : system, floor_system, workload, share_ratio, share_low_ratio, share_high_ratio
    checks : name, system, workload, ok, void, detail, advice
    published : source, system, workload, throughput_rps, p50_s … p99_s
    trials : a row per window, with its kind, throughput_rps and speed_ratio
    backends : what ran behind the servers, by name: title, pool_count, pool_per_cpu_count, settings, statements
    machine, versions, parameters : as in ``run.json``, the machine with its ``pinning``
    noise_floor_ratio : per workload, for example 1.013
    precision_ratio : the half-width of a ratio's interval that the run aimed at, for example 0.02
    measured_s : time spent measuring
    budget_note : what a time budget cut short, in words; empty when nothing
    """

    @property
    def cells(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def comparisons(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def shares(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def checks(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def published(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def trials(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def machine(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def backends(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def versions(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def parameters(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def noise_floor_ratio(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def profile(self) -> str: ...  # noqa: D102
    @property
    def precision_ratio(self) -> float: ...  # noqa: D102
    @property
    def blocks_count(self) -> int: ...  # noqa: D102
    @property
    def measured_s(self) -> float: ...  # noqa: D102
    @property
    def budget_note(self) -> str: ...  # noqa: D102


class ComparedRun(Protocol):
    """One of two runs that are compared."""

    @property
    def profile(self) -> str: ...  # noqa: D102


class Difference(Protocol):
    """One fact that the records of both state differently; `allowed` if it may be what was changed."""

    @property
    def field(self) -> str: ...  # noqa: D102
    @property
    def a(self) -> str: ...  # noqa: D102
    @property
    def b(self) -> str: ...  # noqa: D102
    @property
    def allowed(self) -> bool: ...  # noqa: D102


class CommonFactor(Protocol):
    """What all cells (or those of servers that are the same in both runs) did together."""

    @property
    def value(self) -> float: ...  # noqa: D102
    @property
    def low(self) -> float: ...  # noqa: D102
    @property
    def high(self) -> float: ...  # noqa: D102
    @property
    def cells_count(self) -> int: ...  # noqa: D102
    @property
    def unchanged(self) -> bool: ...  # noqa: D102


class BeforeAfter(Protocol):
    """Two runs compared, as tables and sentences read them.

    Attributes
    ----------
    cells : a row for each cell that both have: rates of both, ratio B/A of throughput, p99 and CPU time, verdict of B
    noise_floor_ratio : per workload, the larger of both runs'
    unmatched : cells that only one of them has, in words
    """

    @property
    def a(self) -> ComparedRun: ...  # noqa: D102
    @property
    def b(self) -> ComparedRun: ...  # noqa: D102
    @property
    def cells(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def differences(self) -> Sequence[Difference]: ...  # noqa: D102
    @property
    def common(self) -> CommonFactor: ...  # noqa: D102
    @property
    def noise_floor_ratio(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def unmatched(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def same_run(self) -> bool: ...  # noqa: D102


def ordered(values: Iterable[str]) -> list[str]:
    """The distinct values, in the order in which they were given."""
    return list(dict.fromkeys(values))


def measured(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells that have a number."""
    return cells[(cells["status"] == "ok") & cells["throughput_rps"].notna()]


def without_placebo(cells: pd.DataFrame) -> pd.DataFrame:
    """All cells but those of the A/A control."""
    return cells[cells["system"] != PLACEBO]


def cell_of(cells: pd.DataFrame, system: str, workload: str) -> pd.Series | None:
    """The row of one system and workload, or None when it was not asked for."""
    rows = cells[(cells["system"] == system) & (cells["workload"] == workload)]
    return None if rows.empty else rows.iloc[0]


def is_client_bound(cells: pd.DataFrame, system: str, workload: str) -> bool:
    """Whether the load generator was the limit, so that the throughput is a lower bound only."""
    row = cell_of(cells, system, workload)
    return row is not None and bool(row["bottleneck"] in GENERATOR_LIMITED)


def is_rated(cells: pd.DataFrame) -> bool:
    """Whether these cells were offered a fixed rate: then what they complete says nothing of what they could."""
    return "offered_rps" in cells and bool(cells["offered_rps"].notna().any())


def has_errors(cells: pd.DataFrame, system: str, workload: str) -> bool:
    """Whether so many requests had errors, or came too late, that the cell is shown and not ranked."""
    row = cell_of(cells, system, workload)
    return row is not None and bool(row.get("errors_fraction", 0.0) > ERRORS_TOLERANCE)


def share_bound(cells: pd.DataFrame, share: pd.Series) -> str:
    """How a share of the floor has to be read: ``=``, or ``≤``, ``≥``, ``?`` where the load generator was the limit.

    A floor that could have been higher makes it an upper bound, a decoding server that could be faster a lower one.
    """
    own = cell_of(cells, share["system"], share["workload"])
    if own is None:
        return "="
    same_body = cells[
        (cells["system"] == share["floor_system"]) & (cells["operations_count"] == own["operations_count"])
    ]
    floor = same_body[same_body["workload"] == share["floor_workload"]]
    floor_bound = bool(floor["bottleneck"].isin(GENERATOR_LIMITED).any())
    own_bound = bool(own["bottleneck"] in GENERATOR_LIMITED)
    return {(False, False): "=", (True, False): "≤", (False, True): "≥", (True, True): "?"}[floor_bound, own_bound]


def workload_title(cells: pd.DataFrame, workload: str) -> str:
    """A workload in words, for example ``decode, 10 operations``; its label where no cell has it."""
    titles = cells.loc[cells["workload"] == workload, "workload_title"]
    return str(titles.iloc[0]) if len(titles) else workload


def band_ratio(noise_floor_ratio: Mapping[str, float], workload: str) -> float:
    """The ratio up to which a difference is not told from noise: 1.02, or the noise floor where that is higher."""
    return max(SMALLEST_BAND_RATIO, noise_floor_ratio.get(workload, 1.0))


def band_words(noise_floor_ratio: Mapping[str, float], workload: str, whose: str = "this run") -> str:
    """The noise band in words; where the run has no noise floor, that is said."""
    band = plus_minus(band_ratio(noise_floor_ratio, workload))
    known = workload in noise_floor_ratio
    return f"the noise band of {whose} ({band})" if known else f"{band} (the noise of {whose} is unknown)"


def leaders(comparisons: pd.DataFrame, workload: str | None = None) -> pd.DataFrame:
    """Return the comparisons with each workload's leader, which is ``system_b`` in all of them; of one workload where it is named."""
    rows = comparisons[comparisons["family"] == "leader"]
    return rows if workload is None else rows[rows["workload"] == workload]


def controls(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Return the ratios of the system that was entered twice to itself, a row for each workload."""
    return comparisons[comparisons["family"] == "control"]


def inverse(row: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the ratio of a comparison turned round, b over a, with its interval."""
    return 1 / row["ratio"], 1 / row["ratio_high"], 1 / row["ratio_low"]
