"""paceload as built: its schedule on a simulated clock, and what it does with servers that misbehave."""

import signal
import socket
import subprocess
import time

import psutil
import pytest

from runners.measure.conformance import build_all, full_image
from runners.systems.catalogue import Catalogue
from runners.systems.sandbox import Sandbox
from tests.systems.misbehaving import ERRORS, report, server

pytestmark = [pytest.mark.servers, pytest.mark.quiet]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


@pytest.fixture(scope="module")
def sandbox():
    catalogue = Catalogue()
    artifact = build_all(catalogue, [catalogue.server("paceload")])["paceload"]
    return Sandbox(full_image(catalogue), read_only={"/build": artifact.folder})


def simulated(sandbox, service_us, rate, connections=1000, stall_ms=0, seed=7):
    words = [str(each) for each in (service_us, rate, connections, stall_ms, seed, 200)]
    printed = subprocess.run(
        sandbox.command(["/build/simulate", *words], [0]), capture_output=True, text=True, check=True
    )
    return [float(word) for word in printed.stdout.split()]


@pytest.mark.parametrize("busy", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("connections", [1000, 1])
def test_response_times_count_from_the_schedule_wherever_a_request_waits(sandbox, busy, connections):
    mean_us, *_, late_us, _, _ = simulated(sandbox, 200, busy / 200e-6, connections)
    # Pollaczek and Khinchine; with one connection all waiting is before the send, and counts as much.
    assert mean_us == pytest.approx(200 + busy * 200 / (2 * (1 - busy)), rel=0.02)
    assert late_us == pytest.approx(0, abs=0.1)


def test_a_stall_is_in_the_percentiles_although_few_connections_were_busy_in_it(sandbox):
    _, p50_us, p99_us, _, _, most_waiting = simulated(sandbox, 1, 1000, connections=1, stall_ms=100)
    assert p50_us == pytest.approx(1, abs=0.1)
    assert p99_us == pytest.approx(90_000, rel=0.03)
    assert most_waiting >= 90


def test_arrivals_are_as_many_as_the_rate_makes_and_repeat_with_the_seed(sandbox):
    first, second = (simulated(sandbox, 1, 1000) for _ in range(2))
    assert first == second
    assert first[4] == pytest.approx(200_000, rel=0.01)


def in_pieces(connection):
    for byte in b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n":
        connection.sendall(bytes([byte]))


@pytest.mark.parametrize(
    ("behave", "errors"),
    [
        (lambda connection: connection.sendall(OK), set()),
        (in_pieces, set()),
        (lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhi") or True, set()),
        (lambda connection: connection.sendall(OK.replace(b"200 OK", b"500 No")), {"status_errors"}),
        (lambda connection: connection.sendall(b"\xff\x00 garbage\r\n\r\n"), {"read_errors"}),
        (lambda connection: connection.sendall(OK[:-1]) or True, {"read_errors"}),
        (lambda connection: connection.sendall(OK + OK), {"read_errors"}),
        (lambda connection: connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK), set()),
        (
            lambda connection: connection.sendall(b"HTTP/1.1 101 No\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
            {"read_errors"},
        ),
        (lambda connection: True, {"read_errors"}),
        (lambda connection: None, {"timeouts"}),
    ],
    ids=[
        "plain",
        "in pieces",
        "closing",
        "500",
        "garbage",
        "cut short",
        "twice",
        "interim",
        "upgrade",
        "gone",
        "silent",
    ],
)
def test_each_misbehaviour_is_counted_and_nothing_hangs(sandbox, behave, errors):
    with server(behave) as port:
        found = report(sandbox, port)
    assert {name for name, count in found.items() if name in ERRORS and count} - {"write_errors"} == errors
    assert found["scheduled"] > 10
    assert sum(count for _, count in found["service"]["ns"]) == found["completed"]


def test_without_keep_alive_each_request_opens_a_connection(sandbox):
    with server(lambda connection: connection.sendall(OK)) as port:
        found = report(sandbox, port, "--keep-alive", "0")
    assert found["opened"] == found["completed"] == found["scheduled"]


def test_a_port_at_which_nobody_listens_is_counted_as_that(sandbox):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert report(sandbox, port)["connect_errors"] > 10


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--rate", "fast"], "--rate is a number"),
        (["--host", "localhost"], "IPv4"),
        (["--port", "0"], "--port is a number"),
        (["--connections", "1", "--threads", "2"], "each thread needs a connection"),
        (["--poisson", "sometimes"], "--poisson is a number from 0 to 1"),
        (["--speed", "9"], "what is '--speed'?"),
        (["--body"], "what is '--body'?"),
        (["--target", "/\r\nX: y"], "line break"),
        (["more"], "what is 'more'?"),
    ],
)
def test_what_it_does_not_understand_is_refused_with_the_reason(sandbox, words, told):
    outcome = subprocess.run(
        sandbox.command(["/build/paceload", *words], [0]), capture_output=True, text=True, timeout=30
    )
    assert outcome.returncode == 2
    assert told in outcome.stderr


def test_an_interrupt_does_not_end_it_but_sigterm_does(sandbox):
    with server(lambda connection: None) as port:
        words = ["/build/paceload", "--port", str(port), "--rate", "10", "--duration", "60"]
        process = subprocess.Popen(
            sandbox.command(words, [0]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(0.5)
        for child in psutil.Process(process.pid).children(recursive=True):
            if "paceload" in child.name():
                child.send_signal(signal.SIGINT)
                child.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
    assert process.returncode == 128 + signal.SIGTERM
