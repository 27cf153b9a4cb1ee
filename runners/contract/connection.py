"""HTTP/1.1 requests and responses on a kept connection, one after the other, byte by byte.

A client library would hide what has to be checked: the exact size of a response, a connection closed too early, a response that arrives
while its request is still being sent, and requests that no library would send.
"""

from __future__ import annotations

import select
import socket
import time
from types import TracebackType
from urllib.parse import urlsplit

from runners.contract.findings import Message, Response, parse_head
from runners.contract.tls import client

_CHUNK_BYTES = 64 * 1024


class NoResponseError(Exception):
    """The server did not respond: it refused the connection, closed it, kept silent, or did not speak HTTP."""


class Connection:
    """A connection to a server, opened when it is needed and kept while the server keeps it.

    Parameters
    ----------
    base_url : str
        `http://HOST:PORT`, or `https://HOST:PORT` for TLS with the certificate of this machine.
    timeout_s : float
        How long the server may be silent.
    """

    def __init__(self, base_url: str, timeout_s: float = 5.0) -> None:
        parts = urlsplit(base_url)
        self._address = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._host = parts.netloc
        self._tls = client() if parts.scheme == "https" else None
        self._timeout_s = timeout_s
        self._socket: socket.socket | None = None
        self._received = b""
        self._started_s = 0.0
        self._is_cut_short = False

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Return whether the next request goes over the connection of the last one."""
        return self._socket is not None

    def fileno(self) -> int:
        """Return the descriptor of the open connection, to wait for several of them."""
        return -1 if self._socket is None else self._socket.fileno()

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._received = b""
        self._is_cut_short = False

    def request(self, message: Message) -> Response:
        """Send a request and receive its response.

        Raises
        ------
        NoResponseError
            If there is none; the connection is closed then.
        """
        self.send(message)
        return self.receive()

    def send(self, message: Message) -> None:
        """Send a request, as much of it as the server takes before it responds. Raises like `request`."""
        first, *others = message.fragments(self._host)
        self._started_s = time.perf_counter()
        try:
            self._send(first)
            for fragment in others:
                time.sleep(message.pause_s)
                self._send(fragment)
        except OSError as error:
            self.close()
            raise NoResponseError(f"no response: {error}") from None

    def receive(self) -> Response:
        """Receive the response to what was sent. Raises like `request`."""
        try:
            response = self._receive()
        except (OSError, ValueError) as error:
            self.close()
            raise NoResponseError(f"no response: {error}") from None
        if response.closes or self._is_cut_short:
            self.close()
        return response

    def _send(self, fragment: bytes) -> None:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, self._timeout_s)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                self._socket = self._tls.wrap_socket(self._socket, server_hostname=self._address[0])
        if len(fragment) <= _CHUNK_BYTES:
            self._socket.sendall(fragment)
            return
        # A server may refuse a long body before it has read it. What it sent can still be read after it reset the
        # connection, so that an error of sending is none yet.
        rest = memoryview(fragment)
        while rest:
            readable, writable, _ = select.select([self._socket], [self._socket], [], self._timeout_s)
            if readable:
                self._is_cut_short = True
                return
            if not writable:
                raise TimeoutError("the server does not read the request")
            try:
                rest = rest[self._socket.send(rest[:_CHUNK_BYTES]) :]
            except ConnectionError:
                self._is_cut_short = True
                return

    def _receive(self) -> Response:
        raw_bytes = 0
        status = 100
        while 100 <= status < 200:
            head = self._until(b"\r\n\r\n")
            raw_bytes += len(head)
            status, headers = parse_head(head)
        closes = headers.get("connection", "").lower() == "close"
        if "content-length" in headers:
            body = self._exactly(int(headers["content-length"]))
            raw_bytes += len(body)
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            body, coded_bytes = self._chunks()
            raw_bytes += coded_bytes
        else:
            body, closes = self._to_the_end(), True
            raw_bytes += len(body)
        elapsed_s = time.perf_counter() - self._started_s
        return Response(status, headers, body, raw_bytes, closes, elapsed_s)

    def _more(self) -> bytes:
        if self._socket is None:
            raise ConnectionError("the connection is closed")
        return self._socket.recv(_CHUNK_BYTES)

    def _until(self, end: bytes) -> bytes:
        while end not in self._received:
            more = self._more()
            if not more:
                raise ConnectionError("the server closed the connection")
            self._received += more
        found, _, self._received = self._received.partition(end)
        return found + end

    def _exactly(self, count: int) -> bytes:
        parts = [self._received]
        missing = count - len(self._received)
        while missing > 0:
            more = self._more()
            if not more:
                raise ConnectionError(f"the server closed the connection {missing} bytes before the end")
            parts.append(more)
            missing -= len(more)
        whole = b"".join(parts)
        self._received = whole[count:]
        return whole[:count]

    def _to_the_end(self) -> bytes:
        parts = [self._received]
        while more := self._more():
            parts.append(more)
        return b"".join(parts)

    def _chunks(self) -> tuple[bytes, int]:
        parts: list[bytes] = []
        coded_bytes = 0
        size = -1
        while size:
            line = self._until(b"\r\n")
            size = int(line.split(b";")[0], 16)
            parts.append(self._exactly(size))
            coded_bytes += len(line) + size + len(self._exactly(2))
        return b"".join(parts), coded_bytes
