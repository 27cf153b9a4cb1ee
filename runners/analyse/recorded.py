"""The manifest of a run and the tables of its records, before anything is estimated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from runners.analyse.searches import Searches, searches
from runners.analyse.tables import Tables
from runners.analyse.usage import read_builds
from runners.core.records import System, Workload
from runners.core.run_manifest import Facts, RunManifest
from runners.machine.topology import parse_cpu_list
from runners.store.ledger import Run


@dataclass(frozen=True)
class RunRecord:
    """A run of the ledger with its manifest and its tables."""

    run: Run
    manifest: RunManifest
    tables: Tables

    @property
    def systems(self) -> dict[str, System]:
        """Return label → system, of every planned system."""
        return self.manifest.systems

    @property
    def workloads(self) -> dict[str, Workload]:
        """Return label → workload, of every planned workload."""
        return self.manifest.workloads

    @property
    def profile(self) -> str:
        """Return the profile: ``quick``, ``standard`` or ``publication``."""
        return self.manifest.profile

    @property
    def parameters(self) -> Facts:
        """Return the parameters of the run."""
        return self.manifest.parameters

    @property
    def trials(self) -> pd.DataFrame:
        """Return the windows, one row each."""
        return self.tables.trials

    @cached_property
    def builds(self) -> pd.DataFrame:
        """Return the timed builds; see :func:`runners.analyse.usage.read_builds`."""
        return read_builds(self.run)

    @cached_property
    def searches(self) -> Searches:
        """Return the searches of this run's session; see :func:`runners.analyse.searches.searches`."""
        return searches(self.manifest, self.trials, self.tables.failures)

    @property
    def baseline(self) -> str:
        """Return the first system, of which the A/A control is a second launch."""
        return str(self.manifest.control_of)

    @property
    def checks(self) -> pd.DataFrame:
        """Return the checks, one row per trial and check."""
        return self.tables.checks

    @property
    def usage(self) -> pd.DataFrame:
        """Return the usage, one row per window and role."""
        return self.tables.usage

    @property
    def machine(self) -> Facts:
        """Return the facts of the machine that measured, with the CPUs of each role as ``pinning``."""
        return self.manifest.machine | {"pinning": dict(self.manifest.pinning)}

    @property
    def cpus(self) -> dict[str, tuple[int, ...]]:
        """Return role → its CPUs."""
        return {role: parse_cpu_list(text) for role, text in self.manifest.pinning.items()}

    @property
    def idle_speed(self) -> pd.DataFrame:
        """Return the speed of the idle machine's CPUs: cpu, at_s, mean_hz, wakes_hz."""
        seen = self.manifest.about_machine.idle_speed if self.manifest.about_machine else []
        columns = ["cpu", "at_s", "mean_hz", "wakes_hz"]
        return pd.DataFrame([reading.model_dump() for reading in seen], columns=columns)

    @property
    def precision_ratio(self) -> float:
        """Return the half-width that the run aimed at."""
        return float(self.parameters["precision"])

    @property
    def blocks_count(self) -> int:
        """Return the number of measured blocks."""
        return int(self.trials["block"].nunique())

    @property
    def measured_s(self) -> float:
        """Return the time that the blocks took, launches and warm-ups included."""
        return float(self.trials.groupby("block")["block_s"].first().sum()) if len(self.trials) else 0.0
