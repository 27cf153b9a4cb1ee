"""The data of the contract: request bodies, posts, table rows, a text for proxies.

And the page of the workload `blog`, taken apart as a browser would, and compared with the posts that it shows.
"""

from __future__ import annotations

import html
import itertools
import json
import random
import re
from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser
from typing import Literal, TypedDict, get_args

from runners.contract.decoder.strict_json import MOST_ELEMENTS
from runners.contract.findings import UnexpectedError, shown
from runners.core.project import CONTRACT_DATA

HEADING = "A blog of six posts"
FOOTER = "Six of fifty posts, drawn anew for every reader."
ROWS_COUNT = 10_000
MOST_ROWS = 500

_LINE = "Line {number:03} of a short text that a proxy hands on: it must arrive whole, in order, and as it was sent."
# Ending of every hundredth name: characters that JSON escapes, and some of two, three and four bytes.
_ODD_ENDING = ' "Zoë\'s" <5 % & 3 €> \\ 🚂'

_VOID = ("meta", "img")
# Elements that hold text and nothing else: white space counts in there, and only there.
_WITH_TEXT = ("title", "h1", "h2", "p")
_REFERENCE = re.compile(r"&(#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")


@dataclass(frozen=True)
class Post:
    """One post of `posts.json`, as its readers must see it."""

    title: str
    image: str
    paragraphs: tuple[str, ...]


@lru_cache(maxsize=1)
def posts() -> dict[str, Post]:
    """Return the posts by title, read once."""
    stored = json.loads((CONTRACT_DATA / "posts.json").read_text(encoding="utf-8"))["posts"]
    return {post["title"]: Post(post["title"], post["image"], tuple(post["paragraphs"])) for post in stored}


class TableRow(TypedDict):
    """A row of the table `record`, as JSON has it."""

    id: int
    number: int
    name: str


def row(identity: int) -> TableRow:
    """Return the row of the table `record` with this id, 1 to 10,000: what `records.sql` fills it with."""
    if not 1 <= identity <= ROWS_COUNT:
        raise ValueError(f"the ids are 1 to {ROWS_COUNT}, not {identity}")
    name = f"record {identity}" + (_ODD_ENDING if identity % 100 == 0 else "")
    return {"id": identity, "number": (identity * 7919 + 13) % 10_000 + 1, "name": name}


@lru_cache(maxsize=1)
def relayed() -> bytes:
    """Return the text of `10k.txt`: 100 numbered lines of 100 bytes."""
    lines = [_LINE.format(number=number) + "\n" for number in range(1, 101)]
    return "".join(lines).encode()


BodyStyle = Literal["compact", "pretty"]


def request_body(operations: int, style: BodyStyle = "pretty", seed: int = 0) -> bytes:
    """Return a batch of exactly so many operations, each with 2 filters, 2 read columns and an operation id.

    Parameters
    ----------
    operations : int
        1 to 4096.
    style : BodyStyle
        "compact" has no whitespace; "pretty" has one member to a line and two spaces to a level, as the requests that
        webserver-benchmarks measured with (10 operations: about 5 kB; 4096: about 2.2 MiB).
    seed : int
        The same arguments give the same bytes. Tables, values and ids differ from operation to operation, so that nothing can be
        remembered instead of decoded; their lengths are those of the published request.

    Raises
    ------
    ValueError
        For a number of operations out of bounds, or an unknown style.
    """
    if not 1 <= operations <= MOST_ELEMENTS:
        raise ValueError(f"a batch has 1 to {MOST_ELEMENTS} operations, not {operations}")
    if style not in get_args(BodyStyle):
        raise ValueError(f"a body is written in one of the styles {', '.join(get_args(BodyStyle))}, not {style!r}")
    chance = random.Random(seed)
    batch = {"operations": [_operation(number, chance) for number in range(1, operations + 1)]}
    if style == "pretty":
        return json.dumps(batch, indent=2).encode() + b"\n"
    return json.dumps(batch, separators=(",", ":")).encode()


def _operation(number: int, chance: random.Random) -> dict[str, object]:
    return {
        "method": "POST",
        "relative-url": f"my_database_{chance.randint(1, 9)}/my_table_{chance.randint(1, 9)}/pk-read",
        "body": {
            "filters": [{"column": f"id{index}", "value": str(chance.randrange(10))} for index in range(2)],
            "readColumns": [{"column": f"col{index}", "dataReturnType": "default"} for index in range(2)],
            "operationId": str(number),
        },
    }


def titles_of(body: bytes, count: int) -> frozenset[str]:
    """Return the titles of a page of so many posts.

    Raises
    ------
    UnexpectedError
        If it is not exactly such a page, shows a post twice or an unknown one, or has text that is not escaped.
    """
    try:
        pieces = _pieces(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UnexpectedError(f"the page is not UTF-8: byte {error.start}") from None
    titles = [after[1:] for before, after in itertools.pairwise(pieces) if before == "<h2>"]
    for title in titles:
        if title not in posts():
            raise UnexpectedError(f"{shown(title)} is not the title of a post")
    if len(titles) != count:
        raise UnexpectedError(f"the page has {len(titles)} posts instead of {count}")
    if len(set(titles)) < count:
        raise UnexpectedError(f"only {len(set(titles))} of the {count} posts are distinct")
    wanted = page_pieces([posts()[title] for title in titles])
    for index, piece in enumerate(wanted):
        got = pieces[index] if index < len(pieces) else "its end"
        if got != piece:
            raise UnexpectedError(f"the page has {shown(got)} instead of {shown(piece)}")
    if len(pieces) > len(wanted):
        raise UnexpectedError(f"the page has {shown(pieces[len(wanted)])} after its end")
    return frozenset(titles)


def page_pieces(chosen: list[Post]) -> list[str]:
    """Return the pieces of a page of these posts: tags as they are written, and texts with a = before them."""
    pieces = ["<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">']
    pieces += [
        *_element("title", HEADING),
        "</head>",
        "<body>",
        "<header>",
        *_element("h1", HEADING),
        "</header>",
        "<main>",
    ]
    for post in chosen:
        pieces += ["<article>", *_element("h2", post.title), f'<img src="{post.image}" alt="{post.title}">']
        for paragraph in post.paragraphs:
            pieces += _element("p", paragraph)
        pieces.append("</article>")
    return [*pieces, "</main>", "<footer>", *_element("p", FOOTER), "</footer>", "</body>", "</html>"]


def _element(name: str, text: str) -> list[str]:
    return [f"<{name}>", f"={text}", f"</{name}>"]


def _pieces(page: str) -> list[str]:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.finished()


class _Reader(HTMLParser):
    """Lists the pieces of a page; complains of characters that should have been escaped."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self._pieces: list[str] = []
        self._text = ""
        self._within = ""

    def finished(self) -> list[str]:
        """Return the pieces of the page that were read."""
        self._end_text()
        return self._pieces

    def handle_decl(self, decl: str) -> None:
        self._add(f"<!{decl.lower()}>")

    def handle_comment(self, data: str) -> None:
        self._add(f"<!--{data}-->")

    def handle_pi(self, data: str) -> None:
        self._add(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self._add(f"<![{data}]>")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        written = (self.get_starttag_text() or "").strip("<>")
        for character in "<>&":
            if character in _REFERENCE.sub("", written):
                raise UnexpectedError(f"{character} is not escaped in {shown(written)}")
        attributes = "".join(f' {name}="{value}"' for name, value in attrs)
        self._add(f"<{tag}{attributes}>")
        self._within = "" if tag in _VOID else tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        self._add(f"</{tag}>")
        self._within = ""

    def handle_data(self, data: str) -> None:
        for character in "<>&":
            if character in data:
                raise UnexpectedError(f"{character} is not escaped in {shown(data)}")
        self._text += data

    def handle_entityref(self, name: str) -> None:
        self._reference(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._reference(f"&#{name};")

    def _reference(self, reference: str) -> None:
        self._text += html.unescape(reference)

    def _add(self, piece: str) -> None:
        self._end_text()
        self._pieces.append(piece)

    def _end_text(self) -> None:
        if self._text.strip() or (self._text and self._within in _WITH_TEXT):
            self._pieces.append(f"={self._text}")
        self._text = ""
