"""Build the servers that a command names."""

from __future__ import annotations

from pathlib import Path

from runners.measure.conformance import build_all, image_to_run
from runners.systems.build import Artifact
from runners.systems.catalogue import Catalogue


def built_servers(names: list[str] | None) -> list[Artifact]:
    """Return the built servers of these folders, or of all that can be started."""
    catalogue = Catalogue()
    every = [name for name, server in catalogue.servers.items() if server.start is not None]
    servers = [catalogue.server(Path(name).name) for name in names or every]
    return list(build_all(catalogue, servers, image_to_run(catalogue, servers)).values())
