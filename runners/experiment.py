"""One experiment, as its notebook sees it: parameters in, measurement, results out.

A notebook says ``experiment = Experiment("02-json-decode", globals(), workloads=["decode"], floor="discard")``, shows
``experiment.plan``, calls ``experiment.measure()`` and reads ``experiment.results()``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from tqdm import tqdm

from runners.analyse.results import Results, analyse
from runners.analyse.tables import measured_windows
from runners.contract.requests import contract_request
from runners.errors import WrkbookError
from runners.execute import WITHOUT_MEASURING
from runners.generators.registry import GENERATORS
from runners.ledger import Run, check_run_id, new_run_id
from runners.machine.facts import machine_facts, project_facts, raise_open_files_limit
from runners.machine.pinning import PinningPlan, plan_pinning
from runners.machine.topology import read_cores
from runners.machine_record import about_machine
from runners.measure.block import BlockSettings
from runners.measure.design import DELAYS_MS, Cell, Design, design
from runners.measure.run import block_seconds, measure
from runners.measure.speed_probe import SpeedProbes
from runners.measure.verify import build_all, full_image, verify_server
from runners.measure.window import LoadSource
from runners.parameters import LIMITS, Parameters, check_parameters, from_notebook
from runners.present import narrative
from runners.present.markup import Fragment
from runners.present.narrative import Narrative
from runners.present.plan import plan
from runners.processed import write_processed
from runners.systems.build import Artifact
from runners.systems.catalogue import Catalogue, Server
from runners.systems.image import Image
from runners.systems.locking import exclusive
from runners.systems.versions import component_versions
from runners.units import format_duration

_GENERATOR = "wrk"
_USABLE_CPUS = frozenset(os.sched_getaffinity(0))


class Experiment:
    """An experiment with its parameters, checked before anything is started.

    Parameters
    ----------
    name : of the notebook, without its ending
    namespace : the notebook's ``globals()``, or parameters by name
    workloads : what is compared
    floor : the workload whose throughput bounds the others from above on the same server
    delays_ms : of the workload ``ping-delay``
    idle_s : for how long the idle machine is looked at before measuring (0: not at all); see :mod:`runners.machine_record`

    Raises
    ------
    WrkbookError
        For an unknown or wrong parameter, an unknown system, CPU sets that overlap or do not exist.
    """

    def __init__(
        self,
        name: str,
        namespace: Mapping[str, Any],
        *,
        workloads: Sequence[str],
        floor: str | None = None,
        delays_ms: Sequence[int] = DELAYS_MS,
        idle_s: float = 0.0,
    ) -> None:
        self.name, self.idle_s = name, idle_s
        self.parameters: Parameters = check_parameters(from_notebook(namespace))
        self.catalogue = Catalogue()
        self.design: Design = design(
            self.catalogue,
            workloads,
            floor=floor,
            systems=self.parameters.systems,
            batch_sizes=self.parameters.batch_sizes,
            delays_ms=delays_ms,
        )
        self.pinning: PinningPlan = plan_pinning(
            read_cores(_USABLE_CPUS), self.parameters.server_cpus, self.parameters.generator_cpus
        )
        self.threads = min(
            self.parameters.generator_threads or len(self.pinning.generator), self.parameters.connections
        )
        self.run = Run(name, check_run_id(self.parameters.run_id or new_run_id(self.parameters.profile)))
        limit = raise_open_files_limit()
        if self.parameters.connections > limit - 100:
            raise WrkbookError(
                f"parameter connections: {self.parameters.connections} do not fit into the limit of {limit} open files",
                f"use at most {limit - 100}, or raise the hard limit (ulimit -Hn, /etc/security/limits.conf)",
            )

    @cached_property
    def servers(self) -> list[Server]:
        """The servers that take part."""
        return [self.catalogue.server(name) for name in dict.fromkeys(system.server for system in self.design.systems)]

    def plan(self) -> Fragment:
        """What :meth:`measure` is going to do: cells, load, CPUs, and how long it takes."""
        profile, per_block_s = (
            self.parameters.effective_profile,
            block_seconds(self.design, self.parameters.effective_profile),
        )
        most = min(profile.budget_minutes * 60, profile.max_blocks * per_block_s)
        pins = self.pinning.as_dict()
        facts = {
            "run": f"{self.run.run_id}, profile {self.parameters.profile} ({profile.description})",
            "block": f"every system launched once, all alive; {len(self.design.cells)} cells, each a warm-up of {profile.warmup_s:g} s "
            f"and {profile.windows_count} × {profile.window_s:g} s in shuffled order: about {format_duration(per_block_s)}",
            "blocks": f"{profile.min_blocks} to {profile.max_blocks}, until every ratio is known to ±{self.parameters.precision:.1%}, "
            f"for at most {format_duration(most)}",
            "load": f"{_GENERATOR}, {self.parameters.connections} connections, {self.threads} thread(s), closed loop",
            "CPUs": ", ".join(f"{role} {cpus}" for role, cpus in pins.items()),
        }
        return plan([(cell.workload.label, cell.system.name, self._path(cell)) for cell in self.design.cells], facts)

    def _path(self, cell: Cell) -> str:
        service = self.catalogue.server(cell.system.server).service(cell.workload.name, cell.system.codec)
        assert service is not None, "the design holds only what is served"
        return contract_request(service.path, cell.workload, self.parameters.body_style, self.parameters.seed).path

    def measure(self) -> None:
        """Build and verify the servers, then measure; a run of the same id goes on where it was interrupted.

        Raises
        ------
        WrkbookError
            When the image cannot be made, a server does not build, none conforms, or the ledger cannot be written.
        """
        if WITHOUT_MEASURING in os.environ:
            return
        image, artifacts = full_image(self.catalogue), build_all(self.catalogue, self.servers)
        os.sched_setaffinity(0, self.pinning.housekeeping)
        try:
            with exclusive("measuring", "another wrkbook is measuring on this machine"):
                if self.run.exists:
                    self._check_same(self.run.read())
                else:
                    self.run.open(self._record(image, artifacts, self._nonconforming(artifacts)))
                nonconforming = frozenset(self.run.read()["nonconforming"])
                with SpeedProbes([*self.pinning.server, *self.pinning.generator]) as probes:
                    settings = self._settings(image, artifacts, nonconforming, probes)
                    measure(self.run, settings, measured_windows, precision=self.parameters.precision)
        finally:
            os.sched_setaffinity(0, _USABLE_CPUS)

    def results(self) -> Results:
        """Analyse what the ledger holds of this run.

        Raises
        ------
        WrkbookError
            When there is not one sound trial.
        """
        found = analyse(self.run)
        if not (found.cells["status"] == "ok").any():
            reasons = "; ".join(f"{row['system']}: {row['status']}" for _, row in found.cells.iterrows())
            raise WrkbookError(f"there is not one sound trial in run {self.run.run_id}: {reasons}", "./wrkbook verify")
        return found

    def publish(self, results: Results, first: Sequence[str] = ()) -> Narrative:
        """Write the processed data with the run's conclusions, and return these.

        `first` are the notebook's own, before the general ones; the first of them is the headline.
        """
        conclusions = Narrative([*first, *narrative.conclusions(results)])
        write_processed(
            results,
            [str(sentence) for sentence in conclusions],
            first[0] if first else str(narrative.headline(results)),
        )
        return conclusions

    def _nonconforming(self, artifacts: dict[str, Artifact]) -> dict[str, str]:
        """Server → first difference from the contract, for those that must not be measured."""
        found = {}
        for name, artifact in tqdm(artifacts.items(), desc="Verifying the servers", unit="server", leave=False):
            if findings := verify_server(artifact, self.pinning.server, again=False):
                found[name] = f"does not keep the contract: {findings[0]}"
        if len(found) == len(artifacts):
            name, difference = next(iter(found.items()))
            raise WrkbookError(f"no server can be measured; {name} {difference}", f"./wrkbook verify {name}")
        return found

    def _settings(
        self, image: Image, artifacts: dict[str, Artifact], nonconforming: frozenset[str], probes: SpeedProbes
    ) -> BlockSettings:
        return BlockSettings(
            design=self.design,
            artifacts=artifacts,
            source=LoadSource(GENERATORS[_GENERATOR], image, self.pinning, probes),
            profile=self.parameters.effective_profile,
            connections=self.parameters.connections,
            threads=self.threads,
            body_style=self.parameters.body_style,
            seed=self.parameters.seed,
            nonconforming=nonconforming,
        )

    def _record(self, image: Image, artifacts: dict[str, Artifact], nonconforming: dict[str, str]) -> dict[str, Any]:
        placebo = next((system for system in self.design.systems if system.placebo), None)
        original = next((system for system in self.design.systems if placebo and placebo.repeats(system)), None)
        return {
            "started_at": datetime.now(UTC).isoformat(),
            "profile": self.parameters.profile,
            "parameters": self.parameters.model_dump(exclude={"run_id"}),
            "pinning": self.pinning.as_dict(),
            "machine": machine_facts(),
            "versions": component_versions(self.servers, image)
            | {"builds": {name: artifact.key for name, artifact in artifacts.items()}}
            | project_facts(),
            "cells": [[cell.system.name, cell.workload.label] for cell in self.design.cells],
            "compared": [workload.label for workload in self.design.compared],
            "floor": self.design.floor,
            "nonconforming": nonconforming,
            "placebo_of": original.name if original else None,
            "about_machine": about_machine(read_cores(_USABLE_CPUS), self.pinning, self.idle_s)
            if self.idle_s
            else None,
        }

    def _check_same(self, record: dict[str, Any]) -> None:
        """Refuse to go on with a run that was started with other parameters, naming the differences."""
        now = self.parameters.model_dump(exclude={"run_id"})
        differing = [name for name in now if name not in LIMITS and record["parameters"].get(name) != now[name]]
        if differing:
            told = "; ".join(f"{name} was {record['parameters'].get(name)!r}, is {now[name]!r}" for name in differing)
            raise WrkbookError(
                f"run {self.run.run_id} was started with other parameters: {told}", "use the same, or another run-id"
            )
