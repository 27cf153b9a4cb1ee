"""The places of a block's roles: all on this machine, or each on a host of its own (:mod:`runners.hosts.roles`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, cast

from runners.contract.conformance import Probe, quick_check
from runners.contract.runner import path_parameters
from runners.core.load import Load
from runners.core.records import Workload
from runners.core.sample import ProcessMemory
from runners.core.trial_record import WindowKind, WindowRecord
from runners.machine.pinning_plan import PinningPlan
from runners.measure.launched import Launched, OnThisMachine
from runners.measure.load import LoadContext, LoadTarget
from runners.measure.sampling import memory
from runners.measure.window import in_one_piece
from runners.systems.backend import FIRST_BACKEND_PORT, Backend
from runners.systems.build import Artifact
from runners.systems.host import wait_for_ports
from runners.systems.manifest_tables import ServedWorkload
from runners.systems.process import ServerProcess
from runners.systems.sandbox import ensure_cpus
from runners.systems.sockets import FIRST_PORT, hold_ports


@dataclass(frozen=True)
class WantedServer:
    """A server to launch: its build, its port and CPUs, how many threads (None: one for each CPU), and what is behind it."""

    artifact: Artifact
    port: int
    cpus: list[int]
    threads: int | None
    backend: Launched | None


class Roles(Protocol):
    """The operations of a block where its roles run."""

    def ensure_cpus(self, plan: PinningPlan) -> None:
        """Ensure that the planned CPUs are there.

        Raises
        ------
        WrkbookError
            When one is gone.
        """

    def hold_ports(self, count: int, *, backends: bool) -> AbstractContextManager[list[int]]:
        """Hold so many free ports for servers, or for backends."""

    def backend(self, artifact: Artifact, port: int, cpus: Sequence[int]) -> AbstractContextManager[Launched]:
        """Launch a backend while the context lasts."""

    def server(self, wanted: WantedServer) -> AbstractContextManager[Launched]:
        """Launch a server while the context lasts."""

    def memory(self, process: Launched) -> ProcessMemory:
        """Return what the processes of a server hold at this moment."""

    def respond(self, url: str, service: ServedWorkload, body: bytes | None, workload: Workload) -> Probe:
        """Send a good request from where the load will come from, and compare the response with the contract."""

    def missing_ports(self, port: int, connections: int) -> str:
        """Wait until the load generator finds a port for each connection; return why it does not, or an empty text."""

    def window(self, source: LoadContext, target: LoadTarget, load: Load, kind: WindowKind) -> WindowRecord:
        """Measure one window in one piece."""


class OneMachine:
    """All roles on this machine."""

    def ensure_cpus(self, plan: PinningPlan) -> None:
        """Ensure that the planned CPUs are there."""
        ensure_cpus(plan.measured)

    def hold_ports(self, count: int, *, backends: bool) -> AbstractContextManager[list[int]]:
        """Hold so many free ports for servers, or for backends."""
        return hold_ports(count, FIRST_BACKEND_PORT if backends else FIRST_PORT)

    def backend(self, artifact: Artifact, port: int, cpus: Sequence[int]) -> Backend:
        """Return a backend that is launched while its context lasts."""
        return Backend(artifact, port, list(cpus))

    def server(self, wanted: WantedServer) -> ServerProcess:
        """Return a server that is launched while its context lasts."""
        behind = wanted.backend.port if wanted.backend else 0
        return ServerProcess(wanted.artifact, wanted.port, wanted.cpus, behind, wanted.threads)

    def memory(self, process: Launched) -> ProcessMemory:
        """Return what the processes of a server hold at this moment."""
        return memory(cast("OnThisMachine", process).pids)

    def respond(self, url: str, service: ServedWorkload, body: bytes | None, workload: Workload) -> Probe:
        """Send a good request and compare the response with the contract."""
        return quick_check(url, service, body, path_parameters(workload), workload.count)

    def missing_ports(self, port: int, connections: int) -> str:
        """Wait until the load generator finds a port for each connection; return why it does not, or an empty text."""
        return wait_for_ports(port, connections)

    def window(self, source: LoadContext, target: LoadTarget, load: Load, kind: WindowKind) -> WindowRecord:
        """Measure one window in one piece."""
        return in_one_piece(source, target, load, kind)
