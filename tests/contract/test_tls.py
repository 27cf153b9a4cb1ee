"""JSON over TLS: version 1.3 alone, the certificate of this machine, connections that close, and sessions that are resumed."""

import ssl

import pytest

from runners.contract import conformance
from runners.systems import certificate
from tests.contract.fake import Served, serving

KEPT, NEW, RESUMED = (Served(name, "/json") for name in ("tls", "tls-new", "tls-resumed"))
PLAIN_NEW = Served("json-new", "/json")


def settings(folder, least=ssl.TLSVersion.TLSv1_3, tickets=2):
    """The settings of a server, by default as the contract requires them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    context.minimum_version = least
    context.num_tickets = tickets
    return context


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return certificate.certificate_folder()


def differences(tls, *faults, services=(KEPT, NEW, RESUMED)):
    with serving() as base_url, serving(*faults, tls=tls) as tls_url:
        return {str(each) for each in conformance.check(base_url, services, tls_url=tls_url)} - {
            "GET /: GET / is unknown: status 200 instead of 404"
        }


def test_a_server_that_keeps_the_contract_is_found_right(folder):
    assert differences(settings(folder)) == set()


def test_an_older_version_is_found(folder):
    (found,) = differences(settings(folder, least=ssl.TLSVersion.TLSv1_2))
    assert "it connects with TLS 1.2" in found


def test_sessions_that_are_not_resumed_are_found(folder):
    (found,) = differences(settings(folder, tickets=0))
    assert "it made a full handshake" in found
    assert differences(settings(folder, tickets=0), services=(KEPT, NEW)) == set()


def test_another_certificate_than_that_of_the_machine_is_found(folder, tmp_path, monkeypatch):
    own = settings(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    certificate.certificate_folder()
    found = differences(own, services=(KEPT,))
    assert found
    assert all("certificate verify failed" in each for each in found)


def test_a_connection_that_is_kept_although_it_should_close_is_found(folder):
    found = differences(settings(folder), "keeps what is to be closed", services=(NEW,))
    assert any("the connection is not closed" in each for each in found)
    with serving("keeps what is to be closed") as base_url:
        assert conformance.quick_check(base_url, PLAIN_NEW).difference == "the connection is not closed"
    with serving() as base_url:
        assert conformance.quick_check(base_url, PLAIN_NEW).difference is None


def test_a_wrong_body_is_found_over_tls(folder):
    found = differences(settings(folder), "stale time", services=(KEPT,))
    assert any("$.ts is 3.0 s old" in each for each in found)


def test_the_trial_s_own_check_goes_over_tls(folder):
    with serving(tls=settings(folder)) as tls_url:
        assert conformance.quick_check(tls_url, RESUMED).difference is None
