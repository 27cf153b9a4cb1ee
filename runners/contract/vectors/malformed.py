"""The golden vectors of bodies that are not well-formed JSON in UTF-8."""

from __future__ import annotations

from collections.abc import Iterator

from runners.contract.vectors.accepted import SAMPLE, sample
from runners.contract.vectors.model import Vector, for_batch

_MALFORMED_VALUES: dict[str, bytes] = {
    "a leading zero": b"01",
    "a negative leading zero": b"-01",
    "a number without a fraction after the point": b"1.",
    "a number without an integer before the point": b".5",
    "a number with a plus": b"+1",
    "a lone minus": b"-",
    "a double minus": b"--1",
    "a number without an exponent after the e": b"1e",
    "a number without an exponent after the sign": b"1e+",
    "a number with a fraction in its exponent": b"1e1.5",
    "a number with two points": b"1.2.3",
    "a hexadecimal number": b"0x10",
    "a number with a separator": b"1_000",
    "a number with a letter behind": b"1a",
    "a full-width digit": "\uff11".encode(),
    "NaN": b"NaN",
    "Infinity": b"Infinity",
    "minus Infinity": b"-Infinity",
    "a truncated null": b"nul",
    "a capital True": b"True",
    "a literal with a letter behind": b"nulll",
    "undefined": b"undefined",
    "nothing": b"",
    "a text in single quotes": b"'a'",
    "a text without quotes": b"a",
    "two values without a comma": b"1 2",
    "a block comment": b"/* */1",
    "a line comment": b"1//\n",
    "a hash comment": b"1#\n",
    "a no-break space": "\u00a01".encode(),
    "a form feed": b"\x0c1",
    "a NUL byte": b"\x001",
    "a byte order mark": b"\xef\xbb\xbf1",
    "an opened array": b"[1",
    "an array that is closed as an object": b"[1}",
    "an array with a trailing comma": b"[1,]",
    "an array with a leading comma": b"[,1]",
    "an array with two commas": b"[1,,2]",
    "an array without a comma": b"[1 2]",
    "an array with a colon": b'["a":1]',
    "an object with a trailing comma": b'{"a":1,}',
    "an object with a leading comma": b'{,"a":1}',
    "an object without a colon": b'{"a" 1}',
    "an object without a value": b'{"a":}',
    "an object with two colons": b'{"a"::1}',
    "an object without a member value or colon": b'{"a"}',
    "an object without a comma": b'{"a":1 "b":2}',
    "an object with an unquoted name": b"{a:1}",
    "an object with a number as a name": b"{1:1}",
    "an object with a null as a name": b"{null:1}",
}

# Contents of a string, between its quotes.
_MALFORMED_TEXTS: dict[str, bytes] = {
    "an unknown escape": rb"\x41",
    "an escaped single quote": rb"\'",
    "a capital escape": rb"\N",
    "an escape of three digits": rb"\u004",
    "an escape with a letter that is no digit": rb"\u00G1",
    "an escape with a sign": rb"\u+041",
    "an escape with a separator": rb"\u00_1",
    "a capital unicode escape": rb"\U0041",
    "an escaped line break": b"\\\n",
    "a raw line break": b"\n",
    "a raw tab": b"\t",
    "a raw NUL": b"\x00",
    "a raw control character": b"\x1f",
    "a raw control character behind an escape": b"\\n\x1f",
    "a lone high surrogate": rb"\ud800",
    "a lone low surrogate": rb"\udc00",
    "a lone surrogate in capitals": rb"\uDFFF",
    "surrogates in the wrong order": rb"\ude00\ud83d",
    "a high surrogate before a letter": rb"\ud83dx",
    "a high surrogate before an escaped letter": rb"\ud83d\u0041",
    "a high surrogate before an escaped line feed": rb"\ud83d\n",
    "two high surrogates": rb"\ud83d\ud83d",
    "a high surrogate before a pair": rb"\ud83d\ud83d\ude00",
    "a low surrogate behind a pair": rb"\ud83d\ude00\ude00",
    "a high surrogate before an escaped backslash": rb"\ud83d\\ude00",
    "a continuation byte alone": b"a\x80b",
    "a byte that is never UTF-8": b"\xff",
    "a truncated character of two bytes": b"a\xc3",
    "a truncated character of three bytes": b"a\xe4\xb8",
    "a truncated character of four bytes": b"a\xf0\x9f\x98",
    "a truncated character before a letter": b"\xe4\xb8a",
    "an overlong slash": b"\xc0\xaf",
    "an overlong NUL": b"\xc0\x80",
    "an overlong character of three bytes": b"\xe0\x80\xaf",
    "an overlong character of four bytes": b"\xf0\x80\x80\xaf",
    "an overlong quote": b"\xc0\xa2",
    "an encoded high surrogate": b"\xed\xa0\x80",
    "an encoded low surrogate": b"\xed\xbf\xbf",
    "an encoded pair of surrogates": b"\xed\xa0\xbd\xed\xb8\x80",
    "a character beyond Unicode": b"\xf4\x90\x80\x80",
    "a first byte beyond Unicode": b"\xf5\x80\x80\x80",
    "a Latin-1 character": b"caf\xe9 ",
}

# Where a malformed value is put: into what is read, and into what is ignored, before and behind what is read.
_VALUE_PLACES = {
    "as a value": ('"value":"0"', '"value":@'),
    "in an ignored member first in the root": ('{"operations"', '{"x":@,"operations"'),
    "in an ignored member last in the root": ("}}]}", '}}],"x":@}'),
    "nested in an ignored member of a filter": ('{"column":"id0"', '{"x":{"y":[0,@]},"column":"id0"'),
}
_TEXT_PLACES = {
    "in a value": ('"value":"0"', '"value":"@"'),
    "in a relative-url": ('"db/t/pk-read"', '"db@"'),
    "in a dataReturnType": ('"default"', '"@"'),
    "in an ignored member last in the root": ("}}]}", '}}],"x":"@"}'),
    "nested in an ignored member of a filter": ('{"column":"id0"', '{"x":{"y":["@"]},"column":"id0"'),
    "in the name of an ignored member": ('"operationId"', '"x@":1,"operationId"'),
}


def malformed() -> Iterator[Vector]:
    """Yield the vectors."""
    for places, malformations in ((_VALUE_PLACES, _MALFORMED_VALUES), (_TEXT_PLACES, _MALFORMED_TEXTS)):
        for place, (old, new) in places.items():
            for name, piece in malformations.items():
                body = sample(old, new).encode().replace(b"@", piece)
                yield for_batch(f"{name} {place} is refused", body, 400, quick=name == "a lone high surrogate")
    yield from _documents()


def _documents() -> Iterator[Vector]:
    documents: dict[str, str | bytes] = {
        "an empty body": "",
        "a body of spaces": "  ",
        "a body of whitespace": " \t\r\n",
        "a NUL byte": "\x00",
        "a byte order mark": b"\xef\xbb\xbf" + SAMPLE.encode(),
        "a body in UTF-16": SAMPLE.encode("utf-16-le"),
        "a NUL byte behind the root": SAMPLE + "\x00",
        "a second root": SAMPLE + SAMPLE,
        "a number behind the root": SAMPLE + " 1",
        "a comma behind the root": SAMPLE + ",",
        "a brace behind the root": SAMPLE + "}",
        "a letter behind the root": SAMPLE + "\nx",
        "a comment behind the root": SAMPLE + " // end",
        "an invalid byte behind the root": SAMPLE.encode() + b"\xff",
        "a form feed behind the root": SAMPLE + "\x0c",
        "a comma before the root": "," + SAMPLE,
        "an empty object": "{}",
        "an array around the root": f"[{SAMPLE}]",
        "a trailing comma behind the operations": sample("}}]}", "}}],}"),
        "a trailing comma behind an operation": sample("}}]}", "}},]}"),
        "a trailing comma behind a filter": sample('"value":"0"}', '"value":"0"},'),
        "a trailing comma in a filter": sample('"value":"0"', '"value":"0",'),
        "a missing comma between members": sample('"method":"POST",', '"method":"POST"'),
        "a missing colon": sample('"method":', '"method"'),
        "names without quotes": SAMPLE.replace('"method"', "method"),
        "single quotes": SAMPLE.replace('"', "'"),
    }
    for name, body in documents.items():
        yield for_batch(f"{name} is refused", body, 400, quick=name in ("an empty body", "a comma behind the root"))
    for end in sorted({1, 2, 8, 14, 15, 16, 25, 40, 62, 78, 90, 104, 120, 150, *range(len(SAMPLE) - 6, len(SAMPLE))}):
        yield for_batch(f"the first {end} bytes of the sample are refused", SAMPLE[:end], 400, quick=end == 120)
