"""The golden vectors of text, JSON, SQL, HTML and of what a proxy relays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runners.contract.data import MOST_ROWS
from runners.contract.endpoints import HELLO
from runners.contract.fresh import GREETING
from runners.contract.vectors import Vector

USUAL_ROWS = 20
_NUMBERS = 10
_POSTS = 6

_GREETING_OF = {"json": "RFC 3339", "sql1": "PostgreSQL"}
_FIXED: dict[str, dict[str, Any]] = {
    "ping": HELLO,
    "ping-delay": HELLO,
    "text": {"text": f"{GREETING}\n"},
    "json": {"greeting": _GREETING_OF["json"]},
    "sql1": {"greeting": _GREETING_OF["sql1"]},
    "json10": {"numbers": _NUMBERS},
    "blog": {"posts": _POSTS},
    "relay": {"file": "10k.txt"},
}
_RESOURCES = ("text", "json", "sql1", "sql2", "json10", "blog")


def expected(workload: str, count: int | None = None) -> dict[str, Any]:
    """Return what is expected of a good request, for sql2 with so many rows; for workloads that take a body, only the status."""
    return {"status": 200} | ({"rows": count or USUAL_ROWS} if workload == "sql2" else _FIXED.get(workload, {}))


def query_of(count: int | None) -> str:
    """Return what a path is followed by for so many rows."""
    return "" if count is None else f"?count={count}"


def resources() -> Iterator[Vector]:
    """Yield the vectors."""
    sentences = {
        "text": "text says hello",
        "json": "json says hello and the time",
        "sql1": "sql1 says hello and the time of the database",
        "sql2": f"sql2 gives {USUAL_ROWS} rows unless told",
        "json10": f"json10 gives {_NUMBERS} numbers",
        "blog": f"blog shows {_POSTS} posts",
        "relay": "relay hands the whole file on",
    }
    for workload, sentence in sentences.items():
        yield Vector(sentence, (workload,), {}, expected(workload), quick=True)
    yield from _counts()
    yield from _without_backend()
    for workload in _RESOURCES:
        name = f"a path behind that of {workload} is unknown"
        yield Vector(name, (workload,), {"suffix": "-more"}, {"status": 404})
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        request: dict[str, Any] = {"method": method} | ({} if method == "DELETE" else {"body": {"text": "{}"}})
        yield Vector(f"{method} instead of GET of a resource is a wrong method", _RESOURCES, request, {"status": 405})


def _counts() -> Iterator[Vector]:
    for count in (1, 2, 9, 10, 99, 100, MOST_ROWS):
        request = {"suffix": query_of(count)}
        yield Vector(f"sql2 gives as many rows as asked for: {count}", ("sql2",), request, expected("sql2", count))
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


def _without_backend() -> Iterator[Vector]:
    away = {"status": 503}
    yield Vector("sql1 says that the database is away", ("sql1",), {}, away, backend=False)
    for query in ("", "?count=1", f"?count={MOST_ROWS}"):
        yield Vector(f"sql2{query} says that the database is away", ("sql2",), {"suffix": query}, away, backend=False)
    request = {"suffix": "?count=0"}
    sentence = "a wrong count is refused, or the database is away"
    yield Vector(sentence, ("sql2",), request, {"status": [400, 503]}, backend=False)
