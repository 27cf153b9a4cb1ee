"""Real servers for the tests: built once, launched on the planned CPUs, with what runs behind them."""

import pytest

from runners.machine.pinning import plan_with_backend
from runners.measure.conformance import build_all
from runners.measure.this_machine import usable_cores
from runners.systems.backend import backends_of
from runners.systems.catalogue import Catalogue
from runners.systems.process import ServerProcess
from tests.free_ports import free_ports

# What is tried with HTTP requests of its own: no backend, no proxy, no load generator.
NAMES = sorted(name for name, server in Catalogue().servers.items() if server.role in ("origin", "reference"))
PROXIES = sorted(name for name, server in Catalogue().servers.items() if server.role == "proxy")


@pytest.fixture(scope="session")
def artifacts():
    catalogue = Catalogue()
    return build_all(catalogue, catalogue.servers.values())


@pytest.fixture(scope="session")
def backends(artifacts):
    """One process of each backend that any server needs."""
    measured = [artifacts[name].server for name in NAMES]
    image = artifacts[NAMES[0]].image
    with backends_of(measured, image, plan_with_backend(usable_cores()).backend) as launched:
        yield launched


@pytest.fixture(scope="session")
def launch(artifacts, backends):
    """A function that makes a process of a server, on a free port, with its backend; it is not started yet."""

    def make(name, port=None, backend_port=None):
        cpus = list(plan_with_backend(usable_cores()).server)
        behind = backends.port(artifacts[name].server) if backend_port is None else backend_port
        return ServerProcess(artifacts[name], port or free_ports(1)[0], cpus, behind)

    return make
