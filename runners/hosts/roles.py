"""The roles of a run on hosts of their own: each host does for its role what one machine does for all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal, cast

from runners.contract.conformance import Probe
from runners.core.errors import WrkbookError
from runners.core.load import Load
from runners.core.records import Workload
from runners.core.sample import ProcessMemory, Role
from runners.core.trial_record import WindowKind, WindowRecord
from runners.hosts.inspection import ensure_same_version, version_here
from runners.hosts.link import measure_link
from runners.hosts.remote_server import RemoteServer
from runners.hosts.station import CONTROLLER, Station, close_station, open_station
from runners.hosts.station_records import Prepared
from runners.hosts.stations import Stations
from runners.hosts.windows import measure_window
from runners.machine.pinning_plan import PinningPlan
from runners.machine.topology import parse_cpu_list
from runners.measure.launched import Launched
from runners.measure.load import LoadContext, LoadTarget
from runners.measure.roles import WantedServer
from runners.systems.addresses import Addresses
from runners.systems.backend import FIRST_BACKEND_PORT
from runners.systems.build import Artifact
from runners.systems.manifest_tables import ServedWorkload
from runners.systems.sockets import FIRST_PORT


@dataclass
class HostRoles(Stations):
    """The roles of a run on their hosts.

    Attributes
    ----------
    places : dict[Role, str]
        Role → name of its host; :data:`CONTROLLER` for a role that no host has. Of several load generator hosts, the first.
    plans : dict[str, dict[str, str]]
        Host → role → its CPUs.
    """

    places: dict[Role, str] = field(default_factory=dict)
    plans: dict[str, dict[str, str]] = field(default_factory=dict)

    def open(self, *, behind: bool = True) -> PinningPlan:
        """Make each host a station, and return the CPUs of all roles; `behind` says whether a backend is one of them."""
        inventory = self.hosts.inventory
        server = inventory.name_of("server")
        assert server is not None, "an inventory has a server"
        self.places = {
            "server": server,
            "generator": inventory.name_of("generator") or CONTROLLER,
        }
        if behind:
            self.places["backend"] = inventory.name_of("backend") or server
        self.generators = inventory.names_of("generator") or [CONTROLLER]
        for name in self._names:
            own = self.roles_of(name)
            if name != CONTROLLER:
                ensure_same_version(name, self.hosts.call(name, version_here))
            cpus, rest = (inventory.controller_cpus, inventory.controller_housekeeping)
            if name != CONTROLLER:
                cpus, rest = inventory.named[name].cpus, inventory.named[name].housekeeping
            self.plans[name] = self.run(name, open_station, own, cpus, rest)
        counts = {name: len(parse_cpu_list(self.plans[name]["generator"])) for name in self.generators}
        if len(set(counts.values())) > 1:
            raise WrkbookError(
                f"the hosts of the load generator have different numbers of CPUs for it: {counts}",
                "give each the same number: cpus in the inventory",
            )
        planned = {role: parse_cpu_list(self.plans[place][role]) for role, place in self.places.items()}
        housekeeping = self.plans.get(CONTROLLER, {}).get("housekeeping", "")
        return PinningPlan(
            planned["server"],
            planned["generator"],
            parse_cpu_list(housekeeping) if housekeeping else (),
            planned.get("backend", ()),
        )

    def prepare(self, labels: Mapping[Role, list[str]], generators: list[str]) -> Prepared:
        """Build and verify on each host what its roles need; measure clocks and the link."""
        builds, profiles, failed = dict[str, str](), dict[str, str](), dict[str, str]()
        for name in self._names:
            own = [label for role, found in labels.items() if self.places.get(role) == name for label in found]
            tools = generators if name in self.generators else []
            found = self.at(name, Station.prepare, own, tools, alone=name != CONTROLLER)
            builds |= found.builds
            profiles |= found.profiles
            failed |= found.nonconforming
        self.link = measure_link(self.hosts, self.places["server"])
        self.look_at_clocks()
        return Prepared(builds, profiles, failed)

    @property
    def _names(self) -> list[str]:
        """The hosts with a role."""
        return list(dict.fromkeys([*self.places.values(), *self.generators]))

    def roles_of(self, name: str) -> list[str]:
        """Return the roles of a host, sorted."""
        own = {str(role) for role, place in self.places.items() if place == name}
        return sorted(own | ({"generator"} if name in self.generators else set()))

    def look_at_clocks(self) -> None:
        """Measure the offset of each host's clocks."""
        self.clocks = {name: self.hosts.clock(name) for name in self.plans if name != CONTROLLER}

    def close(self) -> None:
        """End all that the hosts have started; a host that is gone does so by itself."""
        for name in self.plans:
            with suppress(WrkbookError):
                self.run(name, close_station)

    def ensure_cpus(self, plan: PinningPlan) -> None:
        """Ensure that the planned CPUs are there on each host, and look at the clocks again."""
        del plan
        for name in self.plans:
            self.at(name, Station.ensure_cpus)
        self.look_at_clocks()

    @contextmanager
    def hold_ports(self, count: int, *, backends: bool) -> Iterator[list[int]]:
        """Hold so many free ports for servers, or for backends, on their host."""
        host = self._place("backend" if backends else "server")
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

    def _place(self, role: Role) -> str:
        """Return the host of a role; of the backend, where a run has none, that of the server."""
        return self.places.get(role, self.places["server"])

    def _address(self, role: Role) -> str:
        place = self._place(role)
        inventory = self.hosts.inventory
        return str(inventory.controller if place == CONTROLLER else inventory.named[place].address)

    def memory(self, process: Launched) -> ProcessMemory:
        """Return what the processes of a server hold at this moment."""
        remote = cast("RemoteServer", process)
        return self.at(remote.host, Station.memory, remote.launch.number)

    def respond(self, url: str, service: ServedWorkload, body: bytes | None, workload: Workload) -> Probe:
        """Send a good request from the load generator's host, and compare the response with the contract."""
        return self.at(self.places["generator"], Station.respond, url, service, body, workload)

    def missing_ports(self, port: int, connections: int) -> str:
        """Wait until the load generator finds a port for each connection; return why it does not, or an empty text."""
        each = math.ceil(connections / len(self.generators))
        found = (self.at(name, Station.missing_ports, port, each) for name in self.generators)
        return next(filter(None, found), "")

    def window(self, source: LoadContext, target: LoadTarget, load: Load, kind: WindowKind) -> WindowRecord:
        """Measure one window; see :func:`measure_window`."""
        paced = load.rate_rps is not None and source.generators[target.generator].reports_cpu
        return measure_window(self, target, load, kind, paced=paced)
