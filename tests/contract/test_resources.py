"""Text, JSON, SQL, HTML and relayed text: the right responses pass, and each wrong one is found and named."""

from __future__ import annotations

from collections import Counter

import pytest

from runners.contract import conformance, responses as responses
from runners.contract.runner import contract_request
from runners.core.records import Workload
from tests.contract.fake import RESOURCES, Served, serving

SERVED = {service.workload: service for service in reversed(RESOURCES)}


def quick_difference(workload, *faults, count=None):
    """What the check before and after every measurement says."""
    with serving(*faults) as base_url:
        return conformance.quick_check(base_url, SERVED[workload], count=count).difference


def full_differences(workload, *faults):
    """What the full check says."""
    with serving(*faults) as base_url:
        return {finding.difference for finding in conformance.check(base_url, [SERVED[workload]])}


def test_the_root_is_unknown_to_a_server_that_does_not_serve_it():
    with serving() as base_url:
        findings = conformance.check(base_url, [SERVED["json"]])
    assert [str(finding) for finding in findings] == ["GET /: GET / is unknown: status 200 instead of 404"]


def test_a_proxy_that_only_relays_gets_no_request_for_paths_of_its_own():
    assert full_differences("relay", "no 404") == set()


@pytest.mark.parametrize(
    ("workload", "fault", "difference"),
    [
        ("text", "text without newline", "body is b'Hello, world!' instead of 'Hello, world!\\n'"),
        ("text", "no length", "header Content-Length is missing"),
        ("json", "stale time", "$.ts is 3.0 s old"),
        ("json", "time of the start", "the response is the same to each request"),
        ("json", "time without fraction", "the response is the same to each request"),
        ("json", "offset of zero", "$.ts is '"),
        ("json", "other message", "$.message is 'Hello, World!' instead of 'Hello, world!'"),
        ("json", "a member more", "$.extra is unexpected"),
        ("json", "wrong type", "header Content-Type is 'text/plain' instead of 'application/json'"),
        ("sql1", "T in the time", "$.ts is '"),
        ("sql1", "database away", "status 503 instead of 200"),
        ("sql2", "repeated ids", "only 19 of the 20 ids are distinct"),
        ("sql2", "a wrong row", "$[19].number is "),
        ("sql2", "numbers as texts", "$[19].number is '"),
        ("sql2", "an id beyond", "$[0].id is 10001.0 instead of a whole number from 1 to 10000"),
        ("sql2", "a row is missing", "$ is 19 elements instead of 20 rows"),
        ("sql2", "the same rows", "the response is the same to each request"),
        ("json10", "a number out of range", "$.Test Number 10 is 1000.0 instead of a whole number from 0 to 999"),
        ("json10", "a number with a fraction", "$.Test Number 1 is "),
        ("json10", "nine numbers", "$.Test Number 9 is missing"),
        ("json10", "eleven numbers", "$.Test Number 11 is unexpected"),
        ("json10", "the same numbers", "the response is the same to each request"),
        ("json1000", "an object is missing", "$ is 99 elements instead of 100 objects"),
        ("json1000", "a number less", "$[99].Test Number 10 is missing"),
        ("json1000", "the same numbers", "the response is the same to each request"),
        ("json1000", "always compresses", "the response is compressed (gzip)"),
        ("json1000", "no Vary", "header Vary does not name Accept-Encoding"),
        ("gzip", "no Vary", "header Vary does not name Accept-Encoding"),
        ("gzip", "never compresses", "the response is not compressed (identity)"),
        ("gzip", "compresses little", "the body has "),
        ("gzip", "padded", "the body is not one whole gzip member"),
        ("gzip", "a cut member", "the body is not one whole gzip member"),
        ("gzip", "no gzip", "the body b'x"),
        ("gzip", "an object is missing", "$ is 99 elements instead of 100 objects"),
        ("gzip", "the same numbers", "the "),
        ("blog", "five posts", "the page has 5 posts instead of 6"),
        ("blog", "a post twice", "only 5 of the 6 posts are distinct"),
        ("blog", "the same page", "the response is the same to each request"),
        ("blog", "another heading", "the page has '=A blog' instead of '=A blog of six posts'"),
        ("blog", "a comment", "the page has '<!-- posts -->' instead of '<article>'"),
        ("blog", "text between", "the page has '=.\\n' instead of '<article>'"),
        ("blog", "white space in a title", "the page has '= A blog of six posts' instead of '=A blog of six posts'"),
        ("blog", "no doctype", "the page has '<html lang=\"en\">' instead of '<!doctype html>'"),
        ("blog", "something after the end", "the page has '<p>' after its end"),
        ("blog", "a paragraph is empty", "the page has '<p>' instead of '<h2>'"),
        ("blog", "no charset", "header Content-Type is 'text/html', without charset=utf-8"),
        ("relay", "one byte less", "body has 9999 bytes instead of 10000"),
        ("relay", "a line twice", "body differs from byte 4107 on: b'3 of a short text th'"),
    ],
)
def test_one_request_or_two_name_the_difference_if_a_server_has(workload, fault, difference):
    # Two requests may stand on either side of a full second, or far apart on a busy machine; ten such pairs do not.
    found = (str(quick_difference(workload, fault)) for _ in range(10))
    assert any(text.startswith(difference) for text in found)
    assert quick_difference(workload) is None


@pytest.mark.parametrize(
    ("workload", "fault", "difference"),
    [
        ("json", "time with one digit", " of 24 responses repeat others"),
        ("sql2", "rows in a row", "500 numbers are all from "),
        ("sql2", "the same rows", "23 of 24 responses repeat others"),
        ("sql2", "zeros before a count", "status 200 instead of 400"),
        ("sql2", "any count", "status 200 instead of 400"),
        ("sql2", "error is a text", "header Content-Type is 'text/plain' instead of 'application/json'"),
        ("sql2", "names in Latin-1", "$["),
        ("json10", "small numbers", "480 numbers are all from "),
        ("json10", "any method", "status 200 instead of 405"),
        ("blog", "posts never shown", "1 posts were never shown, such as 'Ten Kilometres & One Excuse'"),
        ("blog", "titles are not escaped", ""),
        ("blog", "escaped twice", ""),
        ("blog", "greater is not escaped", "> is not escaped in "),
        ("blog", "less is not escaped", "< is not escaped in "),
        ("blog", "quotes in attributes are not escaped", "the page has '<img "),
        ("blog", "an image is missing", "the page has '<i src="),
    ],
)
def test_many_requests_name_the_difference_if_a_server_has(workload, fault, difference):
    found = full_differences(workload, fault) - {"status 200 instead of 404"}
    assert any(difference in each for each in found), found


@pytest.mark.parametrize("count", [1, 20, 500])
def test_so_many_rows_are_expected_as_were_requested(count):
    assert quick_difference("sql2", count=count) is None
    missing = f"$ is {count - 1} elements instead of {count} rows"
    assert quick_difference("sql2", "a row is missing", count=count) == missing


def test_without_its_database_a_server_refuses_what_needs_one_and_nothing_else():
    with serving("database away") as base_url:
        assert [str(finding) for finding in conformance.check_without_backend(base_url, RESOURCES)] == []


@pytest.mark.parametrize(
    ("faults", "difference"),
    [
        (["database away", "500 without database"], "status 500 instead of 503"),
        (["database away", "time of the start", "text without newline"], "body is b'Hello, world!'"),
        ([], "status 200 instead of 503"),
    ],
)
def test_without_its_database_the_difference_is_named(faults, difference):
    with serving(*faults) as base_url:
        found = {finding.difference for finding in conformance.check_without_backend(base_url, RESOURCES)}
    assert any(each.startswith(difference) for each in found), found


def test_a_server_that_takes_long_to_notice_that_its_database_is_away_is_named(monkeypatch):
    monkeypatch.setattr(responses, "_SOON_S", 0.1)
    with serving("database away", "slow to say so") as base_url:
        found = {finding.difference for finding in conformance.check_without_backend(base_url, [SERVED["sql1"]])}
    assert any(each.startswith("the response came only after 0.") for each in found), found


def test_a_load_generator_requests_the_rows_of_the_workload():
    workload = Workload("sql2", count=20)
    assert workload.label == "sql2-20"
    request = contract_request("/sql2", workload, "pretty", 1)
    assert (request.method, request.path, request.body) == ("GET", "/sql2?count=20", b"")
    assert contract_request("/sql2", Workload("sql2"), "pretty", 1).path == "/sql2"


def test_what_accept_encoding_says_decides_about_compression():
    assert full_differences("gzip") - {"status 200 instead of 404"} == set()
    assert full_differences("json1000") - {"status 200 instead of 404"} == set()
    assert "the response is not compressed (identity)" in full_differences("gzip", "never compresses")
    assert "the response is compressed (gzip)" in full_differences("json1000", "always compresses")


MIXED = Served("mixed", "/dbop/{db}/{table}")


def mix_probe(*faults):
    """What the check before and after every load of the mix says."""
    body = contract_request(MIXED.path, Workload("mixed"), "pretty", 1).posted
    with serving(*faults) as base_url:
        return conformance.quick_check(base_url, MIXED, body)


def test_a_mix_is_verified_part_by_part_and_has_the_size_of_its_average_response():
    probe = mix_probe()
    assert probe.difference is None
    # A page is some 7 kB, twenty rows are 1.2 kB, and the rest is small.
    assert 500 < probe.body_bytes < 2000
    assert probe.body_bytes < probe.response_bytes


@pytest.mark.parametrize(
    ("fault", "difference"),
    [
        ("text without newline", "text: body is b'Hello, world!'"),
        ("skips a field", "decode: $.textBytes is "),
        ("five posts", "blog: the page has 5 posts instead of 6"),
        ("database away", "sql2: status 503 instead of 200"),
        ("a row is missing", "sql2: $ is 19 elements instead of 20 rows"),
    ],
)
def test_a_wrong_part_of_a_mix_is_named(fault, difference):
    assert mix_probe(fault).difference.startswith(difference)


def test_a_mix_is_a_seeded_sequence_in_which_each_round_has_the_shares_of_the_contract():
    request, again, other = (contract_request(MIXED.path, Workload("mixed"), "pretty", seed) for seed in (1, 1, 2))
    assert request == again
    assert request.mix.sequence != other.mix.sequence
    rounds = [Counter(request.mix.sequence[start : start + 20]) for start in range(0, 1000, 20)]
    assert all(each == {"text": 6, "json": 6, "decode": 5, "blog": 2, "sql2": 1} for each in rounds)
    assert request.mix.requests["sql2"].path == "/sql2?count=20"
    assert request.mix.requests["decode"].body == request.posted
    assert "25% /dbop/my_database_1/my_table_1" in request.path


def test_a_path_that_is_not_served_is_found():
    with serving() as base_url:
        assert conformance.quick_check(base_url, Served("blog", "/log")).difference == "status 404 instead of 200"
