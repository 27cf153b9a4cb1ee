"""What comes before any load: the image with everything in it, the builds, and the servers' conformance."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import runners.contract
from runners.contract.conformance import check
from runners.contract.findings import Finding
from runners.contract.vectors import PATH as VECTORS
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


def verify_server(artifact: Artifact, cpus: Sequence[int], *, again: bool = True) -> list[Finding]:
    """Launch a server, try the contract on it, and end it; empty when it conforms.

    Without `again`, a build that has kept this very contract before is not asked anew: the same binary in the same image
    would be asked the same questions. (Every trial asks its own request before and after, whatever was said here.)

    Raises
    ------
    WrkbookError
        When it does not start.
    """
    stamp = artifact.folder.with_name(f"{artifact.folder.name}.keeps-{_contract_key()}")
    if not again and stamp.exists():
        return []
    (port,) = free_ports(1)
    with ServerProcess(artifact, port, list(cpus)) as process:
        findings = check(process.url, artifact.server.serves)
    if findings:
        stamp.unlink(missing_ok=True)
    else:
        stamp.touch()
    return findings


@cache
def _contract_key() -> str:
    """Stands for the golden vectors and for the checker that tries them."""
    digest = hashlib.sha256(VECTORS.read_bytes())
    for path in sorted(Path(runners.contract.__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
