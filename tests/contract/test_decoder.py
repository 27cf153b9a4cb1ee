"""The reference decoder, compared with plain `json` on random batches, and on what `json` lets pass."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, strategies as st

from runners.contract.decoder.reference import decode, judge, normalised, receipt
from runners.contract.decoder.strict_json import ContractError, parse
from runners.contract.vectors.accepted import SAMPLE, sample, with_values
from tests.contract.strategies import damaged_bodies, good_bodies


def counted(batch):
    """The receipt of a batch, reckoned again from plain JSON."""
    bodies = [operation["body"] for operation in batch["operations"]]
    filters = [each for body in bodies for each in body["filters"]]
    columns = [each for body in bodies for each in body.get("readColumns") or []]
    texts = [operation[name] for operation in batch["operations"] for name in ("method", "relative-url")]
    texts += [body.get("operationId") for body in bodies]
    texts += [each[name] for each in filters for name in ("column", "value")]
    texts += [each.get(name) for each in columns for name in ("column", "dataReturnType")]
    number_sum = 0.0
    for each in filters:
        if type(each["value"]) in (int, float):
            number_sum += float(each["value"])
    return {
        "operations": len(batch["operations"]),
        "filters": len(filters),
        "readColumns": len(columns),
        "nulls": sum(each["value"] is None for each in filters),
        "textBytes": sum(len(text.encode()) for text in texts if isinstance(text, str)),
        "numberSum": number_sum,
    }


@given(good_bodies())
def test_the_receipt_of_any_good_batch_is_that_of_plain_json(body):
    assert receipt(body).as_json() == counted(json.loads(body))


@given(good_bodies())
def test_a_normalised_batch_is_decoded_to_itself(body):
    batch = decode(body)
    assert decode(json.dumps(normalised(batch)).encode()) == batch


@given(good_bodies())
def test_a_normalised_batch_has_what_was_sent_but_for_nulls_and_unknown_members(body):
    sent, kept = json.loads(body), normalised(decode(body))
    for before, after in zip(sent["operations"], kept["operations"], strict=True):
        assert after["relative-url"] == before["relative-url"]
        assert after["body"].get("operationId") == before["body"].get("operationId")
        assert ("readColumns" in after["body"]) == (before["body"].get("readColumns") is not None)
        for one, other in zip(before["body"]["filters"], after["body"]["filters"], strict=True):
            assert other == {"column": one["column"], "value": one["value"]} or isinstance(one["value"], int)


@given(damaged_bodies())
def test_a_damaged_body_is_judged_and_what_json_refuses_is_refused(body):
    statuses = judge(body).statuses
    assert statuses <= {200, 400}
    try:
        json.loads(body)
    except ValueError:
        assert statuses == {400}


@given(st.binary(max_size=200))
def test_any_bytes_are_judged(body):
    assert judge(body).statuses == {400}


@pytest.mark.parametrize("lenient", ["NaN", "Infinity", "-Infinity", '"\\ud800"', "1e400", "9" * 400])
def test_what_plain_json_lets_pass_is_refused_as_a_value(lenient):
    json.loads(lenient)
    with pytest.raises(ContractError):
        decode(with_values(lenient).encode())


def test_text_in_other_encodings_is_refused_though_plain_json_guesses_them():
    for encoding in ("utf-16", "utf-32", "utf-8-sig"):
        assert json.loads(SAMPLE.encode(encoding))
        assert judge(SAMPLE.encode(encoding)).statuses == {400}


def test_the_limits_of_the_interpreter_are_not_met():
    assert judge(b"[" * 1_000_000).reason == "nested beyond 128 levels"
    assert judge(b'{"a":' * 100_000).reason == "nested beyond 128 levels"
    assert parse(b"9" * 100_000).root == math.inf
    assert parse(b"1" + b"0" * 10_000 + b"e-10000").root == 1.0


def test_brackets_in_texts_are_no_levels():
    assert judge(with_values('"' + "[{" * 200 + r"\"[" + '"').encode()).statuses == {200}


@pytest.mark.parametrize(("levels", "statuses"), [(127, {200}), (128, {400})])
def test_the_levels_are_counted_from_the_root(levels, statuses):
    text = sample('{"operations"', f'{{"x":{"[" * levels}{"]" * levels},"operations"')
    assert judge(text.encode()).statuses == statuses


def test_the_limit_of_a_body_comes_before_its_contents():
    assert judge(b"[" * (4 * 1024 * 1024 + 1)).statuses == {413}
    assert judge(SAMPLE.encode().ljust(4 * 1024 * 1024)).statuses == {200}


def test_a_verdict_says_why():
    assert judge(sample('"POST"', '"GET"').encode()).reason == "method is not POST"
    assert judge(with_values("[]").encode()).reason == "value is an object or an array"
    assert judge(b"\xff").reason == "invalid UTF-8 at byte 0"


def test_repeated_members_are_left_open_unless_the_text_is_malformed():
    assert judge(b'{"operations":1,"operations":2}').statuses == {200, 400}
    assert judge(b'{"operations":1,"operations":2').statuses == {400}
    assert judge(b'{"x":{"y":1,"\\u0079":1}}').statuses == {200, 400}


def test_an_overflow_that_is_ignored_is_left_open_but_the_rest_is_compared():
    verdict = judge(sample('{"operations"', '{"x":1e999,"operations"').encode())
    assert verdict.statuses == {200, 400}
    assert verdict.receipt == receipt(SAMPLE.encode())
    assert judge(sample('{"operations"', '{"x":1e999,"Operations"').encode()).statuses == {400}
