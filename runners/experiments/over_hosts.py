"""A run whose roles are on hosts of their own: its CPUs while it is planned, and the hosts while it is measured."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.run_manifest import Facts, HostFacts, LinkFacts
from runners.core.sample import Role
from runners.experiments.site import Site
from runners.hosts.cluster import Hosts
from runners.hosts.inventory import read_inventory
from runners.hosts.roles import HostRoles
from runners.hosts.station import CONTROLLER, Station
from runners.machine.pinning_plan import PinningPlan
from runners.machine.speed_probe import SpeedProbes
from runners.measure.conformance import image_to_run
from runners.measure.run_plan import RunPlan
from runners.systems.build import artifact


@dataclass(frozen=True)
class HostConnection:
    """The connected hosts of an inventory, and the CPUs of all roles as planned there."""

    stack: ExitStack
    roles: HostRoles
    pinning: PinningPlan
    behind: bool

    @property
    def lasts(self) -> bool:
        """Return whether all hosts are still there."""
        return set(self.roles.hosts.inventory.named) <= self.roles.hosts.present


_connected: HostConnection | None = None


def pinning_over_hosts(file: str, *, behind: bool) -> PinningPlan:
    """Connect to the hosts of an inventory, and return the CPUs of all roles; measuring uses the same connection.

    `behind` says whether a backend is one of them.

    Raises
    ------
    WrkbookError
        When the inventory is wrong, a host cannot be reached, has too few CPUs, or another version of wrkbook.
    """
    return _connection(file, behind=behind).pinning


def _connection(file: str, *, behind: bool) -> HostConnection:
    global _connected
    inventory = read_inventory(Path(file))
    known = _connected
    if known is not None and (known.roles.hosts.inventory, known.behind) == (inventory, behind) and known.lasts:
        return known
    _disconnect()
    if inventory.is_fleet:
        raise WrkbookError(
            "each host of this inventory measures whole runs", "./wrkbook hosts share; or give the hosts roles"
        )
    with ExitStack() as stack:
        roles = HostRoles(stack.enter_context(Hosts(inventory)))
        stack.callback(roles.close)
        pinning = roles.open(behind=behind)
        _connected = HostConnection(stack.pop_all(), roles, pinning, behind)
    return _connected


@atexit.register
def _disconnect() -> None:
    global _connected
    if _connected is not None:
        connected, _connected = _connected, None
        connected.stack.close()


@contextmanager
def hosts_of(plan: RunPlan) -> Iterator[Site]:
    """Prepare the hosts of a run, and end what they have started when it ends."""
    image = image_to_run(plan.catalogue, plan.built, plan.generators)
    image.ensure()
    backends = [server.label for server in plan.backends]
    servers = [server.label for server in plan.servers if server.label not in backends]
    labels: dict[Role, list[str]] = {"server": servers, "backend": backends}
    try:
        connected = _connection(plan.parameters.hosts, behind=bool(plan.backends))
        roles, pinning = connected.roles, connected.pinning
        if pinning.as_dict() != plan.pinning.as_dict():
            raise WrkbookError(
                f"the hosts have other CPUs than the run was planned for: {pinning.as_dict()}, planned {plan.pinning.as_dict()}",
                "use the same inventory, or another run-id",
            )
        prepared = roles.prepare(labels, [tool.name for tool in plan.generators])
        # Here nothing is built but what the load generator on this machine needs: manifests say what is served.
        artifacts = {server.label: artifact(server, image) for server in plan.built}
        with SpeedProbes(()) as none:
            yield Site(
                image,
                artifacts,
                none,
                roles,
                lambda: prepared.nonconforming,
                lambda: roles.at(roles.places["server"], Station.survey),
                {},
                _about(roles, prepared.builds),
            )
    finally:
        _disconnect()


def _about(roles: HostRoles, builds: dict[str, str]) -> Facts:
    """Return what the manifest says of the hosts: no address, no name."""
    found = {name: roles.at(name, Station.facts) for name in roles.plans}
    hosts = [
        HostFacts(
            name=name,
            roles=roles.roles_of(name),
            cpus=roles.plans[name],
            machine=facts.machine,
            fingerprint=facts.fingerprint,
            builds={label: key for label, key in builds.items() if label in facts.builds},
            clock_offset_s=roles.clocks[name].real_s if name != CONTROLLER else 0.0,
        )
        for name, facts in found.items()
    ]
    server = found[roles.places["server"]]
    return {
        "machine": server.machine,
        "hosts": hosts,
        "link": LinkFacts(rate_bps=roles.link.rate_bps, rtt_s=roles.link.rtt_s),
    }
