"""Levels of a load that stand for one another: a machine that cannot keep 20,000 connections open measures 19,900."""

from __future__ import annotations

import math
import re
from collections.abc import Collection

from runners.analyse.cell_ratios import Measured
from runners.analyse.claims import Claim

NEAR = 0.05
"""How far from the published level the measured one may be, as a fraction of it."""

_LEVEL = re.compile(r"(?P<what>.+)@(?P<level>\d+)")


def nearest_workload(workload: str, measured: Collection[str]) -> str:
    """The label of the measured workload at the nearest level within 5 %, for example ``json10@19900`` for ``json10@20000``.

    The label itself where it was measured, has no level, or none is near.
    """
    asked = _LEVEL.fullmatch(workload)
    if asked is None or workload in measured:
        return workload
    level = int(asked["level"])
    found = [known for name in measured if (known := _LEVEL.fullmatch(name)) and known["what"] == asked["what"]]
    near = [known for known in found if abs(int(known["level"]) - level) <= NEAR * level]
    return min(near, key=lambda known: abs(math.log(int(known["level"]) / level))).string if near else workload


def at_nearest_levels(claim: Claim, run: Measured) -> Claim:
    """The claim about the cells that the run has in the place of those that it names."""
    known = set(run.cells["workload"])
    return claim.model_copy(update={"workloads": tuple(nearest_workload(name, known) for name in claim.workloads)})
