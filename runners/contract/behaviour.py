"""Checks beyond single requests: delays, chunked and fragmented bodies, media types, and concurrent requests."""

from __future__ import annotations

import select
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from runners.contract import runner
from runners.contract.connection import Connection, NoResponseError
from runners.contract.data import request_body
from runners.contract.decoder.reference import BODY_LIMIT_BYTES
from runners.contract.findings import Finding, Message, Response, Service, finding
from runners.contract.runner import filled, request_of, response_difference
from runners.contract.vectors.accepted import SAMPLE
from runners.contract.vectors.model import AS_SENT, Vector, for_batch
from runners.core.workloads import PING, WORKLOADS

# A server that blocks a thread for each delayed request is seen if it has fewer threads than this.
_SIDE_BY_SIDE = 40
_SIDE_BY_SIDE_S = 0.15
_DRAWS = 12
_DRAWN_FROM_S = 0.1
# The path of a random delay has this instead of "/delay/".
_RANDOM = "/rand_delay/"
# A response may come so much later than requested on a busy machine.
_PATIENCE_S = 1.0
# Timers count in whole ticks of their clock; a response must not be earlier by more than this.
_TICK_S = 0.0005

_FORM = "application/x-www-form-urlencoded"
_MEDIA_TYPES = ("application/json", "text/plain; charset=latin-1", _FORM, "multipart/form-data; boundary=x")


def check(base_url: str, services: Sequence[Service]) -> list[Finding]:
    """Try everything that takes more than one plain request.

    Parameters
    ----------
    base_url : str
        `http://127.0.0.1:PORT`.
    services : Sequence[Service]
        What the server says that it serves.
    """
    findings: list[Finding] = []
    for service in services:
        if WORKLOADS[service.workload].gives not in ("", "any JSON"):
            findings += _transfers(base_url, service)
    pings = [service for service in services if service.workload == PING]
    for service in services:
        if WORKLOADS[service.workload].size == "delay_ms" and _RANDOM not in service.path:
            findings += _delays(base_url, service, pings)
        if WORKLOADS[service.workload].dynamic:
            findings += runner.check_freshness(base_url, service)
    return findings


def check_absence(base_url: str, services: Sequence[Service]) -> Iterator[Finding]:
    """Send many requests at once that need a database which is away, and a plain one behind them."""
    others = [service for service in services if not WORKLOADS[service.workload].errors_are_json]
    others = [service for service in others if "{" not in service.path]
    for service in services:
        if not WORKLOADS[service.workload].statement:
            continue
        message = Message("GET", service.path)
        vector = Vector("", (), {}, {"status": 503})
        responses: list[Response] = []
        try:
            responses, other_s = _side_by_side(base_url, message, _SIDE_BY_SIDE, others)
            differences = [response_difference(response, vector, service.workload) for response in responses]
            if other_s > _PATIENCE_S:
                differences.append(f"{others[0].path} behind them got a response only after {other_s * 1000:.0f} ms")
        except NoResponseError as error:
            differences = [str(error)]
        name = f"{_SIDE_BY_SIDE} requests at once are told that the database is away"
        for difference in filter(None, dict.fromkeys(differences)):
            yield finding(name, service, message, "status: 503", difference)


def _transfers(base_url: str, service: Service) -> Iterator[Finding]:
    sample, long, beyond = _vector(SAMPLE.encode()), _vector(request_body(50)), Vector("", (), {}, {"status": 413})
    short, compressible = request_of(sample, service), request_of(long, service)
    great = b" " * (BODY_LIMIT_BYTES + 1)
    trials = [
        ("a chunked body is read", sample, replace(short, chunked=True)),
        ("a chunked body beyond 4 MiB is refused", beyond, replace(short, body=great, chunked=True)),
        ("a body in fragments is read", sample, replace(short, pause_s=0.002)),
        ("a response is not compressed", long, replace(compressible, headers={"Accept-Encoding": "gzip, br, zstd"})),
    ]
    for media_type in _MEDIA_TYPES:
        called = replace(short, headers={"Content-Type": media_type})
        trials.append((f"a body is read that is called {media_type}", sample, called))
    with Connection(base_url) as connection:
        for name, vector, message in trials:
            response: Response | None = None
            try:
                response = connection.request(message)
                difference = response_difference(response, vector, service.workload)
            except NoResponseError as error:
                difference = str(error)
            if difference:
                yield finding(name, service, message, str(dict(vector.expect)), difference, response)


def _vector(body: bytes) -> Vector:
    """Return a good vector for everything that takes a body."""
    vector = for_batch("", body, 200)
    return Vector("", (), vector.request, {**vector.expect, "echo": AS_SENT, "json": {"bytes": len(body)}})


def _delays(base_url: str, service: Service, pings: Sequence[Service]) -> Iterator[Finding]:
    fixed = Message("GET", filled(service.path, {"ms": f"{_SIDE_BY_SIDE_S * 1000:.0f}"}))
    drawn = Message("GET", filled(service.path.replace("/delay/", _RANDOM), {"ms": f"{_DRAWN_FROM_S * 1000:.0f}"}))
    name = f"{_SIDE_BY_SIDE} delays do not wait for one another"
    try:
        # A machine that stands still for a moment is not the fault of the server: the finding must come twice.
        for _ in range(2):
            delays, ping_s = _side_by_side(base_url, fixed, _SIDE_BY_SIDE, pings)
            difference = _fixed_difference(delays, ping_s)
            if difference is None:
                break
        if difference:
            yield finding(name, service, fixed, f"{_SIDE_BY_SIDE_S * 1000:.0f} ms each", difference)
        delays, _ = _side_by_side(base_url, drawn, _DRAWS, [])
        if difference := _drawn_difference(delays):
            name = f"{_DRAWS} random delays are drawn from all that is allowed"
            yield finding(name, service, drawn, f"0 to {_DRAWN_FROM_S * 1000:.0f} ms", difference)
    except NoResponseError as error:
        yield finding(name, service, fixed, "a response to each", str(error))


def _side_by_side(
    base_url: str, message: Message, count: int, pings: Sequence[Service]
) -> tuple[list[Response], float]:
    """Send so many requests at once; return their responses, and how long a ping took that was sent behind them."""
    with ExitStack() as stack:
        connections: Sequence[Connection] = [stack.enter_context(Connection(base_url)) for _ in range(count)]
        for connection in connections:
            connection.send(message)
        ping_s = 0.0
        for ping in pings[:1]:
            ping_s = stack.enter_context(Connection(base_url)).request(Message("GET", ping.path)).elapsed_s
        responses: list[Response] = []
        waiting = connections
        # Each is received when it is there: one read behind a later one would seem as late as that.
        while waiting:
            ready = select.select(waiting, [], [], _PATIENCE_S)[0] or waiting[:1]
            responses += [connection.receive() for connection in ready]
            waiting = [connection for connection in waiting if connection not in ready]
        return responses, ping_s


def _fixed_difference(responses: Iterable[Response], ping_s: float) -> str | None:
    for response in responses:
        if response.status != 200 or response.body != b"Hello, World!":
            return f"status {response.status}, body {response.body[:40]!r}"
        if response.elapsed_s < _SIDE_BY_SIDE_S - _TICK_S:
            return f"the response came after {response.elapsed_s * 1000:.1f} ms already"
        if response.elapsed_s > _SIDE_BY_SIDE_S + _PATIENCE_S:
            return f"the response came only after {response.elapsed_s * 1000:.0f} ms"
    if ping_s >= _SIDE_BY_SIDE_S:
        return f"a ping behind them got a response only after {ping_s * 1000:.0f} ms"
    return None


def _drawn_difference(responses: Iterable[Response]) -> str | None:
    delays_s = []
    for response in responses:
        if response.status != 200 or response.body != b"Hello, World!":
            return f"status {response.status}, body {response.body[:40]!r}"
        delays_s.append(response.elapsed_s)
    shortest_s, longest_s = min(delays_s), max(delays_s)
    if longest_s > _DRAWN_FROM_S + _PATIENCE_S:
        return f"the response came only after {longest_s * 1000:.0f} ms"
    # Twelve honest draws miss the shortest or the longest nine tenths once in 10^12 times.
    if shortest_s > 0.9 * _DRAWN_FROM_S or longest_s < 0.1 * _DRAWN_FROM_S:
        return f"all responses came after {shortest_s * 1000:.0f} to {longest_s * 1000:.0f} ms"
    return None
