"""Runs perf-gauge and receives the metrics that it pushes when it is through.

``perf_gauge_push.py ARGUMENTS…`` is a program of its own, for the sandbox; it needs nothing but Python's standard
library and the two modules beside it that it takes along. It prints what perf-gauge prints, then ``lost N`` and ``pushed``
with the metrics as JSON, a line each.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

try:
    from runners.generators.prometheus import Family, decode
    from runners.generators.steps import print_steps
except ImportError:  # in the sandbox
    from prometheus import Family, decode  # type: ignore[import-not-found,no-redef]
    from steps import print_steps  # type: ignore[import-not-found,no-redef]

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


def readable(pushed: bytes) -> str:
    """Return the needed part of a push, with its histograms as steps.

    Raises
    ------
    ValueError
        When it is damaged.
    """
    families = decode(pushed)
    return json.dumps(
        {
            "requests": int(families["request_count"].gauges[()]),
            "bytes": int(families["bytes_count"].gauges[()]),
            "succeeded_us": _steps(families["success_latency"]),
            "failed_us": _steps(families["error_latency"]),
        }
    )


def _steps(family: Family) -> str:
    if family.samples_count != sum(family.buckets.values()) or any(value % 1 for value in family.buckets):
        raise ValueError("a histogram does not add up")
    return print_steps((int(value), family.buckets[value]) for value in sorted(family.buckets))


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
        print(f"pushed {readable(pushed)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
