"""Runs of which only the outcome is made up: cells with given amounts, for what judges outcomes."""

import itertools
from dataclasses import dataclass, field

import pandas as pd

# Peaks and counts have no interval of their own.
WITHOUT_INTERVAL = {
    "rss_peak_bytes",
    "errors_count",
    "threads_count",
    "build_s",
    "max_s",
    "mean_s",
    "stddev_s",
    "tm99_s",
}


@dataclass
class MadeUp:
    """What :class:`runners.analyse.cell_ratios.Measured` asks for."""

    cells: pd.DataFrame
    comparisons: pd.DataFrame
    noise_floor_ratio: dict = field(default_factory=dict)


def cell(system, workload, width=0.001, **amounts):
    """A cell: its amounts, with intervals of a relative half-width for those that have them."""
    row = {"system": system, "workload": workload, "status": "ok", "bottleneck": "server"}
    for name, value in amounts.items():
        row[name] = value
        if name not in WITHOUT_INTERVAL and isinstance(value, int | float):
            stem, _, unit = name.rpartition("_")
            row |= {f"{stem}_low_{unit}": value / (1 + width), f"{stem}_high_{unit}": value * (1 + width)}
    return row


def run_of(rows, floor=1.005, paired=True, width=0.001):
    """A run with these cells; `paired`: with the comparisons of throughputs that a run makes itself."""
    frame = pd.DataFrame(rows)
    pairs = []
    for workload, group in frame.groupby("workload", sort=False):
        known = group.dropna(subset=["throughput_rps"]) if paired and "throughput_rps" in group else group.iloc[:0]
        for (_, a), (_, b) in itertools.combinations(known.iterrows(), 2):
            ratio = a["throughput_rps"] / b["throughput_rps"]
            ends = {"ratio": ratio, "ratio_low": ratio / (1 + width), "ratio_high": ratio * (1 + width)}
            pairs.append({"workload": workload, "system_a": a["system"], "system_b": b["system"], **ends})
    columns = ["workload", "system_a", "system_b", "ratio", "ratio_low", "ratio_high"]
    return MadeUp(frame, pd.DataFrame(pairs, columns=columns), dict.fromkeys(frame["workload"], floor))
