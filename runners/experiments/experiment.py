"""One experiment, as its notebook sees it: parameters in, measurement, results out.

A notebook makes an :class:`Experiment`, shows its ``plan``, calls ``measure()`` and reads ``results()``.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from runners.analyse.results import Results, analyse
from runners.analyse.sessions import with_sessions
from runners.analyse.summary import write_processed
from runners.analyse.tables import measured_windows
from runners.core.errors import WrkbookError
from runners.core.parameters import PROFILES, Parameters, Profile, check_parameters, from_notebook
from runners.core.project import MEASURING, WITHOUT_MEASURING, exclusive
from runners.core.records import LoadProfile
from runners.core.status_line import note, steps
from runners.experiments.plan import check_same, idle_other, manifest_of, planned
from runners.machine.speed_probe import SpeedProbes
from runners.measure.build_times import record_build_times
from runners.measure.conformance import build_all, image_to_run, verify_server
from runners.measure.design import DELAYS_MS, BlockSettings, Cell
from runners.measure.fixed_rates import FixedRateLoad, plan_rates, with_rates
from runners.measure.load import LoadContext
from runners.measure.load_levels import LoadLevels, plan_levels, search_ranges
from runners.measure.machine_survey import SURVEY_S, survey
from runners.measure.run import measure
from runners.measure.run_plan import USABLE_CPUS, plan_run
from runners.measure.sampling import probed_cpus
from runners.present.answer import Subject, published
from runners.present.kit.markup import Fragment
from runners.store.ledger import Run
from runners.store.runs import being_measured, kept, mark_void
from runners.systems.build import Artifact
from runners.systems.image import Image
from runners.systems.sandbox import ensure_cpus


class Experiment:
    """An experiment with its parameters, checked before anything is started.

    Parameters
    ----------
    name : str
        Name of the notebook, without its ending.
    namespace : Mapping[str, Any]
        The notebook's ``globals()``, or parameters by name.
    workloads : what is compared
    floor : str | None
        The workload whose throughput bounds the others from above on the same server.
    delays_ms : Sequence[int]
        Delays of the workload ``ping-delay``.
    shapes : Sequence[LoadProfile]
        Loads to compare; without them one for each of the parameters `connection_counts` and `generators`.
    fixed_rate_loads : Sequence[FixedRateLoad]
        Loads at rates that are planned when measuring starts, see :mod:`runners.measure.fixed_rates`, before `shapes`.
    fresh : bool
        Whether each cell has a process of its own, so that memory can be told apart.
    only : Collection[tuple[str, str]]
        System and workload's label of each cell, where not every system is measured on every workload.
    batch_sizes : Sequence[int]
        Batch sizes, where they are part of the question; else the parameter's.
    idle_s : float
        For how long :mod:`runners.measure.machine_survey` watches the idle machine, where that is part of the question.
    load_levels : LoadLevels | None
        Rates that are planned when measuring starts, as shares of what each system carries.
    also : Sequence[Cell]
        Cells that are measured besides, and not compared.
    profiles : Mapping[str, Profile]
        The amount of measuring, where it differs from that of other experiments.
    same_servers : bool
        Whether a workload that no named system serves is measured on the other systems of their servers.
    by_cpus : bool
        Whether each cell is measured on several numbers of server CPUs (:mod:`runners.measure.server_cpus`).

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
        shapes: Sequence[LoadProfile] = (),
        fixed_rate_loads: Sequence[FixedRateLoad] = (),
        fresh: bool = False,
        only: Collection[tuple[str, str]] = (),
        batch_sizes: Sequence[int] = (),
        idle_s: float = 0.0,
        load_levels: LoadLevels | None = None,
        also: Sequence[Cell] = (),
        profiles: Mapping[str, Profile] = PROFILES,
        same_servers: bool = False,
        by_cpus: bool = False,
    ) -> None:
        self.selected_runs: dict[str, str] | None = None  # for the manifest
        self.run_plan = plan_run(
            name,
            check_parameters(from_notebook(namespace), name),
            workloads=workloads,
            floor=floor,
            delays_ms=delays_ms,
            shapes=shapes,
            fixed_rate_loads=fixed_rate_loads,
            fresh=fresh,
            only=only,
            batch_sizes=batch_sizes,
            idle_s=idle_s,
            load_levels=load_levels,
            also=also,
            profiles=profiles,
            same_servers=same_servers,
            by_cpus=by_cpus,
        )

    @property
    def parameters(self) -> Parameters:
        """The checked parameters."""
        return self.run_plan.parameters

    @property
    def run(self) -> Run:
        """The run in the ledger."""
        return self.run_plan.run

    def plan(self) -> Fragment:
        """Return the plan of :meth:`measure` as a table: cells, load, CPUs, and duration."""
        return planned(self.run_plan)

    def measure(self) -> None:
        """Build and verify the servers, then measure; a run of the same id goes on where it was interrupted.

        Raises
        ------
        WrkbookError
            When the image cannot be made, a server does not build, none conforms, or the ledger cannot be written.
        """
        if WITHOUT_MEASURING in os.environ:
            return
        plan = self.run_plan
        image = image_to_run(plan.catalogue, plan.built, plan.generators)
        artifacts = build_all(plan.catalogue, plan.built, image)
        ensure_cpus({*plan.pinning.measured, *plan.pinning.housekeeping})
        os.sched_setaffinity(0, plan.pinning.housekeeping)
        try:
            with exclusive(MEASURING, "another wrkbook is measuring on this machine"):
                if self.run.exists:
                    check_same(self.run, self.parameters)
                    note(kept(self.run))
                with SpeedProbes(probed_cpus(plan.pinning)) as probes:
                    if not self.run.exists:
                        self._open(image, artifacts, probes)
                    nonconforming = frozenset(self.run.read().nonconforming)
                    settings = self._settings(image, artifacts, nonconforming, probes)
                    with being_measured(self.run):
                        sound = measure(self.run, settings, measured_windows, precision=self.parameters.precision)
                        mark_void(self.run, void=not sound)
                if plan.times_builds:
                    record_build_times(self.run, plan.servers, image, plan.pinning)
        finally:
            os.sched_setaffinity(0, USABLE_CPUS)

    def _open(self, image: Image, artifacts: dict[str, Artifact], probes: SpeedProbes) -> None:
        """Verify the servers, plan what depends on the machine, and write down what the run is."""
        plan = self.run_plan
        nonconforming = self._nonconforming(artifacts)
        settings = self._settings(image, artifacts, frozenset(nonconforming), probes)
        rates = plan_rates(settings, plan.fixed_rate_loads, self.parameters) if plan.fixed_rate_loads else None
        if plan.load_levels:
            rates = plan_levels(settings, plan.load_levels)
        self.run_plan = plan = replace(plan, design=with_rates(plan.design, rates))
        seen = survey(probes, plan.pinning.measured, max(plan.idle_s, SURVEY_S))
        known = {"rates": rates, "selected_runs": self.selected_runs}
        self.run.open(manifest_of(plan, image, artifacts, nonconforming, seen).model_copy(update=known))

    def results(self) -> Results:
        """Analyse what the ledger holds of this run.

        Raises
        ------
        WrkbookError
            When there is not one sound trial.
        """
        found = analyse(self.run)
        if not (found.cells["status"] == "ok").any():
            reasons = list(dict.fromkeys(found.cells["status"]))
            more = f"; and {len(reasons) - 1} more reasons" if len(reasons) > 1 else ""
            raise WrkbookError(
                f"there is not one sound trial in run {self.run.run_id}: {reasons[0]}{more}",
                "run ./wrkbook doctor to inspect the machine, ./wrkbook verify to check the servers",
            )
        return with_sessions(found)

    def conclude(self, results: Results, subject: Subject[Any], own: Mapping[str, Any] | None = None) -> None:
        """Write the processed data with the answer and the conclusions that the report shows.

        `own`: what the summary holds besides.
        """
        headline, conclusions = published(results, subject)
        write_processed(results, conclusions, headline, own=own)

    def _nonconforming(self, artifacts: dict[str, Artifact]) -> dict[str, str]:
        """Server → first difference from the contract, for those that must not be measured."""
        found = {}
        measured = {server.label: artifacts[server.label] for server in self.run_plan.servers}
        for name, artifact in steps(list(measured.items()), "Verifying the servers"):
            if findings := verify_server(
                artifact, self.run_plan.pinning.server, self.run_plan.pinning.backend, again=False
            ):
                found[name] = f"does not keep the contract: {findings[0]}"
        if len(found) == len(measured):
            name, difference = next(iter(found.items()))
            raise WrkbookError(f"no server can be measured; {name} {difference}", f"./wrkbook verify {name}")
        return found

    def _settings(
        self, image: Image, artifacts: dict[str, Artifact], nonconforming: frozenset[str], probes: SpeedProbes
    ) -> BlockSettings:
        plan = self.run_plan
        return BlockSettings(
            design=plan.design,
            artifacts=artifacts,
            source=LoadContext(
                {generator.name: generator for generator in plan.generators},
                image,
                plan.pinning,
                probes,
                {tool.name: artifacts[tool.built_by].folder for tool in plan.generators if tool.built_by},
            ),
            profile=plan.profile,
            connections=plan.connections,
            threads=plan.threads,
            body_style=self.parameters.body_style,
            seed=self.parameters.seed,
            nonconforming=nonconforming,
            generator=plan.generators[0].name,
            idle_other=idle_other(self.run),
            search_ranges=search_ranges(plan.design, self.run.read().rates if self.run.exists else None),
            poisson=self.parameters.arrivals == "poisson",
        )
