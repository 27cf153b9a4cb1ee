"""The golden vectors of ping and discard, and of paths, their parameters, and methods."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from runners.contract.accepted import SAMPLE
from runners.contract.findings import AS_PUBLISHED
from runners.contract.oracle import receipt
from runners.contract.vectors import AS_SENT, Vector, padded_to_limit

_WITH_BODY = ("discard", "decode", "roundtrip")
HELLO: dict[str, Any] = {"text": "Hello, World!"}
_ACCENTED = "%C3%A9"
_EMOJI = "%F0%9F%98%80"


def endpoints() -> Iterator[Vector]:
    """Yield the vectors."""
    hello = {"status": 200} | HELLO
    yield Vector("ping says hello", ("ping",), {}, hello, quick=True)
    for delay in ("0", "1", "20"):
        yield Vector(f"ping after {delay} ms says hello", ("ping-delay",), {"parameters": {"ms": delay}}, hello)
    for delay in ("abc", "-1", "60001", "1.5", "1e1", "+5", "0x10", "99999999999999999999", "5ms", "%20", "1%202"):
        request = {"parameters": {"ms": delay}}
        yield Vector(f"a delay of {delay!r} is refused", ("ping-delay",), request, {"status": [400, 404]})
    batch = {"body": {"text": SAMPLE}}
    yield Vector("a batch is answered with some JSON", AS_PUBLISHED, batch, {"status": 200}, quick=True)
    yield from _discard()
    yield from _parameters()
    yield from _paths_and_methods()


def _discard() -> Iterator[Vector]:
    bodies: dict[str, tuple[dict[str, Any], int]] = {
        "an empty body": ({"text": ""}, 0),
        "one byte": ({"text": "{"}, 1),
        "bytes that are not UTF-8": ({"base64": base64.b64encode(b"\x00\xff\xfe").decode()}, 3),
        "a batch": ({"text": SAMPLE}, len(SAMPLE)),
        "a million bytes": ({"parts": [{"repeat": "x", "times": 1_000_000}]}, 1_000_000),
        "exactly 4 MiB": ({"parts": padded_to_limit("")}, 4_194_304),
    }
    for name, (body, count) in bodies.items():
        expect = {"status": 200, "json": {"bytes": count}}
        yield Vector(f"discard counts {name}", ("discard",), {"body": body}, expect, quick=name == "a batch")
    beyond = {"parts": padded_to_limit("", 1)}
    yield Vector("discard refuses 4 MiB and a byte", ("discard",), {"body": beyond}, {"status": 413})


def _parameters() -> Iterator[Vector]:
    batch = {"text": SAMPLE}
    good = {
        "status": 200,
        "receipt": receipt(SAMPLE.encode()).as_json(),
        "echo": AS_SENT,
        "json": {"bytes": len(SAMPLE)},
    }
    names = {"letters": "a", "accented letters": _ACCENTED, "emoji": _EMOJI, "percent-encoded letters": "%61"}
    for parameter in ("db", "table"):
        for name, character in names.items():
            request = {"parameters": {parameter: character * 64}, "body": batch}
            yield Vector(f"a {parameter} of 64 {name} is accepted", _WITH_BODY, request, good)
            request = {"parameters": {parameter: character * 65}, "body": batch}
            yield Vector(f"a {parameter} of 65 {name} is refused", _WITH_BODY, request, {"status": 400})
        request = {"parameters": {parameter: "x"}, "body": batch}
        yield Vector(f"a {parameter} of 1 character is accepted", _WITH_BODY, request, good)
        request = {"parameters": {parameter: ""}, "body": batch}
        yield Vector(f"an empty {parameter} is refused", _WITH_BODY, request, {"status": [400, 404]})
        request = {"parameters": {parameter: "x" * 300}, "body": batch}
        yield Vector(f"a {parameter} of 300 characters is refused", _WITH_BODY, request, {"status": 400})
    request = {"parameters": {"db": "x" * 65}, "body": {"text": "{"}}
    yield Vector("a wrong db and a wrong body are refused", _WITH_BODY, request, {"status": 400})


def _paths_and_methods() -> Iterator[Vector]:
    for path in ("/", "/nothing", "/pings", "/ping/pong/extra", "/discard", "/discard/db", "/dbop", "/dbop/db"):
        expect = {"status": 404}
        yield Vector(f"GET {path} is unknown", (), {"method": "GET", "path": path}, expect, quick=path == "/nothing")
    posted = {"method": "POST", "path": "/nothing/db/table", "body": {"text": SAMPLE}}
    yield Vector("POST to an unknown path is unknown", (), posted, {"status": 404})
    for workload, suffix in (("ping", "/more"), ("discard", "/more"), ("decode", "/more"), ("roundtrip", "/more")):
        method = "GET" if workload == "ping" else "POST"
        request = {"method": method, "suffix": suffix} | ({"body": {"text": SAMPLE}} if method == "POST" else {})
        yield Vector(f"a path behind that of {workload} is unknown", (workload,), request, {"status": 404})
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        request = {"method": method} | ({} if method in ("GET", "DELETE") else {"body": {"text": SAMPLE}})
        yield Vector(f"{method} instead of POST is a wrong method", _WITH_BODY, request, {"status": 405})
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        request = {"method": method} | ({} if method == "DELETE" else {"body": {"text": "{}"}})
        yield Vector(f"{method} instead of GET is a wrong method", ("ping", "ping-delay"), request, {"status": 405})
