"""The workloads of the contract, one record each: the only place that lists them.

`servers/contract/README.md` says the same in words, and is the authority.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from runners.core.records import Workload
from runners.core.request import CLOSE, Tls
from runners.core.specification import Expectation, MixPart, Specification

PING, RELAY = "ping", "relay"
USUAL_ROWS = 20


_HELLO: Expectation = {"text": "Hello, World!"}


def _greeting(name: str, title: str, good: str, plain: str = "", adds: str = "", tls: Tls = "") -> Specification:
    """Return the workload json on new connections, or encrypted."""
    return Specification(
        name,
        title,
        response={"greeting": "RFC 3339"},
        good=good,
        dynamic="clock",
        size_tolerance=0.03,
        refuses=False,
        headers=() if tls == "kept" else (CLOSE,),
        plain=plain,
        adds=adds,
        tls=tls,
    )


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
    _greeting("json-new", "JSON, new connections", "json closes the connection when that is requested"),
    _greeting("tls", "JSON over TLS", "json says hello over TLS", "json", "TLS on kept connections", "kept"),
    _greeting(
        "tls-new",
        "JSON over TLS, new connections",
        "json says hello over TLS and closes",
        "json-new",
        "a full TLS handshake",
        "full",
    ),
    _greeting(
        "tls-resumed",
        "JSON over TLS, resumed sessions",
        "json says hello over TLS, resumed, and closes",
        "json-new",
        "a resumed TLS handshake",
        "resumed",
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
        "json1000",
        "JSON of 1000 numbers",
        response={"objects": 100, "coding": "identity"},
        good="json1000 gives 100 objects of 10 numbers",
        dynamic="random",
        size_tolerance=0.01,
    ),
    Specification(
        "gzip",
        "JSON of 1000 numbers, gzip",
        response={"objects": 100, "coding": "gzip"},
        good="json1000 is compressed when gzip is accepted",
        dynamic="random",
        size_tolerance=0.03,
        headers=(("Accept-Encoding", "gzip"),),
        plain="json1000",
        adds="gzip compression",
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
    Specification(
        "mixed",
        "Mix of endpoints",
        # Of the blog's pages; all other responses together are a fourth of the bytes.
        size_tolerance=0.25,
        refuses=False,
        mix=(
            MixPart(Workload("text"), 6, "/text"),
            MixPart(Workload("json"), 6, "/json"),
            MixPart(Workload("decode", operations=10), 5),
            MixPart(Workload("blog"), 2, "/blog"),
            MixPart(Workload("sql2", count=USUAL_ROWS), 1, "/sql2"),
        ),
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


def backend_work(workload: Workload) -> dict[str, dict[str, float]]:
    """Return the backend's work for one request, or for the average one of a mix; see :meth:`Specification.backend_work`."""
    about = WORKLOADS[workload.name]
    found = about.backend_work(workload)
    for part in about.mix:
        share = part.weight / about.round_count
        for kind, work in backend_work(part.workload).items():
            found[kind] = {what: count * share for what, count in work.items()}
    return found


def check_mixes(services: Sequence[tuple[str, str, str | None]]) -> None:
    """Check that a server serves all parts of the mixes that it serves.

    Parameters
    ----------
    services : Sequence[tuple[str, str, str | None]]
        Workload, path and backend of each of its services.

    Raises
    ------
    ValueError
        If a part is missing, or a mix does not name the backend of one.
    """
    for mixed, own_path, own_backend in services:
        for part in WORKLOADS[mixed].mix:
            name, path = part.workload.name, part.path or own_path
            backends = [backend for workload, at, backend in services if (workload, at) == (name, path)]
            if not backends:
                raise ValueError(f"serves: {mixed} needs {name} at {path}")
            if backends[0] not in (None, own_backend):
                raise ValueError(f'serves: {mixed} needs backend = "{backends[0]}", as {name} does')
