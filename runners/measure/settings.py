"""Settings that are the same for all blocks of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runners.contract.inputs import Style
from runners.core.parameters import Profile
from runners.measure.design import Design
from runners.measure.load import LoadContext
from runners.systems.build import Artifact


@dataclass(frozen=True)
class BlockSettings:
    """The settings of all blocks of a run; the servers in `nonconforming` are not measured.

    Attributes
    ----------
    artifacts : the built servers, backends included
    generator, connections, threads : of cells whose load says nothing else
    idle_other : CPU → share of its time that other processes used before the run (:mod:`runners.measure.machine_survey`)
    search_ranges : (system, label of the workload without its load) → the first and the highest rate of a search
    poisson : whether the arrivals of an open loop are a Poisson process
    """

    design: Design
    artifacts: dict[str, Artifact]
    source: LoadContext
    profile: Profile
    connections: int
    threads: int
    body_style: Style
    seed: int
    nonconforming: frozenset[str] = frozenset()
    generator: str = "wrk"
    idle_other: Mapping[int, float] = field(default_factory=dict)
    search_ranges: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    poisson: bool = True

    def cpus(self, server: str) -> list[int]:
        """Return the CPUs on which `server` runs: a backend that serves a workload itself stays on the backends'."""
        backend = self.artifacts[server].server.role == "backend"
        return list(self.source.plan.backend if backend else self.source.plan.server)
