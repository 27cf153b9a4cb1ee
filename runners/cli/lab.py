"""JupyterLab on the notebooks, with the kernel that the command line uses too."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from pathlib import Path

from runners.core.folders import cache_folder
from runners.systems.sockets import LOOPBACK

FIRST_PORT = 8888


def open_lab(folder: Path, port: int, browser: bool) -> None:
    """Run JupyterLab until Ctrl-C, SIGTERM or its own menu ends it; its kernels, and what they have started, end with it.

    Parameters
    ----------
    folder : whose notebooks are shown
    port : the first that is tried on loopback
    browser : whether to open one
    """
    # Other users cannot read it there, as they could in a command line.
    token = os.environ.setdefault("JUPYTER_TOKEN", secrets.token_hex(16))
    # A kernel that was once installed for this user, under the same name, is not taken for the project's own.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
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
