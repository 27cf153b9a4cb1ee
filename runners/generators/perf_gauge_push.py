"""Runs perf-gauge and receives the metrics that it pushes when it is through.

``perf_gauge_push.py ARGUMENTS…`` is a program of its own, for the sandbox; it needs nothing but Python's standard
library. It prints what perf-gauge prints, then ``lost N`` and ``pushed`` with the metrics, zlib and base64, a line each.
"""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

PROGRAM = "/build/bin/perf-gauge"
# log4rs.yaml, which perf-gauge looks for below the folder that it runs in, writes a byte here per lost measurement.
LOST = Path("/tmp/lost")  # noqa: S108 - inside the sandbox


class Gateway(HTTPServer):
    """Takes pushes as a Prometheus push gateway does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.pushed: list[bytes] = []


class Receiver(BaseHTTPRequestHandler):
    """Keeps the body of each push."""

    server: Gateway

    def do_PUT(self) -> None:
        """Keep it and accept."""
        self.server.pushed.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(202)
        self.end_headers()

    do_POST = do_PUT  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: standard error is perf-gauge's."""


def main() -> int:
    """Run perf-gauge with our own arguments and return its exit status."""
    # perf-gauge keeps to the duration itself, and inherits that it does not hear the signal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gateway = Gateway()
    threading.Thread(target=gateway.serve_forever, daemon=True).start()
    os.chdir(Path(__file__).parent)
    options = ["--continuous", "--prometheus", f"127.0.0.1:{gateway.server_port}"]
    status = subprocess.run([PROGRAM, *options, *sys.argv[1:]], check=False).returncode
    print(f"lost {LOST.stat().st_size if LOST.exists() else 0}")
    for pushed in gateway.pushed:
        print(f"pushed {base64.b64encode(zlib.compress(pushed, 9)).decode()}")
    return status


if __name__ == "__main__":
    sys.exit(main())
