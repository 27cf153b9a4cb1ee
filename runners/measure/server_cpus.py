"""Numbers of server CPUs as part of a design: each cell on 1, 2, 4 … of the planned CPUs, with its own number of threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runners.core.errors import WrkbookError
from runners.core.parameter_values import threads_on
from runners.core.parameters import Parameters
from runners.core.records import Workload
from runners.machine.pinning_plan import PinningPlan
from runners.measure.design import Cell, Design
from runners.measure.load_levels import LEVELS
from runners.stats.scalability import cpu_counts

CONNECTIONS_PER_THREAD = 2
"""A closed loop has at least so many connections for each server thread: with fewer, threads wait for the load generator."""
LEAST_COUNTS = 2
"""Growth needs so many numbers of CPUs. Where servers have fewer, the CPUs of the load generator are shared, at a fixed rate."""


@dataclass(frozen=True)
class PublishedShape:
    """Threads and connections of the published benchmark: its servers had a thread on each of so many CPUs."""

    server_threads: int
    generator_threads: int
    connections: int


AS_PUBLISHED = PublishedShape(16, 40, 80)
"""The first published benchmark: 16 server threads on CPUs 0-15, `wrk -t40 -c80`."""


@dataclass(frozen=True)
class CpuSteps:
    """The numbers of server CPUs of an experiment.

    Attributes
    ----------
    alone : tuple[int, ...]
        Counts on which the servers have their CPUs to themselves.
    shared : tuple[int, ...]
        Counts that reach into the load generator's CPUs; measured at fixed rates only.
    """

    alone: tuple[int, ...]
    shared: tuple[int, ...]

    @property
    def every(self) -> tuple[int, ...]:
        """Return all counts, ascending."""
        return (*self.alone, *self.shared)


def cpu_steps(parameters: Parameters, pinning: PinningPlan) -> CpuSteps:
    """Return the numbers of server CPUs that the parameters state, or powers of two and all that are planned.

    Raises
    ------
    WrkbookError
        When there are fewer CPUs than were requested.
    """
    planned = len(pinning.server)
    most = len({*pinning.server, *pinning.generator})
    if parameters.shape:
        check_shape(parameters, pinning)
        planned = AS_PUBLISHED.server_threads
    counts = sorted(parameters.cpu_counts) or cpu_counts(planned)
    if counts[-1] > most:
        raise WrkbookError(
            f"parameter cpu_counts: {counts[-1]} server CPUs are more than the {most} of servers and load generator",
            f"use at most {most}; up to {planned} the servers have them to themselves",
        )
    if len(counts) < LEAST_COUNTS and not parameters.cpu_counts and most > planned:
        counts = [*counts, most]
    alone = tuple(count for count in counts if count <= planned)
    return CpuSteps(alone, tuple(count for count in counts if count > planned))


def check_shape(parameters: Parameters, pinning: PinningPlan) -> None:
    """Refuse the published shape where its server threads have no CPU each.

    Raises
    ------
    WrkbookError
        Naming the CPUs that are missing.
    """
    needed, planned = AS_PUBLISHED.server_threads, len(pinning.server)
    if parameters.shape and planned < needed:
        raise WrkbookError(
            f"parameter shape: as published, {needed} server threads have a CPU each, and only {planned} "
            f"{'CPU is' if planned == 1 else 'CPUs are'} planned for servers here",
            "use a machine with more CPUs, give server_cpus, or leave shape empty",
        )


def with_server_cpus(design: Design, steps: CpuSteps, server_threads: str) -> Design:
    """Return a design in which each cell is measured on each number of server CPUs, on a process of its own.

    A closed loop is measured only where the servers have their CPUs to themselves: beside the load generator it shows the share of both.
    """
    cells: list[Cell] = []
    compared: list[Workload] = []
    for workload in dict.fromkeys(cell.workload for cell in design.cells):
        shape = workload.shape
        paced = shape.rate_rps is not None or shape.name == LEVELS
        for count in steps.every if paced else steps.alone:
            threads = threads_on(server_threads, count)
            own = replace(shape, server_cpus_count=count, server_threads_count=threads)
            on_count = replace(workload, shape=own)
            cells += [Cell(cell.system, on_count) for cell in design.cells if cell.workload == workload]
            compared += [on_count] if workload in design.compared else []
    return replace(design, cells=tuple(cells), compared=tuple(compared), process_per_cell=True)


def most_threads(design: Design, pinning: PinningPlan) -> int:
    """Return the largest number of threads with which a server of a design is started."""
    shapes = [cell.workload.shape for cell in design.cells]
    return max((shape.server_threads_count or len(pinning.server) for shape in shapes), default=1)


def connections_for(parameters: Parameters, threads: int, *, chosen: bool) -> int:
    """Return the connections of a load that says nothing else: those of the parameter, or enough for the server's threads.

    Parameters
    ----------
    threads : int
        Of a server, at most.
    chosen : bool
        Whether the user gave the parameter.
    """
    if parameters.shape:
        return AS_PUBLISHED.connections
    return parameters.connections if chosen else max(parameters.connections, CONNECTIONS_PER_THREAD * threads)


def generator_threads(parameters: Parameters, cpus: Sequence[int], connections: int) -> int:
    """Return the threads of the load generator: as published, as the parameter says, or one for each of its CPUs."""
    wanted = AS_PUBLISHED.generator_threads if parameters.shape else parameters.generator_threads or len(cpus)
    return min(wanted, connections)
