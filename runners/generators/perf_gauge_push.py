"""Runs perf-gauge and receives the metrics that it pushes when it is through.

``perf_gauge_push.py ARGUMENTS…`` is a program of its own, for the sandbox; it needs nothing but Python's standard
library and ``steps.py``, which it takes along. It prints what perf-gauge prints, then ``lost N`` and ``pushed`` with the
metrics as JSON, a line each.

A push has the protocol-buffer form of metrics.proto in prometheus/client_model: ``MetricFamily`` has a name (field 1) and metrics
(4); ``Metric`` labels (1), a gauge (2) and a histogram (7); ``Histogram`` its total count (1) and cumulative buckets (3).
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

try:
    from runners.generators.steps import print_steps
except ImportError:  # in the sandbox
    from steps import print_steps  # type: ignore[import-not-found,no-redef]

Field = tuple[int, int | float | bytes]

PROGRAM = "/build/bin/perf-gauge"
# log4rs.yaml, which perf-gauge reads below the folder that it runs in, writes a byte here per lost measurement.
LOST = Path("/tmp/lost")  # noqa: S108 - inside the sandbox


@dataclass(frozen=True)
class Family:
    """The metrics of one name.

    Attributes
    ----------
    gauges : dict[tuple[str, ...], float]
        Values by the values of their labels.
    buckets : dict[float, int]
        Upper bound → samples in this bucket of the histogram alone, the empty ones left out.
    samples_count : int
        Samples of the histogram, with those above the last bound.
    """

    gauges: dict[tuple[str, ...], float]
    buckets: dict[float, int]
    samples_count: int


class Gateway(HTTPServer):
    """Takes pushes as a Prometheus push gateway does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.pushed: list[bytes] = []


class Receiver(BaseHTTPRequestHandler):
    """Keeps the body of each push."""

    server: Gateway

    def do_PUT(self) -> None:
        """Store the push and accept it."""
        self.server.pushed.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(202)
        self.end_headers()

    do_POST = do_PUT  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: standard error is perf-gauge's."""


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


def decode(pushed: bytes) -> dict[str, Family]:
    """Return all families of one push, by name.

    Raises
    ------
    ValueError
        When these are not whole messages of that form.
    """
    families, at = {}, 0
    try:
        while at < len(pushed):
            length, at = _varint(pushed, at)
            if at + length > len(pushed):
                raise ValueError("a message is cut off")
            name, family = _family(pushed[at : at + length])
            families[name] = family
            at += length
    except (IndexError, struct.error, UnicodeDecodeError, AttributeError, TypeError, KeyError) as error:
        raise ValueError(f"not a push of metrics: {error!r}") from error
    return families


def _family(message: bytes) -> tuple[str, Family]:
    name, total = "", 0
    gauges: dict[tuple[str, ...], float] = {}
    buckets: dict[float, int] = {}
    for number, value in _fields(message):
        if number == 1:
            name = _text(value)
        elif number == 4:
            labels: list[str] = []
            for part, content in _fields(_bytes(value)):
                if part == 1:
                    labels.append(_text(dict(_fields(_bytes(content)))[2]))
                elif part == 2:
                    gauges[tuple(labels)] = float(dict(_fields(_bytes(content))).get(1, 0.0))
                elif part == 7:
                    buckets, total = _histogram(_bytes(content))
    return name, Family(gauges, buckets, total)


def _histogram(message: bytes) -> tuple[dict[float, int], int]:
    buckets: dict[float, int] = {}
    below, total = 0, 0
    for number, value in _fields(message):
        if number == 1:
            total = int(value)
        elif number == 3:
            bucket = dict(_fields(_bytes(value)))
            cumulative = int(bucket.get(1, 0))
            if cumulative < below:
                raise ValueError("a histogram's cumulative counts fall")
            if cumulative > below:
                buckets[float(bucket.get(2, 0.0))] = cumulative - below
            below = cumulative
    return buckets, total


def _fields(message: bytes) -> Iterator[Field]:
    """Return the fields of a message: number and value, in the order sent."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
        elif kind == 1:
            yield key >> 3, struct.unpack_from("<d", message, at)[0]
            at += 8
        elif kind == 2:
            length, at = _varint(message, at)
            if at + length > len(message):
                raise ValueError("a field is cut off")
            yield key >> 3, message[at : at + length]
            at += length
        else:
            raise ValueError(f"a field of kind {kind}, which metrics do not have")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _bytes(value: int | float | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number stands where a message should")
    return value


def _text(value: int | float | bytes) -> str:
    return _bytes(value).decode()


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
