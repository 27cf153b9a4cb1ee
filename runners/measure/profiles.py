"""Record the profile that guides a tuned build: the server runs every workload that it serves, each for the same time."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from runners.contract.runner import contract_request
from runners.core.errors import WrkbookError
from runners.core.load import ERRORS_TOLERANCE, LOAD_FOLDER, Generator, Load
from runners.core.project import exclusive
from runners.core.request import Request
from runners.core.status_line import steps
from runners.core.workloads import WORKLOADS
from runners.generators.wrk import Wrk
from runners.systems.backend import backends_of
from runners.systems.build import build, profile_folder
from runners.systems.image import Image, remove_tree
from runners.systems.process import ServerProcess
from runners.systems.sandbox import Sandbox
from runners.systems.server_manifest import Server
from runners.systems.sockets import LOOPBACK, hold_ports

_LOAD = Load(connections=80, threads=1, duration_s=1.0)
# The requests of the notebooks' defaults. Delays are left out: they cost no work.
_SIZES = {"operations": (1, 10), "count": (20,), "delay_ms": ()}
_SEED = 1


def ensure_profile(server: Server, image: Image) -> None:
    """Record the profile of a tuned build unless the cache has it, or nothing guides the build.

    Raises
    ------
    WrkbookError
        When the recording build fails, responds with errors, or leaves no profile.
    """
    folder = profile_folder(server, image)
    if folder is None or server.recording is None or folder.is_dir():
        return
    with exclusive(f"profile-{folder.name}", f"the profile of {server.label} is being recorded by another wrkbook"):
        if folder.is_dir():
            return
        folder.parent.mkdir(exist_ok=True)
        partial = folder.with_name(folder.name + ".partial")
        remove_tree(partial)
        partial.mkdir()
        _record(server, server.recording, image, partial)
        partial.rename(folder)


def _record(server: Server, recording: Server, image: Image, folder: Path) -> None:
    recorder = replace(build(recording, image), records=folder)
    # No speed is measured: the CPUs need not be kept apart.
    cpus = sorted(os.sched_getaffinity(0))
    with (
        backends_of([recording], image, cpus) as backends,
        hold_ports(1) as (port,),
        ServerProcess(recorder, port, cpus, backends.port(recording)) as process,
    ):
        for request in steps(_requests(recording), f"Recording the profile of {server.label} (once)"):
            _send(Wrk(), request, image, process)
        status = process.end()
    if status or not any(folder.iterdir()):
        told = f"{server.label} left no profile; exit status {status}"
        raise WrkbookError(told, f"look at [variants.{server.variant}.records] in servers/{server.name}/server.toml")


def _requests(server: Server) -> Sequence[Request]:
    """Return a request for each size of each workload, in each way that the server serves it."""
    return [
        contract_request(service.path, workload, "pretty", _SEED)
        for service in server.serves
        for workload in WORKLOADS[service.workload].variants(_SIZES)
    ]


def _send(generator: Generator, request: Request, image: Image, process: ServerProcess) -> None:
    with tempfile.TemporaryDirectory(prefix="wrkbook-load-") as temporary:
        generator.prepare(request, Path(temporary))
        argv = generator.command(request, _LOAD, LOOPBACK, process.port_of(request.tls))
        sandbox = Sandbox(image, read_only={LOAD_FOLDER: Path(temporary)})
        outcome = subprocess.run(sandbox.command(argv), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = generator.parse(outcome.stdout, _LOAD) if outcome.returncode == 0 else None
    if found is None or found.errors.total_count > ERRORS_TOLERANCE * found.requests_count:
        told = f"{process.name} responded with errors while its profile was recorded: {request.path}"
        raise WrkbookError(told, f"./wrkbook verify {process.name}")
