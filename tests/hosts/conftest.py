"""Hosts for the tests: made once for each file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners.core.project import PROJECT, cache_folder
from tests.hosts.namespaces import Network, refusal


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """Three hosts with SSH; skipped with the reason where namespaces are not allowed."""
    if why := refusal():
        pytest.skip(why)
    with Network(tmp_path_factory.mktemp("hosts")) as made:
        yield made


@pytest.fixture(scope="module")
def inventory(network):
    """The inventory of a server and a database on hosts of their own; the load generator is on the controller."""
    return network.inventory(
        controller='controller_cpus = "1"\ncontroller_housekeeping = "1"',
        server=host(network, "server", "0"),
        backend=host(network, "backend", "1"),
    )


def host(network, name, cpus):
    """Further lines for a host: one CPU of this machine, and locks of its own, as another machine has."""
    own = network.folder / name / "wrkbook"
    if not own.exists():
        own.mkdir(parents=True)
        for entry in cache_folder().iterdir():
            if entry.name != "locks":
                (own / entry.name).symlink_to(entry)
    command = ["env", f"XDG_CACHE_HOME={own.parent}", sys.executable, "-m", "runners"]
    return {"command": command, "cpus": cpus, "housekeeping": "1"}


def on_controller(network, *words, data: Path | None = None, timeout=400):
    """Run the command line on the controller."""
    env = {**os.environ, **({"WRKBOOK_DATA": str(data)} if data else {})}
    command = network.command("controller", sys.executable, "-m", "runners", *map(str, words))
    return subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, env=env, timeout=timeout)
