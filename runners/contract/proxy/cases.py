"""The cases of the proxy check: the same bytes, both ways, and every kind of end."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from runners.contract.proxy.rig import (
    PATIENCE_S,
    DifferenceError,
    Proxy,
    Sending,
    connected,
    ends,
    received,
    received_digest,
    reset,
)

_MIB = 2**20
# Reproducible bytes of every value, in no order that a proxy could take for a protocol.
_BLOCK = random.Random(6).randbytes(_MIB)
_ANSWER = _BLOCK[:10_000]
_LARGE_BLOCKS = 10
_SLOW_BLOCKS = 64
# Most memory of a proxy for one slow connection: above any bounded buffers, and far below the 64 MiB that wait.
_HELD_BYTES = 16 * _MIB
_STILL_S = 0.5
_SIDE_BY_SIDE = 200
_BURST = 100
_IDLE_S = 5.0
_END_S = 2.0

Severity = Literal["required", "reported"]


@dataclass(frozen=True)
class Case:
    """One thing that a proxy should do.

    Attributes
    ----------
    name : str
        A sentence that holds for a proxy that does it.
    severity : Severity
        ``required`` where the experiment cannot do without, ``reported`` for what its users should know.
    attempt : Callable[[Proxy], None]
        Tries it, and raises `DifferenceError` or `OSError`.
    """

    name: str
    severity: Severity
    attempt: Callable[[Proxy], None]


def _same(got: bytes | str, expected: bytes | str, what: str) -> None:
    if got != expected:
        raise DifferenceError(f"{what} arrived changed")


def _digest(blocks: int) -> str:
    """Return the hash of so many blocks one behind the other."""
    digest = sha256()
    for _ in range(blocks):
        digest.update(_BLOCK)
    return digest.hexdigest()


def _ended(end: socket.socket, within_s: float, who: str) -> None:
    if not ends(end, within_s):
        raise DifferenceError(f"{who} saw no end within {within_s:.0f} s")


def _both_ways(proxy: Proxy) -> None:
    with proxy.pair() as pair:
        for source, target, what in (
            (pair.client, pair.backend, "a request"),
            (pair.backend, pair.client, "a response"),
        ):
            source.sendall(_ANSWER)
            _same(received(target, len(_ANSWER)), _ANSWER, f"{what} of 10,000 bytes")


def _single_bytes(proxy: Proxy) -> None:
    with proxy.pair() as pair:
        for value in range(256):
            byte = bytes([value])
            pair.client.sendall(byte)
            _same(received(pair.backend, 1), byte, f"byte {value} of the request")
            pair.backend.sendall(byte)
            _same(received(pair.client, 1), byte, f"byte {value} of the response")


def _large_at_once(proxy: Proxy) -> None:
    expected = _digest(_LARGE_BLOCKS)
    with proxy.pair() as pair, ThreadPoolExecutor(2) as pool:
        for end in (pair.client, pair.backend):
            Sending(end, _BLOCK, _LARGE_BLOCKS)
        digests = [pool.submit(received_digest, end, _LARGE_BLOCKS * _MIB) for end in (pair.backend, pair.client)]
        for digest, what in zip(digests, ("the request", "the response"), strict=True):
            _same(digest.result(), expected, f"{what} of 10 MiB")


def _many(proxy: Proxy) -> None:
    with ExitStack() as stack:
        pairs = [stack.enter_context(proxy.pair()) for _ in range(_SIDE_BY_SIDE)]
        for number, pair in enumerate(pairs):
            pair.backend.sendall(number.to_bytes(4, "big"))
        for number, pair in enumerate(pairs):
            _same(received(pair.client, 4), number.to_bytes(4, "big"), f"the response on connection {number}")


def _burst(proxy: Proxy) -> None:
    started = time.monotonic()
    for pair in proxy.backend.pairs(proxy.port, _BURST):
        with pair:
            pass
    if (elapsed_s := time.monotonic() - started) > _END_S:
        raise DifferenceError(f"it took {elapsed_s:.1f} s to connect them all")


def _idle(proxy: Proxy) -> None:
    with proxy.pair() as pair:
        time.sleep(_IDLE_S)
        pair.client.sendall(b"still there?")
        _same(received(pair.backend, 12), b"still there?", "a request after the pause")
        pair.backend.sendall(b"yes")
        _same(received(pair.client, 3), b"yes", "a response after the pause")


def _client_closes(proxy: Proxy) -> None:
    with proxy.pair() as pair:
        pair.client.close()
        _ended(pair.backend, _END_S, "the backend")


def _backend_closes(proxy: Proxy) -> None:
    with proxy.pair() as pair:
        pair.backend.sendall(_ANSWER)
        pair.backend.close()
        _same(received(pair.client, len(_ANSWER)), _ANSWER, "the response before the end")
        _ended(pair.client, _END_S, "the client")


def _turned_away(proxy: Proxy, within_s: float) -> bool:
    """Return whether a client's connection ends in time, by a reset in the middle of connect() at the earliest."""
    try:
        with connected(proxy.port) as client:
            client.sendall(b"anybody there?")
            return ends(client, within_s)
    except (ConnectionResetError, BrokenPipeError):
        return True


def _backend_down(proxy: Proxy) -> None:
    with proxy.backend.down():
        if not _turned_away(proxy, PATIENCE_S):
            raise DifferenceError(f"the client saw no end within {PATIENCE_S:.0f} s")


def _backend_returns(proxy: Proxy) -> None:
    with proxy.backend.down():
        _turned_away(proxy, _END_S)
    _both_ways(proxy)


def _client_half_closes(proxy: Proxy) -> None:
    with proxy.pair() as pair:
        pair.client.sendall(b"that is all")
        pair.client.shutdown(socket.SHUT_WR)
        _same(received(pair.backend, 11), b"that is all", "the request")
        _ended(pair.backend, _END_S, "the backend")
        pair.backend.settimeout(PATIENCE_S)
        sending = Sending(pair.backend, _BLOCK, 1)
        _same(received(pair.client, len(_BLOCK)), _BLOCK, "the response")
        sending.join(PATIENCE_S)
        pair.backend.close()
        _ended(pair.client, _END_S, "the client")


def _backend_half_closes(proxy: Proxy) -> None:
    with proxy.pair() as pair:
        pair.backend.sendall(b"tell me everything")
        pair.backend.shutdown(socket.SHUT_WR)
        _same(received(pair.client, 18), b"tell me everything", "the response")
        _ended(pair.client, _END_S, "the client")
        pair.client.settimeout(PATIENCE_S)
        sending = Sending(pair.client, _BLOCK, 1)
        _same(received(pair.backend, len(_BLOCK)), _BLOCK, "what the client still sent")
        sending.join(PATIENCE_S)
        pair.client.close()
        _ended(pair.backend, _END_S, "the backend")


def _client_resets(proxy: Proxy) -> None:
    with proxy.pair() as pair:
        reset(pair.client)
        _ended(pair.backend, _END_S, "the backend")


def _backend_resets(proxy: Proxy) -> None:
    with proxy.pair() as pair:
        reset(pair.backend)
        _ended(pair.client, _END_S, "the client")


def _backend_first(proxy: Proxy) -> None:
    with connected(proxy.port) as client, proxy.backend.accept() as backend:
        backend.sendall(b"welcome")
        _same(received(client, 7), b"welcome", "the greeting")


def _slow_reader(proxy: Proxy) -> None:
    with proxy.pair() as pair:
        pair.backend.settimeout(None)
        before = proxy.memory_bytes()
        sending = Sending(pair.backend, _BLOCK, _SLOW_BLOCKS)
        sending.wait_until_stalled(_STILL_S)
        held = proxy.memory_bytes() - before
        _same(received_digest(pair.client, _SLOW_BLOCKS * _MIB), _digest(_SLOW_BLOCKS), "64 MiB")
    if held > _HELD_BYTES:
        raise DifferenceError(f"its memory grew by {held / _MIB:.0f} MiB while the client read nothing")


CASES = (
    Case("the same bytes arrive, both ways", "required", _both_ways),
    Case("single bytes arrive without waiting for more", "required", _single_bytes),
    Case("10 MiB go each way at once", "required", _large_at_once),
    Case("200 connections live side by side", "required", _many),
    Case("a connection works after 5 s without a byte", "required", _idle),
    Case("the backend sees that the client closes", "required", _client_closes),
    Case("the client sees that the backend closes, after all it sent", "required", _backend_closes),
    Case("without a backend the client's connection is closed", "required", _backend_down),
    Case("a backend that returns is reached again", "required", _backend_returns),
    Case("a client that has ended its side still receives the whole response", "reported", _client_half_closes),
    Case("a backend that has ended its side still receives everything", "reported", _backend_half_closes),
    Case("the backend sees that the client resets", "reported", _client_resets),
    Case("the client sees that the backend resets", "reported", _backend_resets),
    Case("a backend that speaks first is heard", "reported", _backend_first),
    Case("100 connections opened in a burst are through within 2 s", "reported", _burst),
    Case("a slow reader does not make it grow", "reported", _slow_reader),
)
