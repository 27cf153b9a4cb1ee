"""The golden vectors of well-formed JSON that is refused: types, bounds, levels, numbers."""

from __future__ import annotations

from collections.abc import Iterator

from runners.contract.vectors.accepted import ELEMENTS, SAMPLE, SMALLEST_WITH, sample, with_values
from runners.contract.vectors.model import Vector, for_batch, padded_to_limit, stretched

_TYPES = {
    "null": "null",
    "a boolean": "true",
    "a number": "1",
    "a text": '"a"',
    "an array": "[]",
    "an object": "{}",
}


def refused() -> Iterator[Vector]:
    """Yield the vectors."""
    yield from _wrong_types()
    yield from _bounds()
    yield from _levels()
    yield from _overflows()


def _wrong_types() -> Iterator[Vector]:
    for kind, text in _TYPES.items():
        if kind != "an object":
            yield for_batch(f"{kind} as the root is refused", text, 400)
    members = {
        "operations": (f'"operations":{SAMPLE[14:-1]}', "an array"),
        "method": ('"method":"POST"', "a text"),
        "relative-url": ('"relative-url":"db/t/pk-read"', "a text"),
        "body": (f'"body":{SAMPLE[SAMPLE.index("body") + 6 : -3]}', "an object"),
        "filters": ('"filters":[{"column":"id0","value":"0"}]', "an array"),
        "readColumns": ('"readColumns":[{"column":"col0","dataReturnType":"default"}]', "an array"),
        "operationId": ('"operationId":"1"', "a text"),
        "the column of a filter": ('"column":"id0"', "a text"),
        "the column of a read column": ('"column":"col0"', "a text"),
        "dataReturnType": ('"dataReturnType":"default"', "a text"),
        "value": ('"value":"0"', "any of them"),
        "an operation": (SAMPLE[15:-2], "an object"),
        "a filter": ('{"column":"id0","value":"0"}', "an object"),
        "a read column": ('{"column":"col0","dataReturnType":"default"}', "an object"),
    }
    optional = {"readColumns", "operationId", "dataReturnType"}
    for name, (member, right) in members.items():
        key = member.split(":")[0] + ":" if member.startswith('"') else ""
        for kind, text in _TYPES.items():
            fits = kind == right or (kind == "null" and name in optional)
            if fits or (name == "value" and kind not in ("an array", "an object")):
                continue
            quick = (name, kind) == ("value", "an object")
            yield for_batch(f"{kind} instead of {name} is refused", sample(member, key + text), 400, quick=quick)
        if key and name not in optional:
            rest = SAMPLE.replace(member, "", 1).replace(",,", ",").replace("{,", "{").replace(",}", "}")
            yield for_batch(f"{name} must not be missing", rest, 400, quick=name == "value")
    for old, new in {
        "operations": "Operations",
        "method": "METHOD",
        "relative-url": "relative_url",
        "filters": "Filters",
    }.items():
        yield for_batch(f"{new} does not stand for {old}", sample(f'"{old}"', f'"{new}"'), 400)
    for new in ("Value", "value ", "VALUE", "valu\\u00e9"):
        yield for_batch(f"{new!r} does not stand for value", sample('"value"', f'"{new}"'), 400)
    second = sample('"value":"0"}', '"value":"0"},{"column":"id1","value":{}}')
    yield for_batch("an object as the value of a second filter is refused", second, 400)
    yield for_batch("an operation that is refused behind one that is accepted is refused", SAMPLE[:-2] + ",{}]}", 400)


def _bounds() -> Iterator[Vector]:
    yield for_batch("no operations are refused", '{"operations":[]}', 400)
    yield for_batch("no filters are refused", sample('{"column":"id0","value":"0"}', ""), 400)
    for method in ("GET", "post", "POST ", "", "POST\\u0000"):
        yield for_batch(f"the method {method!r} is refused", sample('"POST"', f'"{method}"'), 400)
    yield for_batch("an empty relative-url is refused", sample('"db/t/pk-read"', '""'), 400)
    for column in ('"id0"', '"col0"'):
        yield for_batch(f"an empty column instead of {column} is refused", sample(column, '""'), 400)
        for name, character in {"letters": "a", "emoji": "\N{GRINNING FACE}", "escapes": r"\u0041"}.items():
            text = sample(column, f'"{character * 65}"')
            yield for_batch(f"65 {name} instead of {column} are refused", text, 400)
    for name, element in ELEMENTS.items():
        yield for_batch(f"4097 {name} are refused", stretched(SMALLEST_WITH[name], element, 4097, ","), 400)
    yield for_batch("a body of 4 MiB and a byte is refused", padded_to_limit(SAMPLE, 1), 413)
    yield for_batch("a body of 5 MiB is refused whatever it holds", padded_to_limit("", 1024 * 1024), 413)


def _levels() -> Iterator[Vector]:
    places = {"first in": ('{"operations"', '{"x":@,"operations"'), "last in": ("}}]}", '}}],"x":@}')}
    for name, (old, new) in places.items():
        for shape, (opened, closed) in {"arrays": ("[", "]"), "objects": ('{"a":', "}")}.items():
            deep = opened * 127 + "[]" + closed * 127
            yield for_batch(
                f"129 levels of {shape} {name} the root are refused", sample(old, new.replace("@", deep)), 400
            )
    deep = "[" * 123 + "]" * 123
    yield for_batch(
        "129 levels below a filter are refused", sample('{"column":"id0"', f'{{"x":{deep},"column":"id0"'), 400
    )
    yield for_batch("129 levels in a value are refused", with_values("[" * 123 + "]" * 123), 400)
    yield for_batch("a million opened arrays are refused", [{"repeat": "[", "times": 1_000_000}], 400)
    yield for_batch("200000 opened objects are refused", [{"repeat": '{"a":', "times": 200_000}], 400)
    parts = stretched(sample('{"operations"', '{"x":@,"operations"'), "[]", 1)
    parts[1:-1] = [{"repeat": "[", "times": 500_000}, {"repeat": "]", "times": 500_000}]
    yield for_batch("500000 levels in an ignored member are refused", parts, 400)


def _overflows() -> Iterator[Vector]:
    numbers = {
        "1e400": "1e400",
        "-1e400": "-1e400",
        "1e309": "1e309",
        "a number that rounds beyond the largest double": "1.7976931348623159e308",
        "an integer of 400 digits": "9" * 400,
        "an exponent beyond 64 bits": "1e99999999999999999999",
    }
    for name, number in numbers.items():
        yield for_batch(f"{name} overflows and is refused", with_values(number), 400)
    yield for_batch("a sum that overflows is refused", with_values("1e308", "1e308"), 400)
    yield for_batch("a sum that overflows on the way is refused", with_values("1e308", "1e308", "-1e308"), 400)
