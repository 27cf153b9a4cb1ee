"""One experiment, as its notebook sees it: parameters in, measurement, results out.

A notebook says ``experiment = Experiment("02-json-decode", globals(), workloads=["decode"], floor="discard")``, shows
``experiment.plan``, calls ``experiment.measure()`` and reads ``experiment.results()``.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from tqdm import tqdm

from runners.analyse.results import Results, analyse
from runners.analyse.tables import measured_windows
from runners.build_record import record_build_times
from runners.errors import WrkbookError
from runners.execute import WITHOUT_MEASURING
from runners.generators import Generator
from runners.generators.registry import generator_named
from runners.ledger import Run, check_run_id, new_run_id
from runners.machine.facts import raise_open_files_limit
from runners.machine.pinning import PinningPlan, plan_pinning, plan_with_backend
from runners.machine.topology import read_cores
from runners.measure.block import BlockSettings
from runners.measure.design import DELAYS_MS, Design, connection_shapes, design, load_shapes
from runners.measure.idle_survey import SURVEY_S, survey
from runners.measure.levels import fitted
from runners.measure.load_source import LoadSource
from runners.measure.rates import RatedLoad, plan_rates, with_rates
from runners.measure.run import measure
from runners.measure.speed_probe import SpeedProbes
from runners.measure.verify import build_all, full_image, verify_server
from runners.parameters import Parameters, Profile, check_parameters, from_notebook
from runners.planning import planned
from runners.present import narrative
from runners.present.markup import Fragment
from runners.present.narrative import Narrative
from runners.processed import write_processed
from runners.records import LoadShape
from runners.run_record import check_same, idle_other, run_record
from runners.systems.build import Artifact
from runners.systems.catalogue import Catalogue, Server
from runners.systems.image import Image
from runners.systems.locking import exclusive
from runners.systems.ports import client_ports

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
    shapes : of the load, where the experiment compares several; else from the parameters, one for each of `connection_counts` and of
        `generators`
    rated : loads at rates that are planned when measuring starts, see :mod:`runners.measure.rates`; they come before `shapes`
    fresh : whether each cell has a process of its own, so that memory can be told apart
    only : (system, workload's label) of the cells, where not every system is asked for every workload
    batch_sizes : where they are part of the question; else the parameter's
    idle_s : for how long the idle machine is watched before measuring, where it is part of the question (:mod:`runners.machine_record`)

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
        shapes: Sequence[LoadShape] = (),
        rated: Sequence[RatedLoad] = (),
        fresh: bool = False,
        only: Collection[tuple[str, str]] = (),
        batch_sizes: Sequence[int] = (),
        idle_s: float = 0.0,
    ) -> None:
        self.name, self.idle_s = name, idle_s
        self.recorded: dict[str, Any] = {}  # what the run's record is to hold besides
        self.parameters: Parameters = check_parameters(from_notebook(namespace))
        self.catalogue = Catalogue()
        asked = [*(load.unplanned for load in rated), *shapes]
        fits, self.left_out = fitted(self.parameters, raise_open_files_limit(), client_ports().count, asked)
        planned: Design = design(
            self.catalogue,
            workloads,
            floor=floor,
            systems=self.parameters.systems,
            batch_sizes=batch_sizes or self.parameters.batch_sizes,
            delays_ms=delays_ms,
            counts=self.parameters.counts,
            shapes=asked or load_shapes(fits),
            own_shapes={"blog": connection_shapes(counts)} if (counts := fits.blog_connection_counts) else {},
            fresh=fresh,
            only=only,
        )
        self.run = Run(name, check_run_id(self.parameters.run_id or new_run_id(self.parameters.profile)))
        self.rated = rated
        self.design: Design = with_rates(planned, self.run.read().get("rates") if self.run.exists else None)
        self.cores = read_cores(_USABLE_CPUS)
        self.pinning: PinningPlan = self._plan_pinning()
        self.threads = min(
            self.parameters.generator_threads or len(self.pinning.generator), self.parameters.connections
        )

    @cached_property
    def servers(self) -> list[Server]:
        """The servers that take part."""
        return [self.catalogue.server(name) for name in dict.fromkeys(system.server for system in self.design.systems)]

    @cached_property
    def backends(self) -> list[Server]:
        """What runs behind them."""
        services = [
            self.catalogue.server(cell.system.server).service(cell.workload.name, cell.system.codec)
            for cell in self.design.cells
        ]
        names = dict.fromkeys(service.backend for service in services if service and service.backend)
        return [self.catalogue.server(name) for name in names]

    @cached_property
    def generators(self) -> list[Generator]:
        """The load generators that take part, the run's own first."""
        shapes = [cell.workload.shape.generator for cell in self.design.cells]
        names = dict.fromkeys([self.parameters.generators[0], *(name for name in shapes if name)])
        return [generator_named(name) for name in names]

    def _plan_pinning(self) -> PinningPlan:
        cores, given = self.cores, self.parameters
        if self.backends:
            return plan_with_backend(cores, given.server_cpus, given.generator_cpus, given.backend_cpus)
        return plan_pinning(cores, given.server_cpus, given.generator_cpus)

    def plan(self) -> Fragment:
        """What :meth:`measure` is going to do: cells, load, CPUs, and how long it takes."""
        return planned(self)

    @property
    def times_builds(self) -> bool:
        """Whether the servers' builds are timed: as the parameter says; else where memory is asked, and not in a smoke run."""
        asked, quick = self.parameters.build_times, self.parameters.profile == "quick"
        return asked == "yes" or (not asked and self.design.fresh and not quick)

    @property
    def profile(self) -> Profile:
        """The profile, with the windows that the run was begun with; in one piece where its record says nothing of time slices.

        In a fresh design a process has one window: launches are what is sampled, and opening takes its time.
        """
        profile = self.parameters.effective_profile
        profile = replace(profile, windows_count=1) if self.design.fresh else profile
        return replace(profile, **{"turn_s": 0.0, **self.run.read().get("windows", {})}) if self.run.exists else profile

    def measure(self) -> None:
        """Build and verify the servers, then measure; a run of the same id goes on where it was interrupted.

        Raises
        ------
        WrkbookError
            When the image cannot be made, a server does not build, none conforms, or the ledger cannot be written.
        """
        if WITHOUT_MEASURING in os.environ:
            return
        tools = [self.catalogue.server(tool.built_by) for tool in self.generators if tool.built_by]
        image = full_image(self.catalogue)
        artifacts = build_all(self.catalogue, [*self.servers, *self.backends, *tools])
        os.sched_setaffinity(0, self.pinning.housekeeping)
        try:
            with exclusive("measuring", "another wrkbook is measuring on this machine"):
                if self.run.exists:
                    check_same(self.run, self.parameters)
                with SpeedProbes(self.pinning.measured) as probes:
                    if not self.run.exists:
                        self._open(image, artifacts, probes)
                    nonconforming = frozenset(self.run.read()["nonconforming"])
                    settings = self._settings(image, artifacts, nonconforming, probes)
                    measure(self.run, settings, measured_windows, precision=self.parameters.precision)
                if self.times_builds:
                    record_build_times(self.run, self.servers, image, self.pinning)
        finally:
            os.sched_setaffinity(0, _USABLE_CPUS)

    def _open(self, image: Image, artifacts: dict[str, Artifact], probes: SpeedProbes) -> None:
        """Verify the servers, plan what depends on the machine, and write down what the run is."""
        nonconforming = self._nonconforming(artifacts)
        settings = self._settings(image, artifacts, frozenset(nonconforming), probes)
        rates = plan_rates(settings, self.rated, self.parameters) if self.rated else None
        self.design = with_rates(self.design, rates)
        seen = survey(probes, self.pinning.measured, max(self.idle_s, SURVEY_S))
        self.run.open(run_record(self, image, artifacts, nonconforming, seen) | {"rates": rates})

    def results(self) -> Results:
        """Analyse what the ledger holds of this run.

        Raises
        ------
        WrkbookError
            When there is not one sound trial.
        """
        found = analyse(self.run)
        if not (found.cells["status"] == "ok").any():
            reasons = "; ".join(dict.fromkeys(found.cells["status"]))
            raise WrkbookError(
                f"there is not one sound trial in run {self.run.run_id}: {reasons}",
                "./wrkbook doctor looks at the machine, ./wrkbook verify at the servers",
            )
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
        measured = {server.name: artifacts[server.name] for server in self.servers}
        for name, artifact in tqdm(measured.items(), desc="Verifying the servers", unit="server", leave=False):
            if findings := verify_server(artifact, self.pinning.server, self.pinning.backend, again=False):
                found[name] = f"does not keep the contract: {findings[0]}"
        if len(found) == len(measured):
            name, difference = next(iter(found.items()))
            raise WrkbookError(f"no server can be measured; {name} {difference}", f"./wrkbook verify {name}")
        return found

    def _settings(
        self, image: Image, artifacts: dict[str, Artifact], nonconforming: frozenset[str], probes: SpeedProbes
    ) -> BlockSettings:
        return BlockSettings(
            design=self.design,
            artifacts=artifacts,
            source=LoadSource(
                {generator.name: generator for generator in self.generators},
                image,
                self.pinning,
                probes,
                {tool.name: artifacts[tool.built_by].folder for tool in self.generators if tool.built_by},
            ),
            profile=self.profile,
            connections=self.parameters.connections,
            threads=self.threads,
            body_style=self.parameters.body_style,
            seed=self.parameters.seed,
            nonconforming=nonconforming,
            generator=self.generators[0].name,
            idle_other=idle_other(self.run),
        )
