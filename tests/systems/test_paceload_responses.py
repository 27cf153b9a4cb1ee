"""paceload and whatever a server may send: every request has exactly one end, and none is taken for what it is not."""

import time

import pytest
from hypothesis import HealthCheck, given, strategies as st

from runners.measure.conformance import build_all, full_image
from runners.systems.catalogue import Catalogue
from runners.systems.sandbox import Sandbox
from tests.conftest import examples
from tests.systems.misbehaving import LOST, report, server

pytestmark = pytest.mark.servers
# Each example runs the program for a tenth of a second and more.
few = examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
INTERIM = [b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"]
WHOLE = {
    "length": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", False),
    "empty": (b"HTTP/1.1 204 No Content\r\n\r\n", False),
    "chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nT: z\r\n\r\n",
        False,
    ),
    "closing": (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", True),
    "old": (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", True),
    "until the end": (b"HTTP/1.1 200 OK\r\n\r\nhello", True),
}
PIECES = st.sampled_from(
    [
        *(text for text, _ in WHOLE.values()),
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/9.9 000 ?\r\n\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 99999999999999999999\r\n",
        b"Content-Length: 3\r\nContent-Length: 4\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n",
        b"FFFFFFFFFFFFFFFFF\r\n",
        b"0\r\n\r\n",
        b"X: " + b"y" * 100_000,
        b"\r\n\r\n",
        b"\0",
    ]
)


@pytest.fixture(scope="module")
def sandbox():
    catalogue = Catalogue()
    artifact = build_all(catalogue, [catalogue.server("paceload")])["paceload"]
    return Sandbox(full_image(catalogue), read_only={"/build": artifact.folder})


def sending(parts, closes):
    """What a server does that sends these parts one by one, and then may close the connection."""

    def behave(connection):
        for part in parts:
            connection.sendall(part)
            if len(parts) > 1:
                time.sleep(0.001)  # else they arrive as one
        return closes

    return behave


def cut(text, places):
    """The text in parts that end at these places."""
    ends = sorted({place % len(text) for place in places} - {0})
    return [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]


@few
@given(
    kind=st.sampled_from(sorted(WHOLE)),
    interim=st.sampled_from(INTERIM),
    places=st.lists(st.integers(0, 1000), max_size=5),
    keeps=st.booleans(),
)
def test_a_right_response_is_completed_in_whatever_parts_it_comes(sandbox, kind, interim, places, keeps):
    text, closes = WHOLE[kind]
    with server(sending(cut(interim + text, places), closes or not keeps)) as port:
        found = report(sandbox, port, "--duration", "0.1", "--timeout", "10", "--keep-alive", str(int(keeps)))
    assert found["completed"] == found["scheduled"]
    assert found["read_bytes"] == found["completed"] * len(interim + text)


@few
@given(kind=st.sampled_from(sorted(set(WHOLE) - {"until the end"})), end=st.integers(0, 10**6))
def test_a_response_that_is_cut_short_is_an_error_and_never_completed(sandbox, kind, end):
    text = WHOLE[kind][0]
    with server(sending([text[: end % len(text)]], closes=True)) as port:
        found = report(sandbox, port, "--duration", "0.1", "--timeout", "10")
    assert found["completed"] == 0
    assert sum(found[name] for name in LOST) == found["scheduled"]


@few
@given(
    parts=st.lists(PIECES | st.binary(max_size=200), max_size=6), closes=st.booleans(), rate=st.sampled_from([0, 100])
)
def test_whatever_a_server_sends_each_request_has_exactly_one_end(sandbox, parts, closes, rate):
    with server(sending(parts, closes)) as port:
        report(sandbox, port, "--duration", "0.1", "--timeout", "0.1", "--rate", str(rate))


@few
@given(body=st.integers(0, 3_000_000), responds=st.booleans())
def test_a_body_that_a_server_does_not_read_to_its_end_hangs_nothing(sandbox, tmp_path, body, responds):
    (tmp_path / "body").write_bytes(b"x" * body)
    shown = Sandbox(sandbox.image, read_only={**sandbox.read_only, "/load": tmp_path})
    with server(sending([WHOLE["length"][0]] if responds else [], closes=True)) as port:
        words = ["--method", "POST", "--body", "/load/body", "--duration", "0.1", "--timeout", "0.2"]
        assert report(shown, port, *words)["scheduled"]
