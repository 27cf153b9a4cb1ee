"""Request bodies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from runners.contract.data import request_body
from runners.contract.decoder.reference import BODY_LIMIT_BYTES, judge, receipt
from tests.conftest import examples

styles = st.sampled_from(["compact", "pretty"])
seeds = st.integers(0, 2**32)


@given(operations=st.integers(1, 300), style=styles, seed=seeds)
@examples(20)
def test_a_body_has_exactly_the_operations_that_were_requested(operations, style, seed):
    proof = receipt(request_body(operations, style, seed))
    assert (proof.operations, proof.filters, proof.read_columns) == (operations, 2 * operations, 2 * operations)


@given(operations=st.integers(1, 50), style=styles, seed=seeds)
def test_the_same_arguments_give_the_same_bytes(operations, style, seed):
    assert request_body(operations, style, seed) == request_body(operations, style, seed)


@given(operations=st.integers(1, 50), seed=seeds)
def test_both_styles_hold_the_same_batch(operations, seed):
    assert json.loads(request_body(operations, "compact", seed)) == json.loads(request_body(operations, "pretty", seed))


def test_another_seed_gives_other_values_of_the_same_length():
    one, other = request_body(100, "pretty", 1), request_body(100, "pretty", 2)
    assert one != other
    assert len(one) == len(other)


def test_operations_differ_from_one_another():
    operations = json.loads(request_body(100))["operations"]
    assert len({json.dumps(operation["body"]["operationId"]) for operation in operations}) == 100
    assert len({json.dumps(operation["body"]["filters"]) for operation in operations}) > 20


@pytest.mark.parametrize("style", ["compact", "pretty"])
def test_the_largest_body_is_within_the_limit(style):
    body = request_body(4096, style)
    assert len(body) <= BODY_LIMIT_BYTES
    assert judge(body).statuses == {200}


def test_the_limit_is_where_the_contract_says_because_of_the_largest_body():
    assert len(request_body(4096, "pretty")) > 2 * 1024 * 1024


def test_ten_pretty_operations_are_about_five_kilobytes():
    assert 4500 < len(request_body(10, "pretty")) < 6000


def test_a_pretty_body_is_indented_by_two_spaces_and_a_compact_one_has_no_whitespace():
    lines = request_body(1, "pretty").decode().splitlines()
    assert lines[1] == '  "operations": ['
    assert b" " not in request_body(1, "compact")


@pytest.mark.parametrize("operations", [0, -1, 4097])
def test_a_batch_out_of_bounds_is_refused_with_the_bounds(operations):
    with pytest.raises(ValueError, match=f"1 to 4096 operations, not {operations}"):
        request_body(operations)


def test_an_unknown_style_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="compact, pretty, not 'tidy'"):
        request_body(1, "tidy")  # type: ignore[arg-type]
