"""Prepare a run before any load: the image, the builds, and the servers' conformance."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import psutil

import runners.contract
from runners.contract.conformance import check, check_without_backend
from runners.contract.findings import Finding
from runners.contract.proxy import check as proxy_check, rig as proxy_rig
from runners.contract.proxy.cases import CASES
from runners.contract.proxy.rig import Proxy
from runners.contract.vectors.model import PATH as VECTORS
from runners.core.load import Generator
from runners.core.run_manifest import RelayNote, RelayNotes
from runners.core.workloads import RELAY
from runners.generators.registry import GENERATORS
from runners.machine.topology import LSTOPO_PACKAGE
from runners.measure.profiles import ensure_profile
from runners.systems.backend import Backend, backend_name, backends_of, process_of
from runners.systems.build import Artifact, build
from runners.systems.catalogue import Catalogue
from runners.systems.image import Image
from runners.systems.server_manifest import Server
from runners.systems.sockets import hold_ports


def full_image(catalogue: Catalogue) -> Image:
    """Return the image with what all servers and load generators need, and what reads the topology of the machine."""
    return Image.of(_packages(catalogue.builds.values(), GENERATORS.values()))


def image_for(catalogue: Catalogue, servers: Iterable[Server] = (), generators: Iterable[Generator] = ()) -> Image:
    """Return an image with what some servers and load generators need, and what reads the topology of the machine.

    That is the largest that is made, if it holds all. Else it is one to be made, which also holds what the present ones do, for it takes
    their place. An image of other packages than those of the catalogue is left alone.
    """
    needed, full = set(Image.of(_packages(servers, generators)).packages), full_image(catalogue)
    made = [*([full] if full.ready else []), *Image.made()]
    for image in made:
        if needed <= set(image.packages):
            return image
    replaced = (image.packages for image in made if set(image.packages) <= set(full.packages))
    return Image.of(needed.union(*replaced))


def _packages(servers: Iterable[Server], generators: Iterable[Generator]) -> list[str]:
    needed = [*(each.packages for each in servers), *(each.packages for each in generators)]
    return [LSTOPO_PACKAGE, *itertools.chain(*needed)]


def image_to_run(catalogue: Catalogue, servers: Iterable[Server], generators: Iterable[Generator] = ()) -> Image:
    """Return an image with what some servers and load generators need, also to verify and to build them.

    That is also each backend that any of their services names, and the load that records their profiles.
    """
    every = list(servers)
    behind = {name for server in every if (name := backend_name(server))}
    recorders = [GENERATORS["wrk"]] if any(server.recording for server in every) else []
    return image_for(catalogue, [*every, *map(catalogue.server, behind)], [*generators, *recorders])


def build_all(catalogue: Catalogue, servers: Iterable[Server], image: Image | None = None) -> dict[str, Artifact]:
    """Make the image (None: the full one), record the profiles of `servers` and build them where the cache lacks them; by label.

    Raises
    ------
    WrkbookError
        When the image cannot be made, a profile cannot be recorded, or a build fails.
    """
    image = image or full_image(catalogue)
    image.ensure()
    found = {}
    for server in servers:
        ensure_profile(server, image)
        found[server.label] = build(server, image)
    return found


def verify_server(
    artifact: Artifact, cpus: Sequence[int], backend_cpus: Sequence[int] = (), *, again: bool = True
) -> list[Finding]:
    """Launch a server and its backend, try the contract on it, and end it; empty when it conforms.

    One that needs a backend is tried again without it, a proxy with a backend that does what each case tells it. The backend is on
    `backend_cpus`, those of the server where none are given. Without `again`, a build that has kept this very contract before is not
    tried: the same binary in the same image would get the same requests. (Every trial verifies its own request before and after.)

    Raises
    ------
    WrkbookError
        When one of them does not start, or a backend cannot be counted.
    """
    stamp, server = _stamp(artifact), artifact.server
    if not again and stamp.exists():
        return []
    with (
        backends_of([server], artifact.image, backend_cpus or cpus) as backends,
        hold_ports(1) as (port,),
        process_of(artifact, port, cpus, backends.port(server)) as process,
    ):
        if isinstance(process, Backend):
            process.work()
        # A database serves queries, not requests.
        findings = check(process.url, server.serves, tls_url=process.tls_url) if server.serves else []
    if server.role == "proxy":
        findings += _try_relaying(artifact, cpus)
    elif backend_name(server):
        with hold_ports(1) as (port,), process_of(artifact, port, cpus) as process:
            findings += check_without_backend(process.url, server.serves)
    if findings:
        stamp.unlink(missing_ok=True)
    else:
        stamp.touch()
    return findings


def conforming(artifact: Artifact) -> bool:
    """Return whether this very build was found to keep this very contract."""
    return _stamp(artifact).exists()


def relay_notes(artifact: Artifact) -> RelayNotes | None:
    """Return how many cases a proxy was last tried on, and what is reported of it; None for other servers."""
    file = _relay_file(artifact)
    return RelayNotes.model_validate_json(file.read_bytes()) if file.exists() else None


def _try_relaying(artifact: Artifact, cpus: Sequence[int]) -> list[Finding]:
    """Try all cases on a proxy and return the required ones that it failed; the others become its notes."""
    with (
        proxy_rig.RigBackend() as backend,
        hold_ports(1) as (port,),
        process_of(artifact, port, cpus, backend.port) as process,
    ):
        proxy = Proxy(process.port, backend, lambda: sum(psutil.Process(pid).memory_info().rss for pid in process.pids))
        found = proxy_check.check(proxy)
    failed = [RelayNote(case=each.case, difference=each.difference) for each in found if each.severity == "reported"]
    _relay_file(artifact).write_text(RelayNotes(tried=len(CASES), failed=failed).model_dump_json(), encoding="utf-8")
    return [
        Finding(each.case, RELAY, "", "a connection", "what went in comes out", "", each.difference)
        for each in found
        if each.severity == "required"
    ]


def _relay_file(artifact: Artifact) -> Path:
    return artifact.folder.with_name(f"{artifact.folder.name}.relays")


def _stamp(artifact: Artifact) -> Path:
    return artifact.folder.with_name(f"{artifact.folder.name}.keeps-{_contract_key()}")


@cache
def _contract_key() -> str:
    """Return a digest of the golden vectors and of the checker that tries them."""
    digest = hashlib.sha256(VECTORS.read_bytes())
    for path in sorted(Path(runners.contract.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
