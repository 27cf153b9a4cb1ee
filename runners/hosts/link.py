"""The link to a host: how long a round trip takes, and how much it carries."""

from __future__ import annotations

import secrets
import socket
import time
from dataclasses import dataclass
from statistics import median

from runners.core.errors import WrkbookError
from runners.hosts.cluster import Hosts

_DURATION_S, _RAMP_S, _TIMEOUT_S = 1.0, 0.2, 10.0
_CHUNK_BYTES = 1 << 20
_TOKEN_BYTES = 16
_PINGS = 20


@dataclass(frozen=True)
class Link:
    """The link between this machine and a host.

    Attributes
    ----------
    rate_bps : float
        Bits per second of one TCP connection from the host.
    rtt_s : float
        Median round trip of small messages on it.
    """

    rate_bps: float
    rtt_s: float


def send(address: str, port: int, token: bytes, own_address: str) -> None:
    """Connect to a machine, return its small messages, then send data for a second; this runs on the host."""
    with socket.create_connection((address, port), _TIMEOUT_S, (own_address, 0)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(token)
        for _ in range(_PINGS):
            connection.sendall(connection.recv(1))
        chunk, end = bytes(_CHUNK_BYTES), time.monotonic() + _DURATION_S
        while time.monotonic() < end:
            connection.sendall(chunk)


def measure_link(hosts: Hosts, name: str) -> Link:
    """Return the link from a host to this machine, over the addresses of the measured network.

    Raises
    ------
    WrkbookError
        When the host cannot connect to this machine there.
    """
    own, token = str(hosts.inventory.controller), secrets.token_bytes(_TOKEN_BYTES)
    host = hosts.inventory.named[name]
    with socket.create_server((own, 0)) as listener:
        listener.settimeout(_TIMEOUT_S)
        future = hosts.submit(name, send, own, listener.getsockname()[1], token, str(host.address))
        try:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(_TIMEOUT_S)
                found = _received(connection, token)
            hosts.result(name, future)
        except OSError as error:
            raise WrkbookError(
                f"the host {name} does not reach {own} from {host.address}: {error}",
                f"see that a firewall lets it: on {host.title}, ping {own}",
            ) from error
    return found


def _received(connection: socket.socket, token: bytes) -> Link:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if connection.recv(_TOKEN_BYTES, socket.MSG_WAITALL) != token:
        raise OSError("another program has connected")
    trips = []
    for _ in range(_PINGS):
        start = time.monotonic()
        connection.sendall(b"?")
        connection.recv(1)
        trips.append(time.monotonic() - start)
    received, counted_from = 0, 0.0
    started = last = time.monotonic()
    buffer = bytearray(_CHUNK_BYTES)
    while count := connection.recv_into(buffer):
        last = time.monotonic()
        if last - started > _RAMP_S:  # the connection begins slowly
            received += count if counted_from else 0
            counted_from = counted_from or last
    return Link(8 * received / max(last - counted_from, 1e-9), median(trips))
