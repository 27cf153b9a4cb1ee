"""Run something in the foreground until Ctrl-C: one server, to try it with any client, or JupyterLab on the notebooks.

JupyterLab has the kernel that the command line uses too.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time
from pathlib import Path

from runners.core.errors import WrkbookError, did_you_mean
from runners.core.project import MEASURING, SERVING, cache_folder, is_locked, shared
from runners.core.status_line import COLUMNS
from runners.measure.conformance import build_all, image_to_run
from runners.measure.this_machine import plan_here
from runners.systems.backend import backend_name, backends_of, process_of
from runners.systems.catalogue import Catalogue
from runners.systems.process import ServerProcess
from runners.systems.server_manifest import Server
from runners.systems.sockets import LOOPBACK, hold_ports

_MEASURING = (
    "wrkbook: a measurement is running on this machine: it counts this server as other load, and its windows may become void.\n"
    "  → end the server (Ctrl-C), or start it again after the measurement"
)
_LOOK_S = 0.5

FIRST_LAB_PORT = 8888
_CELL_COLUMNS = "100"


def servable(catalogue: Catalogue) -> list[str]:
    """Return the names of the servers that can be tried alone: no load generators, and no proxies without a backend."""
    return [
        name
        for name, server in catalogue.builds.items()
        if server.start is not None and (server.role != "proxy" or backend_name(server))
    ]


def serve_until_interrupted(name: str, port: int | None, threads: int) -> None:
    """Build and launch a server and what runs behind it; Ctrl-C ends them.

    Parameters
    ----------
    port : int | None
        The port on 127.0.0.1; None: the first that is free.
    threads : int
        CPUs to run on; 0: as planned for measuring.

    Raises
    ------
    WrkbookError
        When the server cannot be served, does not build or start, its port is taken, or it ends by itself.
    """
    catalogue = Catalogue()
    if name not in (known := servable(catalogue)):
        problem = f"{name} cannot be served" if name in catalogue.builds else f"there is no server named {name!r}"
        raise WrkbookError(problem, did_you_mean(name, known))
    server = catalogue.server(name)
    built, plan = build_all(catalogue, [server], image_to_run(catalogue, [server]))[name], plan_here()
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


def open_lab(folder: Path, port: int, browser: bool) -> None:
    """Run JupyterLab until Ctrl-C, SIGTERM or its own menu ends it; its kernels, and what they have started, end with it.

    Parameters
    ----------
    folder : Path
        The folder whose notebooks are shown.
    port : int
        The first port that is tried on loopback.
    browser : bool
        Whether to open a browser.
    """
    # Other users cannot read it there, as they could in a command line.
    token = os.environ.setdefault("JUPYTER_TOKEN", secrets.token_hex(16))
    # A kernel that was once installed for this user, under the same name, is not taken for the project's own.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    # A cell's output is wide enough for one status line, which is replaced there as in a terminal.
    os.environ[COLUMNS] = _CELL_COLUMNS
    from jupyterlab.labapp import LabApp  # takes seconds

    settings = _settings(folder, port, browser)
    server = LabApp.initialize_server(argv=[f"--{name}={value}" for name, value in settings.items()])
    # At Ctrl-C Jupyter itself prompts; without a terminal it leaves its kernels running.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: server.stop(from_signal=True))
    # It listens by now, and responds as soon as it has started.
    print(f"JupyterLab on http://{LOOPBACK}:{server.port}/lab?token={token}\nCtrl-C ends it", flush=True)
    server.start()
    print("\nended", flush=True)


def _settings(folder: Path, port: int, browser: bool) -> dict[str, object]:
    return {
        "Application.log_level": "WARN",
        "ServerApp.ip": LOOPBACK,
        "ServerApp.port": port,
        "ServerApp.root_dir": folder,
        "ServerApp.open_browser": browser,
        "ServerApp.allow_root": os.geteuid() == 0,
        # Sockets of the user's own in the place of TCP ports that every user of the machine could connect to.
        "KernelManager.transport": "ipc",
        "FileCheckpoints.checkpoint_dir": cache_folder() / "checkpoints",  # not among the notebooks
        # Nothing is requested from the network.
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.news_url": None,
        "LabApp.app_settings_dir": Path(__file__).parent / "lab_settings",  # no prompt about it either
        "LabApp.extension_manager": "readonly",
    }


def has_a_screen() -> bool:
    """Return whether a browser window could be shown; a browser for the terminal would only be in the way."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) or sys.platform == "darwin"
