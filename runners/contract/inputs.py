"""Request bodies, and the data that the contract gives to servers: posts, table rows, a text for proxies."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from runners.contract.decoder.batch import MOST_ELEMENTS
from runners.core.folders import CONTRACT_DATA

POSTS_COUNT = 50
ROWS_COUNT = 10_000
MOST_ROWS = 500

_LINE = "Line {number:03} of a short text that a proxy hands on: it must arrive whole, in order, and as it was sent."
# What every hundredth name ends with: characters that JSON escapes, and some of two, three and four bytes.
_ODD_ENDING = ' "Zoë\'s" <5 % & 3 €> \\ 🚂'


@dataclass(frozen=True)
class Post:
    """One post of `posts.json`, as its readers must see it."""

    title: str
    image: str
    paragraphs: tuple[str, ...]


@lru_cache(maxsize=1)
def posts() -> dict[str, Post]:
    """The posts by title, read once."""
    stored = json.loads((CONTRACT_DATA / "posts.json").read_text(encoding="utf-8"))["posts"]
    return {post["title"]: Post(post["title"], post["image"], tuple(post["paragraphs"])) for post in stored}


def row(identity: int) -> dict[str, Any]:
    """Return the row of the table `record` with this id, 1 to 10,000: what `records.sql` fills it with."""
    if not 1 <= identity <= ROWS_COUNT:
        raise ValueError(f"the ids are 1 to {ROWS_COUNT}, not {identity}")
    name = f"record {identity}" + (_ODD_ENDING if identity % 100 == 0 else "")
    return {"id": identity, "number": (identity * 7919 + 13) % 10_000 + 1, "name": name}


@lru_cache(maxsize=1)
def relayed() -> bytes:
    """The text of `10k.txt`: 100 numbered lines of 100 bytes."""
    lines = [_LINE.format(number=number) + "\n" for number in range(1, 101)]
    return "".join(lines).encode()


Style = Literal["compact", "pretty"]


def request_body(operations: int, style: Style = "pretty", seed: int = 0) -> bytes:
    """Return a batch of exactly so many operations, each with 2 filters, 2 read columns and an operation id.

    Parameters
    ----------
    operations
        1 to 4096.
    style
        "compact" has no whitespace; "pretty" has one member to a line and two spaces to a level, as the requests that
        webserver-benchmarks measured with (10 operations: about 5 kB; 4096: about 2.2 MiB).
    seed
        The same arguments give the same bytes. Tables, values and ids differ from operation to operation, so that
        nothing can be remembered instead of decoded; their lengths are those of the published request.

    Raises
    ------
    ValueError
        For a number of operations out of bounds, or an unknown style.
    """
    if not 1 <= operations <= MOST_ELEMENTS:
        raise ValueError(f"a batch has 1 to {MOST_ELEMENTS} operations, not {operations}")
    if style not in get_args(Style):
        raise ValueError(f"a body is written in one of the styles {', '.join(get_args(Style))}, not {style!r}")
    chance = random.Random(seed)
    batch = {"operations": [_operation(number, chance) for number in range(1, operations + 1)]}
    if style == "pretty":
        return json.dumps(batch, indent=2).encode() + b"\n"
    return json.dumps(batch, separators=(",", ":")).encode()


def _operation(number: int, chance: random.Random) -> dict[str, Any]:
    return {
        "method": "POST",
        "relative-url": f"my_database_{chance.randint(1, 9)}/my_table_{chance.randint(1, 9)}/pk-read",
        "body": {
            "filters": [{"column": f"id{index}", "value": str(chance.randrange(10))} for index in range(2)],
            "readColumns": [{"column": f"col{index}", "dataReturnType": "default"} for index in range(2)],
            "operationId": str(number),
        },
    }
