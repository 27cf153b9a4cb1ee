"""The catalogue of ``servers/*/server.toml``: which systems there are, and what each serves."""

from __future__ import annotations

from pathlib import Path

from runners.core.errors import WrkbookError, did_you_mean
from runners.core.project import SERVERS
from runners.core.records import System
from runners.systems.server_manifest import Server, load_server


class Catalogue:
    """All servers that are there, by name.

    Raises
    ------
    WrkbookError
        When a manifest is not valid; the message names the file and the field.
    """

    def __init__(self, folder: Path = SERVERS) -> None:
        self.servers = {path.parent.name: load_server(path.parent) for path in sorted(folder.glob("*/server.toml"))}

    def server(self, name: str) -> Server:
        """Return the server called `name`."""
        if name not in self.servers:
            raise WrkbookError(f"there is no server named {name!r}", did_you_mean(name, list(self.servers)))
        return self.servers[name]

    def systems(self, workload: str, *, default_only: bool = False) -> list[System]:
        """Return all systems that serve `workload`, or those that do so by default."""
        servers = self.servers.values()
        return [system for server in servers for system in server.systems(workload, default_only=default_only)]

    def system(self, name: str, workloads: list[str]) -> System:
        """Return the system called `name` (``drogon+simdjson``, ``gin``), which must serve at least one of `workloads`."""
        known = {system.name: system for workload in workloads for system in self.systems(workload)}
        if name not in known:
            raise WrkbookError(
                f"no system named {name!r} serves {' or '.join(dict.fromkeys(workloads))}",
                did_you_mean(name, list(known)),
            )
        return known[name]

    @property
    def packages(self) -> list[str]:
        """Return the Debian packages that all servers together need."""
        return sorted({package for server in self.servers.values() for package in server.packages})
