"""How far the loads of an experiment agree: the same cell under two load shapes, paired within blocks."""

from __future__ import annotations

import pandas as pd

from runners.analyse.results import RATIO, Results
from runners.records import PLACEBO


def shape_ratios(results: Results) -> pd.DataFrame:
    """Return the throughput of each cell whose load has its own shape, over that of the same cell in the run's own load.

    Columns
    -------
    system, workload (without its shape), shape, ratio with its interval; cells without a number on either side are left out.
    """
    known = results.cells[(results.cells["status"] == "ok") & (results.cells["system"] != PLACEBO)]
    names = list(known[["system", "workload"]].itertuples(index=False, name=None))
    rows = []
    for system, label in names:
        workload, _, shape = label.partition("@")
        if shape and (system, workload) in names:
            found = results.paired((system, label), (system, workload))
            rows.append((system, workload, shape, *(found[name] for name in RATIO)))
    return pd.DataFrame(rows, columns=["system", "workload", "shape", *RATIO])
