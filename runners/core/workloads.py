"""The workloads of the contract, one record each: the only place that lists them.

`servers/contract/README.md` says the same in words, and is the authority.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypedDict

from runners.core.load import ERRORS_TOLERANCE
from runners.core.records import Workload

PING, RELAY = "ping", "relay"
USUAL_ROWS = 20


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
    posts: int
    file: str


_HELLO: Expectation = {"text": "Hello, World!"}


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

    @property
    def errors_are_json(self) -> bool:
        """Return whether responses other than 200 are JSON too; others may be of any type."""
        return bool(self.takes or self.statement)

    def variants(self, sizes: Mapping[str, Sequence[int]]) -> list[Workload]:
        """Return the workloads of this kind, one for each of the `sizes` (field → values) that it differs by."""
        if not self.size:
            return [Workload(self.name)]
        return [Workload(self.name, **{self.size: size}) for size in sizes[self.size]]  # type: ignore[arg-type]  # a field of sizes

    def backend_work(self, workload: Workload) -> dict[str, dict[str, int]]:
        """Return the backend's work for one request, by the names of its counters; empty where nothing is counted."""
        rows = workload.count if self.size == "count" else 1
        return {self.name: {"calls": 1, "rows": rows}} if self.statement and rows is not None else {}


_ALL = (
    Specification(PING, "Ping", response=_HELLO, content_type="text/plain", refuses=False),
    Specification(
        "ping-delay", "Ping, delayed", response=_HELLO, content_type="text/plain", size="delay_ms", refuses=False
    ),
    Specification("discard", "Discard", takes="batch", gives="bytes", size="operations"),
    Specification("decode", "Decode", takes="batch", gives="receipt", size="operations"),
    Specification("roundtrip", "Round trip", takes="batch", gives="echo", size="operations"),
    Specification(
        "text",
        "Text",
        response={"text": "Hello, world!\n"},
        good="text says hello",
        content_type="text/plain",
    ),
    Specification(
        "json",
        "JSON",
        response={"greeting": "RFC 3339"},
        good="json says hello and the time",
        dynamic="clock",
        size_tolerance=0.03,
    ),
    Specification(
        "sql1",
        "PgSQL 1",
        response={"greeting": "PostgreSQL"},
        good="sql1 says hello and the time of the database",
        dynamic="clock",
        size_tolerance=0.03,
        statement="SELECT CAST(now() AS VARCHAR)",
    ),
    Specification(
        "sql2",
        "PgSQL 2",
        response={"rows": USUAL_ROWS},
        good=f"sql2 gives {USUAL_ROWS} rows unless told",
        size="count",
        dynamic="random",
        size_tolerance=0.1,
        statement="SELECT id, number, name FROM record WHERE id = ANY($1)",
    ),
    Specification(
        "json10",
        "JSON of ten numbers",
        response={"numbers": 10},
        good="json10 gives 10 numbers",
        dynamic="random",
        draws_count=48,
        size_tolerance=0.06,
    ),
    Specification(
        "blog",
        "Blog",
        response={"posts": 6},
        good="blog shows 6 posts",
        content_type="text/html",
        dynamic="random",
        # Fewer than 1 in 10^9 series of 200 random pages lack one of the fifty posts. The draws of the other workloads are wider.
        draws_count=200,
        size_tolerance=0.25,
        connections_parameter="blog_connection_counts",
    ),
    Specification(
        RELAY,
        "Relay",
        response={"file": "10k.txt"},
        good="relay hands the whole file on",
        content_type="text/plain",
        refuses=False,
    ),
    Specification("decode-as-published", "Decode, as published", takes="batch", gives="any JSON", size="operations"),
    Specification(
        "roundtrip-as-published", "Round trip, as published", takes="batch", gives="any JSON", size="operations"
    ),
)
WORKLOADS: Mapping[str, Specification] = MappingProxyType({each.name: each for each in _ALL})
"""Name → specification, of every workload of the contract."""


def named(**fields: Any) -> tuple[str, ...]:  # noqa: ANN401  (values of any field)
    """Return the names of the workloads whose specification has these values in these fields."""
    return tuple(
        name for name, each in WORKLOADS.items() if all(getattr(each, key) == value for key, value in fields.items())
    )
