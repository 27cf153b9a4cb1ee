"""The request that a load generator repeats, or the mix of requests that it sends in a fixed sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Header = tuple[str, str]

Tls = Literal["", "kept", "full", "resumed"]
"""How a request is encrypted: not at all; on kept connections; on a new one with a full handshake, or with that of an earlier session."""

CLOSE: Header = ("Connection", "close")
"""The header that requests the end of the connection after the response."""


@dataclass(frozen=True)
class Request:
    """The request that a load generator repeats.

    Attributes
    ----------
    headers : tuple[Header, ...]
        Name and value of each header besides those of the tool, and the content type.
    mix : Mix | None
        The requests that are sent in its place; then `path` says in words what they are.
    tls : Tls
        How it is encrypted.
    """

    method: str
    path: str
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[Header, ...] = ()
    mix: Mix | None = None
    tls: Tls = ""

    @property
    def posted(self) -> bytes | None:
        """Return the body that it posts, or that its mix does; None where there is none."""
        bodies = [each.body for each in self.mix.requests.values()] if self.mix else [self.body]
        return next(filter(None, bodies), None)

    @property
    def plain(self) -> bool:
        """Return whether it is one request without headers of its own and encryption, which every tool can send."""
        return not self.headers and self.mix is None and not self.tls


@dataclass(frozen=True)
class Mix:
    """Requests that are sent in a fixed sequence, over and over.

    Attributes
    ----------
    requests : dict[str, Request]
        Name of an endpoint → its request.
    sequence : tuple[str, ...]
        Names of endpoints, in the order in which their requests are sent.
    """

    requests: dict[str, Request]
    sequence: tuple[str, ...]
