"""The cells and columns of ours that are like those of a published figure: the same load generator, the nearest load.

What wrk prints, it has corrected first; so a percentile that wrk printed is held against our corrected one. A machine that cannot keep
20,000 connections open measures 19,900, which stand for them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection

from runners.analyse.cell_ratios import Measured
from runners.analyse.claims import Claim

NEAR = 0.05
"""How far from the published level the measured one may be, as a fraction of it."""

_LEVEL = re.compile(r"(?P<what>.+)@(?P<level>\d+)")
_CORRECTED = {"wrk": ("p50_s", "p75_s", "p90_s", "p99_s", "mean_s", "stddev_s", "max_s")}


def like_for_like(claim: Claim, generator: str, run: Measured) -> Claim:
    """Return the claim about the cells and the column that are like those published; `generator` printed the figures."""
    known = set(run.cells["workload"])
    workloads = tuple(like_workload(name, generator, known) for name in claim.workloads)
    return claim.model_copy(update={"workloads": workloads, "metric": like_column(claim.metric, generator)})


def like_column(metric: str, generator: str) -> str:
    """Return the column that holds a metric as `generator` prints it: ``corrected_p99_s`` for wrk's p99."""
    return f"corrected_{metric}" if metric in _CORRECTED.get(generator, ()) else metric


def like_workload(workload: str, generator: str, measured: Collection[str]) -> str:
    """Return the label of the workload as `generator` measured it (``text@autocannon``), else that of the nearest level."""
    by_generator = f"{workload}@{generator}"
    return by_generator if by_generator in measured else nearest_workload(workload, measured)


def nearest_workload(workload: str, measured: Collection[str]) -> str:
    """Return the measured workload at the nearest level within 5 %, for example ``json10@19900`` for ``json10@20000``.

    The label itself where it was measured, has no level, or none is near.
    """
    asked = _LEVEL.fullmatch(workload)
    if asked is None or workload in measured:
        return workload
    level = int(asked["level"])
    found = [known for name in measured if (known := _LEVEL.fullmatch(name)) and known["what"] == asked["what"]]
    near = [known for known in found if abs(int(known["level"]) - level) <= NEAR * level]
    return min(near, key=lambda known: abs(math.log(int(known["level"]) / level))).string if near else workload
