"""The addresses of a server, its backend and the clients of a backend: loopback, unless hosts share the roles."""

from __future__ import annotations

from dataclasses import dataclass

from runners.systems.sockets import LOOPBACK


@dataclass(frozen=True)
class Addresses:
    """The addresses on which a server listens, its backend does, and the clients of a backend are: loopback on one host."""

    own: str = LOOPBACK
    backend: str = LOOPBACK
    client: str = LOOPBACK

    def environment(self) -> dict[str, str]:
        """Return the environment variables that tell a server."""
        return {"LISTEN_ADDRESS": self.own, "BACKEND_ADDRESS": self.backend, "CLIENT_ADDRESS": self.client}


ONE_HOST = Addresses()
