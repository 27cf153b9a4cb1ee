"""What comes before any load: the image with everything in it, the builds, and the servers' conformance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runners.contract.conformance import check
from runners.contract.findings import Finding
from runners.generators.registry import GENERATORS
from runners.systems.build import Artifact, build
from runners.systems.catalogue import Catalogue, Server
from runners.systems.image import Image
from runners.systems.process import ServerProcess
from runners.systems.sockets import free_ports


def full_image(catalogue: Catalogue) -> Image:
    """The image with what all servers and load generators need."""
    return Image.of(
        [*catalogue.packages, *(package for generator in GENERATORS.values() for package in generator.packages)]
    )


def build_all(catalogue: Catalogue, servers: Iterable[Server]) -> dict[str, Artifact]:
    """Make the image and build `servers` where the cache lacks them; by name.

    Raises
    ------
    WrkbookError
        When the image cannot be made, or a build fails.
    """
    image = full_image(catalogue)
    image.ensure()
    return {server.name: build(server, image) for server in servers}


def verify_server(artifact: Artifact, cpus: Sequence[int], *, quick: bool = False) -> list[Finding]:
    """Launch a server, try the contract's golden vectors on it, and end it; empty when it conforms.

    Raises
    ------
    WrkbookError
        When it does not start.
    """
    (port,) = free_ports(1)
    with ServerProcess(artifact, port, list(cpus)) as process:
        return check(process.url, artifact.server.serves, quick=quick)
