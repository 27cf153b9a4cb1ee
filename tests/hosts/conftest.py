"""Hosts for the tests: made once for each file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners.core.project import PROJECT, cache_folder
from runners.measure.conformance import build_all, full_image
from runners.systems.catalogue import Catalogue
from tests.hosts.namespaces import Network, refusal

# What is void is not measured again: a test beside which others run is not about numbers.
ONE_BLOCK = ("--profile", "quick", "-p", "max_blocks", "1", "-p", "budget_minutes", "0.05")
SERVED = ("net-http", "gin", "drogon", "postgresql", "wrk")
"""The folders of servers/ that the tests measure."""


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """Three hosts with SSH; skipped with the reason where namespaces are not allowed."""
    if why := refusal():
        pytest.skip(why)
    # The hosts reach no mirror and no registry.
    catalogue = Catalogue()
    full_image(catalogue).ensure()
    build_all(catalogue, [catalogue.server(name) for name in SERVED])
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


def own_cache(network, name):
    """A cache folder for a host: what is built, and locks of its own, as another machine has."""
    own = network.folder / name / "wrkbook"
    if not own.exists():
        own.mkdir(parents=True)
        for entry in cache_folder().iterdir():
            if entry.name != "locks":
                (own / entry.name).symlink_to(entry)
    return str(own.parent)


def host(network, name, cpus, project=PROJECT):
    """Further lines for a host: one CPU of this machine, and a cache folder."""
    variables = [f"XDG_CACHE_HOME={own_cache(network, name)}", f"WRKBOOK_DATA={network.folder / name / 'data'}"]
    command = ["env", *variables, sys.executable, "-m", "runners"]
    return {"command": command, "cpus": cpus, "housekeeping": "1", "project": str(project)}


def controller_command(network, *words):
    """The command line of wrkbook on the controller."""
    cache = f"XDG_CACHE_HOME={own_cache(network, 'controller')}"
    return network.command("controller", "env", cache, sys.executable, "-m", "runners", *map(str, words))


def on_controller(network, *words, data: Path | None = None, timeout=400):
    """Run the command line on the controller."""
    env = {**os.environ, **({"WRKBOOK_DATA": str(data)} if data else {})}
    command = controller_command(network, *words)
    return subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, env=env, timeout=timeout)
