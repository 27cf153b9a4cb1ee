"""Both ends of a proxy in one hand: clients that connect to it, and the backend that it connects to."""

from __future__ import annotations

import contextlib
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from types import TracebackType

LOOPBACK = "127.0.0.1"
# Longest silence of a proxy, unless a case says otherwise.
PATIENCE_S = 5.0
_TOKEN_BYTES = 8
_CHUNK_BYTES = 64 * 1024


class DifferenceError(Exception):
    """A proxy did something else than it should: what, in words."""


@dataclass(frozen=True)
class Pair:
    """A connection through the proxy, at both of its ends."""

    client: socket.socket
    backend: socket.socket

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.client.close()
        self.backend.close()


class RigBackend:
    """The backend of the proxy: it listens on a port of loopback, and does what a case tells it."""

    def __init__(self, port: int = 0) -> None:
        self._listener = _bound(port)
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> RigBackend:
        self._listener.listen(1024)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._listener.close()

    @contextmanager
    def down(self) -> Iterator[None]:
        """Refuse all connections for a while. The port stays taken: nobody else can be behind the proxy meanwhile."""
        self._listener.close()
        self._listener = _bound(self.port)
        try:
            yield
        finally:
            self._listener.listen(1024)

    def accept(self) -> socket.socket:
        """Return the next connection, whoever it comes from."""
        try:
            accepted, _ = self._listener.accept()
        except TimeoutError:
            raise DifferenceError(f"no connection to the backend within {PATIENCE_S:.0f} s") from None
        accepted.settimeout(PATIENCE_S)
        return accepted

    def pair(self, proxy_port: int) -> Pair:
        """Return a new connection through the proxy."""
        (pair,) = self.pairs(proxy_port, 1)
        return pair

    def pairs(self, proxy_port: int, count: int) -> list[Pair]:
        """Return so many connections through the proxy. Each client says who it is: the proxy may connect in any order."""
        with ExitStack() as stack:
            waiting: dict[bytes, socket.socket] = {}
            for _ in range(count):
                client = stack.enter_context(connected(proxy_port))
                client.sendall(token := secrets.token_bytes(_TOKEN_BYTES))
                waiting[token] = client
            found = []
            while waiting:
                backend = stack.enter_context(self.accept())
                token = _token(backend)
                if token in waiting:
                    found.append(Pair(waiting.pop(token), backend))
                else:
                    backend.close()
            stack.pop_all()
        return found


class Sending(threading.Thread):
    """Sends one block so many times, in the background, as fast as the other side takes it."""

    def __init__(self, target: socket.socket, block: bytes, times: int) -> None:
        super().__init__(daemon=True)
        self._target, self._block, self._times = target, block, times
        self.sent_bytes = 0
        self.start()

    def run(self) -> None:
        """Send everything, or up to where the connection breaks: the receiver then sees how much is missing."""
        with contextlib.suppress(OSError):
            for _ in range(self._times):
                rest = memoryview(self._block)
                while rest:
                    count = self._target.send(rest[:_CHUNK_BYTES])
                    self.sent_bytes += count
                    rest = rest[count:]

    def wait_until_stalled(self, still_s: float) -> None:
        """Wait until it is through, or the other side has taken nothing for so long."""
        before = -1
        while self.is_alive() and self.sent_bytes != before:
            before = self.sent_bytes
            self.join(still_s)


def connected(port: int) -> socket.socket:
    """Return a client's connection to the proxy."""
    client = socket.create_connection((LOOPBACK, port), PATIENCE_S)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def received(source: socket.socket, count: int) -> bytes:
    """Return exactly so many bytes."""
    parts: list[bytes] = []
    missing = count
    while missing:
        part = _more(source, missing)
        if not part:
            raise DifferenceError(f"the connection ended {missing} bytes before the last of {count}")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def received_digest(source: socket.socket, count: int) -> str:
    """Return the hash of exactly so many bytes, which are not kept."""
    digest = sha256()
    for start in range(0, count, _CHUNK_BYTES):
        digest.update(received(source, min(_CHUNK_BYTES, count - start)))
    return digest.hexdigest()


def ends(source: socket.socket, within_s: float) -> bool:
    """Return whether a connection ends in time, in order or by a reset; bytes received until then are dropped."""
    deadline = time.monotonic() + within_s
    try:
        while (left := deadline - time.monotonic()) > 0:
            source.settimeout(left)
            if not source.recv(_CHUNK_BYTES):
                return True
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return False


def reset(end: socket.socket) -> None:
    """Close a connection by a reset."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((LOOPBACK, port))
    listener.settimeout(PATIENCE_S)
    return listener


def _token(backend: socket.socket) -> bytes:
    """Return the token of the client at the other end; an earlier client that has given up sends another one, or none."""
    try:
        return received(backend, _TOKEN_BYTES)
    except (OSError, DifferenceError):
        return b""


def _more(source: socket.socket, most: int) -> bytes:
    try:
        return source.recv(min(most, _CHUNK_BYTES))
    except TimeoutError:
        raise DifferenceError(f"nothing was received for {PATIENCE_S:.0f} s") from None


@dataclass(frozen=True)
class Proxy:
    """A running proxy, the backend that it was started for, and what its processes hold in memory."""

    port: int
    backend: RigBackend
    memory_bytes: Callable[[], int]

    def pair(self) -> Pair:
        """Return a new connection through the proxy."""
        return self.backend.pair(self.port)
