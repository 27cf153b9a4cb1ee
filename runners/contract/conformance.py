"""Whether a running server keeps the contract: all of it, a few requests before every measurement, or one body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from runners.contract import behaviour
from runners.contract.batch import normalised
from runners.contract.examination import Examination, answer_difference, request_of
from runners.contract.exchange import Connection, NoAnswerError
from runners.contract.findings import GETTING, Finding, Service
from runners.contract.oracle import judge
from runners.contract.vectors import Vector, body_spec, load


@dataclass(frozen=True)
class Probe:
    """The outcome of one request: how its answer differs (None: it does not), and how many bytes were received."""

    difference: str | None
    answer_bytes: int


def check(
    base_url: str, services: Sequence[Service], vectors: Iterable[Vector] | None = None, quick: bool = False
) -> list[Finding]:
    """Try the golden vectors on a server, and its behaviour over time; no load.

    Parameters
    ----------
    base_url
        `http://127.0.0.1:PORT`.
    services
        What the server says that it serves.
    vectors
        The vectors to try; those of `vectors.json` by default.
    quick
        Whether to try only the few vectors meant for the time before every measurement (below 0.3 s).

    Returns
    -------
    list of Finding
        Empty for a server that keeps the contract.
    """
    chosen = [vector for vector in (stored() if vectors is None else vectors) if vector.quick or not quick]
    with Connection(base_url) as connection:
        examination = Examination(connection)
        examination.try_all(vector for vector in chosen if not vector.workloads)
        for service in services:
            examination.try_all((vector for vector in chosen if service.workload in vector.workloads), service)
    if quick or examination.given_up:
        return examination.findings
    return examination.findings + behaviour.check(base_url, services)


def quick_check(
    base_url: str, service: Service, body: bytes | None = None, parameters: Mapping[str, str] | None = None
) -> Probe:
    """Send one good request and compare its answer with the contract.

    Parameters
    ----------
    base_url
        `http://127.0.0.1:PORT`.
    service
        The workload and its path.
    body
        The body to send; None for ping and ping-delay. It need not be a batch: the oracle says what is expected.
    parameters
        Those of the path that differ from `DEFAULT_PARAMETERS`; `ms` is the delay of ping-delay.
    """
    vector = _vector_of(service.workload, body, tuple(sorted((parameters or {}).items())))
    with Connection(base_url) as connection:
        try:
            answer = connection.exchange(request_of(vector, service))
        except NoAnswerError as error:
            return Probe(str(error), 0)
    return Probe(answer_difference(answer, vector, service.workload), answer.raw_bytes)


def agree(base_url: str, services: Iterable[Service], body: bytes) -> list[Finding]:
    """Send one body, good or bad, to everything that takes a body, and compare the answers with the oracle.

    For property-based tests of running servers: `assert agree(url, services, body) == []`.
    """
    with Connection(base_url) as connection:
        examination = Examination(connection)
        for service in services:
            if service.workload not in GETTING:
                examination.try_all([_vector_of(service.workload, body, ())], service)
    return examination.findings


def storm(base_url: str, services: Iterable[Service], requests_count: int = 10_000) -> list[Finding]:
    """Send so many bad requests, short ones over and over, then a good one to each service.

    The memory of the server is for the caller to look at, before and after.
    """
    with Connection(base_url) as connection:
        examination = Examination(connection)
        for service in (chosen := [service for service in services if service.workload not in GETTING]):
            bad = [vector for vector in stored() if service.workload in vector.workloads and _is_short_and_bad(vector)]
            rounds = requests_count // len(chosen) // len(bad) + 1
            examination.try_all((vector for _ in range(rounds) for vector in bad), service)
        for service in chosen:
            good = [vector for vector in stored() if service.workload in vector.workloads and vector.quick]
            examination.try_all(good, service)
    return examination.findings


@lru_cache(maxsize=1)
def stored() -> tuple[Vector, ...]:
    """The vectors of `vectors.json`, read once."""
    return load()


@lru_cache(maxsize=64)
def _vector_of(workload: str, body: bytes | None, parameters: tuple[tuple[str, str], ...]) -> Vector:
    """Return a vector for a request that was not foreseen."""
    request: dict[str, Any] = {"parameters": dict(parameters)}
    if workload in GETTING:
        return Vector(f"{workload} is answered", (workload,), request, {"status": 200, "text": "Hello, World!"})
    content = body or b""
    verdict = judge(content)
    expect: dict[str, Any] = {"status": sorted(verdict.statuses)}
    if workload == "discard":
        expect = {"status": 413 if 413 in verdict.statuses else 200, "json": {"bytes": len(content)}}
    elif verdict.batch is not None and verdict.receipt is not None:
        expect |= {"receipt": verdict.receipt.as_json(), "echo": normalised(verdict.batch)}
    name = f"a body of {len(content)} bytes is answered as the oracle says"
    return Vector(name, (workload,), request | {"body": body_spec(content)}, expect)


def _is_short_and_bad(vector: Vector) -> bool:
    return vector.statuses == {400} and vector.body is not None and len(vector.body) < 2000
