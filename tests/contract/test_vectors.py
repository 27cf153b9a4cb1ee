"""The golden vectors, and the OpenAPI document beside them."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import yaml
from hypothesis import given
from jsonschema import Draft202012Validator

from runners.contract.conformance import stored
from runners.contract.data import request_body
from runners.contract.decoder.reference import BODY_LIMIT_BYTES, judge, normalised
from runners.contract.responses import echo_difference
from runners.contract.vectors.golden import golden
from runners.contract.vectors.model import AS_SENT, PATH, dump, for_batch
from runners.core.workloads import WORKLOADS
from tests.contract.strategies import good_bodies

OPENAPI = yaml.safe_load((PATH.parent / "openapi.yaml").read_text(encoding="utf-8"))
SCHEMAS = OPENAPI["components"]["schemas"]
EVERY_WORKLOAD = set(WORKLOADS)
BATCHES = [vector for vector in stored() if vector.workloads == ("decode", "roundtrip") and "body" in vector.request]
GOOD = [vector for vector in BATCHES if vector.statuses == {200} and not vector.request.get("parameters")]


def validator(name):
    """The validator of one of the schemas, with its references."""
    return Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": {"schemas": SCHEMAS}})


def test_the_stored_vectors_are_up_to_date():
    assert PATH.read_text(encoding="utf-8") == dump(golden()), "write them: python -m runners.contract --write-vectors"


def test_every_vector_has_a_name_of_its_own():
    assert [name for name, count in Counter(vector.name for vector in stored()).items() if count > 1] == []


def test_the_quick_vectors_are_few_and_cover_every_workload_but_delays():
    quick = [vector for vector in stored() if vector.quick]
    assert len(quick) < 40
    assert {workload for vector in quick for workload in vector.workloads} == EVERY_WORKLOAD - {"ping-delay"}


def test_every_kind_of_answer_is_expected_by_some_vector():
    assert set().union(*(vector.statuses for vector in stored())) == {200, 400, 404, 405, 413, 503}


def test_a_vector_that_the_reference_decoder_disagrees_with_is_not_written():
    with pytest.raises(ValueError, match="the reference decoder says"):
        for_batch("an empty body is accepted", "", 200)


def test_the_stored_expectations_are_those_of_the_reference_decoder():
    for vector in BATCHES:
        verdict = judge(vector.body)
        assert verdict.statuses == vector.statuses, vector.name
        if verdict.batch is not None:
            assert verdict.receipt.as_json() == vector.expect["receipt"], vector.name
            echo = json.loads(vector.body) if vector.expect["echo"] == AS_SENT else vector.expect["echo"]
            assert echo_difference(normalised(verdict.batch), json.dumps(echo).encode()) is None, vector.name


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_is_one_of_2020_12(name):
    Draft202012Validator.check_schema(SCHEMAS[name])


def test_every_reference_in_the_openapi_document_leads_somewhere():
    def references(node):
        if isinstance(node, dict):
            yield from [node["$ref"]] if "$ref" in node else []
            for member in node.values():
                yield from references(member)
        elif isinstance(node, list):
            for element in node:
                yield from references(element)

    for reference in references(OPENAPI):
        target = OPENAPI
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]


def test_the_examples_are_valid():
    for name, schema in SCHEMAS.items():
        for example in schema.get("examples", []):
            validator(name).validate(example)


def test_accepted_batches_their_receipts_and_echoes_fit_the_schemas():
    batch, receipt, echo = validator("Batch"), validator("Receipt"), validator("Echo")
    for vector in GOOD:
        batch.validate(json.loads(vector.body))
        receipt.validate(vector.expect["receipt"])
        echo.validate(json.loads(vector.body) if vector.expect["echo"] == AS_SENT else vector.expect["echo"])


def test_well_formed_batches_of_wrong_types_and_bounds_do_not_fit_the_schema():
    batch = validator("Batch")
    words = ("instead of", "must not be missing", "4097", "the method", "does not stand for", "no operations")
    for vector in BATCHES:
        if any(word in vector.name for word in words) and vector.statuses == {400}:
            assert not batch.is_valid(json.loads(vector.body)), vector.name


@given(good_bodies())
def test_any_good_batch_fits_the_schema_and_so_does_its_echo(body):
    validator("Batch").validate(json.loads(body))
    verdict = judge(body)
    validator("Echo").validate(normalised(verdict.batch))
    validator("Receipt").validate(verdict.receipt.as_json())


@pytest.mark.parametrize("style", ["compact", "pretty"])
def test_generated_bodies_fit_the_schema(style):
    validator("Batch").validate(json.loads(request_body(100, style)))


def test_an_echo_with_unknown_members_does_not_fit_its_schema():
    echo = json.loads(request_body(1))
    assert validator("Echo").is_valid(echo)
    echo["operations"][0]["body"]["filters"][0]["extra"] = 1
    assert not validator("Echo").is_valid(echo)


def test_the_limits_of_the_document_are_those_of_the_reference_decoder():
    assert SCHEMAS["Discarded"]["properties"]["bytes"]["maximum"] == BODY_LIMIT_BYTES
