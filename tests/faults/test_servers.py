"""Servers that break after they were verified: each gets that as its result, the one beside it is measured as ever."""

import socket
from contextlib import closing, suppress

import psutil
import pytest

from runners.measure import trial
from runners.systems.process import ServerProcess
from tests.faults.blocks import measured, servers, settings, voids

pytestmark = pytest.mark.servers


@pytest.fixture
def beside_an_honest_one(tmp_path, monkeypatch, cache):
    """A function that measures a block of an honest server, its control, and one with a fault."""
    monkeypatch.setenv("XDG_CACHE_HOME", cache["XDG_CACHE_HOME"])

    def measure(fault, step=lambda _: None):
        chosen = settings(servers(tmp_path / "servers", honest="none", liar=fault))
        found, tables = measured(chosen, tmp_path / "raw", step)
        for system in ("honest", "control"):
            assert found[system].failure is None
            assert voids(tables, system) == {}
        return found["liar"], voids(tables, "liar")

    return measure


@pytest.mark.parametrize(
    ("fault", "stage", "told"),
    [
        ("exits", "running", "ended under load with exit status 7; it printed: I have had enough"),
        ("leaks", "running", "exit status -9"),
        ("hangs", "conformance", "no response"),
        ("lies", "conformance", "Wurld"),
        ("ends at once", "launch", "no licence found"),
        ("never listens", "launch", "does not listen on port"),
    ],
)
def test_a_server_that_breaks_gets_that_as_its_result(beside_an_honest_one, monkeypatch, fault, stage, told):
    if stage == "launch":
        monkeypatch.setattr(ServerProcess, "ready_timeout_s", 6.0)
    record, _ = beside_an_honest_one(fault)
    assert record.failure.stage == stage
    assert told in record.failure.message


@pytest.mark.parametrize(("fault", "check"), [("fails", "errors"), ("cuts short", "response size")])
def test_responses_that_are_wrong_under_load_make_the_trial_void(beside_an_honest_one, monkeypatch, fault, check):
    # Were the last request as the first one: a server that cheats would know it too.
    monkeypatch.setattr(trial.Trial, "verify", _only_before(trial.Trial.verify))
    _, void = beside_an_honest_one(fault)
    assert check in void


def _only_before(verify):
    def verified(self, settings, when):
        if when == "before":
            verify(self, settings, when)
        else:
            self.record.verified_after = self.record.verified_before

    return verified


@pytest.mark.parametrize("fault", ["listens late", "ignores SIGTERM", "shouts"])
def test_a_server_that_is_only_odd_is_measured(beside_an_honest_one, fault):
    record, void = beside_an_honest_one(fault)
    assert record.failure is None
    assert void == {}
    if fault == "listens late":
        assert record.startup_s >= 1.0


def test_what_a_server_shouts_is_let_go_but_for_its_end(tmp_path, monkeypatch, cache):
    monkeypatch.setenv("XDG_CACHE_HOME", cache["XDG_CACHE_HOME"])
    chosen = settings(servers(tmp_path / "servers", liar="shouts"))
    said = []
    original = ServerProcess.end
    monkeypatch.setattr(ServerProcess, "end", lambda self: (original(self), said.append(self.output()))[0])
    measured(chosen, tmp_path / "raw")
    assert said
    for text in said:
        assert len(text) <= 4096
        assert text.endswith("at the end")


def test_an_unknown_twin_on_the_port_makes_the_trial_void(beside_an_honest_one):
    with closing(socket.socket()) as twin:
        twin.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)

        def listen_too(what):
            if what.startswith("liar"):
                twin.bind(("127.0.0.1", port_of("has a twin")))
                twin.listen()

        record, void = beside_an_honest_one("has a twin", listen_too)
    assert not any(window.server_listened for window in record.windows)
    # The kernel hands some connections to the twin: maybe the last question, too.
    assert "responding process" in void or "no response" in record.failure.message


def port_of(fault):
    """The port of the server with this fault below this process."""
    lines = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            lines.append(process.cmdline())
    (port,) = {line[line.index("--port") + 1] for line in lines if line[:1] == ["python3"] and line[-1] == fault}
    return int(port)
