"""Requests as they are sent, responses as they are received, and findings about them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

_SHOWN_CHARACTERS = 400
_SHOWN_VALUE_CHARACTERS = 120


@dataclass(frozen=True)
class Message:
    """A request.

    Attributes
    ----------
    method, target : str
        The request line.
    body : bytes | None
        The body of the request; with one, `Content-Length` is added.
    headers : Mapping[str, str]
        The headers of the request; `Host` is added.
    chunked : bool
        The body has chunked transfer coding instead.
    pause_s : float
        If not 0, the request is sent in four fragments with this pause between them.
    """

    method: str
    target: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False
    pause_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.method} {self.target}"

    def fragments(self, host: str) -> list[bytes]:
        """Return the bytes to send, one element if nothing is to come between them."""
        lines = [f"{self.method} {self.target} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        body = self.body or b""
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
            body = _as_chunks(body)
        elif self.body is not None:
            lines.append(f"Content-Length: {len(body)}")
        whole = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
        size = len(whole) // 4 + 1 if self.pause_s else len(whole)
        return [whole[start : start + size] for start in range(0, len(whole), size)]


@dataclass(frozen=True)
class Response:
    """A received response.

    Attributes
    ----------
    status : int
        The status as received.
    body : bytes
        The body without its transfer coding.
    headers : Mapping[str, str]
        Names in lower case; of a repeated one the last.
    raw_bytes : int
        Size of all that was received for it: status line, headers and body.
    closes : bool
        The server ends the connection with it.
    elapsed_s : float
        Time from before the first byte was sent until the last one was received.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    raw_bytes: int
    closes: bool
    elapsed_s: float


def parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    """Return the status and the headers of a response; raise ValueError if it is not of HTTP/1.1."""
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    protocol, status = first.split(" ")[:2]
    if protocol != "HTTP/1.1":
        raise ValueError(f"the response begins with {first!r}, not with HTTP/1.1")
    pairs = [line.partition(":") for line in lines]
    return int(status), {name.strip().lower(): value.strip() for name, _, value in pairs}


def _as_chunks(body: bytes) -> bytes:
    """Return the chunked coding of a body, in pieces of uneven sizes."""
    bounds = [0, 1, 8, 1008, *range(31_008, len(body), 30_000)]
    pieces = [body[start:end] for start, end in itertools.pairwise([*bounds, len(body)]) if start < len(body)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])


class UnexpectedError(ValueError):
    """A response that is not the one that the contract requires; the message is the first difference."""


class Service(Protocol):
    """A service of a server: a workload of the contract, under a path template such as `/dbop/{db}/{table}`."""

    @property
    def workload(self) -> str:
        """Return the name of the workload."""

    @property
    def codec(self) -> str | None:
        """Return the codec of decode and roundtrip."""

    @property
    def path(self) -> str:
        """Return the path, with its parameters in braces."""


def shown(value: object) -> str:
    """Return a value as a difference shows it: its beginning."""
    text = repr(value)
    return text if len(text) <= _SHOWN_VALUE_CHARACTERS else text[:_SHOWN_VALUE_CHARACTERS] + "…"


@dataclass(frozen=True)
class Finding:
    """One way in which a server does not keep the contract.

    Attributes
    ----------
    vector : str
        The name of the vector, or of the behaviour that was tried.
    workload, codec : str
        Those of the service; both empty for the server as a whole.
    request : str
        The method and path of the request.
    expected, got : str
        What the contract requires, and the beginning of what was received.
    difference : str
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
