"""Responses that are another with each request: what they must look like, and what was drawn for them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from typing import Any

from runners.contract.data import ROWS_COUNT, row, titles_of
from runners.contract.decoder.strict_json import ContractError, parse, plain
from runners.contract.findings import UnexpectedError, shown

GREETING = "Hello, world!"
NUMBERS_BELOW, NUMBERS_OF_OBJECT = 1000, 10
GZIP = "gzip"
# Tolerance of the time in a response: its server runs on this machine.
CLOCK_S = 2.0
GZIP_LEVEL = 6
# Share by which a compressed body may be shorter or longer than zlib makes it at that level. Of json1000, Go's library makes 6 to 9 % more
# at the same level, and zlib at least 13 % more at level 2. A higher level costs its own server, so it need not be told apart.
_GZIP_TOLERANCE = 0.11
# The wbits of zlib for one gzip member; and more bytes than any body of the contract has, so that none fills the memory.
_GZIP, _MOST_BYTES = 31, 1 << 20

# Encoders may leave trailing zeros out, so that a time now and then has fewer digits than its clock.
_TIMES = {
    "RFC 3339": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z"),
    "PostgreSQL": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00"),
}


def drawn(expect: Mapping[str, object], body: bytes) -> Hashable:
    """Return the dynamic part of a response; None if the expectation has none.

    Parameters
    ----------
    expect : Mapping[str, object]
        The expectation of a vector: `greeting`, `rows`, `numbers`, `objects` or `posts`, and its `coding` (see `vectors.json`).
    body : bytes
        The body of the response.

    Raises
    ------
    UnexpectedError
        If the body is not what the contract requires; the message is the difference.
    """
    for member, read in _READERS.items():
        if member in expect:
            return read(unpacked(body) if expect.get("coding") == GZIP else body, expect[member])
    return None


def unpacked(body: bytes) -> bytes:
    """Return a body without its gzip coding, which must be of the contract's level. Raises like `drawn`."""
    packing = zlib.decompressobj(_GZIP)
    try:
        text = packing.decompress(body, _MOST_BYTES)
    except zlib.error as error:
        raise UnexpectedError(f"the body {shown(body)} is not compressed by gzip: {error}") from None
    if not packing.eof or packing.unused_data:
        raise UnexpectedError("the body is not one whole gzip member")
    wanted = len(zlib.compress(text, GZIP_LEVEL, _GZIP))
    if abs(len(body) / wanted - 1) > _GZIP_TOLERANCE:
        length = f"{len(body)} bytes for {len(text)}, where level {GZIP_LEVEL} of gzip needs {wanted}"
        raise UnexpectedError(f"the body has {length}: it is of another level")
    return text


def time_of(body: bytes, form: str) -> str:
    """Return the time of a greeting, as it is written; it must be the present one. Raises like `drawn`."""
    greeting = _members(_json(body), {"message", "ts"}, "$")
    if greeting["message"] != GREETING:
        raise UnexpectedError(f"$.message is {shown(greeting['message'])} instead of {GREETING!r}")
    text = greeting["ts"]
    if not isinstance(text, str) or not _TIMES[form].fullmatch(text):
        raise UnexpectedError(f"$.ts is {shown(text)}, which is no time of UTC as {form} writes it")
    try:
        age_s = (datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds()
    except ValueError as error:
        raise UnexpectedError(f"$.ts is {text!r}: {error}") from None
    if abs(age_s) > CLOCK_S:
        raise UnexpectedError(f"$.ts is {age_s:.1f} s old")
    return text


def ids_of(body: bytes, count: int) -> frozenset[int]:
    """Return the ids of an array of so many rows, which must be distinct rows of the table. Raises like `drawn`."""
    rows = _json(body)
    if not isinstance(rows, list) or len(rows) != count:
        found = f"{len(rows)} elements" if isinstance(rows, list) else shown(rows)
        raise UnexpectedError(f"$ is {found} instead of {count} rows")
    ids = set()
    for index, element in enumerate(rows):
        place = f"$[{index}]"
        members = _members(element, {"id", "number", "name"}, place)
        identity = _whole(members["id"], 1, ROWS_COUNT, f"{place}.id")
        for name, value in row(identity).items():
            if type(members[name]) not in (str, float) or members[name] != value:
                raise UnexpectedError(f"{place}.{name} is {shown(members[name])} instead of {value!r} (id {identity})")
        ids.add(identity)
    if len(ids) < count:
        raise UnexpectedError(f"only {len(ids)} of the {count} ids are distinct")
    return frozenset(ids)


def numbers_of(body: bytes, count: int) -> tuple[int, ...]:
    """Return the numbers of the members `Test Number 1` and so on, in this order. Raises like `drawn`."""
    return _numbers(_json(body), count, "$")


def objects_of(body: bytes, count: int) -> tuple[int, ...]:
    """Return the numbers of an array of so many objects of ten numbers each, in this order. Raises like `drawn`."""
    objects = _json(body)
    if not isinstance(objects, list) or len(objects) != count:
        found = f"{len(objects)} elements" if isinstance(objects, list) else shown(objects)
        raise UnexpectedError(f"$ is {found} instead of {count} objects")
    return tuple(
        number for place, each in enumerate(objects) for number in _numbers(each, NUMBERS_OF_OBJECT, f"$[{place}]")
    )


def _numbers(value: object, count: int, place: str) -> tuple[int, ...]:
    names = [f"Test Number {index}" for index in range(1, count + 1)]
    members = _members(value, set(names), place)
    return tuple(_whole(members[name], 0, NUMBERS_BELOW - 1, f"{place}.{name}") for name in names)


_READERS: dict[str, Callable[[bytes, Any], Hashable]] = {
    "greeting": time_of,
    "rows": ids_of,
    "numbers": numbers_of,
    "objects": objects_of,
    "posts": titles_of,
}


def _json(body: bytes) -> object:
    try:
        document = parse(body)
    except ContractError as error:
        raise UnexpectedError(f"the body {shown(body)} is no JSON: {error}") from None
    if document.repeated:
        raise UnexpectedError("the response has a member twice")
    return plain(document.root)


def _members(value: object, names: set[str], place: str) -> dict[str, object]:
    """Return an object that must have exactly these members."""
    if not isinstance(value, dict):
        raise UnexpectedError(f"{place} is {shown(value)} instead of an object")
    for name in sorted(names ^ set(value)):
        raise UnexpectedError(f"{place}.{name} is {'missing' if name in names else 'unexpected'}")
    return value


def _whole(value: object, least: int, most: int, place: str) -> int:
    """Return a whole number within bounds; JSON's numbers have been parsed as floats."""
    if isinstance(value, float) and value.is_integer() and least <= value <= most:
        return int(value)
    raise UnexpectedError(f"{place} is {shown(value)} instead of a whole number from {least} to {most}")
