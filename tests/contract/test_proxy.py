"""What a proxy is tried with: one that relays passes, and each fault is found by just the cases that are about it."""

import psutil
import pytest

from runners.contract.proxy import cases as relay_cases, rig as relay_rig
from runners.contract.proxy.cases import CASES
from runners.contract.proxy.check import check
from runners.contract.proxy.rig import Proxy, RigBackend
from tests.contract import fake_relay
from tests.contract.fake_relay import relay_with

SAME = "the same bytes arrive, both ways"
LARGE = "10 MiB go each way at once"
MANY = "200 connections live side by side"
IDLE = "a connection works after 5 s without a byte"
DOWN = "without a backend the client's connection is closed"
RETURNS = "a backend that returns is reached again"
CLIENT_HALF = "a client that has ended its side still receives the whole response"
BACKEND_HALF = "a backend that has ended its side still receives everything"
CLIENT_RESETS = "the backend sees that the client resets"
BACKEND_RESETS = "the client sees that the backend resets"
FIRST = "a backend that speaks first is heard"
SLOW = "a slow reader does not make it grow"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    for module in (relay_cases, relay_rig):
        monkeypatch.setattr(module, "PATIENCE_S", 2.0)
    monkeypatch.setattr(relay_cases, "_IDLE_S", 0.05)


def findings(fault=""):
    with RigBackend() as backend, relay_with(backend.port, fault) as port:
        return {found.case: found for found in check(Proxy(port, backend, lambda: psutil.Process().memory_info().rss))}


def test_a_proxy_that_relays_passes_every_case():
    assert findings() == {}


@pytest.mark.parametrize(
    ("fault", "cases", "difference"),
    [
        ("drops half-closed connections", [CLIENT_HALF, BACKEND_HALF], "the connection ended"),
        ("changes a byte", [SAME, LARGE, RETURNS, BACKEND_HALF], "arrived changed"),
        ("hangs without a backend", [DOWN], "the client saw no end within 2 s"),
        ("few connections", [MANY], "no connection to the backend within 2 s"),
        ("says nothing of resets", [CLIENT_RESETS, BACKEND_RESETS], "saw no end within 2 s"),
        ("connects late", [FIRST], "no connection to the backend within 2 s"),
        ("keeps everything", [SLOW], "its memory grew by"),
    ],
)
def test_a_fault_is_found_by_the_cases_that_are_about_it_and_by_no_other(fault, cases, difference):
    found = findings(fault)
    assert list(found) == cases
    assert all(difference in finding.difference for finding in found.values())


def test_a_proxy_that_closes_what_is_idle_is_found(monkeypatch):
    monkeypatch.setattr(relay_cases, "_IDLE_S", fake_relay.LONGEST_SILENCE_S + 1)
    assert list(findings("closes what is idle")) == [IDLE]


def test_a_client_may_be_reset_while_it_still_connects_to_a_proxy_without_a_backend(monkeypatch):
    connected, resets = relay_cases.connected, iter([ConnectionResetError(104, "Connection reset by peer")])

    def reset_in_connect(port):
        for error in resets:
            raise error
        return connected(port)

    monkeypatch.setattr(relay_cases, "connected", reset_in_connect)
    cases = [case for case in CASES if case.name == RETURNS]
    with RigBackend() as backend, relay_with(backend.port) as port:
        assert check(Proxy(port, backend, lambda: 0), cases) == []
    assert list(resets) == []


def test_a_proxy_that_is_not_there_fails_everything_without_a_wait():
    with RigBackend() as backend:
        with relay_with(backend.port) as port:
            pass
        found = check(Proxy(port, backend, lambda: 0))
    assert [finding.case for finding in found] == [case.name for case in CASES]
    assert all("refused" in finding.difference for finding in found)


def test_a_finding_says_which_case_how_severe_and_what_was_seen():
    with RigBackend() as backend, relay_with(backend.port, "drops half-closed connections") as port:
        cases = [case for case in CASES if case.name == BACKEND_HALF]
        (finding,) = check(Proxy(port, backend, lambda: 0), cases)
    assert str(finding) == f"{BACKEND_HALF} (reported): the connection ended 1048576 bytes before the last of 1048576"


def test_what_an_experiment_cannot_do_without_is_required_and_what_its_users_should_know_reported():
    severities = {case.name: case.severity for case in CASES}
    assert {severities[name] for name in (SAME, LARGE, MANY, IDLE, DOWN, RETURNS)} == {"required"}
    assert {severities[name] for name in (CLIENT_HALF, BACKEND_HALF, CLIENT_RESETS, FIRST, SLOW)} == {"reported"}
    assert len(severities) == len(CASES)
