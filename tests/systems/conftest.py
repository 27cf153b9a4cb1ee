"""Real servers for the tests: built once, launched on the planned CPUs."""

import pytest

from runners.machine.pinning import plan_pinning
from runners.machine.topology import read_cores
from runners.measure.verify import build_all
from runners.systems.catalogue import Catalogue
from runners.systems.process import ServerProcess
from runners.systems.sockets import free_ports

NAMES = sorted(Catalogue().servers)


@pytest.fixture(scope="session")
def artifacts():
    catalogue = Catalogue()
    return build_all(catalogue, catalogue.servers.values())


@pytest.fixture(scope="session")
def launch(artifacts):
    """A function that makes a process of a server, on a free port; it is not started yet."""

    def make(name, port=None):
        return ServerProcess(artifacts[name], port or free_ports(1)[0], list(plan_pinning(read_cores()).server))

    return make
