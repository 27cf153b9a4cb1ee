"""The manifest of a run and the tables of its records, before anything is estimated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from runners.analyse.tables import Tables
from runners.core.records import LoadProfile, System, Workload
from runners.machine.topology import parse_cpu_list
from runners.store.ledger import Run


@dataclass(frozen=True)
class RunRecord:
    """A run of the ledger with its ``run.json`` and its tables."""

    run: Run
    record: dict[str, Any]
    tables: Tables

    @cached_property
    def systems(self) -> dict[str, System]:
        """Label → what it stands for, of every planned system."""
        return {label: System(**parts) for label, parts in self.record["systems"].items()}

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        """Label → what it stands for, of every planned workload."""
        return {
            label: Workload(**{**parts, "shape": LoadProfile(**parts["shape"])})
            for label, parts in self.record["workloads"].items()
        }

    @property
    def profile(self) -> str:
        """``quick``, ``standard`` or ``publication``."""
        return str(self.record["profile"])

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the run."""
        return dict(self.record["parameters"])

    @property
    def trials(self) -> pd.DataFrame:
        """One row per window."""
        return self.tables.trials

    @property
    def baseline(self) -> str:
        """The first system, of which the A/A control is a second launch."""
        return str(self.record["placebo_of"])

    @property
    def checks(self) -> pd.DataFrame:
        """One row per trial and check."""
        return self.tables.checks

    @property
    def usage(self) -> pd.DataFrame:
        """One row per window and role."""
        return self.tables.usage

    @property
    def machine(self) -> dict[str, Any]:
        """Facts of the machine that measured, with the CPUs of each role as ``pinning``."""
        return dict(self.record["machine"]) | {"pinning": dict(self.record["pinning"])}

    @property
    def backends(self) -> dict[str, Any]:
        """Return the backends by name; see :mod:`runners.experiments.manifest`."""
        return dict(self.record.get("backends", {}))

    @property
    def about_machine(self) -> dict[str, Any]:
        """The survey of the machine before measuring (see :mod:`runners.measure.machine_survey`); empty where there was none."""
        return dict(self.record.get("about_machine") or {})

    @property
    def left_out(self) -> list[str]:
        """The numbers of connections that did not fit into this machine, in words."""
        return list(self.record.get("left_out", []))

    @property
    def cpus(self) -> dict[str, tuple[int, ...]]:
        """Role → its CPUs."""
        return {role: parse_cpu_list(text) for role, text in self.record["pinning"].items()}

    @property
    def idle_speed(self) -> pd.DataFrame:
        """The speed of the idle machine's CPUs: cpu, at_s, mean_hz, wakes_hz."""
        return pd.DataFrame(self.about_machine.get("idle_speed", []), columns=["cpu", "at_s", "mean_hz", "wakes_hz"])

    @property
    def versions(self) -> dict[str, Any]:
        """Versions of every component that measured or was measured."""
        return dict(self.record["versions"])

    @property
    def precision_ratio(self) -> float:
        """The half-width that the run aimed at."""
        return float(self.parameters["precision"])

    @property
    def blocks_count(self) -> int:
        """Blocks that were measured."""
        return int(self.trials["block"].nunique())

    @property
    def measured_s(self) -> float:
        """Time that the blocks took, launches and warm-ups included."""
        return float(self.trials.groupby("block")["block_s"].first().sum()) if len(self.trials) else 0.0
