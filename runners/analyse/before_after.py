"""Two runs of one experiment, cell by cell: what a change between them did to each system, and what the machine did to all.

Launches of two runs share no block, so nothing pairs them and nothing cancels what drifted between the runs. Two things help to judge
that: the band of a workload is that of the noisier run, and the cells of servers that nobody changed show the factor that all cells may
share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from runners.analyse.comparisons import compare_sides
from runners.analyse.differences import Difference, check_comparable, differences, unchanged_servers
from runners.analyse.estimates import as_columns, compare_unpaired, geometric_mean_interval, ratio_of
from runners.analyse.results import Results, analyse
from runners.analyse.verdicts import bound, verdict
from runners.errors import WrkbookError
from runners.ledger import Run
from runners.records import GENERATOR_LIMITED, PLACEBO, Interval

BASELINE = "run A"
_ABOUT = ["system", "server", "codec", "workload", "operations_count"]
_COLUMNS = [
    *_ABOUT,
    "unchanged",
    "bottleneck",
    "status",
    *(f"{side}_{part}rps" for side in "ab" for part in ("", "low_", "high_")),
    *(f"{what}{part}" for what in ("ratio", "p99_ratio", "cpu_ratio") for part in ("", "_low", "_high")),
    "bound",
    "verdict",
]


@dataclass(frozen=True)
class CommonFactor:
    """What all cells together did from one run to the other.

    Attributes
    ----------
    value : geometric mean of the cells' ratios B/A; NaN without a cell
    low, high : the least and the greatest of these ratios
    cells_count : how many there are
    unchanged : whether these are the cells of servers that are the same in both runs; otherwise there is no such
        server, and these are all cells
    """

    value: float
    low: float
    high: float
    cells_count: int
    unchanged: bool


@dataclass(frozen=True)
class BeforeAfter:
    """Two analysed runs of one experiment.

    Attributes
    ----------
    a : before the change
    b : after it
    """

    a: Results
    b: Results

    @property
    def same_run(self) -> bool:
        """Whether a run is compared with itself."""
        return self.a.run == self.b.run

    @cached_property
    def differences(self) -> list[Difference]:
        """What the records of both state differently."""
        return differences(self.a.record, self.b.record)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row for each system × workload that has a number in both runs.

        Columns
        -------
        system, server, codec, workload, operations_count; unchanged (the server is the same in both runs); bottleneck
        (of run B); a_rps and b_rps with _low_ and _high_; ratio (b over a), p99_ratio and cpu_ratio with _low and _high; bound, verdict (of
        b against a; empty for the control, which repeats another cell), status (ok).
        """
        return pd.DataFrame([self._cell(*pair) for pair in self._pairs()], columns=_COLUMNS)

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """The cells as comparisons of run B (``system_a``, named as the system) with run A (``system_b``)."""
        columns = ["workload", "system", "ratio", "ratio_low", "ratio_high", "bound", "verdict"]
        family = self.cells["system"].map(lambda system: "control" if system == PLACEBO else "leader")
        return self.cells[columns].rename(columns={"system": "system_a"}).assign(system_b=BASELINE, family=family)

    @cached_property
    def unmatched(self) -> list[str]:
        """Cells with a number in one of the runs only, in words."""
        before, after = self._measured(self.a), self._measured(self.b)
        return [
            f"{system} on {workload} (only in run {run_id})"
            for run_id, own, other in ((self.a.run.run_id, before, after), (self.b.run.run_id, after, before))
            for system, workload in own
            if (system, workload) not in other and system != PLACEBO
        ]

    @cached_property
    def noise_floor_ratio(self) -> dict[str, float]:
        """Workload → the larger of both runs' noise floors: 1.013 is 1.3 %."""
        floors = [results.noise_floor_ratio for results in (self.a, self.b)]
        return {
            name: max(floor[name] for floor in floors if name in floor)
            for name in dict.fromkeys([*floors[0], *floors[1]])
        }

    @cached_property
    def common(self) -> CommonFactor:
        """What the cells of unchanged servers share; of all cells where every server was changed."""
        rows = self.cells[self.cells["system"] != PLACEBO]
        unchanged = bool(rows["unchanged"].any())
        ratios = rows.loc[rows["unchanged"].astype(bool) if unchanged else rows.index, "ratio"].to_numpy(float)
        if not len(ratios):
            return CommonFactor(math.nan, math.nan, math.nan, 0, False)
        value = float(np.exp(np.log(ratios).mean()))
        return CommonFactor(value, float(ratios.min()), float(ratios.max()), len(ratios), unchanged)

    @staticmethod
    def _measured(results: Results) -> dict[tuple[str, str], dict[str, Any]]:
        rows = results.cells[results.cells["status"] == "ok"].to_dict("records")
        return {(row["system"], row["workload"]): row for row in rows}

    def _pairs(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        before, after = self._measured(self.a), self._measured(self.b)
        return [(cell, after[place]) for place, cell in before.items() if place in after]

    def _cell(self, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        place = (before["system"], before["workload"])
        sides = [results.launches(*place) for results in (self.a, self.b)]
        # A run and itself: every launch is its own pair, and nothing can differ.
        ratio = compare_sides(*sides) if self.same_run else compare_unpaired(*(side.to_numpy() for side in sides[::-1]))
        side = bound(after["bottleneck"] in GENERATOR_LIMITED, before["bottleneck"] in GENERATOR_LIMITED)
        floor = self.noise_floor_ratio.get(before["workload"], math.nan) - 1
        row = {name: before[name] for name in _ABOUT} | {
            "unchanged": self.same_run or before["server"] in unchanged_servers(self.a.record, self.b.record),
            "bottleneck": after["bottleneck"],
            "status": "ok",
            "bound": side,
            "verdict": "" if before["system"] == PLACEBO else verdict(ratio.interval, floor, side),
        }
        for name, side in zip("ab", sides, strict=True):
            row |= as_columns(geometric_mean_interval(side.to_numpy()), name, "_rps")
        row |= as_columns(ratio.interval, "ratio")
        for name, stem, unit in (("p99_ratio", "p99", "s"), ("cpu_ratio", "cpu_per_request", "s")):
            first, second = (_estimate(cell, stem, unit) for cell in (after, before))
            row |= as_columns(Interval(1.0, 1.0, 1.0) if self.same_run else ratio_of(first, second), name)
        return row


def compare_runs(a: Run, b: Run, *, anyway: bool = False) -> BeforeAfter:
    """Compare two runs from their raw records alone.

    Raises
    ------
    WrkbookError
        When the runs were not measured alike (unless `anyway`), a record is damaged, or no cell has a number in both.
    """
    check_comparable(a, b, anyway=anyway)
    before = analyse(a)
    found = BeforeAfter(before, before if a == b else analyse(b))
    if found.cells.empty:
        raise WrkbookError(
            f"{a.experiment}: no system has a number on the same workload in both {a.run_id} and {b.run_id}",
            "compare runs that share systems and workloads: ./wrkbook list",
        )
    return found


def _estimate(cell: dict[str, Any], stem: str, unit: str) -> Interval:
    return Interval(cell[f"{stem}_{unit}"], cell[f"{stem}_low_{unit}"], cell[f"{stem}_high_{unit}"])
