"""All that a run says: its cells, comparisons, shares of the floor, noise floor and checks, made from the ledger."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from runners.analyse.cells import build_cells, build_curves, windows_by_block
from runners.analyse.estimates import compare
from runners.analyse.published import published_values
from runners.analyse.tables import Tables, build_tables
from runners.analyse.verdicts import holm, noise_floor, verdict
from runners.ledger import Run
from runners.machine.topology import parse_cpu_list
from runners.records import PLACEBO, Interval


@dataclass(frozen=True)
class Results:
    """An analysed run; the frames' columns are described where they are made.

    Attributes
    ----------
    run : where it is in the ledger
    record : its ``run.json``
    tables : what goes to ``data/processed``
    """

    run: Run
    record: dict[str, Any]
    tables: Tables

    @property
    def profile(self) -> str:
        """``quick``, ``standard`` or ``publication``."""
        return str(self.record["profile"])

    @property
    def parameters(self) -> dict[str, Any]:
        """As the run was started."""
        return dict(self.record["parameters"])

    @property
    def trials(self) -> pd.DataFrame:
        """One row per window."""
        return self.tables.trials

    @property
    def baseline(self) -> str:
        """The system that the others are compared with: the first, of which the A/A control is a second launch."""
        return str(self.record["placebo_of"])

    @property
    def seed(self) -> int:
        """Of all resampling."""
        return int(self.parameters["seed"])

    @cached_property
    def cells(self) -> pd.DataFrame:
        """See :func:`runners.analyse.cells.build_cells`."""
        return build_cells(
            self.tables, [tuple(cell) for cell in self.record["cells"]], self.record["nonconforming"], self.seed
        )

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Every pair within each workload: workload, system_a, system_b, ratio (a over b) with its interval, p_adjusted, verdict."""
        rows = [row for workload in self.record["compared"] for row in self._pairs(workload)]
        columns = [
            "workload",
            "system_a",
            "system_b",
            "ratio",
            "ratio_low",
            "ratio_high",
            "p_value",
            "p_adjusted",
            "verdict",
        ]
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
            found = self._compare((first, workload), (second, workload))
            rows.append({"workload": workload, "system_a": first, "system_b": second, **found})
        if {PLACEBO, self.record["placebo_of"]} <= set(systems):
            # The control is shown, but not tested: it is what the others are tested against.
            found = self._compare((PLACEBO, workload), (self.record["placebo_of"], workload)) | {"p_value": math.nan}
            rows.append({"workload": workload, "system_a": PLACEBO, "system_b": self.record["placebo_of"], **found})
        return rows

    def _compare(self, first: tuple[str, str], second: tuple[str, str]) -> dict[str, float]:
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
        return verdict(
            Interval(row["ratio"], row["ratio_low"], row["ratio_high"]),
            self.noise_floor_ratio.get(row["workload"], math.nan) - 1,
            float(row["p_adjusted"]),
            first_client_bound=bound[row["system_a"]],
            second_client_bound=bound[row["system_b"]],
        )

    @cached_property
    def noise_floor_ratio(self) -> dict[str, float]:
        """Workload → how far from 1 the A/A control's ratio is: 1.013 is 1.3 %."""
        original = self.record["placebo_of"]
        found = {}
        for workload in self.record["compared"]:
            if windows_by_block(self.tables, PLACEBO, workload) and windows_by_block(self.tables, original, workload):
                ratio = self._compare((PLACEBO, workload), (original, workload))
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
                found = self._compare((cell["system"], cell["workload"]), floor_cell)
                row = {
                    "system": cell["system"],
                    "floor_system": cell["server"],
                    "workload": cell["workload"],
                    "floor_workload": floor_cell[1],
                }
                rows.append(
                    row
                    | {
                        "share_ratio": found["ratio"],
                        "share_low_ratio": found["ratio_low"],
                        "share_high_ratio": found["ratio_high"],
                    }
                )
        return pd.DataFrame(
            rows,
            columns=[
                "system",
                "floor_system",
                "workload",
                "floor_workload",
                "share_ratio",
                "share_low_ratio",
                "share_high_ratio",
            ],
        )

    @cached_property
    def curves(self) -> pd.DataFrame:
        """See :func:`runners.analyse.cells.build_curves`."""
        return build_curves(self.tables, self.cells)

    @property
    def checks(self) -> pd.DataFrame:
        """One row per trial and check."""
        return self.tables.checks

    @cached_property
    def published(self) -> pd.DataFrame:
        """The published values for the cells of this run, from another machine."""
        return published_values(self.cells)

    @property
    def machine(self) -> dict[str, Any]:
        """Facts of the machine that measured, with the CPUs of each role as ``pinning``."""
        return dict(self.record["machine"]) | {"pinning": dict(self.record["pinning"])}

    @property
    def about_machine(self) -> dict[str, Any]:
        """What was seen of the machine before measuring (see :mod:`runners.machine_record`); empty where nobody looked."""
        return dict(self.record.get("about_machine") or {})

    @property
    def cpus(self) -> dict[str, tuple[int, ...]]:
        """Role → its CPUs."""
        return {role: parse_cpu_list(text) for role, text in self.record["pinning"].items()}

    @property
    def idle_speed(self) -> pd.DataFrame:
        """What was seen of the idle machine's speed: cpu, at_s, mean_hz, wakes_hz."""
        return pd.DataFrame(self.about_machine.get("idle_speed", []), columns=["cpu", "at_s", "mean_hz", "wakes_hz"])

    @property
    def versions(self) -> dict[str, Any]:
        """Versions of every component that measured or was measured."""
        return dict(self.record["versions"])

    @property
    def precision_ratio(self) -> float:
        """The half-width that the run aimed at."""
        return float(self.parameters["precision"])

    @cached_property
    def precision_reached_ratio(self) -> float:
        """The largest half-width of all ratios; infinite where one has no interval."""
        frame = self.comparisons
        widths = (frame["ratio_high"] - frame["ratio_low"]) / 2 / frame["ratio"]
        return float(widths.max()) if len(widths) and widths.notna().all() else math.inf

    @property
    def blocks_count(self) -> int:
        """Blocks that were measured."""
        return int(self.trials["block"].nunique()) if len(self.trials) else 0

    @property
    def measured_s(self) -> float:
        """Time that the blocks took, launches and warm-ups included."""
        return float(self.trials.groupby("block")["block_s"].first().sum()) if len(self.trials) else 0.0

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
