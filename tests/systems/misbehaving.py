"""Servers that misbehave, and what paceload reports of them."""

import json
import socket
import subprocess
import threading
from contextlib import contextmanager

LOST = ("connect_errors", "read_errors", "write_errors")
ERRORS = {*LOST, "timeouts", "status_errors"}


@contextmanager
def server(behave):
    """A server that hands each connection to `behave`; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=one, args=[connection], daemon=True).start()

        def one(connection):
            with connection:
                try:
                    while connection.recv(65536):
                        if behave(connection):
                            return
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def report(sandbox, port, *words):
    options = ["--port", str(port), "--connections", "4", "--duration", "0.3", "--timeout", "0.3"]
    options += ["--rate", "100", *words]
    outcome = subprocess.run(
        sandbox.command(["/build/paceload", *options], [0]), capture_output=True, text=True, timeout=30
    )
    assert outcome.returncode == 0, outcome.stderr
    found = json.loads(outcome.stdout)
    # Each request has one end, and a time where it is to have one.
    assert found["scheduled"] == found["completed"] + found["unanswered"] + sum(found[name] for name in LOST)
    assert sum(count for _, count in found["service"]["ns"]) == found["completed"]
    assert sum(count for _, count in found["response"]["ns"]) == found["completed"] + found["unanswered"]
    return found
