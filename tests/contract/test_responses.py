"""How two JSON values differ."""

from __future__ import annotations

import pytest

from runners.contract.responses import echo_difference, first_difference


@pytest.mark.parametrize(
    ("expected", "got", "difference"),
    [
        (1, 1.0, None),
        (0.0, -0.0, None),
        (True, 1, "$ is 1 instead of True"),
        (1, True, "$ is True instead of 1"),
        (None, 0, "$ is 0 instead of None"),
        ("1", 1, "$ is 1 instead of '1'"),
        ([], {}, "$ is {} instead of []"),
        ([], [], None),
        ([1, 2], [1, 3], "$[1] is 3 instead of 2"),
        ([1, 2], [1], "$ has 1 elements instead of 2"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "$.a.b is 2 instead of 1"),
        ({"a": 1}, {}, "$.a is missing"),
        ({}, {"a": None}, "$.a is unexpected"),
        (0.1 + 0.2, 0.3, "$ is 0.3 instead of 0.30000000000000004"),
    ],
)
def test_the_first_difference_is_named_with_its_place(expected, got, difference):
    assert first_difference(expected, got) == difference


@pytest.mark.parametrize(
    ("body", "difference"),
    [
        (b'{"operations":[]}', None),
        (b'{"operationId":null,"operations":[]}', None),
        (b'{"operations":[],"other":null}', "$.other is unexpected"),
        (b'{"operations":[],"operations":[]}', "the echo has a member twice"),
        (b'{"operations":["\xff"]}', "the echo is refused by the reference decoder: invalid UTF-8 at byte 16"),
    ],
)
def test_an_echo_may_have_nulls_for_what_was_not_given_and_nothing_else(body, difference):
    assert echo_difference({"operations": []}, body) == difference
