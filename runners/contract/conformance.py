"""Check a running server against the contract: all of it, a few requests before every measurement, or one body."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from runners.contract import behaviour, runner, tls
from runners.contract.connection import Connection, NoResponseError
from runners.contract.decoder.reference import judge, normalised
from runners.contract.findings import Finding, Service
from runners.contract.runner import VectorRunner, request_of, response_difference
from runners.contract.vectors.golden import expected, query_of
from runners.contract.vectors.model import RequestParts, Vector, body_spec, load
from runners.core.specification import Expectation
from runners.core.workloads import RELAY, WORKLOADS


@dataclass(frozen=True)
class Probe:
    """The outcome of one request: how its response differs (None: it does not), and how many bytes were received.

    `body_bytes` are those that are not headers.
    """

    difference: str | None
    response_bytes: int
    body_bytes: int = 0


def check(
    base_url: str,
    services: Sequence[Service],
    vectors: Iterable[Vector] | None = None,
    quick: bool = False,
    tls_url: str = "",
) -> list[Finding]:
    """Try the golden vectors on a server, and its behaviour over time; no load.

    Parameters
    ----------
    base_url : str
        `http://127.0.0.1:PORT`.
    services : Sequence[Service]
        What the server says that it serves.
    vectors : Iterable[Vector] | None
        The vectors to try; those of `vectors.json` by default.
    quick : bool
        Whether to try only the few vectors meant for the time before every measurement (below 0.3 s).
    tls_url : str
        `https://127.0.0.1:PORT`, to which requests with TLS go.

    Returns
    -------
    list of Finding
        Empty for a server that keeps the contract.
    """
    chosen = [vector for vector in (stored() if vectors is None else vectors) if vector.quick or not quick]
    chosen = [vector for vector in chosen if vector.backend]
    encrypted = [service for service in services if WORKLOADS[service.workload].tls]
    plain = [service for service in services if service not in encrypted]
    findings, given_up = _try_vectors(base_url, chosen, plain, _of_the_server(chosen, services))
    if encrypted and not given_up:
        found, given_up = _try_vectors(tls_url, chosen, encrypted)
        findings += found
    if quick or given_up:
        return findings
    return [*findings, *behaviour.check(base_url, plain), *tls.check(tls_url, encrypted)]


def _try_vectors(
    url: str, vectors: Sequence[Vector], services: Sequence[Service], of_the_server: Iterable[Vector] = ()
) -> tuple[list[Finding], bool]:
    """Try vectors on services, one after the other; return the findings, and whether the server was silent too often."""
    with Connection(url) as connection:
        run = VectorRunner(connection)
        run.try_all(of_the_server)
        for service in services:
            run.try_all((vector for vector in vectors if service.workload in vector.workloads), service)
    return run.findings, run.given_up


def check_without_backend(base_url: str, services: Sequence[Service]) -> list[Finding]:
    """Try a server whose database is away, or has never been there.

    What needs the database is refused within 3 s, over one connection and over many at once; everything else works.

    Parameters
    ----------
    base_url : str
        `http://127.0.0.1:PORT`.
    services : Sequence[Service]
        All that the server says that it serves, those without a database too.
    """
    unaffected = [each for each in services if not (WORKLOADS[each.workload].statement or WORKLOADS[each.workload].tls)]
    findings = check(base_url, unaffected, quick=True)
    away = [vector for vector in stored() if not vector.backend]
    found, given_up = _try_vectors(base_url, away, services)
    return [*findings, *found, *([] if given_up else behaviour.check_absence(base_url, services))]


def quick_check(
    base_url: str,
    service: Service,
    body: bytes | None = None,
    parameters: Mapping[str, str] | None = None,
    count: int | None = None,
) -> Probe:
    """Send one good request and compare its response with the contract; another one, if the response must change.

    Parameters
    ----------
    base_url : str
        `http://127.0.0.1:PORT`.
    service : Service
        The workload and its path.
    body : bytes | None
        The body to send; None for workloads that send none. It need not be a batch: the reference decoder says what is expected.
    parameters : Mapping[str, str] | None
        Those of the path that differ from `DEFAULT_PARAMETERS`; `ms` is the delay of ping-delay.
    count : int | None
        The number of rows that a request of sql2 names.
    """
    if WORKLOADS[service.workload].mix:
        return _check_mix(base_url, service, body)
    vector = _vector_of(service.workload, body, tuple(sorted((parameters or {}).items())), count)
    message = request_of(vector, service)
    with Connection(base_url) as connection:
        try:
            response = connection.request(message)
            difference = response_difference(response, vector, service.workload)
            difference = difference or runner.unchanged(connection, message, vector, service.workload, response)
        except NoResponseError as error:
            return Probe(str(error), 0)
    return Probe(difference, response.raw_bytes, len(response.body))


@dataclass(frozen=True)
class _PartService:
    """The service of one part of a mix."""

    workload: str
    path: str
    codec: str | None = None


def _check_mix(base_url: str, service: Service, body: bytes | None) -> Probe:
    """Send a good request of each part of a mix; return the first difference, and the bytes of the average response."""
    about = WORKLOADS[service.workload]
    response_bytes = body_bytes = 0.0
    for part in about.mix:
        name = part.workload.name
        one = _PartService(name, part.path or service.path)
        found = quick_check(base_url, one, body if WORKLOADS[name].takes else None, None, part.workload.count)
        if found.difference:
            return Probe(f"{name}: {found.difference}", found.response_bytes)
        response_bytes += found.response_bytes * part.weight / about.round_count
        body_bytes += found.body_bytes * part.weight / about.round_count
    return Probe(None, round(response_bytes), round(body_bytes))


def agree(base_url: str, services: Iterable[Service], body: bytes) -> list[Finding]:
    """Send one body, good or bad, to everything that takes a body, and compare the responses with the reference decoder.

    For property-based tests of running servers: `assert agree(url, services, body) == []`.
    """
    with Connection(base_url) as connection:
        run = VectorRunner(connection)
        for service in services:
            if WORKLOADS[service.workload].gives not in ("", "any JSON"):
                run.try_all([_vector_of(service.workload, body, (), None)], service)
    return run.findings


@lru_cache(maxsize=1)
def stored() -> tuple[Vector, ...]:
    """Return the vectors of `vectors.json`, read once."""
    return load()


@lru_cache(maxsize=64)
def _vector_of(workload: str, body: bytes | None, parameters: tuple[tuple[str, str], ...], count: int | None) -> Vector:
    """Return a vector for a request that was not foreseen."""
    request: RequestParts = {"parameters": dict(parameters)}
    if not WORKLOADS[workload].takes:
        request["suffix"] = query_of(count)
        return Vector(f"{workload} gets a response", (workload,), request, expected(workload, count))
    content = body or b""
    verdict = judge(content)
    expect: Expectation = {"status": sorted(verdict.statuses)}
    if WORKLOADS[workload].gives == "bytes":
        expect = {"status": 413 if 413 in verdict.statuses else 200, "json": {"bytes": len(content)}}
    elif verdict.batch is not None and verdict.receipt is not None:
        expect |= {"receipt": verdict.receipt.as_json(), "echo": normalised(verdict.batch)}
    name = f"a body of {len(content)} bytes gets the response of the reference decoder"
    return Vector(name, (workload,), {**request, "body": body_spec(content)}, expect)


def _of_the_server(vectors: Iterable[Vector], services: Sequence[Service]) -> Iterator[Vector]:
    """Yield the vectors for the server as a whole, but for paths that it serves; none for a proxy that only relays."""
    served = {service.path for service in services}
    if {service.workload for service in services} != {RELAY}:
        yield from (vector for vector in vectors if not vector.workloads and vector.request["path"] not in served)
