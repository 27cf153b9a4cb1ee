"""Listeners and connections, read from the kernel itself and from its tables."""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack

import pytest

from runners.core.errors import WrkbookError
from runners.core.project import PROJECT
from runners.systems import sockets
from runners.systems.sockets import hold_ports


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    """Locks of the tests' own: a test on a port must not wait for another wrkbook's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0), backlog=64) as found:
        yield found


def without_response(*_):
    raise OSError("no such protocol")


@pytest.fixture(params=["the kernel responds", "only tables"])
def _read(request, monkeypatch):
    """Read sockets from the kernel itself, and where it does not respond from its tables."""
    if request.param == "only tables":
        monkeypatch.setattr(sockets, "_diagnosed", without_response)


@pytest.mark.usefixtures("_read")
def test_established_connections_are_counted_once_and_closed_ones_not(listener):
    port = listener.getsockname()[1]
    assert sockets.established_count(port) == 0
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        accepted = [stack.enter_context(listener.accept()[0]) for _ in range(40)]
        assert sockets.established_count(port) == 40
        assert sockets.established_count(port, elsewhere=True) == 40
        for connection in accepted[:15]:
            connection.close()
        assert sockets.established_count(port) == 25
    assert sockets.established_count(port) == 0


def test_the_kernel_and_its_tables_say_the_same(listener):
    port = listener.getsockname()[1]
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            stack.enter_context(listener.accept()[0])
        diagnosed = sum(1 for _ in sockets._diagnosed(port, socket.AF_INET, sockets._ESTABLISHED))
        assert diagnosed == sum(1 for _ in sockets._listed(port, sockets._ESTABLISHED)) == 300


@pytest.mark.usefixtures("_read")
@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_listener_is_known_by_its_socket_and_no_connection_is_taken_for_one(family, address):
    try:
        listener = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip("this machine has no such address")
    port = listener.getsockname()[1]
    with listener, socket.create_connection((address, port)) as connection, listener.accept()[0]:
        assert sockets.listening_inodes(port) == {os.fstat(listener.fileno()).st_ino}
        assert sockets.listening_inodes(connection.getsockname()[1]) == set()
    assert sockets.listening_inodes(port) == set()


@pytest.mark.usefixtures("_read")
def test_each_of_several_listeners_on_a_port_is_found():
    with ExitStack() as stack:
        first = stack.enter_context(socket.create_server(("127.0.0.1", 0), reuse_port=True))
        second = stack.enter_context(socket.create_server(first.getsockname(), reuse_port=True))
        found = sockets.listening_inodes(first.getsockname()[1])
        assert found == {os.fstat(each.fileno()).st_ino for each in (first, second)}


def test_accepted_connections_are_counted_although_they_are_closed(listener):
    before = sockets.accepted_count()
    for _ in range(5):
        socket.create_connection(("127.0.0.1", listener.getsockname()[1])).close()
        listener.accept()[0].close()
    assert sockets.accepted_count() - before >= 5


_HOLDING = """
import sys
from runners.systems.sockets import hold_ports

with hold_ports(2, int(sys.argv[1])) as ports:
    print(*ports, flush=True)
    sys.stdin.read()
"""
FIRST = 21080


def test_two_processes_that_choose_ports_at_the_same_time_get_different_ones():
    """Both look before either listens."""
    command = [sys.executable, "-c", _HOLDING, str(FIRST)]
    with ExitStack() as stack:
        both = [
            stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT)
            )
            for _ in range(2)
        ]
        ports = [port for process in both for port in process.stdout.readline().split()]
        for process in both:
            process.stdin.close()
    assert len(ports) == len(set(ports)) == 4


def test_a_port_is_held_until_the_context_ends():
    with hold_ports(1, FIRST) as (port,):
        with pytest.raises(WrkbookError, match=f"port {port} is in use"), hold_ports(1, port, among=1):
            pass
        with hold_ports(1, port) as (other,):
            assert other != port
    with hold_ports(1, port, among=1) as (again,):
        assert again == port


def test_a_port_on_which_something_listens_is_not_held(listener):
    port = listener.getsockname()[1]
    with pytest.raises(WrkbookError, match=f"port {port} is in use"), hold_ports(1, port, among=1):
        pass
