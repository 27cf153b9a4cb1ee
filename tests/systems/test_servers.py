"""Every server keeps the contract: golden vectors, random bodies, storms of bad requests, and its life as a process."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given

from runners.contract.conformance import agree, check
from runners.core.errors import WrkbookError
from runners.core.project import PROJECT
from runners.measure.sampling import role_sample
from runners.systems.catalogue import Catalogue
from runners.systems.sockets import LOOPBACK, is_free
from tests.conftest import examples
from tests.contract.storm import storm
from tests.contract.strategies import damaged_bodies, good_bodies
from tests.systems.conftest import NAMES
from tests.systems.seen import listening_addresses

pytestmark = pytest.mark.servers
DECODERS = [name for name in NAMES if name in ("actix-web", "axum", "drogon", "gin")]
LOOPBACK_AS_THE_KERNEL_WRITES_IT = "0100007F"


@pytest.fixture(scope="module", params=NAMES)
def server(request, launch):
    with launch(request.param) as process:
        yield process


def services(process):
    return process.artifact.server.serves


def _quiet_if_it_delays(name):
    """A server whose delays are judged needs a quiet machine."""
    delays = any(service.workload == "ping-delay" for service in Catalogue().servers[name].serves)
    return pytest.param(name, marks=[pytest.mark.quiet] if delays else [])


@pytest.mark.parametrize("server", list(map(_quiet_if_it_delays, NAMES)), indirect=True, scope="module")
def test_it_keeps_every_golden_vector(server):
    assert [str(finding) for finding in check(server.url, services(server), tls_url=server.tls_url)] == []


def test_it_listens_on_loopback_only_and_nobody_else_does(server):
    for port in server.ports:
        assert listening_addresses(port) == {LOOPBACK_AS_THE_KERNEL_WRITES_IT}
    assert server.listens()


def test_all_its_threads_are_on_its_cpus(server):
    sample = role_sample(server.pids, server.cpus)
    assert sample.threads_count > 0
    assert sample.unpinned_threads == []


def test_ten_thousand_bad_requests_later_it_responds_and_has_not_grown(server):
    storm(server.url, services(server), 2000)
    before = role_sample(server.pids, server.cpus).rss_bytes
    assert storm(server.url, services(server), 10_000) == []
    assert server.alive
    # Room for a garbage collector's moment, not for a leak: a kilobyte for each request would be 10 MB.
    assert role_sample(server.pids, server.cpus).rss_bytes < before + 8 * 2**20


@pytest.mark.parametrize("server", DECODERS, indirect=True)
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(good_bodies())
def test_all_codecs_give_the_receipt_of_any_good_batch(server, body):
    assert [str(finding) for finding in agree(server.url, services(server), body)] == []


@pytest.mark.parametrize("server", DECODERS, indirect=True)
@examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(damaged_bodies())
def test_all_codecs_judge_any_damaged_batch_as_the_contract_does(server, body):
    assert [str(finding) for finding in agree(server.url, services(server), body)] == []


@pytest.mark.parametrize("name", NAMES)
def test_it_ends_in_order_with_connections_open_and_frees_its_port(launch, name):
    process = launch(name)
    process.launch()
    connections = [socket.create_connection((LOOPBACK, process.port)) for _ in range(5)]
    connections[0].sendall(b"POST /discard/a/b HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
    # SIGTERM's own number is what programs end with that clean up nothing; −9 would be one that did not end by itself.
    assert process.end() in (0, -signal.SIGTERM)
    assert is_free(process.port)
    for connection in connections:
        connection.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_second_one_on_the_same_port_is_refused(launch, artifacts, name):
    with launch(name) as first:
        with pytest.raises(WrkbookError, match=f"port {first.port} is in use"):
            launch(name, first.port).launch()
        # Nor does the server itself share its port, were wrkbook not to look.
        command = (
            artifacts[name]
            .sandbox()
            .command(
                [
                    word.replace("{port}", str(first.port)).replace("{threads}", "1")
                    for word in artifacts[name].server.start.command
                ]
            )
        )
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=10)
        assert outcome.returncode != 0
        assert outcome.stderr.strip()
        assert first.listens()


def test_a_server_that_dies_is_noticed_with_its_exit_status(launch):
    with launch("beast") as process:
        os.kill(process.pids[0], signal.SIGKILL)
        deadline = time.monotonic() + 5
        while process.alive and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not process.alive
        assert process.exit_status == -signal.SIGKILL


def test_no_process_outlives_a_wrkbook_that_is_killed(launch):
    """SIGKILL leaves nobody to clean up: the sandbox ends with its parent."""
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from tests.systems.conftest import *\n"
        "catalogue = Catalogue(); artifacts = build_all(catalogue, [catalogue.server('beast')])\n"
        "process = ServerProcess(artifacts['beast'], int(sys.argv[2]), [0]); process.launch()\n"
        "print(*process.pids, flush=True); time.sleep(60)\n"
    )
    port = launch("beast").port
    parent = subprocess.Popen([sys.executable, "-c", code, str(PROJECT), str(port)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline().strip()
    assert not is_free(port)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 5
    while not is_free(port) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert is_free(port)
