"""Runs of which only the outcome is made up: cells with given amounts, for what judges outcomes."""

from dataclasses import dataclass, field

import pandas as pd

from runners.analyse.cells import workload_columns
from runners.core.records import Interval, LoadProfile, Workload
from runners.stats.estimates import Comparison
from runners.store.migrations import workload_of_label

# A run gives these no interval.
WITHOUT_INTERVAL = {"errors_count", "threads_count", "build_s"}
LAUNCHES = 8


@dataclass
class MadeUp:
    """A :class:`runners.analyse.claims.ratios.Measured`, whose paired ratios have intervals of a relative half-width."""

    cells: pd.DataFrame
    noise_floor_ratio: dict = field(default_factory=dict)
    width: float = 0.001
    session_cells: list = field(default_factory=list)

    @property
    def own_cells(self):
        return self.cells

    def paired(self, first, second):
        rates = self.cells.set_index(["system", "workload"])["throughput_rps"]
        ratio = rates[tuple(first)] / rates[tuple(second)]
        return Comparison(Interval(ratio, ratio / (1 + self.width), ratio * (1 + self.width)), 0.0, LAUNCHES)


def labelled(label):
    """Return the columns of a workload with this label."""
    parts = workload_of_label(label)
    return workload_columns(Workload(**{**parts, "shape": LoadProfile(**parts["shape"])}))


def cell(system, workload, width=0.001, generator="perf-gauge", **amounts):
    """A cell: its amounts, with intervals of a relative half-width for those that have them."""
    row = {"system": system, **labelled(workload), "status": "ok", "bottleneck": "server", "generator": generator}
    row["launches_count"] = LAUNCHES
    for name, value in amounts.items():
        row[name] = value
        if name not in WITHOUT_INTERVAL and isinstance(value, int | float):
            stem, _, unit = name.rpartition("_")
            row |= {f"{stem}_low_{unit}": value / (1 + width), f"{stem}_high_{unit}": value * (1 + width)}
    return row


def run_of(rows, floor=1.005, width=0.001):
    """A run with these cells."""
    frame = pd.DataFrame(rows)
    return MadeUp(frame, dict.fromkeys(frame["workload"], floor), width)
