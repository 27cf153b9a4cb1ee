"""The checker: a server that keeps the contract passes, and each way of breaking it is found and named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given

from runners.contract import conformance
from runners.contract.data import request_body
from tests.conftest import examples
from tests.contract.fake import RESOURCES, SERVICES, Served, serving
from tests.contract.storm import storm
from tests.contract.strategies import damaged_bodies, good_bodies

PING, DELAY, DISCARD, DECODE, ROUNDTRIP = SERVICES


def quick(base_url):
    return conformance.check(base_url, SERVICES, quick=True)


def tried(base_url, *words):
    """Findings of the vectors whose names have one of these words."""
    chosen = [vector for vector in conformance.stored() if any(word in vector.name for word in words)]
    assert chosen
    return conformance.check(base_url, SERVICES, [replace(vector, quick=True) for vector in chosen], quick=True)


def behaved(base_url, *services):
    """Findings about behaviour only."""
    return conformance.check(base_url, services, vectors=[])


def test_a_server_that_keeps_the_contract_passes():
    undelayed = [service for service in (*SERVICES, *RESOURCES) if service is not DELAY]
    with serving() as base_url:
        assert conformance.check(base_url, undelayed) == []


@pytest.mark.quiet  # it judges delays: on a busy machine a ping may take as long as one of them
def test_a_server_that_keeps_the_contract_passes_with_its_delays():
    with serving() as base_url:
        assert conformance.check(base_url, [PING, DELAY, *RESOURCES]) == []


def test_a_server_whose_echo_has_nulls_for_what_was_not_given_passes():
    with serving("echo with nulls") as base_url:
        assert quick(base_url) == tried(base_url, "operationId") == []


@pytest.mark.parametrize(
    ("fault", "difference"),
    [
        ("skips a field", "$.textBytes is 25.0 instead of 32"),
        ("accepts anything", "status 200 instead of 400"),
        ("500 for bad JSON", "status 500 instead of 400"),
        ("error is a text", "header Content-Type is 'text/plain' instead of 'application/json'"),
        ("no date", "header Date is missing"),
        ("old date", "header Date is"),
        ("wrong type", "header Content-Type is 'text/plain' instead of 'application/json'"),
        ("no length", "header Content-Length is missing"),
        ("wrong ping", "body is b'Hello World' instead of 'Hello, World!'"),
        ("wrong count", "$.bytes is 194.0 instead of 193"),
        ("no 404", "status 200 instead of 404"),
        ("echo without ids", "$.operations[0].body.operationId is missing"),
        ("echo with more", "$.operations[0].body.extra is unexpected"),
        ("echo is empty", "$.operations has 0 elements instead of 1"),
        ("crashes on surrogates", "no response: the server closed the connection"),
        ("closes", "no response: the server closed the connection on the connection kept until then"),
    ],
)
def test_the_quick_check_names_the_difference_if_a_server(fault, difference):
    with serving(fault) as base_url:
        assert any(finding.difference.startswith(difference) for finding in quick(base_url)), quick(base_url)


@pytest.mark.parametrize(
    ("fault", "words", "difference"),
    [
        ("wrong sum", ["fraction"], "$.numberSum is 3.0 instead of 3.25"),
        ("any method", ["GET instead of POST"], "status 400 instead of 405"),
        ("encoded names", ["64 accented"], "status 400 instead of 200"),
    ],
)
def test_the_full_check_names_the_difference_if_a_server(fault, words, difference):
    with serving(fault) as base_url:
        assert difference in [finding.difference for finding in tried(base_url, *words)]


# It judges delays: tests that run beside it would make short ones look long.
@pytest.mark.servers
@pytest.mark.quiet
@pytest.mark.parametrize(
    ("fault", "service", "name", "difference"),
    [
        ("no chunks", DECODE, "a chunked body is read", "status 400"),
        ("compresses", ROUNDTRIP, "a response is not compressed", "the response is compressed (gzip)"),
        ("delay is short", DELAY, "40 delays do not wait for one another", "the response came after "),
        ("delay blocks", DELAY, "40 delays do not wait for one another", "the response came only after"),
        ("random is fixed", DELAY, "12 random delays are drawn from all that is allowed", "all responses came after 1"),
    ],
)
def test_a_behaviour_is_found_that_no_single_request_shows(fault, service, name, difference):
    with serving(fault) as base_url:
        found = {finding.vector: finding.difference for finding in behaved(base_url, PING, service)}
    assert found[name].startswith(difference)


def test_a_finding_says_what_was_requested_expected_and_received():
    with serving("skips a field") as base_url:
        finding = quick(base_url)[0]
    assert (finding.vector, finding.workload, finding.codec) == ("the sample batch is accepted", "decode", "reference")
    assert finding.request == "POST /dbop/my_database_1/my_table_1"
    assert "'textBytes': 32" in finding.expected
    assert '"textBytes": 25' in finding.got
    assert str(finding) == f"{finding.request}: {finding.vector}: {finding.difference}"


def test_a_server_that_is_not_there_is_given_up_soon():
    with serving() as base_url:
        pass
    findings = conformance.check(base_url, SERVICES)
    assert 1 <= len(findings) <= 3
    assert "refused" in findings[0].difference


def test_a_path_that_is_not_served_is_found():
    with serving() as base_url:
        findings = conformance.check(base_url, [Served("decode", "/dbopnone/{db}/{table}", "none")], quick=True)
    assert {finding.difference for finding in findings} == {"status 404 instead of 200", "status 404 instead of 400"}


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.workload)
def test_one_good_request_is_compared_and_its_response_measured(service):
    body = None if service.workload.startswith("ping") else request_body(10)
    with serving() as base_url:
        probe = conformance.quick_check(base_url, service, body, {"ms": "5"})
        again = conformance.quick_check(base_url, service, body, {"ms": "5"})
    assert probe.difference is None
    assert probe == again
    assert probe.response_bytes > len(b"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n")


def test_one_good_request_is_compared_with_a_wrong_server():
    with serving("skips a field") as base_url:
        probe = conformance.quick_check(base_url, DECODE, request_body(10))
    assert probe.difference == "$.textBytes is 664.0 instead of 671"


def test_the_size_of_a_response_is_what_goes_over_the_wire():
    with serving() as base_url:
        empty, one = (conformance.quick_check(base_url, DISCARD, b"x" * size).response_bytes for size in (9, 10))
    assert one - empty == 1


def test_bad_requests_by_the_hundred_leave_a_server_as_it_was():
    with serving() as base_url:
        assert storm(base_url, SERVICES, 500) == []
    with serving("500 for bad JSON") as base_url:
        assert storm(base_url, SERVICES, 500)


def test_what_the_contract_leaves_open_is_no_finding():
    twice = b'{"operations":[],"operations":[]}'
    with serving() as base_url:
        assert conformance.agree(base_url, SERVICES, twice) == []
    with serving("500 for bad JSON") as base_url:
        assert [finding.difference for finding in conformance.agree(base_url, SERVICES, twice)] == [
            "status 500 instead of 200 or 400"
        ]


@pytest.fixture(scope="module")
def good_server():
    with serving() as base_url:
        yield base_url


@given(body=good_bodies() | damaged_bodies())
@examples(15, suppress_health_check=[HealthCheck.too_slow])
def test_a_good_server_agrees_with_the_reference_decoder_on_any_body(good_server, body):
    assert conformance.agree(good_server, SERVICES, body) == []
