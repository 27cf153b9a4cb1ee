"""Requests to a service, and the findings about its responses.

The vectors one after the other on one connection, the request that a load repeats, and dynamic responses. These must differ: not the same
twice, and drawn from everything that is allowed.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from runners.contract.connection import Connection, NoResponseError
from runners.contract.data import MOST_ROWS, ROWS_COUNT, BodyStyle, posts, request_body
from runners.contract.dynamic import NUMBERS_BELOW, drawn
from runners.contract.findings import Finding, Message, Response, Service, UnexpectedError, finding
from runners.contract.responses import body_difference, header_difference, status_difference
from runners.contract.vectors.golden import expected, query_of
from runners.contract.vectors.model import Vector
from runners.core.records import Workload
from runners.core.request import Mix, Request
from runners.core.specification import Specification
from runners.core.workloads import WORKLOADS

DEFAULT_PARAMETERS = {"db": "my_database_1", "table": "my_table_1", "ms": "1"}

# After so many requests without a response, the rest would only run into their timeouts.
_MOST_SILENCES = 3

# A clock of whole milliseconds moves on in this time.
_PAUSE_S = 0.003
# One honest draw of a single row repeats another once in 10,000 times; three in a row do not.
_REPEATS = 3
# So many rounds of a mix until its sequence begins again: longer than the memory of any cache or predictor is good for.
_ROUNDS = 50
# Threads and processes that draw alike are seen on connections of their own.
_CONNECTIONS = 8


def request_of(vector: Vector, service: Service | None) -> Message:
    """Return the request that a vector makes to a service."""
    about = WORKLOADS[service.workload] if service else None
    method = vector.request.get("method", "POST" if about and about.takes else "GET")
    headers = dict(about.headers if about else ()) | vector.request.get("headers", {})
    path = vector.request["path"] if service is None else service.path
    target = filled(path, vector.request.get("parameters", {})) + vector.request.get("suffix", "")
    return Message(method, target, vector.body, headers)


def filled(path: str, parameters: dict[str, str]) -> str:
    """Return a path with its parameters put in, by default those of `DEFAULT_PARAMETERS`."""
    return re.sub(r"\{(\w+)\}", lambda match: (DEFAULT_PARAMETERS | parameters)[match[1]], path)


def response_difference(response: Response, vector: Vector, workload: str) -> str | None:
    """Return the first difference between a response and what a vector expects of a workload.

    A connection may be closed with a refusal, which has been announced then.
    """
    if difference := status_difference(response, vector.statuses):
        return difference
    coding = vector.expect.get("coding", "") if response.status == 200 else ""
    if difference := header_difference(response, workload, coding):
        return difference
    closes = bool(workload) and WORKLOADS[workload].closes
    if response.status == 200 and response.closes != closes:
        return f"the connection is {'not closed' if closes else 'not kept alive'}"
    if response.status not in (200, 400, 503):
        return None
    return body_difference(response, workload, vector.expect, vector.body or b"")


class VectorRunner:
    """Vectors tried on one connection, and what was found."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._silences = 0
        self._found: dict[Finding, None] = {}

    @property
    def findings(self) -> list[Finding]:
        """Return the findings so far, once each."""
        return list(self._found)

    @property
    def given_up(self) -> bool:
        """Return whether the server has been silent too often to go on."""
        return self._silences >= _MOST_SILENCES

    def try_all(self, vectors: Iterable[Vector], service: Service | None = None) -> None:
        """Try vectors on one service, or on the server as a whole."""
        for vector in vectors:
            if self.given_up:
                return
            self._try(vector, service)

    def _try(self, vector: Vector, service: Service | None) -> None:
        message = request_of(vector, service)
        was_open = self._connection.is_open
        response: Response | None = None
        differences: list[str | None] = []
        try:
            try:
                response = self._connection.request(message)
            except NoResponseError as error:
                # Either this request broke the server, or the connection was closed after the last response already.
                if not was_open:
                    raise
                differences.append(f"{error} on the connection kept until then")
                response = self._connection.request(message)
            differences.append(response_difference(response, vector, service.workload if service else ""))
        except NoResponseError as error:
            self._silences += 1
            differences = [str(error)]
        expected = ", ".join(f"{name}: {value}" for name, value in vector.expect.items())
        for difference in differences:
            if difference:
                self._found[finding(vector.name, service, message, expected, difference, response)] = None


def contract_request(path: str, workload: Workload, style: BodyStyle, seed: int) -> Request:
    """Return the request for `workload`, on a path template of a manifest such as ``/dbopsimd/{db}/{table}``."""
    target = filled(path, path_parameters(workload)) + query_of(workload.count)
    about = WORKLOADS[workload.name]
    if about.mix:
        return _mixed(path, about, style, seed)
    if workload.operations is None:
        return Request("GET", target, content_type="", headers=about.headers, tls=about.tls)
    return Request("POST", target, request_body(workload.operations, style, seed), headers=about.headers)


def _mixed(path: str, about: Specification, style: BodyStyle, seed: int) -> Request:
    """Return the mix of requests; `path` is that of the parts which have none of their own."""
    requests = {
        part.workload.name: contract_request(part.path or path, part.workload, style, seed) for part in about.mix
    }
    shares = [f"{part.weight / about.round_count:.0%} {requests[part.workload.name].path}" for part in about.mix]
    chance, sequence = random.Random(seed), list[str]()
    for _ in range(_ROUNDS):
        once = [part.workload.name for part in about.mix for _ in range(part.weight)]
        chance.shuffle(once)
        sequence += once
    return Request("GET", ", ".join(shares), content_type="", mix=Mix(requests, tuple(sequence)))


def path_parameters(workload: Workload) -> dict[str, str]:
    """Return the path parameters in which `workload` differs from the defaults."""
    return {} if workload.delay_ms is None else {"ms": str(workload.delay_ms)}


def unchanged(connection: Connection, message: Message, vector: Vector, workload: str, first: Response) -> str | None:
    """Send a request again, and return how the response changed or was wrong; None if it was the same each time.

    Parameters
    ----------
    connection : Connection
        The connection to send on.
    message : Message
        The request.
    vector : Vector
        The expectation.
    workload : str
        The workload that it is of.
    first : Response
        The first response, known to be right.

    Raises
    ------
    NoResponseError
        If there is no other response.
    """
    before = drawn(vector.expect, first.body)
    if before is None:
        return None
    for _ in range(_REPEATS):
        time.sleep(_PAUSE_S)
        response = connection.request(message)
        if difference := response_difference(response, vector, workload):
            return difference
        if drawn(vector.expect, response.body) != before:
            return None
    return "the response is the same to each request"


def check_freshness(base_url: str, service: Service) -> list[Finding]:
    """Send requests to a dynamic service repeatedly, over several connections."""
    about = WORKLOADS[service.workload]
    count = MOST_ROWS if about.size == "count" else None
    vector = Vector("", (), {"suffix": query_of(count)}, expected(service.workload, count))
    message = request_of(vector, service)
    requested = about.draws_count
    name = f"{requested} responses of {service.workload} are made anew"
    draws: list[Hashable] = []
    response: Response | None = None
    difference: str | None = None
    try:
        for _ in range(_CONNECTIONS):
            with Connection(base_url) as connection:
                for _ in range(requested // _CONNECTIONS):
                    response = connection.request(message)
                    if difference := response_difference(response, vector, service.workload):
                        raise UnexpectedError(difference)
                    draws.append(drawn(vector.expect, response.body))
                    time.sleep(_PAUSE_S if about.dynamic == "clock" else 0)
        difference = _sameness(draws) or _narrowness(about, draws)
    except (NoResponseError, UnexpectedError) as error:
        difference = str(error)
    return [finding(name, service, message, str(dict(vector.expect)), difference, response)] if difference else []


def _sameness(draws: Sequence[Hashable]) -> str | None:
    # One pair of equal pages among 200 is met once in a thousand honest series, two never.
    repeated = len(draws) - len(set(draws))
    return f"{repeated} of {len(draws)} responses repeat others" if repeated > 1 else None


def _narrowness(workload: Specification, draws: Sequence[Any]) -> str | None:
    """Say what is never drawn; an honest series misses a tenth of what is allowed once in 10^20 times."""
    if workload.dynamic == "clock":
        return None  # a clock with fewer digits repeats itself
    if "posts" in workload.response:
        missing = set(posts()).difference(*draws)
        return f"{len(missing)} posts were never shown, such as {min(missing)!r}" if missing else None
    if "rows" in workload.response:
        # Each draw by itself: rows that stand in a row are no random ones, wherever they begin.
        ranges, first, last = draws, 1, ROWS_COUNT
    else:
        ranges, first, last = [[number for draw in draws for number in draw]], 0, NUMBERS_BELOW - 1
    tenth = (last - first + 1) // 10
    for numbers in ranges:
        least, most = min(numbers), max(numbers)
        if least >= first + tenth or most <= last - tenth:
            return f"{len(numbers)} numbers are all from {least} to {most}"
    return None
