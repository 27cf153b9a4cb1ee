"""A launched server or backend on another host, as the controller knows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runners.core.request import Tls
from runners.hosts.station_records import Launch, State
from runners.measure.launched import Elsewhere
from runners.systems.addresses import Addresses


@dataclass
class RemoteServer:
    """A launched server or backend on a host, as the controller knows it."""

    state: Callable[[], State]
    host: str
    name: str
    launch: Launch
    addresses: Addresses
    cpus: list[int]

    @property
    def startup_s(self) -> float:
        """Return how long its launch took."""
        return self.launch.startup_s

    @property
    def port(self) -> int:
        """Return the port on which it listens."""
        return self.launch.port

    @property
    def alive(self) -> bool:
        """Return whether it is still running."""
        return self.state().alive

    @property
    def exit_status(self) -> int | None:
        """Return its exit status; None while it runs."""
        return self.state().exit_status

    def output(self) -> str:
        """Return the last of what it printed."""
        return self.state().output

    def port_of(self, tls: Tls) -> int:
        """Return the port to which requests go."""
        return self.launch.tls_port if tls else self.launch.port

    def url_of(self, tls: Tls) -> str:
        """Return the base URL to which requests go."""
        return f"{'https' if tls else 'http'}://{self.addresses.own}:{self.port_of(tls)}"

    def seen_from_elsewhere(self) -> Elsewhere:
        """Return what the host of the load generator is told."""
        return Elsewhere(self.name, self.launch.port, self.launch.tls_port, self.addresses)
