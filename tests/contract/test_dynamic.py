"""Responses made anew: whatever honest servers draw is right, and any damage to it is found."""

from __future__ import annotations

import gzip
import html
import json
import random
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings, strategies as st

from runners.contract.data import ROWS_COUNT, posts, row
from runners.contract.dynamic import drawn
from runners.contract.findings import UnexpectedError
from tests.contract.pages import FOOT, HEAD, page

ids = st.lists(st.integers(1, ROWS_COUNT), min_size=1, max_size=30, unique=True)
sixes = st.lists(st.sampled_from(list(posts().values())), min_size=6, max_size=6, unique=True)
tens = st.lists(st.integers(0, 999), min_size=10, max_size=10)


def refused(expect, body):
    """Whether such a body is no right response."""
    try:
        drawn(expect, body if isinstance(body, bytes) else json.dumps(body).encode())
    except UnexpectedError:
        return True
    return False


@given(ids, st.booleans())
def test_any_distinct_rows_are_right_in_any_order_and_spelling(chosen, ascii_only):
    body = json.dumps([row(each) for each in chosen], ensure_ascii=ascii_only).encode()
    assert drawn({"rows": len(chosen)}, body) == frozenset(chosen)


@given(ids, st.data())
def test_a_row_that_is_not_that_of_its_id_is_found(chosen, data):
    rows = [row(each) for each in chosen]
    place = data.draw(st.integers(0, len(rows) - 1))
    member = data.draw(st.sampled_from(["id", "number", "name"]))
    wrong = data.draw(st.none() | st.booleans() | st.integers(-10, 20_000) | st.text(max_size=12))
    right = rows[place][member]
    rows[place] = rows[place] | {member: wrong}
    assert refused({"rows": len(rows)}, rows) == (type(wrong) is not type(right) or wrong != right)


@given(ids, st.sampled_from(["id", "number", "name"]))
def test_a_row_lacks_no_member_and_has_no_other(chosen, member):
    rows = [row(each) for each in chosen]
    assert refused({"rows": len(rows)}, [*rows[1:], rows[0] | {"more": 1}])
    del rows[0][member]
    assert refused({"rows": len(rows)}, rows)


@given(tens, st.randoms())
def test_any_ten_numbers_are_right_in_any_order(numbers, chance):
    members = [(f"Test Number {index}", number) for index, number in enumerate(numbers, 1)]
    chance.shuffle(members)
    assert drawn({"numbers": 10}, json.dumps(dict(members)).encode()) == tuple(numbers)


@given(st.lists(tens, min_size=1, max_size=20))
def test_any_objects_of_numbers_are_right_and_so_they_are_compressed(objects):
    members = [{f"Test Number {index}": number for index, number in enumerate(each, 1)} for each in objects]
    body, expect = json.dumps(members).encode(), {"objects": len(objects), "coding": "identity"}
    flat = tuple(number for each in objects for number in each)
    assert drawn(expect, body) == flat
    assert drawn(expect | {"coding": "gzip"}, gzip.compress(body, 6)) == flat
    assert refused(expect | {"objects": len(objects) + 1}, body)
    assert refused(expect | {"coding": "gzip"}, body)


@given(st.integers(0, 10_000), st.sampled_from([0, 1, 2]))
@settings(max_examples=20)
def test_a_level_that_saves_work_is_found(seed, level):
    draw = random.Random(seed)  # numbers that are all alike look the same at several levels
    members = [{f"Test Number {index}": draw.randrange(1000) for index in range(1, 11)} for _ in range(100)]
    packed = gzip.compress(json.dumps(members).encode(), level)
    assert refused({"objects": 100, "coding": "gzip"}, packed)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_gzip_member_are_found(body):
    assert refused({"objects": 1, "coding": "gzip"}, body)


def test_a_body_that_unpacks_to_too_much_is_refused_before_it_fills_the_memory():
    assert refused({"objects": 1, "coding": "gzip"}, gzip.compress(bytes(64 << 20)))


@given(
    tens,
    st.integers(1, 10),
    st.integers(max_value=-1) | st.integers(1000) | st.booleans() | st.none() | st.sampled_from(["7", 0.5, [], {}]),
)
def test_a_number_that_is_none_or_out_of_range_is_found(numbers, index, wrong):
    members = {f"Test Number {index}": number for index, number in enumerate(numbers, 1)}
    assert refused({"numbers": 10}, members | {f"Test Number {index}": wrong})


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{}", b'{"a":1,"a":1}', b"\xff", b"{", b"[[]]", b"[1]", b'"x"'])
@pytest.mark.parametrize("expect", [{"rows": 1}, {"numbers": 10}, {"posts": 6}, {"greeting": "RFC 3339"}])
def test_anything_else_is_found(expect, body):
    assert refused(expect, body)


def test_a_member_given_twice_is_found():
    members = ",".join(f'"Test Number {index}":1' for index in range(1, 11))
    assert not refused({"numbers": 10}, f"{{{members}}}".encode())
    assert refused({"numbers": 10}, f'{{"Test Number 1":2,{members}}}'.encode())


@pytest.mark.parametrize("digits", range(3, 10))
def test_a_time_may_have_three_to_nine_digits_of_the_second(digits):
    text = f"{datetime.now(UTC).isoformat()[:26]}000"[: 20 + digits] + "Z"
    assert drawn({"greeting": "RFC 3339"}, json.dumps({"message": "Hello, world!", "ts": text}).encode()) == text


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("RFC 3339", "2026-13-21T09:30:00.123Z"),
        ("RFC 3339", "2026-11-21 09:30:00.123Z"),
        ("RFC 3339", "2026-11-21T09:30:00.123"),
        ("RFC 3339", 1763717400),
        ("PostgreSQL", "2026-11-21T09:30:00.123Z"),
        ("PostgreSQL", "2026-11-21 10:30:00.123+01"),
    ],
)
def test_another_form_of_a_time_is_found(form, text):
    assert refused({"greeting": form}, {"message": "Hello, world!", "ts": text})


@given(sixes)
def test_a_page_of_any_six_posts_is_right(chosen):
    assert drawn({"posts": 6}, page(chosen).encode()) == {post.title for post in chosen}


@given(sixes)
def test_white_space_between_elements_is_free_and_references_have_many_spellings(chosen):
    text = page(chosen).replace("\n", "")
    assert not refused({"posts": 6}, text.encode())
    for old, new in {"&#x27;": "&#39;", "&quot;": "&#34;", "&amp;": "&#38;", "&lt;": "&#x3C;", "–": "&ndash;"}.items():
        text = text.replace(old, new)
    assert not refused({"posts": 6}, text.replace("><", ">\n\t <").encode())
    slashed = re.sub("(<img [^>]*)>", r"\1 />", text).replace('"utf-8">', '"utf-8"/>')
    assert not refused({"posts": 6}, slashed.encode())


@given(sixes, st.integers(0, 2**32))
def test_a_page_that_lost_a_tag_or_a_word_is_found(chosen, seed):
    text = page(chosen)
    chance = random.Random(seed)
    start = chance.randrange(len(HEAD), len(text) - len(FOOT))
    end = start + chance.randrange(1, 40)
    if text[start:end].strip():
        assert refused({"posts": 6}, (text[:start] + text[end:]).encode())


@given(sixes)
def test_a_page_with_unescaped_texts_is_found(chosen):
    text = page(chosen)
    assert refused({"posts": 6}, html.unescape(text).encode()) == (html.unescape(text) != text)


def test_a_page_in_another_encoding_is_found():
    chosen = [post for post in posts().values() if "é" in post.paragraphs[1]][:6]
    assert chosen
    assert refused({"posts": len(chosen)}, page(chosen).encode("utf-16"))
    assert refused({"posts": len(chosen)}, page(chosen).encode("latin-1", "replace"))
