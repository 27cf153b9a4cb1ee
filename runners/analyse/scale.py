"""How a system grows with its connections: what each costs in memory, and what the claims' judge may read of that.

Each launch of a fresh design measures one number of connections, so a block has one peak for each number: the slope of the
least-squares line through them is what one more connection costs, its intercept what the server needs without any. Blocks are
independent of one another, their slopes are the sample: their mean, with Student's interval (one line through all points would take
the points of one launch for independent, and trust itself too much where a heap grows in steps).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from runners.analyse.cell_ratios import Measured
from runners.analyse.estimates import mean_interval
from runners.ledger import Run


def levels(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows whose workload names a number of connections, with ``name`` (``json10``) and ``connections`` (20)."""
    parts = frame["workload"].str.extract(r"^(.+)@(\d+)$")
    found = frame.assign(name=parts[0], connections=pd.to_numeric(parts[1]))
    return found[found["connections"].notna()].astype({"connections": int})


def memory_per_connection(usage: pd.DataFrame) -> pd.DataFrame:
    """What one more connection costs each system, from the peaks of a fresh design.

    Parameters
    ----------
    usage : see :class:`runners.analyse.tables.Tables`

    Returns
    -------
    pandas.DataFrame
        name, system, per_connection_bytes with ``_low_`` and ``_high_``, base_bytes, blocks_count, most_connections_count: a row for
        each workload and system with two numbers of connections or more.
    """
    columns = ["name", "system", "per_connection_bytes", "per_connection_low_bytes", "per_connection_high_bytes"]
    columns += ["base_bytes", "blocks_count", "most_connections_count"]
    if usage.empty:
        return pd.DataFrame(columns=columns)
    rows = []
    peaks = levels(usage[usage["role"] == "server"])
    for (name, system), group in peaks.groupby(["name", "system"], sort=False):
        lines = [
            stats.linregress(block["connections"], block["rss_peak_bytes"])
            for _, block in group.groupby("block")
            # A block in which the largest failed has a line of another range.
            if block["connections"].nunique() > 1 and block["connections"].max() == group["connections"].max()
        ]
        if lines:
            slope = mean_interval(np.array([line.slope for line in lines]))
            base = float(np.mean([line.intercept for line in lines]))
            most = int(group["connections"].max())
            rows.append((name, system, slope.value, slope.low, slope.high, base, len(lines), most))
    return pd.DataFrame(rows, columns=columns)


def read_builds(run: Run) -> pd.DataFrame:
    """Timed builds of a run, see :func:`runners.systems.build_times.build_times`; empty where nobody timed them."""
    path = run.folder / "builds.json"
    rows = json.loads(path.read_bytes())["builds"] if path.exists() else []
    columns = ["system", "cold_s", "warm_s", "incremental_s", "changed", "output_bytes", "failure"]
    found = pd.DataFrame(rows, columns=columns)
    return found.assign(**{name: found[name].astype(object).fillna("") for name in ("changed", "failure")})


@dataclass(frozen=True)
class ForClaims:
    """A run as the judge of claims reads it: with what was seen of servers after their start, and of their builds.

    ``cells`` has rows of the workload ``start`` (memory of a launched server that answered one request: ``rss_peak_bytes``) and the
    column ``build_s``. The judge itself takes the nearest number of connections for one that could not be kept, and says so.
    """

    cells: pd.DataFrame
    noise_floor_ratio: dict[str, float]
    paired: Callable[[tuple[str, str], tuple[str, str]], Mapping[str, Any]]


def for_claims(run: Measured, build_s: Mapping[str, float]) -> ForClaims:
    """The run with what claims ask for besides its cells.

    Parameters
    ----------
    build_s : system → seconds of its build
    """
    cells = pd.concat([run.cells, _after_start(run.cells)], ignore_index=True)
    cells["build_s"] = cells["system"].map(build_s).astype(float)
    return ForClaims(cells, dict(run.noise_floor_ratio), run.paired)


def _after_start(cells: pd.DataFrame) -> pd.DataFrame:
    if "memory_before_rss_bytes" not in cells:
        return cells.iloc[:0]
    known = cells[cells["memory_before_rss_bytes"].notna()].groupby("system", sort=False)["memory_before_rss_bytes"]
    rows = []
    for system, values in known:
        seen = mean_interval(values.to_numpy(float))
        peak = {"rss_peak_bytes": seen.value, "rss_peak_low_bytes": seen.low, "rss_peak_high_bytes": seen.high}
        rows.append({"system": system, "workload": "start", "status": "ok", "bottleneck": "unsaturated", **peak})
    return pd.DataFrame(rows)
