"""Connections, counted by the kernel itself and from its tables."""

import socket
from contextlib import ExitStack

import pytest

from runners.systems import sockets


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0), backlog=64) as found:
        yield found


def unanswered(*_):
    raise OSError("no such protocol")


@pytest.mark.parametrize("answers", [True, False], ids=["the kernel answers", "only tables"])
def test_established_connections_are_counted_once_and_closed_ones_not(listener, monkeypatch, answers):
    if not answers:
        monkeypatch.setattr(sockets, "_diagnosed_count", unanswered)
    port = listener.getsockname()[1]
    assert sockets.established_count(port) == 0
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        accepted = [stack.enter_context(listener.accept()[0]) for _ in range(40)]
        assert sockets.established_count(port) == 40
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
        assert sockets._diagnosed_count(port, socket.AF_INET) == sockets._listed_count(port) == 300


def test_accepted_connections_are_counted_although_they_are_closed(listener):
    before = sockets.accepted_count()
    for _ in range(5):
        socket.create_connection(("127.0.0.1", listener.getsockname()[1])).close()
        listener.accept()[0].close()
    assert sockets.accepted_count() - before >= 5
