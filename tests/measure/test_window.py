"""When a window begins: with the load generator's first connection, however short it is."""

import contextlib
import signal
import socket
import subprocess
import threading
import time

import pytest

from runners.measure import load
from runners.systems.sockets import accepted_count


@pytest.fixture
def generator():
    """Stands for a load generator that says nothing of itself."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.send_signal(signal.SIGKILL)


def begun_after_s(process, port, least_s):
    started = time.monotonic()
    load.wait_until_connected(process, None, port, accepted_count(), started + least_s)
    return time.monotonic() - started


def test_connections_that_are_never_seen_open_begin_a_window_too(generator, monkeypatch):
    monkeypatch.setattr(load, "established_count", lambda _, **__: 0)
    with socket.create_server(("127.0.0.1", 0)) as listener, contextlib.ExitStack() as stack:
        port, ended = listener.getsockname()[1], threading.Event()

        def one_after_another():
            while not ended.wait(0.005):
                socket.create_connection(("127.0.0.1", port)).close()
                listener.accept()[0].close()

        client = threading.Thread(target=one_after_another)
        client.start()
        stack.callback(client.join)
        stack.callback(ended.set)
        assert begun_after_s(generator, port, 30) < 30


def test_a_generator_that_opens_nothing_or_ends_is_not_waited_for_without_end(generator, monkeypatch):
    # The kernel counts the connections of other programs too.
    monkeypatch.setattr(load, "accepted_count", lambda **_: 0)
    assert begun_after_s(generator, 1, 0.2) >= 0.2
    generator.kill()
    generator.wait()
    assert begun_after_s(generator, 1, 30) < 30
