"""The roles of a run on hosts of their own: each host does for its role what one machine does for all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Concatenate, Literal, ParamSpec, TypeVar, cast

from distributed import Future

from runners.contract.conformance import Probe
from runners.core.errors import WrkbookError
from runners.core.load import Load
from runners.core.records import WARM_UP_KINDS
from runners.core.sample import ProcessMemory, Role
from runners.core.trial_record import WindowKind, WindowRecord
from runners.hosts.cluster import ClockOffset, Hosts
from runners.hosts.link import Link, measure_link
from runners.hosts.merging import merged, network_use
from runners.hosts.remote_server import RemoteServer
from runners.hosts.station import Station, at_station, close_station, open_station
from runners.hosts.station_records import Prepared
from runners.machine.pinning_plan import PinningPlan
from runners.machine.topology import parse_cpu_list
from runners.measure.launched import Launched
from runners.measure.load import LoadContext, LoadTarget
from runners.measure.roles import WantedServer
from runners.measure.window import SAMPLED_AT
from runners.systems.addresses import Addresses
from runners.systems.backend import FIRST_BACKEND_PORT
from runners.systems.build import Artifact
from runners.systems.manifest_tables import Service
from runners.systems.sockets import FIRST_PORT

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
CONTROLLER = "controller"
# Time for the tasks of a window to reach their hosts before it begins.
_LEAD_S = 0.3
_AROUND = (0.0, 1.0)


@dataclass
class HostRoles:
    """The hosts of a run and what was found on them.

    Attributes
    ----------
    hosts : Hosts
        The connected hosts.
    places : dict[Role, str]
        Role → name of its host; :data:`CONTROLLER` for a role that no host has.
    plans : dict[str, dict[str, str]]
        Host → role → its CPUs.
    """

    hosts: Hosts
    places: dict[Role, str] = field(default_factory=dict)
    plans: dict[str, dict[str, str]] = field(default_factory=dict)
    link: Link = field(default_factory=lambda: Link(math.nan, math.nan))
    clocks: dict[str, ClockOffset] = field(default_factory=dict)

    def open(self) -> PinningPlan:
        """Make each host a station, and return the CPUs of all roles."""
        inventory = self.hosts.inventory
        server = inventory.name_of("server")
        assert server is not None, "an inventory has a server"
        self.places = {
            "server": server,
            "backend": inventory.name_of("backend") or server,
            "generator": inventory.name_of("generator") or CONTROLLER,
        }
        for name in dict.fromkeys(self.places.values()):
            own = sorted(role for role, place in self.places.items() if place == name)
            cpus, rest = (inventory.controller_cpus, inventory.controller_housekeeping)
            if name != CONTROLLER:
                cpus, rest = inventory.named[name].cpus, inventory.named[name].housekeeping
            self.plans[name] = self._run(name, open_station, own, cpus, rest)
        planned = {role: parse_cpu_list(self.plans[place][role]) for role, place in self.places.items()}
        housekeeping = self.plans.get(CONTROLLER, {}).get("housekeeping", "")
        return PinningPlan(
            planned["server"],
            planned["generator"],
            parse_cpu_list(housekeeping) if housekeeping else (),
            planned["backend"],
        )

    def prepare(self, labels: Mapping[Role, list[str]], generators: list[str]) -> Prepared:
        """Build and verify on each host what its roles need; measure clocks and the link."""
        builds, profiles, failed = dict[str, str](), dict[str, str](), dict[str, str]()
        for name in dict.fromkeys(self.places.values()):
            own = [label for role, found in labels.items() if self.places[role] == name for label in found]
            tools = generators if self.places["generator"] == name else []
            found = self.at(name, Station.prepare, own, tools, alone=name != CONTROLLER)
            builds |= found.builds
            profiles |= found.profiles
            failed |= found.nonconforming
        self.link = measure_link(self.hosts, self.places["server"])
        self.look_at_clocks()
        return Prepared(builds, profiles, failed)

    def look_at_clocks(self) -> None:
        """Measure the offset of each host's clocks."""
        self.clocks = {name: self.hosts.clock(name) for name in self.plans if name != CONTROLLER}

    def close(self) -> None:
        """End all that the hosts have started; a host that is gone does so by itself."""
        for name in self.plans:
            with suppress(WrkbookError):
                self._run(name, close_station)

    def at(
        self,
        name: str,
        task: Callable[Concatenate[Station, Arguments], Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Run a method of a host's station and return its result; errors as of :meth:`Hosts.result`."""
        if name == CONTROLLER:
            return at_station(task, *args, **kwargs)
        return self.hosts.call(name, at_station, task, *args, **kwargs)  # type: ignore[arg-type]

    def _run(
        self, name: str, task: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        if name == CONTROLLER:
            return task(*args, **kwargs)
        return self.hosts.call(name, task, *args, **kwargs)

    def ensure_cpus(self, plan: PinningPlan) -> None:
        """Ensure that the planned CPUs are there on each host, and look at the clocks again."""
        del plan
        for name in self.plans:
            self.at(name, Station.ensure_cpus)
        self.look_at_clocks()

    @contextmanager
    def hold_ports(self, count: int, *, backends: bool) -> Iterator[list[int]]:
        """Hold so many free ports for servers, or for backends, on their host."""
        host = self.places["backend" if backends else "server"]
        ports = self.at(host, Station.hold, count, FIRST_BACKEND_PORT if backends else FIRST_PORT)
        try:
            yield ports
        finally:
            self.at(host, Station.release, ports)

    @contextmanager
    def backend(self, artifact: Artifact, port: int, cpus: Sequence[int]) -> Iterator[RemoteServer]:
        """Launch a backend on its host while the context lasts."""
        addresses = Addresses(own=self._address("backend"), client=self._address("server"))
        with self._launched("backend", artifact.server.label, port, list(cpus), 0, None, addresses) as process:
            yield process

    @contextmanager
    def server(self, wanted: WantedServer) -> Iterator[RemoteServer]:
        """Launch a server on its host while the context lasts."""
        addresses = Addresses(own=self._address("server"), backend=self._address("backend"))
        port = wanted.backend.port if wanted.backend else 0
        with self._launched(
            "server", wanted.artifact.server.label, wanted.port, wanted.cpus, port, wanted.threads, addresses
        ) as process:
            yield process

    @contextmanager
    def _launched(
        self,
        role: Literal["server", "backend"],
        label: str,
        port: int,
        cpus: list[int],
        backend_port: int,
        threads: int | None,
        addresses: Addresses,
    ) -> Iterator[RemoteServer]:
        host = self.places[role]
        found = self.at(host, Station.launch, label, port, cpus, backend_port, threads, addresses)
        try:
            yield RemoteServer(lambda: self.at(host, Station.state, found.number), host, label, found, addresses, cpus)
        finally:
            self.at(host, Station.end, found.number)

    def _address(self, role: Role) -> str:
        place = self.places[role]
        inventory = self.hosts.inventory
        return str(inventory.controller if place == CONTROLLER else inventory.named[place].address)

    def memory(self, process: Launched) -> ProcessMemory:
        """Return what the processes of a server hold at this moment."""
        remote = cast("RemoteServer", process)
        return self.at(remote.host, Station.memory, remote.launch.number)

    def respond(
        self, url: str, service: Service, body: bytes | None, parameters: Mapping[str, str] | None, count: int | None
    ) -> Probe:
        """Send a good request from the load generator's host, and compare the response with the contract."""
        return self.at(self.places["generator"], Station.respond, url, service, body, parameters, count)

    def missing_ports(self, port: int, connections: int) -> str:
        """Wait until the load generator finds a port for each connection; return why it does not, or an empty text."""
        return self.at(self.places["generator"], Station.missing_ports, port, connections)

    def window(self, source: LoadContext, target: LoadTarget, load: Load, kind: WindowKind) -> WindowRecord:
        """Measure one window: the load generator's host runs it, those of server and backend watch theirs."""
        server, backend = cast("RemoteServer", target.server), cast("RemoteServer | None", target.backend)
        from_host, port = self.places["generator"], server.port_of(target.request.tls)
        paced = load.rate_rps is not None and source.generators[target.generator].reports_cpu
        shares = () if kind in WARM_UP_KINDS else _AROUND if paced else SAMPLED_AT
        watches: dict[str, dict[Role, int]] = {}
        for role, process in (("server", server), ("backend", backend)):
            if process is not None and process.host != from_host:
                watches.setdefault(process.host, {})[cast("Role", role)] = process.launch.number
        start_s = time.monotonic() + _LEAD_S
        pending: dict[str, Future[None]] = {
            host: self.hosts.submit(
                host, at_station, Station.watch, numbers, load, port, self._there(host, start_s), shares
            )
            for host, numbers in watches.items()
        }
        here = server.host == from_host
        record = self.at(
            from_host,
            Station.window,
            server.launch.number if here else server.seen_from_elsewhere(),
            backend.launch.number if backend is not None and backend.host == from_host else None,
            target.request,
            target.generator,
            load,
            kind,
            self._there(from_host, start_s),
        )
        for host, future in pending.items():
            self.hosts.result(host, future)
        found = {host: self.at(host, Station.watched) for host in watches}
        for host, watched in found.items():
            record = merged(record, watched, set(watches[host]), server.addresses.own)
        return (
            record
            if here
            else record.model_copy(update={"network": network_use(found[server.host], self.link, self.clocks.values())})
        )

    def _there(self, host: str, moment_s: float) -> float:
        """Return a moment of this machine's monotonic clock as one of a host's."""
        return moment_s + (self.clocks[host].monotonic_s if host in self.clocks else 0.0)
