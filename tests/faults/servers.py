"""The real servers, launched for a test."""

from runners.machine.pinning import plan_pinning
from runners.measure.this_machine import usable_cores
from runners.systems.catalogue import Catalogue
from runners.systems.process import ServerProcess
from tests.free_ports import free_ports


def launched(stack, artifacts):
    """The processes of built servers, until the stack ends."""
    cpus = list(plan_pinning(usable_cores()).server)
    ports = free_ports(len(artifacts), 20080)
    return [stack.enter_context(ServerProcess(built, port, cpus)) for built, port in zip(artifacts, ports, strict=True)]


def decoding():
    """The servers that decode, by every decoder that they have."""
    catalogue = Catalogue()
    return [
        server
        for server in catalogue.servers.values()
        if server.codecs and server.service("roundtrip", server.codecs[0])
    ]
