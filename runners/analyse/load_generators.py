"""Findings about a run's load generators: what they can drive, how they keep a schedule, and known response times."""

from __future__ import annotations

import pandas as pd

from runners.core.records import percentile_column
from runners.stats.histograms import DELAY_S, WORK_S, mean_wait_s, stalled_response_s

CEILING_OF = "haproxy-return"
"""A server with a fixed response."""
MEAN = "mean"
KNOWN: dict[str, tuple[float | str, ...]] = {
    "calibration+stalled": (50.0, 99.0, 99.9),
    "calibration+delayed": (50.0,),
    "calibration+work": (MEAN,),
}
"""System → the percentiles of its response time that are known by calculation, or its mean."""


def driven(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `cells` in which a load generator drives `CEILING_OF` as fast as it can, the fastest first."""
    rows = _sound(cells)
    rows = rows[(rows["system"] == CEILING_OF) & rows["workload"].str.fullmatch(r"ping(@[a-z]\w*)?")]
    return rows.sort_values("throughput_rps", ascending=False).drop_duplicates("generator")


def paced(cells: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Return how each load generator kept the schedule of a rate at `CEILING_OF`: medians of the windows.

    Returns
    -------
    DataFrame
        generator, offered_rps, on_time_fraction (at most `PACED_S` late), late_p99_s, late_fraction (more than `LATE_S` late)
    """
    rows = _sound(cells)
    rows = rows[(rows["system"] == CEILING_OF) & rows["offered_rps"].notna()]
    found = []
    for row in rows.to_dict("records"):
        own = trials[(trials["system"] == row["system"]) & (trials["workload"] == row["workload"])]
        own = own[~own["warmup"].astype(bool) & own["late_p99_s"].notna()]
        medians = own[["on_time_fraction", "late_p99_s", "late_fraction"]].astype(float).median()
        found.append({"generator": row["generator"], "offered_rps": row["offered_rps"], **medians})
    columns = ["generator", "offered_rps", "on_time_fraction", "late_p99_s", "late_fraction"]
    return pd.DataFrame(found, columns=columns).dropna()


def truth(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the measured percentiles of the systems in `KNOWN` beside those that are known.

    Returns
    -------
    DataFrame
        generator, system, open_loop, statistic (such as p99, or `MEAN`), known_s, measured_s, off_ratio (measured ÷ known − 1;
        NaN: not estimable)
    """
    found = []
    for row in _sound(cells).to_dict("records"):
        for statistic in KNOWN.get(row["system"], ()):
            if isinstance(statistic, str):
                known_s, measured_s = WORK_S + mean_wait_s(row["offered_rps"], WORK_S), float(row["mean_s"])
            else:
                known_s = stalled_response_s(statistic) if row["system"].endswith("stalled") else DELAY_S
                measured_s = float(row[percentile_column(statistic)])
            about = {name: row[name] for name in ("generator", "system")}
            name = statistic if isinstance(statistic, str) else f"p{statistic:g}"
            about |= {"open_loop": pd.notna(row["offered_rps"]), "statistic": name, "known_s": known_s}
            found.append(about | {"measured_s": measured_s, "off_ratio": measured_s / known_s - 1})
    columns = ["generator", "system", "open_loop", "statistic", "known_s", "measured_s", "off_ratio"]
    return pd.DataFrame(found, columns=columns)


def _sound(cells: pd.DataFrame) -> pd.DataFrame:
    rows = cells[cells["status"] == "ok"]
    return (
        rows
        if {"generator", "offered_rps"} <= set(rows.columns)
        else rows.reindex(columns=[*rows.columns, "generator", "offered_rps"])
    )
