"""What the contract gives to servers: the posts, the table, and the text to relay."""

from __future__ import annotations

import json
import re
import sqlite3

import pytest
from hypothesis import given, strategies as st

from runners.contract.data import ROWS_COUNT, posts, relayed, row
from runners.core.project import CONTRACT_DATA, SERVERS
from tests.contract.pages import article, page

SQL = (CONTRACT_DATA / "records.sql").read_text(encoding="utf-8")
TEXTS = [text for post in posts().values() for text in (post.title, *post.paragraphs)]


def table():
    """The table as SQL fills it; of PostgreSQL's own words, SQLite lacks one setting and one function."""
    numbers = "(WITH RECURSIVE n(id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM n WHERE id < 10000) SELECT id FROM n)"
    text = SQL.replace("SET client_encoding = 'UTF8';\n", "").replace("generate_series(1, 10000) AS id", numbers)
    database = sqlite3.connect(":memory:")
    database.executescript(text)
    return database.execute("SELECT id, number, name FROM record ORDER BY id").fetchall()


def test_the_rows_are_the_ones_that_the_database_is_filled_with():
    expected = [tuple(row(identity).values()) for identity in range(1, ROWS_COUNT + 1)]
    assert table() == expected


def test_the_readme_says_by_which_formula():
    readme = (SERVERS / "contract" / "README.md").read_text(encoding="utf-8")
    assert "`(id * 7919 + 13) % 10000 + 1`" in readme
    assert f"`{row(100)['name'].removeprefix('record 100')}`" in readme


@pytest.mark.parametrize("identity", [0, -1, ROWS_COUNT + 1])
def test_other_ids_have_no_row(identity):
    with pytest.raises(ValueError, match="the ids are"):
        row(identity)


def test_the_numbers_are_all_different_and_some_names_must_be_escaped():
    rows = [row(identity) for identity in range(1, ROWS_COUNT + 1)]
    assert {each["number"] for each in rows} == set(range(1, ROWS_COUNT + 1))
    assert sum(not re.fullmatch("record [0-9]+", each["name"]) for each in rows) == ROWS_COUNT // 100


def test_there_are_fifty_posts_with_an_image_of_their_own_and_four_paragraphs_each():
    assert len(posts()) == 50
    assert len(json.loads((CONTRACT_DATA / "posts.json").read_text(encoding="utf-8"))["posts"]) == 50
    assert len({post.image for post in posts().values()}) == 50
    assert all(len(post.paragraphs) == 4 for post in posts().values())
    assert all(re.fullmatch(r"/images/[0-9]{2}\.jpg", post.image) for post in posts().values())


def test_texts_have_no_white_space_at_their_ends():
    assert [text for text in TEXTS if not text or text != text.strip() or "\n" in text] == []


@pytest.mark.parametrize("character", "&<>\"'é–€")
def test_titles_and_paragraphs_have_characters_that_a_careless_template_spoils(character):
    assert sum(character in post.title for post in posts().values()) >= 1
    assert sum(character in text for text in TEXTS) >= 5


def test_what_is_escaped_already_must_be_escaped_again():
    assert any("&amp;" in post.title for post in posts().values())


@given(st.lists(st.sampled_from(list(posts().values())), min_size=6, max_size=6, unique=True))
def test_a_page_of_any_six_posts_has_about_ten_kilobytes(chosen):
    assert 9_000 <= len(page(chosen).encode()) <= 11_000


def test_posts_are_of_one_size_so_that_no_draw_is_more_work_than_another():
    sizes = {len(article(post).encode()) for post in posts().values()}
    assert max(sizes) - min(sizes) < 20


def test_the_text_to_relay_is_stored_as_it_is_made():
    assert (CONTRACT_DATA / "10k.txt").read_bytes() == relayed()
    assert len(relayed()) == 10_000
    assert len(set(relayed().splitlines())) == 100
