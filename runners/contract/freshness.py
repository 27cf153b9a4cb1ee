"""Check that dynamic responses are fresh: not the same twice, and drawn from everything that is allowed."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import Any

from runners.contract.dynamic import NUMBERS_BELOW, drawn
from runners.contract.findings import Finding, Service, UnexpectedError, finding
from runners.contract.http.connection import Connection, NoResponseError
from runners.contract.http.messages import Message, Response
from runners.contract.inputs import MOST_ROWS, ROWS_COUNT, posts
from runners.contract.runner import request_of, response_difference
from runners.contract.vectors.endpoints import expected, query_of
from runners.contract.vectors.model import Vector
from runners.core.workloads import WORKLOADS, Specification

# A clock of whole milliseconds moves on in this time.
_PAUSE_S = 0.003
# One honest draw of a single row repeats another once in 10,000 times; three in a row do not.
_REPEATS = 3
# Threads and processes that draw alike are seen on connections of their own.
_CONNECTIONS = 8


def unchanged(connection: Connection, message: Message, vector: Vector, workload: str, first: Response) -> str | None:
    """Send it again, and say whether the response was the same each time, or wrong.

    Parameters
    ----------
    connection, message
        The request.
    vector, workload
        What is expected, and of which workload.
    first
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


def check(base_url: str, service: Service) -> list[Finding]:
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
