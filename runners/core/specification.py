"""The description of a workload of the contract, and of the response that it expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from runners.core.load import ERRORS_TOLERANCE
from runners.core.records import Workload
from runners.core.request import CLOSE, Header, Tls


class Expectation(TypedDict, total=False):
    """The response that a vector requires; `servers/contract/vectors.json` explains the members."""

    status: int | list[int]
    receipt: dict[str, float]
    echo: str | dict[str, object]
    text: str
    json: dict[str, object]
    greeting: str
    rows: int
    numbers: int
    objects: int
    coding: str
    posts: int
    file: str


@dataclass(frozen=True)
class MixPart:
    """A part of a mix.

    Attributes
    ----------
    workload : Workload
        The workload whose requests it sends; its name is that of the endpoint.
    weight : int
        Its requests among those of a round (:attr:`Specification.round_count`).
    path : str
        Path on every server; empty: that of the service itself.
    """

    workload: Workload
    weight: int
    path: str = ""


@dataclass(frozen=True)
class Specification:
    """A workload of the contract.

    Attributes
    ----------
    name : str
        Name in ``server.toml``, parameters and tables.
    title : str
        Name in charts and tables.
    takes : str
        Body of the request: nothing (GET), or a batch of operations (POST).
    gives : str
        Response to a batch: its receipt, the batch again, its number of bytes, or any JSON (as published: not equal work).
    response : Expectation
        Expectation of the response to a GET, in the words of ``vectors.json``.
    good : str
        Name of the vector of a good request, for a workload that has one of its own.
    content_type : str
        Content-Type of the response.
    size : str
        The field of :class:`Workload` in which cells of it differ.
    dynamic : Literal["", "clock", "random"]
        Reason why responses differ: the clock, or a random draw.
    draws_count : int
        Responses that the check of their freshness compares.
    size_tolerance : float
        Share by which the mean size of responses may differ from that of a verified one: by the digits of random numbers and times, and,
        for pages, by what is drawn.
    statement : str
        The SQL statement of one request; ``servers/postgresql/counters.sql`` counts nothing else as that workload's.
    refuses : bool
        Wrong methods, and paths behind its own, are tried as with any resource.
    connections_parameter : str
        The parameter that holds its own numbers of connections, where they differ from those of the others.
    headers : tuple[Header, ...]
        Name and value of the request's headers.
    plain : str
        The workload with the same response, without what this one adds.
    adds : str
        What it adds to that.
    mix : tuple[MixPart, ...]
        The workloads that it is a mix of; a server that serves it serves them all.
    tls : Tls
        How its requests are encrypted; those with TLS go to a port of their own.
    """

    name: str
    title: str
    takes: Literal["", "batch"] = ""
    gives: Literal["", "receipt", "echo", "bytes", "any JSON"] = ""
    response: Expectation = field(default_factory=Expectation)
    good: str = ""
    content_type: str = "application/json"
    size: Literal["", "operations", "delay_ms", "count"] = ""
    dynamic: Literal["", "clock", "random"] = ""
    draws_count: int = 24
    size_tolerance: float = ERRORS_TOLERANCE
    statement: str = ""
    refuses: bool = True
    connections_parameter: str = ""
    headers: tuple[Header, ...] = ()
    plain: str = ""
    adds: str = ""
    mix: tuple[MixPart, ...] = ()
    tls: Tls = ""

    @property
    def closes(self) -> bool:
        """Return whether each request has a connection of its own, which the server closes."""
        return CLOSE in self.headers

    @property
    def round_count(self) -> int:
        """Return the requests of a round of its mix: each round holds exactly the weights, in shuffled order."""
        return sum(part.weight for part in self.mix)

    @property
    def errors_are_json(self) -> bool:
        """Return whether responses other than 200 are JSON too; others may be of any type."""
        return bool(self.takes or self.statement)

    def variants(self, sizes: Mapping[str, Sequence[int]]) -> list[Workload]:
        """Return the workloads of this kind, one for each of the `sizes` (field → values) that it differs by."""
        if not self.size:
            return [Workload(self.name)]
        return [Workload(self.name, **{self.size: size}) for size in sizes[self.size]]  # type: ignore[arg-type]  # a field of sizes

    def backend_work(self, workload: Workload) -> dict[str, dict[str, float]]:
        """Return the backend's work for one request, by the names of its counters; empty where nothing is counted."""
        rows = workload.count if self.size == "count" else 1
        return {self.name: {"calls": 1, "rows": rows}} if self.statement and rows is not None else {}
