"""All golden vectors, in the order in which they are stored and tried.

Those of endpoints that decode no batch are made here: ping, discard, text, JSON, SQL, HTML, proxied text.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from runners.contract.data import MOST_ROWS
from runners.contract.decoder.reference import receipt
from runners.contract.vectors.accepted import SAMPLE, accepted
from runners.contract.vectors.malformed import malformed
from runners.contract.vectors.model import AS_SENT, Body, RequestParts, Vector, padded_to_limit
from runners.contract.vectors.refused import refused
from runners.core.specification import Expectation
from runners.core.workloads import PING, USUAL_ROWS, WORKLOADS, named

AS_PUBLISHED = named(gives="any JSON")
_WITH_BODY = tuple(name for name in named(takes="batch") if name not in AS_PUBLISHED)
_ACCENTED = "%C3%A9"
_EMOJI = "%F0%9F%98%80"


def endpoints() -> Iterator[Vector]:
    """Yield the vectors."""
    hello = expected(PING)
    yield Vector("ping says hello", (PING,), {}, hello, quick=True)
    for delay in ("0", "1", "20"):
        yield Vector(f"ping after {delay} ms says hello", ("ping-delay",), {"parameters": {"ms": delay}}, hello)
    for delay in ("abc", "-1", "60001", "1.5", "1e1", "+5", "0x10", "99999999999999999999", "5ms", "%20", "1%202"):
        request: RequestParts = {"parameters": {"ms": delay}}
        yield Vector(f"a delay of {delay!r} is refused", ("ping-delay",), request, {"status": [400, 404]})
    batch: RequestParts = {"body": {"text": SAMPLE}}
    yield Vector("a batch gets some JSON", AS_PUBLISHED, batch, {"status": 200}, quick=True)
    yield from _discard()
    yield from _parameters()
    yield from _paths_and_methods()


def _discard() -> Iterator[Vector]:
    bodies: dict[str, tuple[Body, int]] = {
        "an empty body": ({"text": ""}, 0),
        "one byte": ({"text": "{"}, 1),
        "bytes that are not UTF-8": ({"base64": base64.b64encode(b"\x00\xff\xfe").decode()}, 3),
        "a batch": ({"text": SAMPLE}, len(SAMPLE)),
        "a million bytes": ({"parts": [{"repeat": "x", "times": 1_000_000}]}, 1_000_000),
        "exactly 4 MiB": ({"parts": padded_to_limit("")}, 4_194_304),
    }
    for name, (body, count) in bodies.items():
        expect: Expectation = {"status": 200, "json": {"bytes": count}}
        yield Vector(f"discard counts {name}", ("discard",), {"body": body}, expect, quick=name == "a batch")
    beyond: Body = {"parts": padded_to_limit("", 1)}
    yield Vector("discard refuses 4 MiB and a byte", ("discard",), {"body": beyond}, {"status": 413})


def _parameters() -> Iterator[Vector]:
    batch: Body = {"text": SAMPLE}
    good: Expectation = {
        "status": 200,
        "receipt": receipt(SAMPLE.encode()).as_json(),
        "echo": AS_SENT,
        "json": {"bytes": len(SAMPLE)},
    }
    names = {"letters": "a", "accented letters": _ACCENTED, "emoji": _EMOJI, "percent-encoded letters": "%61"}
    for parameter in ("db", "table"):
        for name, character in names.items():
            request: RequestParts = {"parameters": {parameter: character * 64}, "body": batch}
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


def _request(method: str, text: str | None = None) -> RequestParts:
    """Return a request of a method, with a body where a text is given."""
    return {"method": method} if text is None else {"method": method, "body": {"text": text}}


def _paths_and_methods() -> Iterator[Vector]:
    for path in ("/", "/nothing", "/pings", "/ping/pong/extra", "/discard", "/discard/db", "/dbop", "/dbop/db"):
        expect: Expectation = {"status": 404}
        yield Vector(f"GET {path} is unknown", (), {"method": "GET", "path": path}, expect, quick=path == "/nothing")
    posted: RequestParts = {"method": "POST", "path": "/nothing/db/table", "body": {"text": SAMPLE}}
    yield Vector("POST to an unknown path is unknown", (), posted, {"status": 404})
    for workload, suffix in (("ping", "/more"), ("discard", "/more"), ("decode", "/more"), ("roundtrip", "/more")):
        request: RequestParts = {"method": "GET" if workload == "ping" else "POST", "suffix": suffix}
        if workload != "ping":
            request["body"] = {"text": SAMPLE}
        yield Vector(f"a path behind that of {workload} is unknown", (workload,), request, {"status": 404})
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        request = _request(method, None if method in ("GET", "DELETE") else SAMPLE)
        yield Vector(f"{method} instead of POST is a wrong method", _WITH_BODY, request, {"status": 405})
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        request = _request(method, None if method == "DELETE" else "{}")
        yield Vector(f"{method} instead of GET is a wrong method", ("ping", "ping-delay"), request, {"status": 405})


_RESOURCES = named(takes="", refuses=True)


def expected(workload: str, count: int | None = None) -> Expectation:
    """Return the expected response to a good request of so many rows; of workloads that take a body, only the status."""
    good: Expectation = {"status": 200, **WORKLOADS[workload].response}
    return good if count is None else {**good, "rows": count}


def query_of(count: int | None) -> str:
    """Return the query of a path for so many rows."""
    return "" if count is None else f"?count={count}"


def resources() -> Iterator[Vector]:
    """Yield the vectors."""
    for about in (each for each in WORKLOADS.values() if each.good):
        yield Vector(about.good, (about.name,), {}, expected(about.name), quick=True)
    yield from _counts()
    yield from _codings()
    yield from _without_backend()
    for workload in _RESOURCES:
        name = f"a path behind that of {workload} is unknown"
        yield Vector(name, (workload,), {"suffix": "-more"}, {"status": 404})
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        request = _request(method, None if method == "DELETE" else "{}")
        yield Vector(f"{method} instead of GET of a resource is a wrong method", _RESOURCES, request, {"status": 405})


def _counts() -> Iterator[Vector]:
    for count in (1, 2, 9, 10, 99, 100, MOST_ROWS):
        request: RequestParts = {"suffix": query_of(count)}
        yield Vector(f"sql2 gives as many rows as requested: {count}", ("sql2",), request, expected("sql2", count))
    for query, count in {
        "?x=1&count=3&y=2": 3,
        "?counts=5": USUAL_ROWS,
        "?x=count=7": USUAL_ROWS,
        "?": USUAL_ROWS,
    }.items():
        name = f"sql2 ignores other members of the query: {query}"
        yield Vector(name, ("sql2",), {"suffix": query}, expected("sql2", count))
    wrong = [
        *(
            "0",
            "501",
            "1000",
            "-1",
            "-0",
            "2.5",
            "5.0",
            "+5",
            "%2B5",
            "05",
            "00",
            "020",
            "1e1",
            "0x10",
            "abc",
            "5abc",
            "null",
        ),
        *("5,6", "%205", "5%20", "5%00", "%D9%A5", "%E2%91%A4", "'", "1'%20OR%20'1'='1", "NaN"),
        *("2147483648", "4294967297", "9223372036854775808", "18446744073709551617", "9" * 20, "1" + "0" * 400),
    ]
    for text in wrong:
        shown = text if len(text) < 40 else f"{text[:3]}… of {len(text)} digits"
        request = {"suffix": f"?count={text}"}
        yield Vector(f"a count of {shown} is refused", ("sql2",), request, {"status": 400}, quick=text == "0")
    yield Vector("an empty count is refused", ("sql2",), {"suffix": "?count="}, {"status": 400})


def _codings() -> Iterator[Vector]:
    accepted = {
        "json1000": ("identity", "br, deflate", "gzip;q=0", "br, gzip; q=0.000"),
        "gzip": ("gzip, deflate, br", "deflate;q=0.5,gzip;q=0.5", "br, gzip; q=0.001"),
    }
    for workload, each in accepted.items():
        for coding in each:
            name = f"json1000 is {'compressed' if WORKLOADS[workload].headers else 'not compressed'} for {coding}"
            yield Vector(name, (workload,), {"headers": {"Accept-Encoding": coding}}, expected(workload))


def _without_backend() -> Iterator[Vector]:
    away: Expectation = {"status": 503}
    yield Vector("sql1 says that the database is away", ("sql1",), {}, away, backend=False)
    for query in ("", "?count=1", f"?count={MOST_ROWS}"):
        yield Vector(f"sql2{query} says that the database is away", ("sql2",), {"suffix": query}, away, backend=False)
    request: RequestParts = {"suffix": "?count=0"}
    sentence = "a wrong count is refused, or the database is away"
    yield Vector(sentence, ("sql2",), request, {"status": [400, 503]}, backend=False)


def golden() -> list[Vector]:
    """Return the vectors that `vectors.json` must hold."""
    return [*endpoints(), *resources(), *accepted(), *refused(), *malformed()]
