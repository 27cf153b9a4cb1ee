"""The plan of one run: its cells, CPUs, servers and load generators, fixed before anything is started."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from runners.core.load import Generator
from runners.core.parameters import PROFILES, Parameters, Profile, changed_parameters
from runners.core.records import LoadProfile
from runners.generators.registry import generator_named
from runners.machine.facts import raise_open_files_limit
from runners.machine.pinning_plan import PinningPlan
from runners.measure.conformance import image_to_run
from runners.measure.design import DELAYS_MS, Cell, Design, design, load_shapes, own_load_shapes
from runners.measure.fixed_rates import FixedRateLoad, with_rates
from runners.measure.load import LeftOut, clamped
from runners.measure.load_levels import CEILING, LoadLevels
from runners.measure.run_pinning import pinning_of
from runners.measure.server_cpus import (
    CpuSteps,
    connections_for,
    cpu_steps,
    generator_threads,
    most_threads,
    with_server_cpus,
)
from runners.measure.this_machine import command_at_hand
from runners.stats.verdicts import PRECISION_OF_THRESHOLD
from runners.store.ledger import Run, check_run_id, new_run_id
from runners.systems.catalogue import Catalogue
from runners.systems.host import client_ports
from runners.systems.server_manifest import Server

USABLE_CPUS = frozenset(os.sched_getaffinity(0))
"""CPUs that this process might use when it started."""


@dataclass(frozen=True)
class RunPlan:
    """Everything that is decided before a run starts.

    Attributes
    ----------
    run : Run
        The run in the ledger, whether it exists yet or not.
    design : Design
        The cells; rates that are planned from the machine's capacity are in it once the run exists.
    fixed_rate_loads : Sequence[FixedRateLoad]
        Loads whose rates are planned when measuring starts, see :mod:`runners.measure.fixed_rates`.
    pinning : PinningPlan
        The CPUs of each role; as recorded once the run exists.
    threads, connections : int
        Those of the load generator.
    left_out : tuple[LeftOut, ...]
        Numbers of connections that do not fit this machine.
    idle_s : float
        Seconds for which the idle machine is watched, where it is part of the question; else 0.
    load_levels : LoadLevels | None
        Rates that are planned as shares of capacities when measuring starts, see :mod:`runners.measure.load_levels`.
    profiles : Mapping[str, Profile]
        The amount of measuring by the parameter `profile`.
    steps : CpuSteps | None
        The numbers of server CPUs, where the experiment compares them.
    """

    run: Run
    parameters: Parameters
    catalogue: Catalogue
    design: Design
    fixed_rate_loads: Sequence[FixedRateLoad]
    pinning: PinningPlan
    threads: int
    connections: int
    left_out: tuple[LeftOut, ...]
    idle_s: float = 0.0
    load_levels: LoadLevels | None = None
    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)
    steps: CpuSteps | None = None

    @property
    def threshold(self) -> float:
        """Return the slowdown that ends measuring when it is decided for each build of an earlier revision; 0 without one."""
        return self.parameters.precision / PRECISION_OF_THRESHOLD if self.design.pairs else 0.0

    @cached_property
    def servers(self) -> list[Server]:
        """The servers that take part, with that which shows what the load generator can pace."""
        return servers_of(self.catalogue, self.design, _besides(self.load_levels))

    @cached_property
    def backends(self) -> list[Server]:
        """The backends of these servers."""
        return backends_of(self.catalogue, self.design)

    @cached_property
    def generators(self) -> list[Generator]:
        """The load generators that take part, the run's own first."""
        return generators_of(self.design, self.parameters)

    @property
    def built(self) -> list[Server]:
        """The folders of ``servers/`` that are built: servers, backends, and load generators from source."""
        return built_of(self.catalogue, self.design, self.load_levels, self.generators)

    @property
    def times_builds(self) -> bool:
        """Return whether builds are timed: as the parameter says; else where memory is in question, but not in a quick run."""
        wanted, quick = self.parameters.build_times, self.parameters.profile == "quick"
        return wanted == "yes" or (not wanted and bool(self.parameters.connection_counts) and not quick)

    @property
    def profile(self) -> Profile:
        """The profile, with the windows of the run's record if it exists.

        A process of its own has one window: launches are the sample, and the ramp-up takes its time.
        """
        profile = self.parameters.profile_of(self.profiles)
        profile = replace(profile, windows_count=1) if self.design.process_per_cell else profile
        windows = self.run.read().windows if self.run.exists else None
        return replace(profile, **windows.model_dump()) if windows else profile


def plan_run(
    experiment: str,
    parameters: Parameters,
    *,
    workloads: Sequence[str],
    floor: str | None = None,
    delays_ms: Sequence[int] = DELAYS_MS,
    shapes: Sequence[LoadProfile] = (),
    fixed_rate_loads: Sequence[FixedRateLoad] = (),
    process_per_cell: bool = False,
    only: Collection[tuple[str, str]] = (),
    batch_sizes: Sequence[int] = (),
    idle_s: float = 0.0,
    load_levels: LoadLevels | None = None,
    also: Sequence[Cell] = (),
    profiles: Mapping[str, Profile] = PROFILES,
    same_servers: bool = False,
    by_cpus: bool = False,
    elsewhere: Callable[[str, bool], PinningPlan] | None = None,
) -> RunPlan:
    """Plan a run; the arguments are those of :class:`runners.experiments.experiment.Experiment`.

    `elsewhere` finds the CPUs of the roles on the hosts of an inventory, where the parameters name one, with or without a backend.

    Raises
    ------
    WrkbookError
        For an unknown system, a run-id that is none, CPU sets that overlap or do not exist.
    """
    catalogue = Catalogue()
    own_profiles = [*(load.unplanned for load in fixed_rate_loads), *shapes]
    fits, left_out = clamped(parameters, raise_open_files_limit(), client_ports().count, own_profiles)
    own_loads = own_profiles or (load_shapes(fits) if load_levels is None or load_levels.beside else [])
    run = Run(experiment, check_run_id(parameters.run_id or new_run_id(parameters.profile)))
    # A run from before there were rates has none of them.
    before_rates = run.exists and run.read().rates is None
    profiles_at_rate = load_levels.profiles if load_levels and not before_rates else []
    planned = with_rates(
        also_with(
            () if before_rates else also,
            design(
                catalogue,
                workloads,
                floor=floor,
                systems=parameters.systems,
                variants=parameters.variants,
                batch_sizes=batch_sizes or parameters.batch_sizes,
                delays_ms=delays_ms,
                counts=parameters.counts,
                shapes=[*own_loads, *profiles_at_rate],
                own_shapes=own_load_shapes(fits),
                process_per_cell=process_per_cell,
                only=only,
                same_servers=same_servers,
            ),
        ),
        run.read().rates if run.exists else None,
    )
    if not (run.exists or command_at_hand()):
        # What reads the topology is in the image, and a run needs one of its own.
        tools = generators_of(planned, parameters)
        image_to_run(catalogue, built_of(catalogue, planned, load_levels, tools), tools).ensure()
    pinning = pinning_of(run, parameters, USABLE_CPUS, elsewhere, behind=bool(backends_of(catalogue, planned)))
    steps = cpu_steps(parameters, pinning) if by_cpus else None
    planned = with_server_cpus(planned, steps, parameters.server_threads) if steps else planned
    chosen = bool(changed_parameters({"connections": parameters.connections}, experiment))
    connections = connections_for(parameters, most_threads(planned, pinning), chosen=chosen)
    return RunPlan(
        run,
        parameters,
        catalogue,
        planned,
        fixed_rate_loads,
        pinning,
        generator_threads(parameters, pinning.generator, connections),
        connections,
        left_out,
        min(idle_s, parameters.profile_of(profiles).most_idle_s),
        load_levels,
        profiles,
        steps,
    )


def servers_of(catalogue: Catalogue, design: Design, also: Sequence[Cell] = ()) -> list[Server]:
    """Return the servers of a design's systems, and of some cells besides."""
    builds = dict.fromkeys(system.build for system in [*design.systems, *(cell.system for cell in also)])
    return [catalogue.server(name) for name in builds]


def generators_of(design: Design, parameters: Parameters) -> list[Generator]:
    """Return the load generators of a design, the run's own first."""
    shapes = [cell.workload.shape.generator for cell in design.cells]
    names = dict.fromkeys([parameters.generators[0], *(name for name in shapes if name)])
    return [generator_named(name) for name in names]


def built_of(
    catalogue: Catalogue, design: Design, load_levels: LoadLevels | None, generators: Iterable[Generator]
) -> list[Server]:
    """Return what is built for a design: its servers, their backends, and its load generators that are built from source."""
    tools = [catalogue.server(tool.built_by) for tool in generators if tool.built_by]
    return [*servers_of(catalogue, design, _besides(load_levels)), *backends_of(catalogue, design), *tools]


def _besides(load_levels: LoadLevels | None) -> list[Cell]:
    return [CEILING] if load_levels else []


def also_with(cells: Sequence[Cell], design: Design) -> Design:
    """Return a design with cells that are measured besides, and not compared."""
    return replace(design, cells=(*design.cells, *cells))


def backends_of(catalogue: Catalogue, design: Design) -> list[Server]:
    """Return the backends of a design's cells."""
    served = ((catalogue.server(cell.system.server), cell) for cell in design.cells)
    services = [server.service(cell.workload.name, cell.system.codec) for server, cell in served]
    names = dict.fromkeys(service.backend for service in services if service and service.backend)
    return [catalogue.server(name) for name in names]
