"""Hypothesis strategies: batches that the contract accepts, in many spellings, and bodies that were damaged."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import strategies as st

KNOWN = {
    *("operations", "method", "relative-url", "body", "filters"),
    *("readColumns", "operationId", "column", "value", "dataReturnType"),
}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
columns = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=64)
# Small enough that no sum of them overflows.
numbers = st.floats(-1e290, 1e290) | st.integers(-(10**40), 10**40)
values = texts | numbers | st.booleans() | st.none()
ignored_values = st.recursive(
    texts | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
ignored_members = st.dictionaries(texts.filter(lambda name: name not in KNOWN), ignored_values, max_size=2)


@st.composite
def objects(
    draw: st.DrawFn, required: dict[str, st.SearchStrategy[Any]], optional: dict[str, st.SearchStrategy[Any]]
) -> dict[str, Any]:
    """Objects with known and unknown members in any order."""
    members = draw(st.fixed_dictionaries(required, optional=optional)) | draw(ignored_members)
    names = draw(st.permutations(list(members)))
    return {name: members[name] for name in names}


filters = objects({"column": columns, "value": values}, {})
read_columns = objects({"column": columns}, {"dataReturnType": texts | st.none()})
bodies_of_operations = objects(
    {"filters": st.lists(filters, min_size=1, max_size=4)},
    {"readColumns": st.none() | st.lists(read_columns, max_size=3), "operationId": st.none() | texts},
)
operations = objects(
    {"method": st.just("POST"), "relative-url": texts.filter(bool), "body": bodies_of_operations},
    {},
)
batches = objects({"operations": st.lists(operations, min_size=1, max_size=4)}, {})


@st.composite
def good_bodies(draw: st.DrawFn) -> bytes:
    """Batches as bytes: with and without escapes and whitespace."""
    batch = draw(batches)
    indent = draw(st.none() | st.integers(0, 3))
    return json.dumps(batch, ensure_ascii=draw(st.booleans()), indent=indent).encode()


@st.composite
def damaged_bodies(draw: st.DrawFn) -> bytes:
    """Bodies with bytes changed, inserted, removed or repeated, or cut off: most are bad, some are still good."""
    body = bytearray(draw(good_bodies()))
    chance = random.Random(draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(1, 3))):
        at = chance.randrange(len(body) + 1)
        end = min(len(body), at + chance.randrange(8))
        match draw(st.sampled_from(["change", "insert", "remove", "repeat", "cut"])):
            case "change":
                body[at : at + 1] = bytes([chance.randrange(256)])
            case "insert":
                body[at:at] = chance.choice(
                    [b'"', b"{", b"}", b",", b"\\", b"\x00", b"\xff", b"\\ud800", b"null", b"0"]
                )
            case "remove":
                del body[at:end]
            case "repeat":
                body[at:at] = body[at:end]
            case "cut":
                del body[at:]
    return bytes(body)
