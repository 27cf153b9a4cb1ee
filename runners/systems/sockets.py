"""The listeners and the connections of a port, read from the kernel: another server cannot pass for the launched one."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from runners.core.errors import WrkbookError

LOOPBACK = "127.0.0.1"
# Below the range from which the kernel takes ports for outgoing connections, or a client could be on a server's port.
FIRST_PORT, FIRST_TLS_PORT = 18080, 17080
_ESTABLISHED, _LISTEN = 1, 10  # tcp_states.h of Linux
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
# Constants of linux/netlink.h, linux/sock_diag.h and linux/inet_diag.h; where a socket's state, its two ports and its inode stand.
_SOCK_DIAG, _BY_FAMILY, _REQUEST_DUMP, _DONE, _NETLINK_HEADER_BYTES = 4, 20, 0x301, 3, 16
_STATE, _PORTS, _INODE = (_NETLINK_HEADER_BYTES + offset for offset in (1, 4, 68))


def listening_inodes(port: int) -> set[int]:
    """Return the sockets that listen on `port`, on any address; read as :func:`established_count` reads them."""
    try:
        return {
            struct.unpack_from("=I", response, at + _INODE)[0]
            for family in _FAMILIES
            for response, at in _diagnosed(port, family, _LISTEN)
        }
    except OSError:
        return {int(fields[9]) for fields in _listed(port, _LISTEN)}


def established_count(port: int, *, elsewhere: bool = False) -> int:
    """Return the number of established connections to `port` on this machine, counted at the accepting side; or `elsewhere`, from here.

    The kernel is queried for just these (sock_diag(7)), as ``ss`` does: its tables in /proc hold tens of thousands of closed ones
    after a load without keep-alive, and to read them takes longer than a window can wait. They are read where it does not respond.
    """
    try:
        return sum(1 for family in _FAMILIES for _ in _diagnosed(port, family, _ESTABLISHED, elsewhere))
    except OSError:
        return sum(1 for _ in _listed(port, _ESTABLISHED, elsewhere))


# Own code: the dump of one port is read without making an object of each socket, as pyroute2 would at every sample.
def _diagnosed(port: int, family: int, state: int, elsewhere: bool = False) -> Iterator[tuple[bytes, int]]:
    """Yield each socket of a port that is in a state: what the kernel responded, and where in it the socket begins."""
    wanted = (
        struct.pack("=BBBxI", family, socket.IPPROTO_TCP, 0, 1 << state)
        + struct.pack("!HH", *((0, port) if elsewhere else (port, 0)))
        + bytes(44)
    )
    header = struct.pack("=IHHII", _NETLINK_HEADER_BYTES + len(wanted), _BY_FAMILY, _REQUEST_DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(1.0)
        kernel.sendto(header + wanted, (0, 0))
        while True:
            response, at = kernel.recv(1 << 18), 0
            while at < len(response):
                length, kind = struct.unpack_from("=IH", response, at)
                if kind == _DONE:
                    return
                if kind != _BY_FAMILY:
                    raise OSError("the kernel does not say")
                # Some kernels filter by one of both alone.
                if (
                    response[at + _STATE] == state
                    and struct.unpack_from("!HH", response, at + _PORTS)[elsewhere] == port
                ):
                    yield response, at
                at += (length + 3) & ~3


def _listed(port: int, state: int, elsewhere: bool = False) -> Iterator[list[bytes]]:
    """Yield the fields of each socket of a port that is in a state, from the kernel's tables."""
    # Read as bytes and compared by column.
    local, wanted = f":{port:04X}".encode(), f"{state:02X}".encode()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_bytes().splitlines()[1:]:
                fields = line.split(maxsplit=10)
                if fields[3] == wanted and fields[2 if elsewhere else 1].endswith(local):
                    yield fields


def accepted_count(*, elsewhere: bool = False) -> int:
    """Return the number of connections accepted since the machine started, on any port, closed ones too: ``PassiveOpens`` of RFC 4022.

    Those that were accepted `elsewhere` were opened here: ``ActiveOpens``.
    """
    names, counts = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Tcp:")
    )
    return int(counts[names.index("ActiveOpens" if elsewhere else "PassiveOpens")])


def socket_inodes(pid: int) -> set[int]:
    """Return the sockets that a process holds; empty when it is gone."""
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
    """Return whether a server could listen on `port`."""
    if listening_inodes(port):
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _held(port: int) -> socket.socket | None:
    """Return a socket that stands for holding a port as long as it is open; None where another wrkbook holds it.

    Its name is in no file system (unix(7), abstract): one for all users and caches of a network, gone with its process.
    """
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        holder.bind(f"\0wrkbook-port-{port}")
    except OSError:
        holder.close()
        return None
    return holder


@contextmanager
def hold_ports(count: int, first: int = FIRST_PORT, among: int = 1000) -> Iterator[list[int]]:
    """Hold the first `count` free ports of the `among` from `first` on: until the context ends, no other wrkbook takes them.

    A reading alone is not enough: a server listens only a while after its port was chosen, and two commands choose the same one.

    Raises
    ------
    WrkbookError
        When there are not as many.
    """
    found: list[int] = []
    with ExitStack() as stack:
        # No further than needed: each reading reads the kernel's tables, which after a load hold thousands of closing connections.
        for port in range(first, first + among):
            if len(found) == count:
                break
            if (holder := _held(port)) is None:
                continue
            if is_free(port):
                found.append(port)
                stack.callback(holder.close)
            else:
                holder.close()
        if len(found) < count:
            missing = f"port {first} is in use" if among == 1 else f"no {count} free ports from {first} on"
            raise WrkbookError(missing, "end what listens there (ss -ltnp), or choose another port")
        yield found
