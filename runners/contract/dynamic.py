"""Responses that are another with each request: what they must look like, and what was drawn for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from typing import Any

from runners.contract.data import ROWS_COUNT, row, titles_of
from runners.contract.decoder.strict_json import ContractError, parse, plain
from runners.contract.findings import UnexpectedError, shown

GREETING = "Hello, world!"
NUMBERS_BELOW = 1000
# Tolerance of the time in a response: its server runs on this machine.
CLOCK_S = 2.0

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
        The expectation of a vector: `greeting`, `rows`, `numbers` or `posts` (see `vectors.json`).
    body : bytes
        The body of the response.

    Raises
    ------
    UnexpectedError
        If the body is not what the contract requires; the message is the difference.
    """
    for member, read in _READERS.items():
        if member in expect:
            return read(body, expect[member])
    return None


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
    names = [f"Test Number {index}" for index in range(1, count + 1)]
    members = _members(_json(body), set(names), "$")
    return tuple(_whole(members[name], 0, NUMBERS_BELOW - 1, f"$.{name}") for name in names)


_READERS: dict[str, Callable[[bytes, Any], Hashable]] = {
    "greeting": time_of,
    "rows": ids_of,
    "numbers": numbers_of,
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
