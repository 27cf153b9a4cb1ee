"""What comes before any load: the image with everything in it, the builds, and the servers' conformance."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import runners.contract
from runners.contract.conformance import check, check_without_backend
from runners.contract.findings import Finding
from runners.contract.vectors import PATH as VECTORS
from runners.generators.registry import GENERATORS
from runners.measure.relay_trial import try_relaying
from runners.systems.backend import Backend, backend_name, backends_of, process_of
from runners.systems.build import Artifact, build
from runners.systems.catalogue import Catalogue, Server
from runners.systems.image import Image
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


def verify_server(
    artifact: Artifact, cpus: Sequence[int], backend_cpus: Sequence[int] = (), *, again: bool = True
) -> list[Finding]:
    """Launch a server, and its backend, try the contract on it, and end it; empty when it conforms.

    One that needs a backend is tried again without it, a proxy with one that we hold in our hands. The backend is on
    `backend_cpus`, those of the server where none are given.

    Without `again`, a build that has kept this very contract before is not asked anew: the same binary in the same image
    would be asked the same questions. (Every trial asks its own request before and after, whatever was said here.)

    Raises
    ------
    WrkbookError
        When one of them does not start, or a backend cannot be counted.
    """
    stamp = _stamp(artifact)
    if not again and stamp.exists():
        return []
    with backends_of([artifact.server], artifact.image, backend_cpus or cpus) as backends:
        findings = _findings(artifact, cpus, backends.port(artifact.server))
    if artifact.server.role == "proxy":
        findings += try_relaying(artifact, cpus)
    elif backend_name(artifact.server):
        findings += _findings_without_backend(artifact, cpus)
    if findings:
        stamp.unlink(missing_ok=True)
    else:
        stamp.touch()
    return findings


def conforming(artifact: Artifact) -> bool:
    """Whether this very build was found to keep this very contract."""
    return _stamp(artifact).exists()


def _stamp(artifact: Artifact) -> Path:
    return artifact.folder.with_name(f"{artifact.folder.name}.keeps-{_contract_key()}")


def _findings(artifact: Artifact, cpus: Sequence[int], backend_port: int) -> list[Finding]:
    (port,) = free_ports(1)
    with process_of(artifact, port, cpus, backend_port) as process:
        if isinstance(process, Backend):
            process.work()
        # A database answers queries, not requests.
        return check(process.url, artifact.server.serves) if artifact.server.serves else []


def _findings_without_backend(artifact: Artifact, cpus: Sequence[int]) -> list[Finding]:
    (port,) = free_ports(1)
    with process_of(artifact, port, cpus, backend_port=0) as process:
        return check_without_backend(process.url, artifact.server.serves)


@cache
def _contract_key() -> str:
    """Stands for the golden vectors and for the checker that tries them."""
    digest = hashlib.sha256(VECTORS.read_bytes())
    for path in sorted(Path(runners.contract.__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
