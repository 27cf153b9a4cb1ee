"""What the contract gives to servers: fifty posts, the rows of a table, and a text for proxies to relay."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from runners.folders import CONTRACT_DATA

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
