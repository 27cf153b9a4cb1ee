"""The nouns of the checker: a service that is tried, and a finding about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from runners.contract.http.messages import Message, Response

_SHOWN_CHARACTERS = 400
_SHOWN_VALUE_CHARACTERS = 120


class UnexpectedError(ValueError):
    """A response that is not the one that the contract requires; the message is the first difference."""


class Service(Protocol):
    """A service of a server: a workload of the contract, under a path template such as `/dbop/{db}/{table}`."""

    @property
    def workload(self) -> str:
        """The name of the workload."""

    @property
    def codec(self) -> str | None:
        """The codec of decode and roundtrip."""

    @property
    def path(self) -> str:
        """The path, with its parameters in braces."""


def shown(value: object) -> str:
    """Return a value as a difference shows it: its beginning."""
    text = repr(value)
    return text if len(text) <= _SHOWN_VALUE_CHARACTERS else text[:_SHOWN_VALUE_CHARACTERS] + "…"


@dataclass(frozen=True)
class Finding:
    """One way in which a server does not keep the contract.

    Attributes
    ----------
    vector
        The name of the vector, or of the behaviour that was tried.
    workload, codec
        Those of the service; both empty for the server as a whole.
    request
        The method and path of the request.
    expected, got
        What the contract requires, and the beginning of what was received.
    difference
        The first difference, in words.
    """

    vector: str
    workload: str
    codec: str
    request: str
    expected: str
    got: str
    difference: str

    def __str__(self) -> str:
        return f"{self.request}: {self.vector}: {self.difference}"


def finding(
    name: str,
    service: Service | None,
    request: Message,
    expected: str,
    difference: str,
    response: Response | None = None,
) -> Finding:
    """Return a finding, with long texts cut."""
    return Finding(
        vector=name,
        workload=service.workload if service else "",
        codec=(service.codec or "") if service else "",
        request=str(request),
        expected=expected[:_SHOWN_CHARACTERS],
        got=f"status: {response.status}, body: {response.body[:_SHOWN_CHARACTERS]!r}" if response else "",
        difference=difference,
    )
