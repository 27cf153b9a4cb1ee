"""The handlers as published: they respond, they have the flaws that they are there for, and they are refused as equal work."""

from contextlib import ExitStack

import pytest

from runners.contract.conformance import check, quick_check
from runners.contract.data import request_body
from runners.contract.vectors.golden import AS_PUBLISHED
from runners.systems.catalogue import Catalogue
from tests import plain_http

pytestmark = pytest.mark.servers
SERVICES = [
    (server.name, service)
    for server in Catalogue().servers.values()
    for service in server.serves
    if service.workload in AS_PUBLISHED
]
IDS = [f"{name}+{service.codec}, {service.workload}" for name, service in SERVICES]
BATCH = request_body(10)


@pytest.fixture(scope="module")
def urls(launch):
    """Server → its URL; each is launched once."""
    with ExitStack() as stack:
        processes = [stack.enter_context(launch(name)) for name in dict.fromkeys(name for name, _ in SERVICES)]
        yield {process.artifact.server.name: process.url for process in processes}


def post(url, service, body):
    path = service.path.replace("{db}", "d").replace("{table}", "t")
    return plain_http.post(f"{url}{path}", content=body)


def path_of(codec):
    return next((name, service) for name, service in SERVICES if service.codec == codec)


@pytest.mark.parametrize(("name", "service"), SERVICES, ids=IDS)
def test_a_batch_of_any_size_gets_some_json(urls, name, service):
    for operations in (1, 9, 10, 100):
        assert quick_check(urls[name], service, request_body(operations)).difference is None


@pytest.mark.parametrize(("name", "service"), SERVICES, ids=IDS)
def test_it_is_refused_under_the_name_of_equal_work(urls, name, service):
    as_equal = service.model_copy(update={"workload": service.workload.removesuffix("-as-published")})
    assert quick_check(urls[name], as_equal, BATCH).difference
    assert check(urls[name], [as_equal], quick=True)


@pytest.mark.parametrize(("name", "service"), SERVICES, ids=IDS)
def test_a_body_that_is_no_json_does_not_end_it(urls, name, service):
    for body in (b"", b"{", b"[]", b'{"operations":3}', b'{"operations":[{"body":7}]}', b"\xff" * 100):
        assert post(urls[name], service, body).status_code in (200, 400)
    assert post(urls[name], service, BATCH).status_code == 200


def encoded(urls, codec, body):
    """What the round trip of a codec says that it encoded."""
    found = [pair for pair in SERVICES if (pair[1].codec, pair[1].workload) == (codec, "roundtrip-as-published")]
    (name, service) = found[0]
    response = post(urls[name], service, body).json()
    return response["encodedOperations"], response["encodedBytes"]


def test_the_round_trip_of_simdjson_encodes_no_operation_of_any_batch(urls):
    sizes = {encoded(urls, "simdjson", request_body(operations)) for operations in (1, 10, 100)}
    assert len(sizes) == 1
    assert sizes.pop()[0] == 0


def test_the_round_trip_of_glaze_encodes_a_dummy_of_the_same_length_whatever_the_values(urls):
    longer = BATCH.replace(b'"col0"', b'"a_much_longer_column"')
    assert longer != BATCH
    assert encoded(urls, "glaze", longer) == encoded(urls, "glaze", BATCH)
    lengths = [encoded(urls, "glaze", request_body(operations)) for operations in (1, 2, 3)]
    assert [operations for operations, _ in lengths] == [1, 2, 3]
    assert 0 < lengths[1][1] - lengths[0][1] == lengths[2][1] - lengths[1][1]


def test_only_the_handler_that_validates_refuses_an_empty_column(urls):
    bad = BATCH.replace(b'"id0"', b'""', 1)
    assert bad != BATCH
    statuses = {
        codec: post(urls[path_of(codec)[0]], path_of(codec)[1], bad).status_code
        for codec in ("encoding/json", "unvalidated", "glaze")
    }
    assert statuses == {"encoding/json": 400, "unvalidated": 200, "glaze": 200}


def test_gin_serves_the_published_handlers_and_one_without_validation():
    served = [(service.codec, service.workload) for name, service in SERVICES if name == "gin-as-published"]
    assert sorted(served) == [
        ("encoding/json", "decode-as-published"),
        ("encoding/json", "roundtrip-as-published"),
        ("simdjson-go", "decode-as-published"),
        ("unvalidated", "decode-as-published"),
    ]


@pytest.mark.parametrize(
    ("was", "becomes", "statuses"),
    [
        (b'"id0"', b'""', (400, 200)),
        (b'"POST"', b'"GET"', (400, 200)),
        (b'"value": "', b'"value": 1, "x": "', (400, 200)),
        (b'"col0"', b'""', (200, 200)),  # the published tags do not reach into readColumns
    ],
)
def test_gin_s_binding_validates_and_simdjson_go_does_not(urls, was, becomes, statuses):
    bad = BATCH.replace(was, becomes, 1)
    assert bad != BATCH
    found = [post(urls["gin-as-published"], path_of(codec)[1], bad) for codec in ("encoding/json", "simdjson-go")]
    assert tuple(response.status_code for response in found) == statuses


def test_gin_responds_ok_to_decode_and_to_the_round_trip_that_it_does_not_send(urls):
    for name, service in SERVICES:
        if name == "gin-as-published":
            assert post(urls[name], service, BATCH).content == b'"OK"'


@pytest.mark.parametrize(
    ("sent", "instead", "statuses"),
    [
        (b'"readColumns": [', b'"readColumns": [7, ', {"simdjson": 400, "glaze": 400, "yyjson": 400}),
        (b'"column": "col0"', b'"column": 7', {"simdjson": 200, "glaze": 400, "yyjson": 400}),
        (b'"value": "0"', b'"value": 0', {"simdjson": 200, "glaze": 400, "yyjson": 400}),
        (b'"value": "0"', b'"value": "\\ud800"', {"simdjson": 200, "glaze": 400, "yyjson": 400}),
        (b'"method": "POST"', b'"method": "\\ud800"', {"simdjson": 400, "glaze": 400, "yyjson": 400}),
        (b'"method": "POST"', b'"method": "GET"', {"simdjson": 200, "glaze": 200, "yyjson": 200}),
    ],
    ids=[
        "a read column that is no object",
        "a column that is no string",
        "a value that is no string",
        "a value with a wrong escape",
        "a method with a wrong escape",
        "another method",
    ],
)
def test_every_field_is_read_and_no_value_validated(urls, sent, instead, statuses):
    """simdjson reads each member, but takes `value` and `dataReturnType` as they are and accepts a wrong column."""
    body = BATCH.replace(sent, instead, 1)
    assert body != BATCH
    found = {codec: post(urls[path_of(codec)[0]], path_of(codec)[1], body).status_code for codec in statuses}
    assert found == statuses
