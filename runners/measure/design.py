"""The design of an experiment: its cells, the order in which a block visits them, and the settings of all blocks."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from runners.contract.data import BodyStyle
from runners.core.errors import WrkbookError
from runners.core.parameter_values import ALL
from runners.core.parameters import Parameters, Profile
from runners.core.records import LoadProfile, System, Workload
from runners.core.workloads import WORKLOADS
from runners.measure.load import LoadContext
from runners.measure.roles import OneMachine, Roles
from runners.systems.build import Artifact
from runners.systems.catalogue import Catalogue

DELAYS_MS = (10,)


@dataclass(frozen=True)
class Cell:
    """One system × one workload: what a trial measures once in each block."""

    system: System
    workload: Workload

    @property
    def searches(self) -> bool:
        """Return whether its windows search the largest rate that meets an objective."""
        return bool(self.workload.shape.objectives) and self.workload.shape.rate_rps is None


@dataclass(frozen=True)
class Design:
    """The cells of an experiment, in the order in which they are shown.

    `compared` are the workloads of the question; `floor` names the one that shows the cost of everything but the question. With
    `process_per_cell` the memory of a process is that of one cell. `pairs` are (now, before): a slowdown of each is decided.
    """

    cells: tuple[Cell, ...]
    compared: tuple[Workload, ...]
    floor: str | None = None
    process_per_cell: bool = False
    pairs: tuple[tuple[System, System], ...] = ()

    @property
    def systems(self) -> list[System]:
        """The distinct systems: each is a process of its own in every block."""
        return list(dict.fromkeys(cell.system for cell in self.cells))

    def of(self, system: System) -> list[Cell]:
        """Return the cells of one system."""
        return [cell for cell in self.cells if cell.system == system]

    def without(self, excluded: Collection[System | Cell]) -> list[Cell]:
        """Return the cells that are not `excluded`, and whose system is not."""
        return [cell for cell in self.cells if cell not in excluded and cell.system not in excluded]

    def order(self, seed: int, block: int, visit: int) -> list[Cell]:
        """Return the cells in the shuffled order of one visit of one block; the same for the same numbers."""
        shuffled = list(self.cells)
        random.Random(f"{seed}/{block}/{visit}").shuffle(shuffled)
        return shuffled


def design(
    catalogue: Catalogue,
    workloads: Sequence[str],
    *,
    floor: str | None = None,
    systems: Sequence[str] = (),
    variants: Sequence[str] = (),
    batch_sizes: Sequence[int] = (1, 10),
    delays_ms: Sequence[int] = DELAYS_MS,
    counts: Sequence[int] = (20,),
    shapes: Sequence[LoadProfile] = (LoadProfile(),),
    own_shapes: Mapping[str, Sequence[LoadProfile]] = MappingProxyType({}),
    process_per_cell: bool = False,
    only: Collection[tuple[str, str]] = (),
    same_servers: bool = False,
) -> Design:
    """Return the cells of all systems that serve `workloads` (or those named), of the first one's control, and of their floors.

    A workload is measured in each of `shapes`, or in those that `own_shapes` has for it. Servers of the role ``reference`` take part
    only where they are named, and rows that are no default only there or where `systems` is ``all``. Tuned builds take part where they
    are named, and those of `variants`. A backend that serves a workload itself is the direct access to it, and comes first.
    `only`, (system, workload's label), leaves out all other cells, and names its systems. With `same_servers`, a workload that none of
    `systems` serves is measured on the other systems of their servers.

    Raises
    ------
    WrkbookError
        For an unknown system or variant, one named twice, or when none serves a workload.
    """
    catalogue.check_variants(variants)
    if len(set(systems)) != len(systems):
        told = "parameter systems: a system is named twice"
        raise WrkbookError(told, "name each once; the A/A control is entered by itself")
    named = systems or list(dict.fromkeys(name for name, _ in only))
    every = list(systems) == [ALL]
    chosen = [] if every else [catalogue.system(name, list(WORKLOADS if same_servers else workloads)) for name in named]
    sizes = {"operations": batch_sizes, "delay_ms": delays_ms, "count": counts}
    compared = tuple(
        replace(variant, shape=shape)
        for name in workloads
        for place, variant in enumerate(WORKLOADS[name].variants(sizes))
        # Loads are compared on the first size alone.
        for shape in own_shapes.get(name, shapes)[: 1 if place else None]
    )
    breadth = Counter(system for name in workloads for system in catalogue.systems(name))

    def rank(system: System) -> tuple[bool, int]:
        """Return the sort key of a system: the user's order; else those first that can be compared in most workloads."""
        for own in (system, system.plain):
            if own in chosen:
                return False, chosen.index(own)
        if chosen:
            return False, [each.server for each in chosen].index(system.server)
        return catalogue.server(system.server).role != "backend", -breadth[system.plain]

    def serving_of(workload: str) -> list[System]:
        """Return the systems that a workload is measured on."""
        more = {*variants, *(system.variant for system in chosen if system.variant)}
        found = catalogue.systems(workload, default_only=not chosen and not every, variants=more)
        if not chosen:
            return [system for system in found if catalogue.server(system.server).role != "reference"]
        servers = {system.server for system in chosen} if same_servers and not set(chosen) & set(found) else ()
        rows = {system.plain for system in chosen}
        wanted = {*chosen, *(system for system in found if system.plain in rows and system.variant in variants)}
        return [system for system in found if system in wanted or system.server in servers]

    cells: list[Cell] = []
    for workload in compared:
        serving = [system for system in serving_of(workload.name) if not only or (system.name, workload.label) in only]
        if serving:
            serving.sort(key=rank)
            cells += [Cell(system, workload) for system in [*serving, replace(serving[0], control=True)]]
    if only:
        compared = tuple(workload for workload in compared if any(cell.workload == workload for cell in cells))
    # One control stands for one system in the whole run.
    first = next((cell.system for cell in cells if cell.system.control), None)
    cells = [cell for cell in cells if not cell.system.control or cell.system == first]
    if not cells:
        raise WrkbookError(f"no system serves {' or '.join(workloads)}", "./wrkbook list shows who serves what")
    catalogue.check_variants(variants, {cell.system.server for cell in cells})
    earlier = dict.fromkeys(cell.system for cell in cells if cell.system.earlier and not cell.system.control)
    if floor := None if earlier else floor:  # without it, the time goes into what changed
        builds = dict.fromkeys(replace(cell.system, codec=None, control=False) for cell in cells)
        cells += [Cell(build, workload) for workload in WORKLOADS[floor].variants(sizes) for build in builds]
    # What is searched has no throughput to compare.
    ranked = tuple(each for each in compared if not each.shape.objectives)
    return Design(tuple(cells), ranked, floor, process_per_cell, tuple((system.plain, system) for system in earlier))


def side_by_side(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return the cells in groups in which no system is twice, so that all of a group can be open at the same time.

    All cells of a workload are in one group, as they are compared; the groups, and the cells of each, keep the order of `cells`.
    """
    workloads: dict[Workload, list[Cell]] = {}
    for cell in cells:
        workloads.setdefault(cell.workload, []).append(cell)
    groups: list[list[Cell]] = []
    for found in workloads.values():
        systems = {cell.system for cell in found}
        for group in groups:
            if systems.isdisjoint(cell.system for cell in group):
                group += found
                break
        else:
            groups.append(found)
    return groups


def load_shapes(parameters: Parameters) -> list[LoadProfile]:
    """Return the loads that a run's parameters compare: one for each number of connections, else one for each generator."""
    if parameters.connection_counts:
        return connection_shapes(parameters.connection_counts)
    return [LoadProfile(), *(LoadProfile(name, generator=name) for name in parameters.generators[1:])]


def own_load_shapes(parameters: Parameters) -> dict[str, list[LoadProfile]]:
    """Return workload → its own loads, for those whose numbers of connections are a parameter that is set."""
    own = {each.name: each.connections_parameter for each in WORKLOADS.values() if each.connections_parameter}
    counts = {name: getattr(parameters, parameter) for name, parameter in own.items()}
    return {name: connection_shapes(each) for name, each in counts.items() if each}


def connection_shapes(counts: Sequence[int]) -> list[LoadProfile]:
    """Return one load for each number of connections."""
    return [LoadProfile(str(count), connections=count) for count in counts]


@dataclass(frozen=True)
class BlockSettings:
    """The settings of all blocks of a run; the servers in `nonconforming` are not measured.

    Attributes
    ----------
    artifacts : dict[str, Artifact]
        The built servers, backends included.
    generator : str
    connections, threads : int
        Of cells whose load says nothing else, as the generator.
    idle_other : Mapping[int, float]
        CPU → share of its time that other processes used before the run (:mod:`runners.measure.machine_survey`).
    search_ranges : Mapping[tuple[str, str], tuple[float, float]]
        (system, label of the workload without its load) → the first and the highest rate of a search.
    poisson : bool
        Whether the arrivals of an open loop are a Poisson process.
    percentile_blocks : float
        So many first blocks measure percentiles of cells in time slices, in a window of their own.
    roles : Roles
        Where servers, backends and load generators run.
    """

    design: Design
    artifacts: dict[str, Artifact]
    source: LoadContext
    profile: Profile
    connections: int
    threads: int
    body_style: BodyStyle
    seed: int
    nonconforming: frozenset[str] = frozenset()
    generator: str = "wrk"
    idle_other: Mapping[int, float] = field(default_factory=dict)
    search_ranges: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    poisson: bool = True
    percentile_blocks: float = math.inf
    roles: Roles = field(default_factory=OneMachine)

    def cpus(self, cell: Cell) -> list[int]:
        """Return the CPUs on which a cell's server runs: all that are planned, or the first of them where its load says how many.

        A backend that serves a workload itself stays on the backends'. More CPUs than are planned are the load generator's, too.
        """
        plan = self.source.plan
        if self.artifacts[cell.system.build].server.role == "backend":
            return list(plan.backend)
        every = [*plan.server, *(cpu for cpu in plan.generator if cpu not in plan.server)]
        count = cell.workload.shape.server_cpus_count
        return every[: len(plan.server) if count is None else count]
