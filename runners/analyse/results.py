"""All that a run says: its cells, comparisons, shares of the floor, noise floor and checks, made from the ledger."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from runners.analyse.cells import build_cells, build_curves, windows_by_block
from runners.analyse.connection_checks import ERRORS_TOLERANCE
from runners.analyse.estimates import compare
from runners.analyse.latencies import Latencies, latencies_of
from runners.analyse.published import figures, published_values
from runners.analyse.recorded import Recorded
from runners.analyse.scale import ForClaims, for_claims, read_builds
from runners.analyse.tables import build_tables
from runners.analyse.verdicts import holm, noise_floor, verdict
from runners.ledger import Run
from runners.records import PLACEBO, Interval

_PARTS = (("", ""), ("low_", "_low"), ("high_", "_high"))
_SHARE_COLUMNS = ["system", "floor_system", "workload", "floor_workload"]
_SHARE_COLUMNS += ["share_ratio", "share_low_ratio", "share_high_ratio"]


@dataclass(frozen=True)
class Results(Recorded):
    """An analysed run; the frames' columns are described where they are made."""

    @cached_property
    def cells(self) -> pd.DataFrame:
        """See :func:`runners.analyse.cells.build_cells`."""
        return build_cells(
            self.tables, [tuple(cell) for cell in self.record["cells"]], self.record["nonconforming"], self.seed
        )

    @property
    def rated(self) -> list[str]:
        """The compared workloads at a fixed rate: there systems differ in their service times."""
        offered = set(self.cells.dropna(subset=["offered_rps"])["workload"]) if "offered_rps" in self.cells else set()
        return [workload for workload in self.record["compared"] if workload in offered]

    @property
    def ranked(self) -> list[str]:
        """The other compared workloads: systems differ in throughput."""
        return [workload for workload in self.record["compared"] if workload not in self.rated]

    @cached_property
    def latencies(self) -> Latencies:
        """The service times of the cells that have a fixed rate."""
        return latencies_of(self.tables.latency, self.cells[self.cells["workload"].isin(self.rated)], self.seed)

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Every pair within each workload: workload, system_a, system_b, ratio (a over b) with its interval, p_adjusted, verdict."""
        rows = [row for workload in self.ranked for row in self._pairs(workload)]
        columns = ["workload", "system_a", "system_b", "ratio", "ratio_low", "ratio_high", "p_value", "p_adjusted"]
        frame = pd.DataFrame(rows, columns=columns)
        frame["p_adjusted"] = holm(frame["p_value"].to_numpy(float)) if len(frame) else []
        frame["verdict"] = [self._verdict(row) for _, row in frame.iterrows()]
        return frame.drop(columns="p_value")

    def _pairs(self, workload: str) -> list[dict[str, Any]]:
        systems = [
            row["system"] for _, row in self.cells.iterrows() if row["workload"] == workload and row["status"] == "ok"
        ]
        rows = []
        for first, second in itertools.combinations([system for system in systems if system != PLACEBO], 2):
            found = self.paired((first, workload), (second, workload))
            rows.append({"workload": workload, "system_a": first, "system_b": second, **found})
        if {PLACEBO, self.record["placebo_of"]} <= set(systems):
            # The control is shown, but not tested: it is what the others are tested against.
            found = self.paired((PLACEBO, workload), (self.record["placebo_of"], workload)) | {"p_value": math.nan}
            rows.append({"workload": workload, "system_a": PLACEBO, "system_b": self.record["placebo_of"], **found})
        return rows

    def paired(self, first: tuple[str, str], second: tuple[str, str]) -> dict[str, float]:
        """The throughput of one (system, workload) over that of another within blocks: ratio, ratio_low, ratio_high, p_value."""
        sides = [windows_by_block(self.tables, *side) for side in (first, second)]
        blocks = sorted(sides[0].keys() & sides[1].keys())
        found = compare([sides[0][block] for block in blocks], [sides[1][block] for block in blocks], seed=self.seed)
        interval = found.interval
        return {
            "ratio": interval.value,
            "ratio_low": interval.low,
            "ratio_high": interval.high,
            "p_value": found.p_value,
        }

    def _verdict(self, row: pd.Series) -> str:
        bound = {
            cell["system"]: cell["bottleneck"] == "client"
            for _, cell in self.cells.iterrows()
            if cell["workload"] == row["workload"] and cell["status"] == "ok"
        }
        if self._has_errors(row["workload"], row["system_a"], row["system_b"]):
            return "not comparable"
        return verdict(
            Interval(row["ratio"], row["ratio_low"], row["ratio_high"]),
            self.noise_floor_ratio.get(row["workload"], math.nan) - 1,
            float(row["p_adjusted"]),
            first_client_bound=bound[row["system_a"]],
            second_client_bound=bound[row["system_b"]],
        )

    def _has_errors(self, workload: str, *systems: str) -> bool:
        """Whether one of the cells answered so many requests with errors, or not at all, that its rate says little."""
        rows = self.cells[(self.cells["workload"] == workload) & self.cells["system"].isin(systems)]
        return bool((rows["errors_fraction"] > ERRORS_TOLERANCE).any())

    @cached_property
    def noise_floor_ratio(self) -> dict[str, float]:
        """Workload → how far from 1 the A/A control's ratio is: 1.013 is 1.3 %."""
        original = self.record["placebo_of"]
        found = {}
        for workload in self.ranked:
            if windows_by_block(self.tables, PLACEBO, workload) and windows_by_block(self.tables, original, workload):
                ratio = self.paired((PLACEBO, workload), (original, workload))
                found[workload] = 1 + noise_floor([Interval(ratio["ratio"], ratio["ratio_low"], ratio["ratio_high"])])
        return {workload: value for workload, value in found.items() if math.isfinite(value)}

    @cached_property
    def shares(self) -> pd.DataFrame:
        """Throughput as a share of the same server's floor with the same body.

        Columns: system, floor_system, workload, floor_workload, share_ratio, share_low_ratio, share_high_ratio.
        """
        rows = []
        floor = self.record["floor"]
        for _, cell in self.cells.iterrows():
            floor_cell = (cell["server"], f"{floor}-{cell['operations_count']:.0f}")
            known = windows_by_block(self.tables, *floor_cell) if floor and cell["status"] == "ok" else {}
            if known and cell["workload"] in self.record["compared"] and cell["system"] != PLACEBO:
                found = self.paired((cell["system"], cell["workload"]), floor_cell)
                row = {"system": cell["system"], "floor_system": cell["server"]}
                row |= {"workload": cell["workload"], "floor_workload": floor_cell[1]}
                ratios = {f"share_{part}ratio": found[f"ratio{end}"] for part, end in _PARTS}
                rows.append(row | ratios)
        return pd.DataFrame(rows, columns=_SHARE_COLUMNS)

    @cached_property
    def curves(self) -> pd.DataFrame:
        """See :func:`runners.analyse.cells.build_curves`."""
        return build_curves(self.tables, self.cells)

    @cached_property
    def published(self) -> pd.DataFrame:
        """The published values for the cells of this run, from another machine."""
        return published_values(self.cells)

    @cached_property
    def builds(self) -> pd.DataFrame:
        """See :func:`runners.analyse.scale.read_builds`."""
        return read_builds(self.run)

    @property
    def published_amounts(self) -> pd.DataFrame:
        """All that was published for this experiment's systems and others, whether or not they are cells of this run."""
        known = figures()
        return known[known["experiment"] == self.run.experiment]

    @cached_property
    def for_claims(self) -> ForClaims:
        """What the judge of claims reads: see :func:`runners.analyse.scale.for_claims`.

        The published build was of a Go that came with its library compiled: what is built after a change is the nearest to it.
        """
        return for_claims(self, self.builds.set_index("system")["incremental_s"].to_dict())

    @cached_property
    def precision_reached_ratio(self) -> float:
        """The largest half-width of all ratios; infinite where one has no interval."""
        frame = self.comparisons
        widths = (frame["ratio_high"] - frame["ratio_low"]) / 2 / frame["ratio"]
        return float(widths.max()) if len(widths) and widths.notna().all() else math.inf

    @property
    def budget_note(self) -> str:
        """What a limit of time or blocks cut short, in words; empty when the precision was reached."""
        reached = self.precision_reached_ratio
        if self.profile == "quick" or not math.isfinite(reached) or reached <= self.precision_ratio:
            return ""
        return "the limits of time and blocks ended the run before it reached that"


def analyse(run: Run) -> Results:
    """Analyse a run from its raw records alone."""
    return Results(run, run.read(), build_tables(run.trials()))
