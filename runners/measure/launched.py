"""Launched servers: wherever it runs, where its processes can be watched, and on another host."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

from runners.core.request import Tls
from runners.systems.addresses import Addresses


class Launched(Protocol):
    """A launched server or backend as a trial needs it, wherever it runs."""

    @property
    def startup_s(self) -> float:
        """Return how long its launch took."""

    @property
    def port(self) -> int:
        """Return the port on which it listens."""

    @property
    def alive(self) -> bool:
        """Return whether it is still running."""

    @property
    def exit_status(self) -> int | None:
        """Return its exit status; None while it runs."""

    def output(self) -> str:
        """Return the last of what it printed."""

    def port_of(self, tls: Tls) -> int:
        """Return the port to which requests go."""

    def url_of(self, tls: Tls) -> str:
        """Return the base URL to which requests go."""


class OnThisMachine(Launched, Protocol):
    """A launched server or backend whose processes can be watched from here."""

    cpus: list[int]
    addresses: Addresses

    @property
    def pids(self) -> list[int]:
        """Return its processes."""

    def listens(self) -> bool:
        """Return whether it, and no other, listens on its ports."""


@dataclass(frozen=True)
class Elsewhere:
    """A server on another host, as the load generator's host sees it: nothing of it can be watched from here."""

    name: str
    port: int
    tls_port: int
    addresses: Addresses
    cpus: list[int] = field(default_factory=list)
    pids: list[int] = field(default_factory=list)
    startup_s: float = math.nan
    alive: bool = True
    exit_status: int | None = None

    def output(self) -> str:
        """Return nothing."""
        return ""

    def port_of(self, tls: Tls) -> int:
        """Return the port to which requests go."""
        return self.tls_port if tls else self.port

    def url_of(self, tls: Tls) -> str:
        """Return the base URL to which requests go."""
        return f"{'https' if tls else 'http'}://{self.addresses.own}:{self.port_of(tls)}"

    def listens(self) -> bool:
        """Return True: its own host knows better."""
        return True
