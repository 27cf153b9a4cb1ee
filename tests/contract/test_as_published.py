"""Workloads that are held to some JSON only: what is still required of them, and what is not."""

import pytest

from runners.contract import conformance
from runners.contract.data import request_body
from runners.contract.runner import contract_request
from runners.contract.vectors.golden import AS_PUBLISHED
from runners.core.records import Workload
from tests.contract.fake import RESOURCES, Served, serving
from tests.contract.storm import storm

FAULTY = tuple(
    Served(workload, path, "reference")
    for workload, path in zip(AS_PUBLISHED, ("/dbop/{db}/{table}", "/dbop/{db}/{table}/echo"), strict=True)
)
EQUAL = (
    Served("decode", "/dbop/{db}/{table}", "reference"),
    Served("roundtrip", "/dbop/{db}/{table}/echo", "reference"),
)


@pytest.mark.parametrize("fault", ["skips a field", "accepts anything", "echo is empty"])
def test_what_equal_work_forbids_is_let_pass_under_these_names_only(fault):
    with serving(fault) as base_url:
        assert conformance.check(base_url, [*FAULTY, *RESOURCES]) == []
        assert conformance.agree(base_url, FAULTY, b"{") == storm(base_url, FAULTY, 100) == []
        assert conformance.check(base_url, EQUAL, quick=True) != []


@pytest.mark.parametrize(
    ("fault", "difference"), [("no date", "header Date is missing"), ("no length", "header Content-Length is missing")]
)
def test_the_headers_are_required_all_the_same(fault, difference):
    with serving(fault) as base_url:
        assert difference in str(conformance.check(base_url, FAULTY, quick=True)[0])


def test_an_answer_that_is_no_json_is_found():
    with serving("wrong ping") as base_url:
        probe = conformance.quick_check(base_url, Served("decode-as-published", "/ping"), request_body(1))
        assert probe.difference is not None


@pytest.mark.parametrize("workload", ["decode", "roundtrip"])
def test_the_request_is_that_of_equal_work_to_the_byte(workload):
    sent = [
        contract_request("/x/{db}", Workload(name, operations=10), "pretty", 3)
        for name in (workload, f"{workload}-as-published")
    ]
    assert sent[0] == sent[1]
