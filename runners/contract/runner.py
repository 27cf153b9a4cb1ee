"""Vectors tried one after the other on one connection, which the server has to keep."""

from __future__ import annotations

import re
from collections.abc import Iterable

from runners.contract.findings import Finding, Service, finding
from runners.contract.http.connection import Connection, NoResponseError
from runners.contract.http.messages import Message, Response
from runners.contract.responses import body_difference, header_difference, status_difference
from runners.contract.vectors.model import Vector
from runners.core.workloads import WORKLOADS

DEFAULT_PARAMETERS = {"db": "my_database_1", "table": "my_table_1", "ms": "1"}

# After so many requests without a response, the rest would only run into their timeouts.
_MOST_SILENCES = 3


def request_of(vector: Vector, service: Service | None) -> Message:
    """Return the request that a vector makes to a service."""
    posting = service is not None and WORKLOADS[service.workload].takes
    method = vector.request.get("method", "POST" if posting else "GET")
    path = vector.request["path"] if service is None else service.path
    target = filled(path, vector.request.get("parameters", {})) + vector.request.get("suffix", "")
    return Message(method, target, vector.body)


def filled(path: str, parameters: dict[str, str]) -> str:
    """Return a path with its parameters put in, by default those of `DEFAULT_PARAMETERS`."""
    return re.sub(r"\{(\w+)\}", lambda match: (DEFAULT_PARAMETERS | parameters)[match[1]], path)


def response_difference(response: Response, vector: Vector, workload: str) -> str | None:
    """Return the first difference between a response and what a vector expects of a workload.

    A connection may be closed with a refusal, which has been announced then.
    """
    if difference := status_difference(response, vector.statuses):
        return difference
    if difference := header_difference(response, workload):
        return difference
    if response.status == 200 and response.closes:
        return "the connection is not kept alive"
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
