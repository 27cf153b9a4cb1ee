"""The results of a host to the controller: what was launched and prepared there, and how it is."""

from __future__ import annotations

from dataclasses import dataclass

from runners.core.run_manifest import Facts


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
