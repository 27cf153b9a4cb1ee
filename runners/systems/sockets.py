"""Who listens on a port: read from the kernel, so that a stray server cannot pass for the launched one."""

from __future__ import annotations

import contextlib
import socket
from itertools import islice
from pathlib import Path

from runners.errors import WrkbookError

LOOPBACK = "127.0.0.1"
# Below the range from which the kernel takes ports for outgoing connections, or a client could be on a server's port.
FIRST_PORT = 18080
_ESTABLISHED, _LISTEN = "01", "0A"


def listening_inodes(port: int) -> set[int]:
    """The sockets that listen on `port`, on any address."""
    found: set[int] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        path = Path(table)
        if not path.exists():
            continue
        for line in path.read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rsplit(":", 1)[1], 16) == port:
                found.add(int(fields[9]))
    return found


def listening_addresses(port: int) -> set[str]:
    """The addresses on which `port` is listened on, as the kernel writes them (``0100007F`` is 127.0.0.1)."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    lines += Path("/proc/net/tcp6").read_text().splitlines()[1:] if Path("/proc/net/tcp6").exists() else []
    fields = (line.split() for line in lines)
    return {
        row[1].rsplit(":", 1)[0] for row in fields if row[3] == _LISTEN and int(row[1].rsplit(":", 1)[1], 16) == port
    }


def established_count(port: int) -> int:
    """How many connections to `port` on this machine are established, counted at the side that has accepted them."""
    # Read as bytes and compared by column: there may be tens of thousands of lines, and a window is being measured.
    local, state = f":{port:04X}".encode(), _ESTABLISHED.encode()
    found = 0
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_bytes().splitlines()[1:]:
                fields = line.split(maxsplit=4)
                found += fields[3] == state and fields[1].endswith(local)
    return found


def socket_inodes(pid: int) -> set[int]:
    """The sockets that a process holds; empty when it is gone."""
    found: set[int] = set()
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = str(entry.readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(int(target[8:-1]))
    except OSError:
        pass
    return found


def is_free(port: int) -> bool:
    """Whether a server could listen on `port`."""
    if listening_inodes(port):
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_ports(count: int, first: int = FIRST_PORT) -> list[int]:
    """The first `count` free ports from `first` on.

    Raises
    ------
    WrkbookError
        When there are not as many.
    """
    # No further than needed: each look reads the kernel's tables, which after a load hold thousands of closing connections.
    found = list(islice((port for port in range(first, first + 1000) if is_free(port)), count))
    if len(found) < count:
        raise WrkbookError(f"no {count} free ports from {first} on", "end what listens there: ss -ltnp")
    return found
