"""Load generators that fail in every way a program can: the trial says so, and nothing of them is left."""

from dataclasses import replace

import pytest

from runners.generators.registry import GENERATORS
from runners.measure import window
from tests.faults.blocks import measured, servers, settings

pytestmark = pytest.mark.servers

FAULTS = {
    "missing": (["tool-that-is-not-there"], "tool-that-is-not-there"),
    "exiting with an error": (["sh", "-c", "echo no such host >&2; exit 3"], "exit status 3: no such host"),
    "killed": (["sh", "-c", "kill -KILL $$"], "exit status 137"),
    "saying nothing": (["true"], ""),
    "printing garbage": (["head", "-c", "100000", "/dev/urandom"], ""),
    "printing half of it": (["echo", "Running 1s test @ http://127.0.0.1"], ""),
    "printing without end": (["sh", "-c", "exec yes \x1b[31m"], "exit status 153"),
    "ended by the signal after its window": (["sleep", "1000"], "exit status 130"),
    "hanging": (["sh", "-c", "trap '' INT TERM; exec sleep 1000"], "did not end"),
    "hanging with a child": (["sh", "-c", "trap '' INT TERM; sleep 1000 & sleep 1000"], "did not end"),
}


def with_a_fault(generator, argv):
    """The generator with another command."""

    class Faulty(type(generator)):
        def command(self, request, load, host, port):
            super().command(request, load, host, port)
            return argv

    return Faulty()


@pytest.mark.parametrize("name", sorted(GENERATORS))
@pytest.mark.parametrize("fault", FAULTS)
def test_a_generator_that_fails_is_the_trials_failure_and_leaves_nothing(tmp_path, monkeypatch, cache, name, fault):
    monkeypatch.setenv("XDG_CACHE_HOME", cache["XDG_CACHE_HOME"])
    ends_itself = fault.startswith("ended by the signal") and GENERATORS[name].ends_itself
    if fault.startswith("hanging") or ends_itself:
        monkeypatch.setattr(window, "GRACE_S", -1.0)  # the timeout of responses, 2 s, is waited for in any case
    monkeypatch.setattr(window, "_MOST_PRINTED_BYTES", 1 << 20)
    argv, told = FAULTS[fault]
    if ends_itself:
        told = "did not end"  # a signal would have ended it
    chosen = settings(servers(tmp_path / "servers", honest="none"), with_a_fault(GENERATORS[name], argv))
    if not fault.startswith(("hanging", "ended by the signal")):
        # A window of whole seconds gets no signal. On a busy machine it could come before the program has done anything.
        chosen = replace(chosen, profile=replace(chosen.profile, warmup_s=0.0, window_s=1.0))
    found, tables = measured(chosen, tmp_path / "raw")
    for record in found.values():
        assert record.failure.stage == "generator"
        assert told in record.failure.message
        assert len(record.windows[0].stdout) <= 1 << 20
    assert set(tables.failures["system"]) == set(found)
