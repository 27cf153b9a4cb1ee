"""The station on a host: it builds, launches, watches and loads as one machine does, told by the controller, one task after another."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from runners.contract.conformance import Probe, quick_check
from runners.contract.runner import path_parameters
from runners.core.errors import WrkbookError
from runners.core.load import Load
from runners.core.project import MEASURING, try_lock
from runners.core.records import Workload
from runners.core.run_manifest import MachineSurvey
from runners.core.sample import ProcessMemory, Role
from runners.core.trial_record import WindowRecord
from runners.generators.registry import generator_named
from runners.hosts.inspection import fingerprint, plan_roles
from runners.hosts.station_records import Launch, Prepared, Share, State, StationFacts
from runners.hosts.watch import Watched, Watching
from runners.machine.facts import machine_facts, raise_open_files_limit
from runners.machine.pinning_plan import PinningPlan
from runners.machine.speed_probe import SpeedProbes
from runners.measure.conformance import build_all, image_to_run, verify_server
from runners.measure.launched import Launched
from runners.measure.load import LoadContext, LoadTarget
from runners.measure.machine_survey import SURVEY_S, survey
from runners.measure.sampling import memory, probed_cpus
from runners.measure.this_machine import this_topology
from runners.measure.window import in_one_piece
from runners.systems.addresses import Addresses
from runners.systems.backend import Backend
from runners.systems.build import Artifact
from runners.systems.catalogue import Catalogue
from runners.systems.host import wait_for_ports
from runners.systems.manifest_tables import ServedWorkload
from runners.systems.process import ServerProcess
from runners.systems.sandbox import ensure_cpus
from runners.systems.sockets import FIRST_PORT, hold_ports

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
CONTROLLER = "controller"
"""The name of this machine, where a role has no host."""


class Station:
    """The state of this host while a controller measures with it."""

    def __init__(self, roles: Sequence[str], cpus: str, housekeeping: str) -> None:
        self._stack = ExitStack()
        self.roles = roles
        found = plan_roles(this_topology(), roles, cpus, housekeeping)
        if not found:
            raise WrkbookError("it has too few CPUs", "./wrkbook hosts check hosts.toml shows its CPUs")
        self.plan = PinningPlan(
            found.get("server", ()), found.get("generator", ()), found.get("housekeeping", ()), found.get("backend", ())
        )
        self.artifacts: dict[str, Artifact] = {}
        self.launched: dict[int, ServerProcess] = {}
        self._ports: dict[tuple[int, ...], ExitStack] = {}
        self._watching: Watching | None = None

    def prepare(self, labels: Sequence[str], tools: Sequence[str], *, alone: bool) -> Prepared:
        """Make the image, build, and try the servers of this host on the contract; then keep to the housekeeping CPUs."""
        if alone:  # on the controller, the run has the lock
            if (lock := try_lock(MEASURING)) is None:
                raise WrkbookError("another wrkbook is measuring on it", "wait until it has ended")
            self._stack.callback(os.close, lock)
        raise_open_files_limit()
        catalogue = Catalogue()
        servers = [catalogue.builds[label] for label in labels]
        generators = [generator_named(name) for name in tools]
        built = [*servers, *(catalogue.server(tool.built_by) for tool in generators if tool.built_by)]
        self.image = image_to_run(catalogue, built, generators)
        self.artifacts = build_all(catalogue, built, self.image)
        self.generators = {tool.name: tool for tool in generators}
        self.builds = {tool.name: self.artifacts[tool.built_by].folder for tool in generators if tool.built_by}
        # On this host alone: the contract needs no network, and a backend elsewhere is verified by every trial.
        failed = {}
        for server in servers:
            if "server" not in self.roles or server.role == "backend":
                continue
            if found := verify_server(self.artifacts[server.label], self.plan.server, again=False):
                failed[server.label] = f"does not keep the contract: {found[0]}"
        self._stack.callback(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        os.sched_setaffinity(0, self.plan.housekeeping)
        self.probes = self._stack.enter_context(SpeedProbes(probed_cpus(self.plan)))
        made = self.artifacts.items()
        return Prepared(
            {label: artifact.key for label, artifact in made},
            {label: artifact.profile for label, artifact in made if artifact.profile},
            failed,
        )

    def facts(self) -> StationFacts:
        """Return the facts about this host for the manifest."""
        return StationFacts(machine_facts(this_topology()), fingerprint(), list(self.artifacts))

    def survey(self) -> MachineSurvey:
        """Watch the idle machine."""
        return survey(self.probes, self.plan.measured, SURVEY_S)

    def hold(self, count: int, first: int = FIRST_PORT) -> list[int]:
        """Hold free ports until they are released."""
        stack = ExitStack()
        ports: list[int] = stack.enter_context(hold_ports(count, first))
        self._ports[tuple(ports)] = stack
        return ports

    def release(self, ports: Sequence[int]) -> None:
        """Release ports that were held."""
        self._ports.pop(tuple(ports)).close()

    def launch(
        self,
        label: str,
        port: int,
        cpus: Sequence[int],
        backend_port: int,
        threads: int | None,
        addresses: Addresses,
    ) -> Launch:
        """Launch a server or a backend; see :class:`ServerProcess`."""
        kind = Backend if self.artifacts[label].server.role == "backend" else ServerProcess
        process = kind(self.artifacts[label], port, list(cpus), backend_port, threads, addresses)
        process.launch()
        number = max(self.launched, default=0) + 1
        self.launched[number] = process
        return Launch(number, process.port, process.tls_port, process.startup_s)

    def end(self, number: int) -> int | None:
        """End a launched server; return its exit status."""
        return self.launched.pop(number).end()

    def state(self, number: int) -> State:
        """Return the state of a launched server."""
        process = self.launched[number]
        return State(process.alive, process.exit_status, process.output() if not process.alive else "")

    def memory(self, number: int) -> ProcessMemory:
        """Return what the processes of a launched server hold."""
        return memory(self.launched[number].pids)

    def watch(
        self, numbers: Mapping[Role, int], load: Load, port: int, start_s: float, shares: Sequence[float]
    ) -> None:
        """Watch launched servers during a window that begins at `start_s` of this host's monotonic clock; see :class:`Watching`."""
        self._watching = Watching({role: self.launched[number] for role, number in numbers.items()}, self.probes, port)
        self._watching.during(load, start_s, shares)

    def watched(self) -> Watched:
        """Return what was watched, after the load generator has ended."""
        assert self._watching is not None, "a window is watched before it is reported"
        return self._watching.end()

    def window(self, share: Share) -> WindowRecord:
        """Run the load generator of this host."""
        source = LoadContext(self.generators, self.image, self.plan, self.probes, self.builds)
        server: Launched = self.launched[share.server] if isinstance(share.server, int) else share.server
        backend = None if share.backend is None else self.launched[share.backend]
        with tempfile.TemporaryDirectory(prefix="wrkbook-load-") as folder:
            self.generators[share.generator].prepare(share.request, Path(folder))
            time.sleep(max(0.0, share.start_s - time.monotonic()))
            target = LoadTarget(server, share.request, share.generator, Path(folder), backend)
            return in_one_piece(source, target, share.load, share.kind)

    def missing_ports(self, port: int, connections: int) -> str:
        """Wait until the load generator finds a port for each connection; see :func:`wait_for_ports`."""
        return wait_for_ports(port, connections)

    def respond(self, url: str, service: ServedWorkload, body: bytes | None, workload: Workload) -> Probe:
        """Send a good request and compare the response with the contract."""
        return quick_check(url, service, body, path_parameters(workload), workload.count)

    def ensure_cpus(self) -> None:
        """Ensure that the planned CPUs are there."""
        ensure_cpus(self.plan.measured)

    def close(self) -> None:
        """End everything that this host started."""
        for number in list(self.launched):
            self.end(number)
        for ports in list(self._ports):
            self.release(ports)
        self._stack.close()


_STATION: Station | None = None


def open_station(roles: Sequence[str], cpus: str, housekeeping: str) -> dict[str, str]:
    """Become the station of a run; return role → CPUs as planned on this host."""
    global _STATION
    _STATION = Station(roles, cpus, housekeeping)
    return _STATION.plan.as_dict()


def at_station(
    task: Callable[Concatenate[Station, Arguments], Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """Run a method of this host's station: Dask carries the name of this function and of the method."""
    assert _STATION is not None, "the station is opened first"
    return task(_STATION, *args, **kwargs)


def close_station() -> None:
    """End everything that this host started for the run."""
    global _STATION
    if _STATION is not None:
        _STATION.close()
        _STATION = None
