"""Hostile bodies without end: batches grown from a grammar and from each other, then damaged; seeded."""

import json
import random
import re
from collections.abc import Iterator

from runners.contract.conformance import stored
from runners.contract.decoder.reference import judge

_LONGEST_BYTES = 3000
_POOL_COUNT = 400
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[\[\]{}:,]|true|false|null')
# What stands in the place of a token: the edges of numbers, texts, names and nesting, right and wrong.
_TOKENS = [
    *(
        b"0",
        b"-0",
        b"-0.0",
        b"1e308",
        b"1e309",
        b"-1e400",
        b"5e-324",
        b"1e-400",
        b"0.1",
        b"01",
        b"1.",
        b".5",
        b"+1",
        b"1e",
        b"1e+",
    ),
    *(
        b"9007199254740993",
        b"18446744073709551616",
        b"-9223372036854775809",
        b"1" * 400,
        b"0." + b"3" * 400,
        b"1E+2",
        b"NaN",
    ),
    *(
        b"true",
        b"false",
        b"null",
        b"True",
        b"nul",
        b"[]",
        b"{}",
        b"[[]]",
        b'{"a":{}}',
        b"[" * 126 + b"]" * 126,
        b"[" * 200 + b"]" * 200,
    ),
    *(
        b'""',
        b'"\\u0000"',
        b'"\\ud83d\\ude00"',
        b'"\\ud83d"',
        b'"\\ude00\\ud83d"',
        b'"\\u00e9"',
        b'"\\/\\b\\f\\n\\r\\t\\"\\\\"',
    ),
    *(
        '"é"'.encode(),
        '"😀"'.encode(),
        b'"\xff"',
        b'"\xc0\xaf"',
        b'"\xed\xa0\x80"',
        b'"\xf4\x90\x80\x80"',
        b'"a\nb"',
        b'"\x7f"',
    ),
    *(
        b'"' + b"x" * 64 + b'"',
        b'"' + b"x" * 65 + b'"',
        '"{}"'.format("é" * 64).encode(),
        b'"' + b"\\u0041" * 64 + b'"',
        b'"\\x"',
    ),
    *(
        b'"operations"',
        b'"oper\\u0061tions"',
        b'"method"',
        b'"relative-url"',
        b'"body"',
        b'"filters"',
        b'"column"',
        b'"value"',
    ),
    *(b'"readColumns"', b'"dataReturnType"', b'"operationId"', b'"POST"', b'"GET"', b'"post"', b'"P\\u004fST"'),
    *(
        b"",
        b",",
        b":",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"\\",
        b"\x00",
        b"\xef\xbb\xbf",
        b"/**/",
        b" \t\r\n",
        b"\x0b",
        b"\xc2\xa0",
    ),
]


def bodies(seed: int, count: int) -> Iterator[bytes]:
    """So many bodies; about half of them are accepted by the contract."""
    chance = random.Random(seed)
    known = [body for vector in stored() if (body := vector.body) and len(body) <= _LONGEST_BYTES]
    pool = [body for body in known if 200 in judge(body).statuses]
    for _ in range(count):
        origin = chance.random()
        body = _grown(chance) if origin < 0.25 else chance.choice(known if origin < 0.4 else pool)
        for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
            body = chance.choice(_CHANGES)(body, chance, pool)
        body = body[: _LONGEST_BYTES * 2]
        yield body
        # What is still accepted after it was changed breeds the next: so changes add up.
        if len(body) <= _LONGEST_BYTES and 200 in judge(body).statuses:
            if len(pool) < _POOL_COUNT:
                pool.append(body)
            else:
                pool[chance.randrange(len(pool))] = body


def _grown(chance: random.Random) -> bytes:
    def text(most: int, least: int = 0) -> str:
        letters = [
            chr(chance.choice((chance.randrange(1, 128), chance.randrange(0xA0, 0xD7FF), 0x1F600))) for _ in range(most)
        ]
        return "".join(letters[: chance.randint(least, most)])

    def value() -> object:
        return chance.choice(
            (text(40), chance.uniform(-1e9, 1e9), chance.randint(-(10**20), 10**20), None, True, False)
        )

    def operation() -> dict:
        body: dict = {"filters": [{"column": text(64, 1), "value": value()} for _ in range(chance.randint(1, 4))]}
        if chance.random() < 0.7:
            columns = [
                {"column": text(64, 1), "dataReturnType": chance.choice((None, text(10)))}
                for _ in range(chance.randint(0, 3))
            ]
            body["readColumns"] = chance.choice((columns, columns, None))
        if chance.random() < 0.7:
            body["operationId"] = chance.choice((None, text(20)))
        return {"method": "POST", "relative-url": text(30, 1), "body": body}

    batch = {"operations": [operation() for _ in range(chance.randint(1, 3))]}
    return json.dumps(batch, ensure_ascii=chance.random() < 0.5, indent=chance.choice((None, 1))).encode()


def _another_token(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    found = list(_TOKEN.finditer(body))
    if not found:
        return chance.choice(_TOKENS)
    at = chance.choice(found)
    return body[: at.start()] + chance.choice(_TOKENS) + body[at.end() :]


def _one_more_token(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    at = chance.randrange(len(body) + 1)
    return body[:at] + chance.choice(_TOKENS) + body[at:]


def _another_byte(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    at = chance.randrange(len(body) + 1)
    return body[:at] + bytes([chance.randrange(256)]) + body[at + chance.randrange(2) :]


def _without_a_piece(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    at = chance.randrange(len(body) + 1)
    return body[:at] + body[at + chance.randrange(12) :]


def _cut(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    return body[: chance.randrange(len(body) + 1)]


def _crossed(body: bytes, chance: random.Random, pool: list[bytes]) -> bytes:
    """The beginning of one and the end of another, cut where both have a comma."""
    other = chance.choice(pool)
    here = [at for at, byte in enumerate(body) if byte == 0x2C] or [len(body)]
    there = [at for at, byte in enumerate(other) if byte == 0x2C] or [0]
    return body[: chance.choice(here)] + other[chance.choice(there) :]


def _one_member_more(body: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    """An ignored, or repeated, member at the beginning of an object."""
    objects = [at for at, byte in enumerate(body) if byte == 0x7B] or [0]
    at = chance.choice(objects) + 1
    name = chance.choice((b'"x"', b'"x"', b'""', b'"value "', b'"Value"', chance.choice(_TOKENS)))
    return body[:at] + name + b":" + chance.choice(_TOKENS) + b"," + body[at:]


_CHANGES = (
    _another_token,
    _another_token,
    _one_member_more,
    _one_member_more,
    _one_more_token,
    _another_byte,
    _without_a_piece,
    _cut,
    _crossed,
)
