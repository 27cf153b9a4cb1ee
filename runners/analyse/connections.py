"""Growth with the number of connections: memory per connection, and the values that claims are judged by.

Each launch of a fresh design measures one number of connections, so a block has one peak for each number. The slope of
the least-squares line through them is the cost of one more connection, its intercept what the server needs without any.
The blocks' independent slopes are the sample. One line through all points would take points of one block for independent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from runners.analyse.claims.ratios import Measured
from runners.stats.estimates import as_columns, mean_interval
from runners.store.ledger import Run


def levels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose load is a number of connections, with ``name`` (``json10``) and ``connections`` (20)."""
    found = frame[frame["shape_connections_count"].notna()]
    return found.assign(name=found["workload_name"], connections=found["shape_connections_count"].astype(int))


def memory_per_connection(usage: pd.DataFrame) -> pd.DataFrame:
    """Estimate what one more connection costs each system, from the peaks of a fresh design's `usage`.

    One row for each workload (``name``) and system that was measured at two numbers of connections or more.
    """
    columns = ["name", "system", "per_connection_bytes", "per_connection_low_bytes", "per_connection_high_bytes"]
    columns += ["base_bytes", "blocks_count", "most_connections_count"]
    if usage.empty:
        return pd.DataFrame(columns=columns)
    rows = []
    peaks = levels(usage[usage["role"] == "server"])
    for (name, system), group in peaks.groupby(["name", "system"], sort=False):
        most = int(group["connections"].max())
        lines = [
            stats.linregress(block["connections"], block["rss_peak_bytes"])
            for _, block in group.groupby("block")
            # A block in which the largest failed has a line of another range.
            if block["connections"].nunique() > 1 and block["connections"].max() == most
        ]
        if lines:
            slope = mean_interval([line.slope for line in lines])
            base = float(np.mean([line.intercept for line in lines]))
            rows.append((name, system, slope.value, slope.low, slope.high, base, len(lines), most))
    return pd.DataFrame(rows, columns=columns)


def read_builds(run: Run) -> pd.DataFrame:
    """Return a run's timed builds, see :func:`runners.measure.build_times.build_times`; empty where nobody timed them."""
    path = run.folder / "builds.json"
    rows = json.loads(path.read_bytes())["builds"] if path.exists() else []
    columns = ["system", "cold_s", "warm_s", "incremental_s", "changed", "output_bytes", "failure"]
    found = pd.DataFrame(rows, columns=columns)
    return found.assign(**{name: found[name].astype(object).fillna("") for name in ("changed", "failure")})


@dataclass(frozen=True)
class ForClaims:
    """A run as the judge of claims reads it: with what was seen of servers after their start, and of their builds.

    ``cells`` has rows of the workload ``start`` (memory of a launched server after one request:
    ``rss_peak_bytes``) and the column ``build_s``.
    """

    cells: pd.DataFrame
    noise_floor_ratio: dict[str, float]
    paired: Callable[[tuple[str, str], tuple[str, str]], Mapping[str, Any]]


def for_claims(run: Measured, build_s: Mapping[str, float]) -> ForClaims:
    """Return the run with what claims need besides its cells; `build_s` is system → seconds of its build."""
    cells = pd.concat([run.cells, _after_start(run.cells)], ignore_index=True)
    cells["build_s"] = cells["system"].map(build_s).astype(float)
    return ForClaims(cells, dict(run.noise_floor_ratio), run.paired)


def _after_start(cells: pd.DataFrame) -> pd.DataFrame:
    if "memory_before_rss_bytes" not in cells:
        return cells.iloc[:0]
    rows = []
    for system, values in cells.groupby("system", sort=False)["memory_before_rss_bytes"]:
        if values.notna().any():
            peak = as_columns(mean_interval(values.to_numpy(float)), "rss_peak", "_bytes")
            rows.append({"system": system, "workload": "start", "status": "ok", "bottleneck": "unsaturated", **peak})
    return pd.DataFrame(rows)
