"""A small server that keeps the contract, or breaks it in a chosen way, to try the checker on."""

from __future__ import annotations

import gzip
import json
import random
import re
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from runners.contract.decoder.reference import BODY_LIMIT_BYTES, judge, normalised
from tests.contract.fake_resources import NOTHING, Resources


@dataclass(frozen=True)
class Served:
    """One entry of a manifest."""

    workload: str
    path: str
    codec: str | None = None


SERVICES = (
    Served("ping", "/ping"),
    Served("ping-delay", "/ping/delay/{ms}"),
    Served("discard", "/discard/{db}/{table}"),
    Served("decode", "/dbop/{db}/{table}", "reference"),
    Served("roundtrip", "/dbop/{db}/{table}/echo", "reference"),
)
RESOURCES = (
    Served("text", "/text"),
    Served("text", "/"),
    Served("json", "/json"),
    Served("sql1", "/sql1"),
    Served("sql2", "/sql2"),
    Served("json10", "/json10"),
    Served("json1000", "/json1000"),
    Served("gzip", "/json1000"),
    Served("blog", "/blog"),
    Served("relay", "/10k.txt"),
)

_ROUTES = {
    r"/ping": ("GET", "ping"),
    r"/ping/(delay|rand_delay)/([^/]*)": ("GET", "delay"),
    r"/discard/([^/]*)/([^/]*)": ("POST", "discard"),
    r"/dbop/([^/]*)/([^/]*)": ("POST", "decode"),
    r"/dbop/([^/]*)/([^/]*)/echo": ("POST", "roundtrip"),
    r"/(?:text)?": ("GET", "text"),
    r"/json": ("GET", "json"),
    r"/sql1": ("GET", "sql1"),
    r"/sql2(\?.*)?": ("GET", "sql2"),
    r"/json10": ("GET", "json10"),
    r"/json1000": ("GET", "json1000"),
    r"/blog": ("GET", "blog"),
    r"/10k\.txt": ("GET", "relay"),
}


@contextmanager
def serving(*faults: str, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Run a server with such faults; yields its base URL."""

    class Handler(_Handler):
        wrong = frozenset(faults)
        standing_still = threading.Semaphore(3)  # as three threads that each wait for a delay themselves

    server = _Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that break off."""


class _Handler(Resources, BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    standing_still: threading.Semaphore

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        body = self._body()
        if "crashes on surrogates" in self.wrong and body is not None and b"\\ud800" in body:
            self.close_connection = True
            return
        if body is None:
            self.close_connection = True
            self._answer(413, {"error": "too large"})
            return
        for pattern, (method, name) in _ROUTES.items():
            if match := re.fullmatch(pattern, self.path):
                if method != self.command and "any method" not in self.wrong:
                    self._answer(405, {"error": "method"})
                else:
                    getattr(self, f"_{name}")(body, *match.groups())
                return
        self._answer(200 if "no 404" in self.wrong else 404, {"error": "path"})

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _serve  # noqa: N815 (names that http.server calls)

    def _ping(self, _: bytes) -> None:
        self._answer(200, "Hello World" if "wrong ping" in self.wrong else "Hello, World!")

    def _delay(self, body: bytes, kind: str, ms: str) -> None:
        if not re.fullmatch(r"[0-9]{1,5}", ms) or int(ms) > 60_000:
            self._answer(400, {"error": "ms"})
            return
        delay_s = int(ms) / 1000
        if kind == "rand_delay" and "random is fixed" not in self.wrong:
            delay_s *= random.random()
        if "delay is short" in self.wrong:
            delay_s /= 20
        if "delay blocks" in self.wrong:
            with self.standing_still:
                time.sleep(delay_s)
        else:
            time.sleep(delay_s)
        self._ping(body)

    def _discard(self, body: bytes, *names: str) -> None:
        if self._are_good(names):
            self._answer(200, {"bytes": len(body) + ("wrong count" in self.wrong)})

    def _decode(self, body: bytes, *names: str) -> None:
        if not self._are_good(names):
            return
        verdict = judge(body)
        if verdict.receipt is None:
            if "accepts anything" in self.wrong:
                self._answer(200, {"operations": 0})
            elif "500 for bad JSON" in self.wrong:
                self._answer(500, {"error": verdict.reason})
            else:
                self._answer(400, "bad" if "error is a text" in self.wrong else {"error": verdict.reason})
            return
        receipt = verdict.receipt.as_json()
        if "skips a field" in self.wrong:
            receipt["textBytes"] -= len("default")
        if "wrong sum" in self.wrong:
            receipt["numberSum"] = int(receipt["numberSum"])
        self._answer(200, receipt)

    def _roundtrip(self, body: bytes, *names: str) -> None:
        if not self._are_good(names):
            return
        verdict = judge(body)
        if verdict.batch is None:
            self._answer(400, {"error": verdict.reason})
            return
        echo = normalised(verdict.batch)
        for operation in echo["operations"]:
            if "echo without ids" in self.wrong:
                operation["body"].pop("operationId", None)
            if "echo with nulls" in self.wrong:
                operation["body"].setdefault("operationId", None)
            if "echo with more" in self.wrong:
                operation["body"]["extra"] = 1
        self._answer(200, {"operations": []} if "echo is empty" in self.wrong else echo)

    def _are_good(self, names: tuple[str, ...]) -> bool:
        lengths = [len(name if "encoded names" in self.wrong else unquote(name)) for name in names]
        if all(1 <= length <= 64 for length in lengths):
            return True
        self._answer(400, {"error": "names have 1 to 64 characters"})
        return False

    def _body(self) -> bytes | None:
        if self.headers.get("Transfer-Encoding") == "chunked" and "no chunks" not in self.wrong:
            pieces = []
            while size := int(self.rfile.readline(), 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
                if sum(map(len, pieces)) > BODY_LIMIT_BYTES:
                    return None
            self.rfile.readline()
            return b"".join(pieces)
        size = int(self.headers.get("Content-Length", 0))
        return self.rfile.read(size) if size <= BODY_LIMIT_BYTES else None

    def _answer(
        self, status: int, content: object, text_type: str = "text/plain", headers: Mapping[str, str] = NOTHING
    ) -> None:
        is_text = isinstance(content, str)
        body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        if "Content-Encoding" in headers:
            body = self._packed(body)
        self.send_response_only(status)
        if "no date" not in self.wrong:
            stamp = 0 if "old date" in self.wrong else None
            self.send_header("Date", self.date_time_string(stamp))
        media_type = text_type if is_text or "wrong type" in self.wrong else "application/json"
        self.send_header("Content-Type", media_type)
        for name, value in headers.items():
            self.send_header(name, value)
        if "compresses" in self.wrong and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        if "no length" in self.wrong:
            self.send_header("Transfer-Encoding", "chunked")
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        else:
            self.send_header("Content-Length", str(len(body)))
        if "closes" in self.wrong:
            self.close_connection = True
        if self.close_connection and "closes" not in self.wrong and "keeps what is to be closed" not in self.wrong:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
