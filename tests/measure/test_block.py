"""A block with real servers and the real load generator: what is recorded, and what happens when something fails."""

import contextlib
import os
import signal
from dataclasses import replace

import psutil
import pytest

from runners.analyse.tables import build_tables
from runners.core.parameters import Profile
from runners.generators.registry import GENERATORS
from runners.generators.wrk import Wrk
from runners.generators.wrk_exact import COARSE_PARTS, PARTS, parse_exact
from runners.machine.pinning import plan_pinning
from runners.machine.speed_probe import SpeedProbes
from runners.measure.block import measure_block
from runners.measure.conformance import build_all, full_image
from runners.measure.design import BlockSettings, design
from runners.measure.load import LoadContext
from runners.measure.this_machine import usable_cores
from runners.systems.catalogue import Catalogue

pytestmark = pytest.mark.servers
SHORT = Profile(0.2, 0.4, 2, 1, 1, 1.0, "for tests")


class FailingWrk(Wrk):
    """A load generator that is there, and fails."""

    def command(self, request, load, host, port):
        return ["sh", "-c", "echo no such host >&2; exit 3"]


class MissingWrk(Wrk):
    """A load generator that is not in the image."""

    def command(self, request, load, host, port):
        return ["wrk-that-is-not-there"]


class LateWrk(Wrk):
    """A load generator that takes longer to start than a short window lasts."""

    def command(self, request, load, host, port):
        return ["sh", "-c", 'sleep 0.6; exec "$@"', "late", *super().command(request, load, host, port)]


def settings(generator=None, systems=("beast", "httplib"), workloads=("ping", "discard")):
    catalogue = Catalogue()
    image = full_image(catalogue)
    artifacts = build_all(catalogue, [catalogue.server(name) for name in systems])
    source = LoadContext({"wrk": generator or GENERATORS["wrk"]}, image, plan_pinning(usable_cores()), SpeedProbes([]))
    cells = design(catalogue, list(workloads), systems=systems, batch_sizes=[1])
    return BlockSettings(cells, artifacts, source, SHORT, 20, 1, "pretty", 1)


def launched():
    """The processes of this block's servers, by port."""
    found = {}
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended
            words = child.cmdline()
            if words and words[0] == "/build/server":
                found[int(words[words.index("--port") + 1])] = child
    return found


@pytest.mark.quiet
def test_every_cell_gets_a_sound_trial_and_nothing_is_left_behind():
    seen = []
    records = measure_block(settings(), 1, set(), lambda what: seen.append((what, len(launched()))))
    assert len(records) == 6
    assert {alive for _, alive in seen} == {3}  # both servers and the control, all the time
    assert len(seen) == 6 * SHORT.windows_count
    assert {what.partition(",")[0] for what, _ in seen} == {"beast", "httplib", "control"}
    tables = build_tables(records)
    assert tables.failures.empty
    void = tables.checks[~tables.checks["ok"].astype(bool) & tables.checks["void"].astype(bool)]
    void = void[~void["name"].isin(["other load", "steal"])]  # of the machine that runs the tests, not of the block
    assert void.empty, void[["system", "workload", "name", "detail"]].to_string()
    assert (tables.trials["throughput_rps"] > 100).all()
    recorded = [window for record in records for window in record.windows]
    kept = {(window.kind, parse_exact(window.stdout).latency.parts) for window in recorded}
    assert kept == {("warmup", COARSE_PARTS), ("window", PARTS)}
    assert launched() == {}


@pytest.mark.quiet
def test_each_launched_system_is_primed_once_before_anything_is_measured_and_that_counts_nowhere():
    primed = replace(settings(), profile=replace(SHORT, windows_count=1, priming_s=0.2))
    records = sorted(measure_block(primed, 1, set(), lambda _: None), key=lambda record: record.windows[0].started_at)
    seen = set()
    for record in records:
        kinds = [window.kind for window in record.windows]
        assert kinds == (["warmup", "window"] if record.system in seen else ["priming", "warmup", "window"])
        seen.add(record.system)
    assert len(seen) == 3
    trials = build_tables(records).trials
    assert (~trials["warmup"]).sum() == len(records)


def test_a_server_that_dies_under_load_gets_that_as_its_result_and_the_others_go_on():
    def kill_the_last(_):
        processes = launched()
        if len(processes) == 3:
            os.kill(processes[max(processes)].pid, signal.SIGKILL)

    records = measure_block(settings(), 1, set(), kill_the_last)
    failed = {record.system: record.failure for record in records if record.failure}
    assert len(failed) == 1
    ((system, failure),) = failed.items()
    assert failure.stage == "running"
    assert "exit status -9" in failure.message
    sound = build_tables(records).trials["system"].unique()
    assert len(sound) == 2
    assert system not in sound


@pytest.mark.parametrize(
    ("generator", "told"), [(FailingWrk(), "no such host"), (MissingWrk(), "wrk-that-is-not-there")]
)
def test_a_load_generator_that_fails_is_told_with_what_it_printed(generator, told):
    records = measure_block(settings(generator), 1, set(), lambda _: None)
    assert {record.failure.stage for record in records} == {"generator"}
    assert all(told in record.failure.message for record in records)
    assert launched() == {}


@pytest.mark.quiet
def test_a_load_generator_that_starts_late_is_sampled_and_suspended_when_its_clock_says():
    records = measure_block(settings(LateWrk(), systems=["beast"], workloads=["ping"]), 1, set(), lambda _: None)
    assert [record.failure for record in records if record.failure] == []
    for record in records:
        for window in record.windows:
            assert window.connected_after_s >= 0.6
            assert [sample.connections_count for sample in window.samples if sample.connections_count is not None] == (
                [20] if window.kind == "window" else []
            )


def test_a_server_that_hangs_is_no_end_of_the_run(monkeypatch):
    for module in ("window", "block"):
        monkeypatch.setattr(f"runners.measure.{module}.GRACE_S", 2.0)

    def stop_the_last(_):
        processes = launched()
        if len(processes) == 3:
            os.kill(processes[max(processes)].pid, signal.SIGSTOP)

    records = measure_block(settings(), 1, set(), stop_the_last)
    tables = build_tables(records)
    hanging = [record for record in records if record.port == max(record.port for record in records)]
    for record in hanging:
        bad = tables.checks[(tables.checks["system"] == record.system) & ~tables.checks["ok"].astype(bool)]
        assert record.failure or bad["void"].any()
    assert launched() == {}
