"""The messages between controller and host: the load of a window, what was launched and prepared, and how it is."""

from __future__ import annotations

from dataclasses import dataclass

from runners.core.load import Load
from runners.core.request import Request
from runners.core.run_manifest import Facts
from runners.core.trial_record import WindowKind
from runners.measure.launched import Elsewhere


@dataclass(frozen=True)
class Launch:
    """A launched server, as its host tells the controller: a number for later calls, its ports, and how long it took."""

    number: int
    port: int
    tls_port: int
    startup_s: float


@dataclass(frozen=True)
class State:
    """The state of a launched server: whether it runs, its exit status, and what it printed last."""

    alive: bool
    exit_status: int | None
    output: str


@dataclass(frozen=True)
class Prepared:
    """A host that is ready: the key of each build, and what does not keep the contract, by label."""

    builds: dict[str, str]
    profiles: dict[str, str]
    nonconforming: dict[str, str]


@dataclass(frozen=True)
class StationFacts:
    """A host for the manifest: facts of its machine, digits that stand for it, and the labels that it has built."""

    machine: Facts
    fingerprint: str
    builds: list[str]


@dataclass(frozen=True)
class Share:
    """The part of a host in the load of a window, which begins at `start_s` of the host's monotonic clock.

    `server` and `backend` are numbers where this host has launched them itself; `backend` is None where another host watches it.
    """

    server: Elsewhere | int
    backend: int | None
    request: Request
    generator: str
    load: Load
    kind: WindowKind
    start_s: float
