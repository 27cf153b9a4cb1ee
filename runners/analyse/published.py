"""The published figures that stand beside our own: from other machines, never compared as absolutes."""

from __future__ import annotations

import pandas as pd

from runners.folders import PUBLISHED


def published_values(cells: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``data/raw/published/*.csv`` for the systems and workloads in `cells`."""
    frames = [pd.read_csv(path) for path in sorted(PUBLISHED.glob("*.csv"))]
    known = (
        pd.concat(frames, ignore_index=True)
        if frames
        else pd.DataFrame(columns=["source", "system", "workload", "throughput_rps"])
    )
    return known.merge(cells[["system", "workload"]], on=["system", "workload"])
