"""JSON as strictly as the contract requires, and the members of its objects by type."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NoReturn

MOST_LEVELS = 128

# Strings are taken out before brackets are counted.
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{}]"))

MOST_ELEMENTS = 4096


class ContractError(ValueError):
    """A body that the contract refuses with status 400; the message is the reason."""


class Members(tuple[tuple[str, object], ...]):
    """The members of one object as they stand in the text, repeated ones included."""


@dataclass(frozen=True)
class Document:
    """A well-formed JSON text.

    Attributes
    ----------
    root : object
        The value; its objects are `Members`, its numbers floats (infinite where they overflow).
    repeated : bool
        Whether an object has a member twice: the contract then allows both 200 and 400.
    overflowing : bool
        Whether a number overflows a double. In a `value` that is refused; elsewhere it is left open.
    """

    root: object
    repeated: bool
    overflowing: bool


def parse(body: bytes) -> Document:
    """Parse one JSON text whatever its members are.

    Raises
    ------
    ContractError
        For anything that is not well-formed JSON in UTF-8, has lone surrogates, or nests beyond 128 levels.
    """
    _check_levels(body)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContractError(f"invalid UTF-8 at byte {error.start}") from None
    try:
        root = json.loads(
            text, object_pairs_hook=Members, parse_int=float, parse_float=float, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        raise ContractError(f"malformed JSON: {error}") from None
    repeated = overflowing = False
    for value in _everything(root):
        if isinstance(value, Members):
            names = [name for name, _ in value]
            repeated = repeated or len(set(names)) < len(names)
        elif isinstance(value, float):
            overflowing = overflowing or math.isinf(value)
        elif isinstance(value, str) and not value.isascii():
            _check_surrogates(value)
    return Document(root, repeated, overflowing)


def plain(value: object) -> object:
    """Return a parsed value with its `Members` as dictionaries, the last of repeated ones."""
    if isinstance(value, Members):
        return {name: plain(member) for name, member in value}
    if isinstance(value, list):
        return [plain(element) for element in value]
    return value


def _check_levels(body: bytes) -> None:
    if body.count(b"[") + body.count(b"{") <= MOST_LEVELS:
        return
    brackets = _STRING.sub(b"", body).translate(None, delete=_NO_BRACKETS)
    if max(accumulate(1 if bracket in b"[{" else -1 for bracket in brackets), default=0) > MOST_LEVELS:
        raise ContractError(f"nested beyond {MOST_LEVELS} levels")


def _check_surrogates(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ContractError("a lone surrogate") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ContractError(f"{name} is not JSON")


def _everything(root: object) -> Iterator[object]:
    """Yield every value and every member name, in no particular order."""
    waiting: list[object] = [root]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, Members):
            for name, member in value:
                yield name
                waiting.append(member)
        elif isinstance(value, list):
            waiting.extend(value)


def members_of(value: object, what: str) -> dict[str, object]:
    """Return the members of an object; raise ContractError for anything else."""
    if not isinstance(value, Members):
        raise ContractError(f"{what} is not an object")
    return dict(value)


def array_in(members: dict[str, object], name: str, at_least: int = 0) -> list[object]:
    """Return the array in a member; raise ContractError for anything else, and outside of its bounds."""
    value = members.get(name)
    if not isinstance(value, list):
        raise ContractError(f"{name} is not an array")
    if not at_least <= len(value) <= MOST_ELEMENTS:
        raise ContractError(f"{name} has {len(value)} elements, allowed are {at_least} to {MOST_ELEMENTS}")
    return value


def text_in(members: dict[str, object], name: str, at_least: int = 0, at_most: float = math.inf) -> str:
    """Return the string in a member; raise ContractError for anything else, and outside of its bounds."""
    value = members.get(name)
    if not isinstance(value, str):
        raise ContractError(f"{name} is not a string")
    if not at_least <= len(value) <= at_most:
        raise ContractError(f"{name} has {len(value)} characters")
    return value


def optional_text_in(members: dict[str, object], name: str) -> str | None:
    """Return the string in a member, or None where it is missing or null."""
    return None if members.get(name) is None else text_in(members, name)
