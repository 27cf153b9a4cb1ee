"""One server in the foreground, to try it with any client."""

from __future__ import annotations

import os
import sys
import time

from runners.core.errors import WrkbookError, did_you_mean
from runners.core.folders import MEASURING, SERVING, is_locked, shared
from runners.machine.pinning import plan_with_backend
from runners.machine.topology import read_cores
from runners.measure.conformance import build_all
from runners.systems.backend import backend_name, backends_of, process_of
from runners.systems.catalogue import Catalogue, Server
from runners.systems.process import ServerProcess
from runners.systems.sockets import hold_ports

_MEASURING = (
    "wrkbook: a measurement is running on this machine: it counts this server as other load, and its windows may become void.\n"
    "  → end the server (Ctrl-C), or start it again after the measurement"
)
_LOOK_S = 0.5


def servable(catalogue: Catalogue) -> list[str]:
    """Return the names of the servers that can be tried alone: no load generators, and no proxies without a backend."""
    return [
        name
        for name, server in catalogue.servers.items()
        if server.start is not None and (server.role != "proxy" or backend_name(server))
    ]


def serve_until_interrupted(name: str, port: int | None, threads: int) -> None:
    """Build and launch a server and what runs behind it; Ctrl-C ends them.

    Parameters
    ----------
    port : on 127.0.0.1; None: the first that is free
    threads : CPUs to run on; 0: as planned for measuring

    Raises
    ------
    WrkbookError
        When the server cannot be served, does not build or start, its port is taken, or it ends by itself.
    """
    catalogue = Catalogue()
    if name not in (known := servable(catalogue)):
        problem = f"{name} cannot be served" if name in catalogue.servers else f"there is no server named {name!r}"
        raise WrkbookError(problem, did_you_mean(name, known))
    server = catalogue.server(name)
    built, plan = build_all(catalogue, [server])[name], plan_with_backend(read_cores())
    cpus = sorted(os.sched_getaffinity(0))[:threads] if threads else list(plan.server)
    try:
        with (
            shared(SERVING),
            hold_ports(1, port, among=1) if port else hold_ports(1) as (held,),
            backends_of([server], built.image, plan.backend) as backends,
            process_of(built, held, cpus, backends.port(server)) as process,
        ):
            for backend in backends.values():
                print(f"{backend.artifact.server.title}, behind it, on port {backend.port}", flush=True)
            _announce(server, process)
            _watch(process)
    except KeyboardInterrupt:
        print("\nended", flush=True)


def _announce(server: Server, process: ServerProcess) -> None:
    where = process.url if server.serves else f"port {process.port} of 127.0.0.1"
    print(f"{server.title} on {where} with {len(process.cpus)} thread(s); Ctrl-C ends it", flush=True)
    for service in server.serves:
        codec = f"  ({service.codec})" if service.codec else ""
        print(f"  {service.workload:11} {service.path}{codec}", flush=True)


def _watch(process: ServerProcess) -> None:
    """Wait until a server ends by itself; warn once when a measurement runs beside it."""
    warned = False
    while process.alive:
        if not warned and is_locked(MEASURING):
            warned = True
            print(_MEASURING, file=sys.stderr, flush=True)
        time.sleep(_LOOK_S)
    raise WrkbookError(f"{process.name} ended with exit status {process.exit_status}: {process.output()[-500:]}")
