"""Ports of the client's side: whether a window's connections find one each, before they fail for want of it.

A connection is known by both addresses and both ports, so towards one server there are as many as
``net.ipv4.ip_local_port_range`` has ports. A closed one holds its port for a minute (TIME_WAIT); Linux reuses it earlier where
``net.ipv4.tcp_tw_reuse`` allows it (2, the default: on the loopback network), once it is a second old (RFC 6191).
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

SETTING = "net.ipv4.ip_local_port_range"
REMEDY = f'sudo sysctl -w {SETTING}="20000 65535"'
_KERNEL = Path("/proc/sys/net/ipv4")
_DEFAULT_RANGE = (32768, 60999)
_TIME_WAIT = b"06"
_WAIT_S, _REUSED_AFTER_S, _TICK_HZ = 60.0, 1.0, 100
_LOOK_S = 1.0


@dataclass(frozen=True)
class Ports:
    """The range of ports that the kernel grants clients.

    Attributes
    ----------
    low, high : the range, both included
    reuses : whether a port in TIME_WAIT may be used again after a second
    """

    low: int
    high: int
    reuses: bool

    @property
    def count(self) -> int:
        """The most connections that a client can have to one server."""
        return self.high - self.low + 1


def client_ports(kernel: Path = _KERNEL) -> Ports:
    """Return the settings of this machine; the kernel's defaults where they cannot be read."""
    low, high = _DEFAULT_RANGE
    with contextlib.suppress(OSError, ValueError):
        low, high = map(int, (kernel / "ip_local_port_range").read_text().split())
    try:
        reuses = (kernel / "tcp_tw_reuse").read_text().strip() in ("1", "2")
    except OSError:
        reuses = False
    return Ports(low, high, reuses)


def held_ports(table: bytes, server_port: int, ports: Ports) -> int:
    """Return the number of client ports that cannot be used towards a server, from the text of ``/proc/net/tcp``."""
    remote, held = f":{server_port:04X}".encode(), set()
    for line in table.splitlines()[1:]:
        fields = line.split(maxsplit=6)
        if len(fields) < 6 or not fields[2].endswith(remote):
            continue
        port = int(fields[1].rsplit(b":", 1)[1], 16)
        if ports.low <= port <= ports.high and not (ports.reuses and _is_old(fields[3], fields[5])):
            held.add(port)
    return len(held)


def _is_old(state: bytes, timer: bytes) -> bool:
    """Return whether a line is of a connection that was closed more than a second ago: its timer counts down from a minute."""
    left_s = int(timer.rsplit(b":", 1)[1], 16) / _TICK_HZ
    return state == _TIME_WAIT and left_s <= _WAIT_S - _REUSED_AFTER_S


def _say(text: str) -> None:
    tqdm.write(text, file=sys.stderr)


def wait_for_ports(
    server_port: int,
    connections: int,
    *,
    most_s: float = _WAIT_S + 5,
    tables: Iterable[Path] = (Path("/proc/net/tcp"), Path("/proc/net/tcp6")),
    ports: Ports | None = None,
    told: Callable[[str], None] = _say,
) -> str:
    """Wait until so many connections to a server on this machine find a port each.

    Returns
    -------
    str
        Why they still do not after `most_s`, with the remedy; empty when they do. When it has to wait, `told` gets a text.
    """
    known, deadline, quiet = ports or client_ports(), time.monotonic() + most_s, False
    while True:
        held = sum(held_ports(_read(table), server_port, known) for table in tables)
        if held + connections <= known.count:
            return ""
        if connections > known.count or time.monotonic() > deadline:
            return f"{connections} connections do not find a port each: {held} of {known.count} are held; {REMEDY}"
        if not quiet:
            told(f"Waiting for ports: {held} of {known.count} are held by closed connections, at most {most_s:.0f} s")
            quiet = True
        time.sleep(_LOOK_S)


def _read(table: Path) -> bytes:
    with contextlib.suppress(OSError):
        return table.read_bytes()
    return b""
