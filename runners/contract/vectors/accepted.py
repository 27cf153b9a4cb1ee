"""The golden vectors of batches that are accepted, or whose acceptance the contract leaves open."""

from __future__ import annotations

import json
from collections.abc import Iterator

from runners.contract.data import request_body
from runners.contract.vectors.model import Vector, for_batch, padded_to_limit, stretched

SAMPLE = (
    '{"operations":[{"method":"POST","relative-url":"db/t/pk-read","body":{'
    '"filters":[{"column":"id0","value":"0"}],'
    '"readColumns":[{"column":"col0","dataReturnType":"default"}],"operationId":"1"}}]}'
)
SMALLEST = '{"operations":[{"method":"POST","relative-url":"u","body":{"filters":[{"column":"c","value":0.1}]}}]}'

# Kind of array → an element of it, and the smallest batch with a place for such elements.
ELEMENTS = {"operations": SMALLEST[15:-2], "filters": '{"column":"c","value":0.1}', "readColumns": '{"column":"c"}'}
SMALLEST_WITH = {
    "operations": '{"operations":[@]}',
    "filters": SMALLEST.replace(ELEMENTS["filters"], "@"),
    "readColumns": SMALLEST.replace("}]}}", '}],"readColumns":[@]}}'),
}

_READ_COLUMNS = ',"readColumns":[{"column":"col0","dataReturnType":"default"}]'
_EMOJI = "\N{GRINNING FACE}"


def sample(old: str, new: str) -> str:
    """Return the sample batch with one place changed."""
    if SAMPLE.count(old) != 1:
        raise ValueError(f"{old!r} does not stand once in the sample")
    return SAMPLE.replace(old, new)


def with_values(*values: str) -> str:
    """Return a batch with a filter for each value, written as given."""
    return sample('{"column":"id0","value":"0"}', ",".join(f'{{"column":"id0","value":{value}}}' for value in values))


def accepted() -> Iterator[Vector]:
    """Yield the vectors."""
    yield for_batch("the sample batch is accepted", SAMPLE, 200, quick=True)
    yield for_batch("the smallest batch is accepted", SMALLEST, 200)
    yield for_batch("a compact batch of 10 operations is accepted", request_body(10, "compact", 1), 200)
    yield for_batch("a pretty batch of 10 operations is accepted", request_body(10, "pretty", 1), 200, quick=True)
    yield from _values()
    yield from _texts()
    yield from _optional_members()
    yield from _unknown_members()
    yield from _sizes()
    yield from _left_open()


def _values() -> Iterator[Vector]:
    mixed = with_values('"text"', "1.5", "true", "false", "null", '""', "-2", '"null"', '"1.5"')
    yield for_batch("values of every type are mixed freely", mixed, 200, quick=True)
    numbers = {
        "zero": "0",
        "minus zero": "-0",
        "minus zero with a fraction": "-0.0e-0",
        "a fraction": "3.25",
        "a negative fraction": "-0.001",
        "an exponent": "1e3",
        "an exponent with a plus": "25E+2",
        "a negative exponent": "12.5e-1",
        "an exponent with leading zeros": "1e0003",
        "the largest 64-bit integer": "9223372036854775807",
        "the smallest 64-bit integer": "-9223372036854775808",
        "the largest unsigned 64-bit integer": "18446744073709551615",
        "an integer beyond 64 bits": "18446744073709551616",
        "a negative integer beyond 64 bits": "-9223372036854775809",
        "an integer between two doubles": "9007199254740993",
        "an integer of 309 digits": "1" + "0" * 308,
        "an integer of 300 nines": "9" * 300,
        "a fraction of 1000 digits": "0." + "123456789" * 111 + "1",
        "digits that an exponent brings back": "0." + "0" * 400 + "25e401",
        "a halfway case of 17 digits": "9007199254740992.9999999999999999999999999999999999999999999999999",
        "the largest double": "1.7976931348623157e308",
        "a number that rounds to the largest double": "1.797693134862315807e308",
        "the smallest double": "5e-324",
        "a number that underflows to zero": "1e-400",
        "a number that underflows from below": "-1e-400",
        "the smallest normal double": "2.2250738585072014e-308",
        "a zero with a great exponent": "0e400",
        "a zero with an exponent beyond 64 bits": "0.0E99999999999999999999",
        "a one with a negative exponent beyond 64 bits": "1e-99999999999999999999",
        "a tenth": "0.1",
    }
    for name, number in numbers.items():
        yield for_batch(f"{name} is a number", with_values(number), 200)
    tiny = stretched(with_values("0.@7e20000"), "0", 20_000)
    yield for_batch("a fraction of 20000 zeros that an exponent brings back is a number", tiny, 200)
    yield for_batch("numbers are summed in document order", with_values("1e16", "1", "-1e16", "0.1", "0.2"), 200)
    yield for_batch("great numbers that cancel out are summed", with_values("1e308", "-1e308", "1e308", "0.5"), 200)
    yield for_batch("booleans and texts of digits are not summed", with_values("true", '"7"', "2", "false"), 200)
    two = json.loads(with_values("1", "null"))["operations"] + json.loads(with_values("null", "2.5"))["operations"]
    yield for_batch("nulls and numbers are counted across operations", json.dumps({"operations": two}), 200)


def _texts() -> Iterator[Vector]:
    texts = {
        "every short escape": r"\"\\\/\b\f\n\r\t",
        "an escaped NUL": r"a\u0000b",
        "an escaped control character": r"\u001F\u0001",
        "an escaped letter": r"\u0041\u00e9\u00E9",
        "an escaped pair of surrogates": r"\ud83d\ude00",
        "the first and the last pair of surrogates": r"\uD800\uDC00\uDBFF\uDFFF",
        "escapes next to the surrogates": r"\ud7ff\ue000",
        "an escaped non-character": r"\uffff\ufffe",
        "an escaped backslash before the digits of a surrogate": r"\\ud800",
        "characters of two, three and four bytes": f"\u00e9\u4e2d{_EMOJI}",
        "the first and last characters of each length": "\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff",
        "a byte order mark inside": "a\ufeffb",
        "a combining character": "e\u0301",
        "a DEL and line separators": "\x7f\u2028\u2029",
        "brackets and escaped quotes": r"\"]}[{\"" + "[{" * 100,
    }
    for name, text in texts.items():
        yield for_batch(f"{name} in a value is decoded", with_values(f'"{text}"'), 200)
    for place in ('"id0"', '"col0"', '"default"', '"1"', '"db/t/pk-read"'):
        changed = sample(place, rf'"\u00e9\ud83d\ude00{_EMOJI}\n"')
        yield for_batch(f"escapes instead of {place} are decoded", changed, 200)
    yield for_batch("an escaped method is decoded", sample('"POST"', r'"\u0050\u004FST"'), 200)
    for name, character in {
        "letters": "a",
        "accented letters": "\u00e9",
        "emoji": _EMOJI,
        "escapes": r"\u0041",
    }.items():
        yield for_batch(f"a column of 64 {name} is accepted", sample('"id0"', f'"{character * 64}"'), 200)
    pairs = r"\ud83d\ude00" * 64
    yield for_batch("a column of 64 escaped pairs of surrogates is accepted", sample('"id0"', f'"{pairs}"'), 200)
    yield for_batch("a read column of 64 emoji is accepted", sample('"col0"', f'"{_EMOJI * 64}"'), 200)
    yield for_batch("a column of 1 character is accepted", sample('"id0"', '"i"'), 200)
    yield for_batch("a relative-url of 1 character is accepted", sample('"db/t/pk-read"', '"/"'), 200)
    long = {
        "a relative-url": '"db/t/pk-read"',
        "a value": '"0"',
        "a dataReturnType": '"default"',
        "an operationId": '"1"',
    }
    for name, place in long.items():
        parts = stretched(sample(place, '"@"'), "\u00e9" + r"\n", 50_000)
        yield for_batch(f"{name} of 100000 characters is decoded", parts, 200)


def _optional_members() -> Iterator[Vector]:
    yield for_batch("an absent operationId is not given", sample(',"operationId":"1"', ""), 200)
    yield for_batch("a null operationId is not given", sample('"operationId":"1"', '"operationId":null'), 200)
    yield for_batch("an empty operationId is given", sample('"operationId":"1"', '"operationId":""'), 200)
    yield for_batch("absent readColumns are not given", sample(_READ_COLUMNS, ""), 200)
    yield for_batch("null readColumns are not given", sample(_READ_COLUMNS, ',"readColumns":null'), 200)
    yield for_batch("an empty array of readColumns is given", sample(_READ_COLUMNS, ',"readColumns":[]'), 200)
    yield for_batch("an absent dataReturnType is not given", sample(',"dataReturnType":"default"', ""), 200)
    yield for_batch("a null dataReturnType is not given", sample('"default"', "null"), 200)
    yield for_batch("an empty dataReturnType is given", sample('"default"', '""'), 200)
    differing = [json.loads(SAMPLE)["operations"][0] for _ in range(3)]
    del differing[1]["body"]["readColumns"], differing[1]["body"]["operationId"]
    differing[2]["body"]["readColumns"][0]["dataReturnType"] = None
    yield for_batch(
        "members given in one operation are not given in the next", json.dumps({"operations": differing}), 200
    )


def _unknown_members() -> Iterator[Vector]:
    body = '"operationId":"1","readColumns":[{"dataReturnType":"default","column":"col0"}],'
    body += '"filters":[{"value":7,"column":"id0"}]'
    order = f'{{"operations":[{{"body":{{{body}}},"relative-url":"u","method":"POST"}}]}}'
    yield for_batch("members stand in any order", order, 200, quick=True)
    places = {
        "the root": '{"operations"',
        "an operation": '{"method"',
        "a body": '{"filters"',
        "a filter": '{"column":"id0"',
        "a read column": '{"column":"col0"',
    }
    extra = r'"x":[1,-2.5e1,"a\n\ud83d\ude00",true,false,null,[],{},[[{"column":"y","value":[1]}]]],"":{"operations":0}'
    for name, place in places.items():
        yield for_batch(f"unknown members first in {name} are ignored", sample(place, f"{{{extra},{place[1:]}"), 200)
    ends = {"the root": f'"1"}}}}],{extra}}}', "an operation": f'"1"}},{extra}}}]}}', "a body": f'"1",{extra}}}}}]}}'}
    for name, end in ends.items():
        yield for_batch(f"unknown members last in {name} are ignored", sample('"1"}}]}', end), 200)
    for name in ("Operations", "OPERATIONS", "operations ", "operation", "operations\\u0000", ""):
        text = sample('{"operations"', f'{{"{name}":5,"operations"')
        yield for_batch(f"a member named {name!r} is unknown", text, 200)
    yield for_batch(
        "members whose names differ in case are unknown",
        sample('{"column":"id0"', '{"Column":1,"VALUE":[],"column":"id0"'),
        200,
    )
    escaped = SAMPLE.replace('"operations"', r'"\u006fperations"').replace('"relative-url"', r'"relative\u002durl"')
    escaped = escaped.replace('"value"', r'"valu\u0065"').replace('"column"', r'"\u0063olumn"')
    yield for_batch("escaped member names are compared after unescaping", escaped, 200)
    optional = SAMPLE.replace('"readColumns"', r'"read\u0043olumns"').replace('"operationId"', r'"operation\u0049d"')
    optional = optional.replace('"method"', r'"\u006dethod"').replace('"dataReturnType"', r'"dataReturn\u0054ype"')
    yield for_batch("escaped names of optional members are compared after unescaping", optional, 200)
    deep = "[" * 127 + "]" * 127
    yield for_batch(
        "128 levels in an ignored array are accepted", sample('{"operations"', f'{{"x":{deep},"operations"'), 200
    )
    deep = '{"a":' * 127 + "1" + "}" * 127
    yield for_batch("128 levels in an ignored object are accepted", SAMPLE[:-1] + f',"x":{deep}}}', 200)
    deep = '[{"a":' * 61 + "null" + "}]" * 61
    text = sample('{"column":"id0"', f'{{"x":{deep},"column":"id0"')
    yield for_batch("128 levels below a filter are accepted", text, 200)
    wide = stretched(sample('{"operations"', '{"x":[@],"operations"'), "[{}]", 2000, ",")
    yield for_batch("thousands of brackets side by side are not nesting", wide, 200)


def _sizes() -> Iterator[Vector]:
    spread = SAMPLE
    for mark in "{}[],:":
        spread = spread.replace(mark, f" \t\r\n{mark}\n\r\t ")
    yield for_batch("whitespace is accepted between all tokens", spread, 200)
    for name, element in ELEMENTS.items():
        parts = stretched(SMALLEST_WITH[name], element, 4096, ",")
        yield for_batch(f"4096 {name} are accepted", parts, 200)
    yield for_batch("a body of exactly 4 MiB is accepted", padded_to_limit(SAMPLE), 200)


def _left_open() -> Iterator[Vector]:
    members = {
        "operations": '"operations":[]',
        "method": '"method":"POST"',
        "body": '"body":{}',
        "filters": '"filters":[{"column":"z","value":9}]',
        "column": '"column":"other"',
        "value": '"value":3',
        "readColumns": '"readColumns":null',
        "dataReturnType": '"dataReturnType":"again"',
        "operationId": '"operationId":5',
    }
    for name, member in members.items():
        first = SAMPLE.index(f'"{name}"')
        text = SAMPLE[:first] + member + "," + SAMPLE[first:]
        yield for_batch(f"{name} given twice may count once or be refused", text, 200, 400)
    twice = sample('{"operations"', '{"x":1,"x":2,"operations"')
    yield for_batch("an unknown member given twice may be ignored or refused", twice, 200, 400)
    escaped = sample('{"column":"id0"', r'{"\u0063olumn":"id1","column":"id0"')
    yield for_batch("a member given twice in two spellings may count once or be refused", escaped, 200, 400)
    great = sample('{"operations"', '{"x":[1e400,-1e999],"operations"')
    yield for_batch("a number in an ignored member that overflows may be ignored or refused", great, 200, 400)
