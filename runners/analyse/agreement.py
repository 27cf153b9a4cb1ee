"""How far the loads of an experiment agree: the same cell asked for in two shapes, paired within blocks."""

from __future__ import annotations

import pandas as pd

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
            found = results.paired((system, label), (system, workload))
            rows.append((system, workload, shape, found["ratio"], found["ratio_low"], found["ratio_high"]))
    return pd.DataFrame(rows, columns=_COLUMNS)
