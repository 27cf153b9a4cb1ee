"""What the small server of `fake.py` responses for text, JSON, SQL, HTML and relayed text, right or wrong."""

from __future__ import annotations

import random
import re
import time
from datetime import UTC, datetime, timedelta
from functools import cache

from runners.contract.data import posts, relayed, row
from tests.contract.pages import page


class Resources:
    """The handlers of the workloads that send no body."""

    wrong: frozenset[str]
    path: str

    def _text(self, _: bytes) -> None:
        self._answer(200, "Hello, world!" if "text without newline" in self.wrong else "Hello, world!\n")

    def _json(self, _: bytes) -> None:
        now = datetime.now(UTC)
        if "stale time" in self.wrong:
            now -= timedelta(seconds=3)
        if "time of the start" in self.wrong:
            now = _first_time(id(self.server))
        text = now.isoformat(timespec="seconds" if "time without fraction" in self.wrong else "microseconds")
        if "time with one digit" in self.wrong:
            text = text[:21] + "+00:00"
        message = "Hello, World!" if "other message" in self.wrong else "Hello, world!"
        response = {"message": message, "ts": text if "offset of zero" in self.wrong else text.replace("+00:00", "Z")}
        self._answer(200, response | ({"extra": None} if "a member more" in self.wrong else {}))

    def _sql1(self, _: bytes) -> None:
        if not self._is_away():
            text = datetime.now(UTC).isoformat(sep="T" if "T in the time" in self.wrong else " ")
            self._answer(200, {"message": "Hello, world!", "ts": text.replace("+00:00", "+00")})

    def _sql2(self, _: bytes, query: str | None) -> None:
        counts = [member[6:] for member in (query or "?")[1:].split("&") if member.startswith("count=")]
        text = counts[0] if counts else "20"
        if not re.fullmatch(r"[0-9]{1,3}" if "zeros before a count" in self.wrong else r"[1-9][0-9]{0,2}", text):
            self._answer(200 if "any count" in self.wrong else 400, {"error": "count"})
            return
        count = int(text)
        if not 1 <= count <= 500:
            self._answer(400, "no" if "error is a text" in self.wrong else {"error": "count"})
            return
        if self._is_away():
            return
        ids = random.sample(range(1, 10_001), count)
        if "rows in a row" in self.wrong:
            ids = list(range(ids[0] % 9000 + 1, ids[0] % 9000 + 1 + count))
        if "the same rows" in self.wrong:
            ids = list(range(1, 10_001, 10_000 // count))[:count]
        if "repeated ids" in self.wrong:
            ids = [ids[0], *ids[:-1]] if count > 1 else ids
        rows = [row(each) for each in ids]
        if "a wrong row" in self.wrong:
            rows[-1] = rows[-1] | {"number": rows[-1]["number"] % 10_000 + 1}
        if "numbers as texts" in self.wrong:
            rows[-1] = rows[-1] | {"number": str(rows[-1]["number"])}
        if "an id beyond" in self.wrong:
            rows[0] = rows[0] | {"id": 10_001}
        if "names in Latin-1" in self.wrong:
            rows = [each | {"name": each["name"].encode("latin-1", "replace").decode("latin-1")} for each in rows]
        self._answer(200, rows[1:] if "a row is missing" in self.wrong else rows)

    def _json10(self, _: bytes) -> None:
        most = 99 if "small numbers" in self.wrong else 999
        numbers = {f"Test Number {index}": random.randint(0, most) for index in range(1, 11)}
        if "the same numbers" in self.wrong:
            numbers = dict.fromkeys(numbers, 7)
        if "a number out of range" in self.wrong:
            numbers["Test Number 10"] = 1000
        if "a number with a fraction" in self.wrong:
            numbers["Test Number 1"] += 0.5
        if "nine numbers" in self.wrong:
            del numbers["Test Number 9"]
        if "eleven numbers" in self.wrong:
            numbers["Test Number 11"] = 1
        self._answer(200, numbers)

    def _blog(self, _: bytes) -> None:
        known = list(posts().values())
        if "posts never shown" in self.wrong:
            known = known[1:]
        chosen = random.sample(known, 5 if "five posts" in self.wrong else 6)
        if "the same page" in self.wrong:
            chosen = known[:6]
        if "a post twice" in self.wrong:
            chosen[5] = chosen[0]
        text = page(chosen)
        for fault, (old, new) in _PAGES.items():
            if fault in self.wrong:
                text = text.replace(old, new)
        self._answer(200, text, "text/html" if "no charset" in self.wrong else "text/html; charset=UTF-8")

    def _relay(self, _: bytes) -> None:
        whole = relayed().decode()
        if "one byte less" in self.wrong:
            whole = whole[:-1]
        self._answer(200, whole.replace("042", "043") if "a line twice" in self.wrong else whole)

    def _is_away(self) -> bool:
        if "database away" not in self.wrong:
            return False
        if "slow to say so" in self.wrong:
            time.sleep(0.2)
        self._answer(500 if "500 without database" in self.wrong else 503, {"error": "no database"})
        return True


_PAGES = {
    "titles are not escaped": ("&amp;", "&"),
    "greater is not escaped": ("&gt;", ">"),
    "less is not escaped": ("&lt;", "<"),
    "quotes in attributes are not escaped": ("&quot;", '"'),
    "escaped twice": ("&amp;", "&amp;amp;"),
    "an image is missing": ('<img src="/images/0', '<i src="/images/0'),
    "another heading": ("<h1>A blog of six posts", "<h1>A blog"),
    "a comment": ("<main>", "<main><!-- posts -->"),
    "text between": ("</article>", "</article>."),
    "white space in a title": ("<h1>", "<h1> "),
    "no doctype": ("<!DOCTYPE html>", ""),
    "something after the end": ("</html>", "</html><p></p>"),
    "a paragraph is empty": ("<h2>", "<p></p><h2>"),
}


@cache
def _first_time(server: int) -> datetime:
    """Return the time of a server's first response, whatever other tests sent to theirs before."""
    return datetime.now(UTC)
