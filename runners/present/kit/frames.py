"""The shape of what this package presents, and the few questions that charts, tables and sentences all have about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from runners.core.load import ERRORS_TOLERANCE
from runners.core.records import CONTROL, LOWER_BOUND_LIMITS
from runners.core.run_manifest import BackendFacts
from runners.core.units import RATES, amount, listing, plus_minus
from runners.stats.pooling import LEAST_SESSIONS
from runners.stats.verdicts import SMALLEST_BAND

# METHOD: a verdict needs an interval beyond max(2 %, noise floor); below 2 % nobody would choose a server for it.
SMALLEST_BAND_RATIO = 1 + SMALLEST_BAND
# Whose noise two runs are judged by.
RUNS_BAND = "both runs"

BACKEND = "backend"
_WORDS = {
    "server": "server",
    "generator": "load generator",
    "both": "server and generator",
    "network": "network",
    "unsaturated": "nothing was busy",
}


def ordered(values: Iterable[str]) -> list[str]:
    """The distinct values, in the order in which they were given."""
    # A Series hands out its texts one by one: a second for a hundred thousand.
    return list(values.unique() if isinstance(values, pd.Series) else dict.fromkeys(values))


def measured(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells that have a number."""
    return cells[(cells["status"] == "ok") & cells["throughput_rps"].notna()]


def without_control(cells: pd.DataFrame) -> pd.DataFrame:
    """All cells but those of the A/A control."""
    return cells[cells["system"] != CONTROL]


def cell_of(cells: pd.DataFrame, system: str, workload: str) -> pd.Series | None:
    """The row of one system and workload, or None when it was not planned."""
    places = np.flatnonzero((cells["system"] == system) & (cells["workload"] == workload))
    return cells.iloc[places[0]] if len(places) else None


def is_client_bound(cells: pd.DataFrame, system: str, workload: str) -> bool:
    """Return whether the load was the limit, so that the throughput is only a lower bound."""
    row = cell_of(cells, system, workload)
    return row is not None and bool(row["bottleneck"] in LOWER_BOUND_LIMITS)


def is_fixed_rate(cells: pd.DataFrame) -> bool:
    """Return whether these cells were offered a fixed rate: then their throughput is not their capacity."""
    return "offered_rps" in cells and bool(cells["offered_rps"].notna().any())


def without_rate(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells of a closed loop: those that were offered no fixed rate."""
    return cells[cells["offered_rps"].isna()] if "offered_rps" in cells else cells


def has_errors(cells: pd.DataFrame, system: str, workload: str) -> bool:
    """Return whether so many requests failed, or came too late, that the cell is shown and not ranked."""
    row = cell_of(cells, system, workload)
    return row is not None and bool(row.get("errors_fraction", 0.0) > ERRORS_TOLERANCE)


def share_bound(cells: pd.DataFrame, share: pd.Series) -> str:
    """Return the sign of a share of the floor: ``=``, or ``≤``, ``≥``, ``?`` where the load was the limit.

    A floor that could have been higher makes it an upper bound, a decoding server that could be faster a lower one.
    """
    own = cell_of(cells, share["system"], share["workload"])
    if own is None:
        return "="
    same_body = cells[
        (cells["system"] == share["floor_system"]) & (cells["operations_count"] == own["operations_count"])
    ]
    floor = same_body[same_body["workload"] == share["floor_workload"]]
    floor_bound = bool(floor["bottleneck"].isin(LOWER_BOUND_LIMITS).any())
    own_bound = bool(own["bottleneck"] in LOWER_BOUND_LIMITS)
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


def interval_words(comparisons: pd.DataFrame, plural: str = "") -> str:
    """Return what the intervals of ratios to a leader are; `plural` is the ending of the noun."""
    count = comparisons["sessions_count"].max() if "sessions_count" in comparisons else 1
    return (
        f"95 % interval{plural} of a further session"
        if count >= LEAST_SESSIONS
        else f"simultaneous 95 % interval{plural}"
    )


def controls(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Return the ratios of the system that was entered twice to itself, a row for each workload."""
    return comparisons[comparisons["family"] == "control"]


def inverse(row: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the ratio of a comparison turned round, b over a, with its interval."""
    return 1 / row["ratio"], 1 / row["ratio_high"], 1 / row["ratio_low"]


def backend_name(backends: Mapping[str, BackendFacts]) -> str:
    """Return the names of what runs behind the servers."""
    return listing(list(backends)) or "the backend"


def limit(bottleneck: str, backends: Mapping[str, BackendFacts]) -> str:
    """Return in words what limited a cell; the backend by its name."""
    return backend_name(backends) if bottleneck == BACKEND else _WORDS.get(bottleneck, bottleneck)


def limits_of(cells: pd.DataFrame, backends: Mapping[str, BackendFacts]) -> dict[tuple[str, str], str]:
    """Return (system, workload) → what limited it, for all cells that have a number."""
    return {(row.system, row.workload): limit(row.bottleneck, backends) for row in measured(cells).itertuples()}


def backend_limited(cells: pd.DataFrame, workload: str, *systems: str) -> list[str]:
    """Return those of the systems whose throughput is that of the backend."""
    rows = [(system, cell_of(cells, system, workload)) for system in systems]
    return [system for system, row in rows if row is not None and row["bottleneck"] == BACKEND]


def without_backend_verdicts(
    comparisons: pd.DataFrame, cells: pd.DataFrame, backends: Mapping[str, BackendFacts]
) -> pd.DataFrame:
    """Return the comparisons with "limit: …" in the place of each verdict on a cell whose throughput is the backend's.

    The verdict is true of the throughputs and says nothing about the systems: it is shown as neither.
    """
    said = f"limit: {backend_name(backends)}"
    verdicts = [
        said
        if row["verdict"] and backend_limited(cells, row["workload"], row["system_a"], row["system_b"])
        else row["verdict"]
        for row in comparisons.to_dict("records")
    ]
    return comparisons.assign(verdict=verdicts)


def systems_in(frame: pd.DataFrame) -> str:
    """The systems of a frame in words, without the control."""
    return ", ".join(ordered(without_control(frame)["system"]))


def highest(cells: pd.DataFrame) -> str:
    """The highest bar of every panel, in words."""
    found = without_control(measured(cells))
    best = found.loc[found.groupby("workload", sort=False)["throughput_rps"].idxmax()]
    words = [
        f"{row.workload}: {'≥ ' if is_client_bound(cells, row.system, row.workload) else ''}"
        f"{amount(row.throughput_rps, RATES)} by {row.system}"
        for row in best.itertuples()
    ]
    return f"Highest: {'; '.join(words)}." if words else "No system has a number."
