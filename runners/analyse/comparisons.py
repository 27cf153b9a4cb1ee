"""Comparisons within a run: every system against the leader of its workload."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from runners.core.records import WINDOW
from runners.stats.estimates import Comparison, compare

Place = tuple[str, str]
"""A system and a workload, by their labels."""

Sides = Mapping[str, pd.Series]
"""System → block → throughput of its launch, in requests per second."""


def launch_throughputs(windows: pd.DataFrame) -> pd.Series:
    """Return the geometric mean throughput of each launch's sound windows, in requests per second.

    Its index is system, workload and block; `windows` has these, kind, void and throughput_rps.
    """
    sound = windows[(windows["kind"] == WINDOW) & ~windows["void"].astype(bool)]
    logs = np.log(sound["throughput_rps"].astype(float).where(sound["throughput_rps"] > 0))
    return np.exp(logs.groupby([sound[name] for name in ("system", "workload", "block")]).mean()).dropna()


def launch_cpu_times(windows: pd.DataFrame) -> pd.Series:
    """Return the geometric mean of the server's CPU time per request over each launch's windows, in seconds.

    Its index is system, workload and block; `windows` has these and cpu_per_request_s.
    """
    rows = windows[windows["cpu_per_request_s"] > 0]
    logs = np.log(rows["cpu_per_request_s"].astype(float))
    return np.exp(logs.groupby([rows[name] for name in ("system", "workload", "block")]).mean())


def values_by_cell(amounts: pd.Series | pd.DataFrame) -> dict[Place, NDArray[np.float64]]:
    """Return the amounts of each cell's launches, in their order; the index is system, workload and block."""
    values = amounts.to_numpy(float)
    return {place: values[rows] for place, rows in amounts.groupby(level=["system", "workload"]).indices.items()}


def launches_by_cell(throughputs: pd.Series) -> dict[Place, pd.Series]:
    """Return the launches of each cell, by block: for many cells, where :func:`of_cell` searches for each."""
    cells = ["system", "workload"]
    return {place: rows.droplevel(cells) for place, rows in throughputs.groupby(level=cells)}


def of_cell(throughputs: pd.Series, system: str, workload: str) -> pd.Series:
    """Return the launches of one cell, by block; empty where it has none."""
    try:
        return throughputs.loc[(system, workload)]
    except KeyError:
        return throughputs.iloc[:0].droplevel(["system", "workload"])


def compare_sides(first: pd.Series, second: pd.Series, systems_count: int = 2) -> Comparison:
    """Compare two systems over the blocks that have both; see :func:`runners.stats.estimates.compare`."""
    _, of_first, of_second = np.intersect1d(first.index, second.index, assume_unique=True, return_indices=True)
    return compare(first.to_numpy()[of_first], second.to_numpy()[of_second], systems_count=systems_count)


def leader_of(sides: Sides) -> str:
    """Return the system with the highest geometric mean over its launches; there must be one."""
    return max(sides, key=lambda system: float(np.log(sides[system]).mean()))


def against_leader(sides: Sides) -> dict[str, Comparison]:
    """Return the ratio of each other system to the leader; the intervals hold together over the systems."""
    leader = leader_of(sides)
    return {name: compare_sides(side, sides[leader], len(sides)) for name, side in sides.items() if name != leader}
