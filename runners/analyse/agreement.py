"""How far the loads of an experiment agree: the same cell asked for in two shapes, paired within blocks."""

from __future__ import annotations

import pandas as pd

from runners.analyse.cells import windows_by_block
from runners.analyse.estimates import compare
from runners.analyse.results import Results
from runners.records import PLACEBO

_COLUMNS = ["system", "workload", "shape", "ratio", "ratio_low", "ratio_high"]


def shape_ratios(results: Results) -> pd.DataFrame:
    """The throughput of every cell whose load has a shape of its own, over that of the same cell in the run's own load.

    Columns
    -------
    system, workload (without its shape), shape, ratio with its interval. Cells of which either side has no number are left out.
    """
    known = results.cells[(results.cells["status"] == "ok") & (results.cells["system"] != PLACEBO)]
    names = set(known[["system", "workload"]].itertuples(index=False, name=None))
    rows = []
    for system, label in known[["system", "workload"]].itertuples(index=False):
        workload, _, shape = label.partition("@")
        if shape and (system, workload) in names:
            sides = [windows_by_block(results.tables, system, name) for name in (label, workload)]
            blocks = sorted(sides[0].keys() & sides[1].keys())
            found = compare(*([side[block] for block in blocks] for side in sides), seed=results.seed).interval
            rows.append((system, workload, shape, found.value, found.low, found.high))
    return pd.DataFrame(rows, columns=_COLUMNS)
