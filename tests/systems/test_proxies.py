"""Every proxy relays: the contract's file from the real backend, and all that is required of one; the reference relay passes every case."""

import signal
import socket
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import replace

import psutil
import pytest

from runners.contract.conformance import check
from runners.contract.proxy.check import check as check_relaying
from runners.contract.proxy.rig import Proxy, RigBackend, connected
from runners.measure.sampling import role_sample
from runners.systems.backend import backends_of
from runners.systems.build import build
from runners.systems.manifest_tables import Build
from runners.systems.process import ServerProcess
from runners.systems.sockets import LOOPBACK, is_free
from tests.free_ports import free_ports
from tests.systems.conftest import PROXIES
from tests.systems.seen import listening_addresses

pytestmark = pytest.mark.servers
RELAY = "asio-relay"
LOOPBACK_AS_THE_KERNEL_WRITES_IT = "0100007F"
AT_ONCE, BATCH = 3000, 500
SANITIZERS = ["address,undefined", "thread"]


def relay_findings(process, backend):
    def memory_bytes():
        return sum(psutil.Process(pid).memory_info().rss for pid in process.pids)

    return check_relaying(Proxy(process.port, backend, memory_bytes))


def settled_output(process):
    """What it printed when it started: all of it, once a second has added nothing (NetCrusher prompts after it listens)."""
    printed = None
    while printed != (printed := process.output()):
        time.sleep(1)
    return printed


@pytest.mark.parametrize("name", PROXIES)
def test_what_is_required_of_a_proxy_holds_and_nothing_is_printed_for_it(launch, name):
    with RigBackend() as backend, launch(name, backend_port=backend.port) as process:
        printed = settled_output(process)
        findings = relay_findings(process, backend)
        assert [str(finding) for finding in findings if finding.severity == "required"] == []
        assert process.output() == printed
        if name == RELAY:
            assert [str(finding) for finding in findings] == []


@pytest.mark.parametrize("name", PROXIES)
def test_the_file_of_the_contract_comes_whole_through_the_proxy(launch, artifacts, name):
    artifact = artifacts[name]
    cpus = launch(name).cpus
    with (
        backends_of([artifact.server], artifact.image, cpus) as backends,
        launch(name, backend_port=backends.port(artifact.server)) as process,
    ):
        assert [str(finding) for finding in check(process.url, artifact.server.serves)] == []
        assert listening_addresses(process.port) == {LOOPBACK_AS_THE_KERNEL_WRITES_IT}
        assert role_sample(process.pids, process.cpus).unpinned_threads == []


@pytest.mark.parametrize("name", PROXIES)
def test_it_ends_in_order_with_connections_open_and_shares_its_port_with_no_other(launch, name):
    with RigBackend() as backend:
        process = launch(name, backend_port=backend.port)
        with process:
            pairs = [backend.pair(process.port) for _ in range(5)]
            second = process.sandbox().command(process.filled(process.artifact.server.start.command))
            subprocess.run(second, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
            assert process.listens()
            # SIGTERM's own number is what programs end with that clean up nothing; −9 would be one that did not end.
            assert process.end() in (0, -signal.SIGTERM)
        assert is_free(process.port)
        for pair in pairs:
            with pair:
                pass


def test_netcrusher_has_memory_for_as_many_connections_as_it_keeps_for_half_a_second_after_their_end(launch):
    with RigBackend() as backend, launch("netcrusher", backend_port=backend.port) as process, ExitStack() as stack:
        for _ in range(AT_ONCE // BATCH):
            for pair in backend.pairs(process.port, BATCH):
                stack.enter_context(pair)
        pair.client.sendall(b"x")
        assert pair.backend.recv(1) == b"x"


def test_netcrusher_ends_with_its_reactor(artifacts):
    plain = artifacts["netcrusher"]
    command = [argument.replace("MemorySize=1g", "MemorySize=1m") for argument in plain.server.start.command]
    start = plain.server.start.model_copy(update={"command": command})
    small = replace(plain, server=plain.server.model_copy(update={"start": start}))
    (port,) = free_ports(1)
    with RigBackend() as backend, ServerProcess(small, port, [0], backend.port) as process, ExitStack() as stack:
        with suppress(OSError):
            for _ in range(100):
                stack.enter_context(connected(port))
        psutil.wait_procs([psutil.Process(pid) for pid in process.pids], timeout=10)
        assert process.end() == 1
        assert "OutOfMemoryError" in process.output()


def sanitized(artifacts, sanitizer):
    """Our relay built with a sanitizer: a server of another name, so that it is cached beside the one that is measured."""
    plain = artifacts[RELAY]
    configure, *others = plain.server.build.commands
    commands = [[*configure, f"-DWRKBOOK_SANITIZE={sanitizer}"], *others]
    server = plain.server.model_copy(
        update={"name": f"{RELAY}-{sanitizer.split(',')[0]}", "build": Build(commands=commands)}
    )
    return build(server, plain.image)


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_the_relay_of_the_project_passes_every_case_without_a_word_from_the_sanitizers(artifacts, sanitizer):
    artifact = sanitized(artifacts, sanitizer)
    (port,) = free_ports(1)
    # On one CPU or on two, two threads: what they share is what the thread sanitizer is there for.
    with RigBackend() as backend, ServerProcess(artifact, port, [0, 1], backend.port) as process:
        assert [str(finding) for finding in relay_findings(process, backend)] == []
        open_at_its_end = [backend.pair(port) for _ in range(5)]
        assert process.end() == 0
        assert process.output() == ""
        for pair in open_at_its_end:
            with pair:
                pass


def test_the_relay_of_the_project_survives_a_lack_of_descriptors(artifacts):
    with RigBackend() as backend, ServerProcess(artifacts[RELAY], free_ports(1)[0], [0], backend.port) as process:
        (pid,) = process.pids
        in_use = psutil.Process(pid).num_fds()
        psutil.Process(pid).rlimit(psutil.RLIMIT_NOFILE, (in_use + 20, in_use + 20))
        clients = [socket.create_connection((LOOPBACK, process.port)) for _ in range(100)]
        before = psutil.Process(pid).cpu_times()
        time.sleep(1)
        after = psutil.Process(pid).cpu_times()
        assert after.user + after.system - before.user - before.system < 0.5
        for client in clients:
            client.close()
        with backend.pair(process.port) as pair:
            pair.client.sendall(b"x")
            assert pair.backend.recv(1) == b"x"
