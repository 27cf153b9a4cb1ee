"""Windows in time slices, with real servers and the real load generator: each is as if it had been measured in one piece."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import replace

import psutil
import pytest

from runners.analyse.checks.conditions import DISTURBANCES
from runners.analyse.tables import build_tables, load_results, measured_windows
from runners.analyse.usage import window_usage
from runners.core.parameters import Profile
from runners.generators.registry import GENERATORS
from runners.generators.wrk import Wrk
from runners.machine.pinning import plan_pinning
from runners.machine.speed_probe import SpeedProbes
from runners.machine.topology import parse_cpu_list
from runners.measure import block
from runners.measure.block import measure_block
from runners.measure.conformance import build_all, full_image
from runners.measure.design import BlockSettings, design
from runners.measure.load import LoadContext
from runners.measure.run import windows_in_block
from runners.measure.this_machine import usable_cores
from runners.measure.window import SAMPLED_AT
from runners.systems.catalogue import Catalogue

pytestmark = [pytest.mark.servers, pytest.mark.quiet]
MOST_LATE = 0.05
"""Of a window: to stop many threads takes time itself."""
SHORT = Profile(0.1, 0.4, 2, 1, 1, 1.0, "for tests", slice_s=0.02)


class FailingWrk(Wrk):
    """A load generator that fails at once, with the real one's name and clock."""

    def command(self, request, load, host, port):
        return ["sh", "-c", "echo no such host >&2; exit 3"]


class DeafWrk(Wrk):
    """A load generator that reports, and does not end."""

    def command(self, request, load, host, port):
        return ["sh", "-c", 'trap "" INT; "$@"; sleep 60', "deaf", *super().command(request, load, host, port)]


@pytest.fixture(scope="module")
def chosen():
    def settings(generator=None, profile=SHORT, workloads=("ping", "discard")):
        catalogue, systems = Catalogue(), ["beast", "httplib"]
        image = full_image(catalogue)
        artifacts = build_all(catalogue, [catalogue.server(name) for name in [*systems, "wrk"]])
        plan = plan_pinning(usable_cores())
        builds = {"wrk": artifacts["wrk"].folder}
        source = LoadContext({"wrk": generator or GENERATORS["wrk"]}, image, plan, SpeedProbes([]), builds)
        cells = design(catalogue, workloads, systems=systems, batch_sizes=[1])
        return BlockSettings(cells, artifacts, source, profile, 20, 1, "pretty", 1)

    return settings


@pytest.fixture(scope="module")
def undisturbed(chosen):
    """A block that nothing disturbs: its settings, its steps, and its records. Where the machine was late, it is measured again."""
    for _ in range(3):
        settings, steps = chosen(), []
        records = measure_block(settings, 1, set(), steps.append)
        if all(lateness(raw) < MOST_LATE for record in records for raw, _ in windows(record)):
            break
    return settings, steps, records


def of_program(name):
    """This process's descendants that run a program."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended
            if (words := child.cmdline()) and words[0] == name:
                found.append(child)
    return found


def stands_still(process):
    """Whether a process is stopped: it is as soon as it would run again, so it is waited for."""
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline and process.status() != psutil.STATUS_STOPPED:
        time.sleep(0.001)
    return process.status() == psutil.STATUS_STOPPED


def windows(record, kind="window"):
    return [(raw, result) for raw, result in load_results(record) if raw.kind == kind]


def lateness(raw):
    """The largest share of a window in which a process that was to stand still ran on."""
    return max(raw.slices.late_s.values()) / raw.slices.ran_s


def server_usage(records):
    """The server's use of the machine in each window in time slices, of void trials too."""
    return [
        row
        for record in records
        for raw, result in windows(record)
        for row in window_usage(record, raw, result.requests_count)
        if row.role == "server"
    ]


def test_all_systems_of_a_workload_are_measured_together_and_each_is_like_one_in_one_piece(undisturbed):
    _, _, records = undisturbed
    assert len(records) == 6
    rounds = {}
    for record in records:
        for raw, result in windows(record):
            about = raw.slices
            assert about.count >= SHORT.window_s / SHORT.slice_s / 2
            assert about.ran_s == pytest.approx(SHORT.window_s, abs=0.2)
            assert result.duration_s == pytest.approx(about.ran_s, rel=0.05)
            assert lateness(raw) < MOST_LATE
            assert min(result.service_time.values_us) > 0
            assert raw.elapsed_s > 2 * about.ran_s  # the others had their time_slices meanwhile
            assert max(result.service_time.values_us) < 1e6 * (raw.elapsed_s - about.ran_s)
            assert [sample.connections_count for sample in raw.samples if sample.connections_count is not None] == [20]
            rounds.setdefault((record.workload, about.round), set()).add(record.system)
    assert sorted(workload for workload, _ in rounds) == ["discard-1", "discard-1", "ping", "ping"]
    assert len({name for _, name in rounds}) == len(rounds)
    assert all(systems == {"beast", "httplib", "control"} for systems in rounds.values())
    tables = build_tables(records)
    failed = tables.checks[~tables.checks["ok"].astype(bool)]
    others, wrong = set(failed["name"]) & {"other load", "steal"}, failed[failed["void"].astype(bool)]
    wrong = wrong[~wrong["name"].isin(DISTURBANCES if others else ())]
    assert wrong.empty, wrong[["system", "workload", "name", "detail"]].to_string()
    assert (tables.checks["name"] == "clock").sum() == len(records)
    for row in server_usage(records):
        assert row.used_fraction < 1.1  # of its own time slices, not of the time of all
    assert of_program("/build/server") == of_program("wrk") == []


def test_between_time_slices_server_and_load_generator_stand_still_and_afterwards_nothing_does(chosen, monkeypatch):
    running = []
    sampled = block.Window.sample

    def sample(self, *rest):
        if self._clock is None:
            running.append(["in one piece"])
        else:
            programs = [*of_program("wrk"), *of_program("/build/server")]
            running.append([process.name() for process in programs if not stands_still(process)])
        sampled(self, *rest)

    monkeypatch.setattr(block.Window, "sample", sample)
    states = []

    def step(_):
        states.append({process.status() for process in of_program("/build/server")})

    # Long enough that the last sample is due before wrk is told to end: it may be gone within the same time slice.
    long = replace(SHORT, window_s=0.8)
    assert SAMPLED_AT[-1] * long.window_s < long.window_s - block._NOTICED_S - long.slice_s
    measure_block(chosen(profile=long, workloads=["ping"]), 1, set(), step)
    sliced, co_scheduled_count = running[: 3 * 2 * 3], 3
    assert set(map(tuple, sliced)) == {()}
    assert len(running) == len(sliced) + co_scheduled_count * len(
        SAMPLED_AT
    )  # the windows in one piece come after them
    assert psutil.STATUS_STOPPED not in set().union(*states)


def test_a_server_that_dies_between_its_time_slices_gets_that_as_its_result_and_the_others_go_on(chosen, monkeypatch):
    sampled, killed = block.Window.sample, []

    def sample(self, *rest):
        sampled(self, *rest)
        if not killed and len(servers := of_program("/build/server")) == 3:
            killed.append(max(servers, key=lambda process: process.cmdline()))
            os.kill(killed[0].pid, signal.SIGKILL)

    monkeypatch.setattr(block.Window, "sample", sample)
    records = measure_block(chosen(workloads=["ping"]), 1, set(), lambda _: None)
    failures = [record.failure for record in records if record.failure]
    assert len(failures) == 1
    assert failures[0].stage == "running"
    assert "exit status -9" in failures[0].message
    sound = [record for record in records if not record.failure]
    assert [len(windows(record)) for record in sound] == [2, 2]
    assert of_program("/build/server") == of_program("wrk") == []


def test_a_load_generator_that_fails_is_told_with_what_it_printed(chosen):
    records = measure_block(chosen(FailingWrk()), 1, set(), lambda _: None)
    assert {record.failure.stage for record in records} == {"generator"}
    assert all("no such host" in record.failure.message for record in records)
    assert of_program("/build/server") == []


def test_a_load_generator_that_does_not_end_is_ended_and_told(chosen, monkeypatch):
    monkeypatch.setattr(block, "GRACE_S", -1.0)  # the timeout of responses, 2 s, is waited for in any case
    profile = replace(SHORT, warmup_s=0.0, windows_count=1)
    records = measure_block(chosen(DeafWrk(), profile, ["ping"]), 1, set(), lambda _: None)
    assert {record.failure.message.split(":")[0] for record in records} == {"wrk did not end"}
    assert of_program("/build/server") == of_program("wrk") == []


def test_an_interrupted_measurement_leaves_nothing_behind_that_stands_still(chosen, monkeypatch):
    sampled, seen = block.Window.sample, []

    def sample(self, *rest):
        seen.append(of_program("wrk"))
        if len(seen) > 4:
            raise KeyboardInterrupt
        sampled(self, *rest)

    monkeypatch.setattr(block.Window, "sample", sample)
    with pytest.raises(KeyboardInterrupt):
        measure_block(chosen(workloads=["ping"]), 1, set(), lambda _: None)
    assert len(seen[0]) == 3
    deadline = time.monotonic() + 5
    while of_program("wrk") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert of_program("/build/server") == of_program("wrk") == []


def test_what_goes_on_while_its_server_is_stopped_is_measured_in_one_piece(chosen):
    catalogue = Catalogue()
    waiting = design(catalogue, ["ping", "ping-delay"], systems=["gin"], delays_ms=[10])
    artifacts = build_all(catalogue, [catalogue.server("gin"), catalogue.server("wrk")])
    settings = replace(chosen(), design=waiting, artifacts=artifacts)
    records = measure_block(settings, 1, set(), lambda _: None)
    in_slices = {record.workload: {raw.slices is not None for raw, _ in windows(record)} for record in records}
    assert in_slices == {"ping": {True}, "ping-delay-10ms": {False}}


def test_a_sliced_cell_gets_one_window_in_one_piece_per_block_and_percentiles_come_from_it_alone(undisturbed):
    settings, steps, records = undisturbed
    assert len(steps) == windows_in_block(settings, 1, settings.design.cells) == 6 * (SHORT.windows_count + 1)
    last_slices = max(raw.started_at for record in records for raw, _ in windows(record))
    for record in records:
        kinds = [raw.kind for raw in record.windows]
        assert kinds == ["warmup", "window", "window", "percentiles"]
        ((raw, result),) = windows(record, "percentiles")
        assert raw.slices is None
        assert raw.started_at > last_slices
        assert result.duration_s == pytest.approx(SHORT.window_s, abs=0.2)
        assert len(raw.samples) == len(SAMPLED_AT)
    assert {record.windows[-1].load.duration_s for record in records} == {SHORT.window_s}
    trials = build_tables(records).trials
    assert set(trials.loc[trials["kind"] == "percentiles", "time_slices_count"]) == {0}
    assert not trials.loc[trials["kind"] == "percentiles", "warmup"].any()
    for record in records:
        assert len(measured_windows(record)) == SHORT.windows_count


def test_cells_in_one_piece_get_no_window_for_percentiles(chosen):
    records = measure_block(chosen(profile=replace(SHORT, slice_s=0.0), workloads=["ping"]), 1, set(), lambda _: None)
    assert {raw.kind for record in records for raw in record.windows} == {"warmup", "window"}


def test_what_a_server_used_before_its_window_is_no_use_of_the_cpus_beside_the_others(undisturbed):
    _, _, records = undisturbed
    for record in records:
        for raw, _ in windows(record):
            first, last = raw.samples[0], raw.samples[-1]
            for role, cpus in last.cpus.items():
                # Tasks that share CPUs cannot use more of them than there is.
                available_s = (last.at_s - first.at_s) * len(parse_cpu_list(record.cpus[role]))
                assert cpus.co_scheduled_cpu_s - first.cpus[role].co_scheduled_cpu_s <= 1.02 * available_s
