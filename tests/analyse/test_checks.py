"""Checks of trials whose load is not the plain closed loop, and who was the limit."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from runners.analyse.checks.trial import bottleneck, response_size, trial_checks
from runners.analyse.comparisons import launch_throughputs
from runners.analyse.tables import build_tables, load_results
from runners.analyse.usage import window_usage
from runners.core.histogram import Histogram
from runners.core.load import Load, LoadErrors, LoadResult
from runners.core.records import MEASURED_KINDS
from runners.core.sample import Pressure
from runners.core.trial_record import TimeSlices
from tests.analyse.synthetic import trial, window

RECORDED = Path(__file__).parents[1] / "recorded" / "paceload"


def checked(record):
    windows = [(raw, result) for raw, result in load_results(record) if raw.kind in MEASURED_KINDS]
    return {check.name: check for check in trial_checks(record, windows)}


def with_rate(record, rate_rps):
    for raw in record.windows:
        raw.load = replace(raw.load, rate_rps=rate_rps)
    return record


@pytest.mark.parametrize(("rate_rps", "ok"), [(20_000.0, True), (21_000.0, False)])
def test_an_open_loop_that_achieved_less_than_it_offered_is_flagged(rate_rps, ok):
    checks = checked(with_rate(trial(1, "fast+a", "decode-10", [20_000.0, 20_000.0]), rate_rps))
    assert checks["offered load"].ok == ok
    assert not checks["offered load"].void
    assert "Little's law" not in checks


def test_responses_that_differ_in_size_by_nature_are_allowed_to_and_no_more():
    record = trial(1, "fast+a", "decode-10", [20_000.0], response_bytes=185)
    assert not checked(record)["response size"].ok
    assert checked(record.model_copy(update={"response_tolerance": 0.3}))["response size"].ok
    assert not checked(record.model_copy(update={"response_tolerance": 0.1}))["response size"].ok


def test_one_verified_answer_of_unusual_length_voids_no_trial():
    record = trial(1, "fast+a", "decode-10", [20_000.0]).model_copy(update={"response_tolerance": 0.1})
    longer = 2 * record.verified_before.response_bytes
    unusual = record.verified_before.model_copy(update={"response_bytes": longer})
    for when in ("verified_before", "verified_after"):
        assert checked(record.model_copy(update={when: unusual}))["response size"].ok
    assert not checked(record.model_copy(update={"verified_before": unusual, "verified_after": unusual}))[
        "response size"
    ].ok


@pytest.mark.parametrize(
    ("body_bytes", "lost", "ok"), [(100, 0, True), (98, 0, False), (100, 1000, True), (98, 1000, False)]
)
def test_bytes_of_bodies_are_compared_with_bodies_of_the_responses_that_were_seen(body_bytes, lost, ok):
    record = trial(1, "fast+a", "decode-10", [20_000.0])
    record.verified_before = record.verified_before.model_copy(update={"body_bytes": body_bytes})
    result = LoadResult(
        20_000 + lost, 1.0, 2_000_000, 10, LoadErrors(), Histogram((1,), (1,)), bodies_only=True, unseen_count=lost
    )
    assert response_size(record, [({}, result)]).ok == ok


@pytest.mark.parametrize(
    ("busy", "apart", "limit"),
    [
        ((0.99, 0.5, 0.5), True, "server"),
        ((0.5, 0.99, 0.99), True, "backend"),
        ((0.5, 0.99, float("nan")), True, "generator"),
        ((0.96, 0.97, float("nan")), True, "both"),
        ((0.5, 0.5, 0.5), True, "unsaturated"),
        ((0.99, 0.99, float("nan")), False, "both"),
    ],
)
def test_the_limit_is_named(busy, apart, limit):
    assert bottleneck(*busy, apart=apart) == limit


def test_of_backend_and_generator_on_busy_cpus_the_one_that_used_more_is_named():
    assert bottleneck(0.5, 0.99, 0.99, generator_ahead=True) == "generator"
    assert bottleneck(0.5, 0.6, 0.99, generator_ahead=True) == "backend"
    assert bottleneck(0.99, 0.99, 0.99, generator_ahead=True) == "both"
    assert bottleneck(0.99, 0.99, 0.99) == "server"


def test_a_look_that_came_when_the_load_generator_had_ended_does_not_count():
    record = trial(1, "fast+a", "decode-10", [20_000.0])
    raw = record.windows[-1]
    before = {row.role: row.cpu_s for row in window_usage(record, raw, 20_000)}
    late = raw.samples[-1]
    late.generator = late.generator.model_copy(update={"threads_count": 0, "cpu_s": float("nan")})
    assert checked(record)["pinning"].ok
    assert window_usage(record, raw, 20_000)[1].cpu_s == pytest.approx(before["generator"] / 2)
    # Its helper is still there, and what the tool itself had used is gone.
    late.generator = late.generator.model_copy(update={"threads_count": 2, "cpu_s": 0.01})
    assert window_usage(record, raw, 20_000)[1].cpu_s == pytest.approx(before["generator"] / 2)
    for sample in raw.samples:
        sample.generator.threads_count = 0
    assert not checked(record)["pinning"].ok


def test_a_role_that_shares_the_cpus_is_no_other_load():
    record = trial(1, "fast+a", "decode-10", [20_000.0], generator_busy=0.8)
    record.cpus["backend"] = "1"
    raw = record.windows[-1]
    alone = {row.role: row for row in window_usage(record, raw, 20_000)}
    for sample in raw.samples:
        # Half of what CPU 1 did was the backend's.
        sample.generator = sample.generator.model_copy(update={"cpu_s": sample.generator.cpu_s / 2})
        sample.backend = sample.generator.model_copy()
        sample.cpus["backend"] = sample.cpus["generator"]
    shared = {row.role: row for row in window_usage(record, raw, 20_000)}
    assert set(shared) == {"server", "generator", "backend"}
    for role in ("generator", "backend"):
        assert shared[role].other_fraction == pytest.approx(alone["generator"].other_fraction, abs=1e-9)
    assert shared["backend"].cpu_per_request_sampled_s == pytest.approx(
        alone["generator"].cpu_per_request_sampled_s / 2
    )
    for role in ("generator", "backend"):
        assert shared[role].used_fraction == pytest.approx(alone["generator"].used_fraction / 2)


def in_time_slices(record, *, stood_s=3.0, co_scheduled_s=2.7, shown=1.0, late_s=0.0):
    """The record as one whose windows were measured in time slices, stopped for `stood_s` while others used the CPUs."""
    for raw, result in load_results(record):
        late = {"generator": 1e-4, "server": late_s}
        raw.slices = TimeSlices(round="1.1", count=25, ran_s=result.duration_s / shown, late_s=late)
        for place, sample in enumerate(raw.samples):
            share = place / (len(raw.samples) - 1)
            sample.at_s += share * stood_s
            sample.suspended_s = share * stood_s
            for cpus in sample.cpus.values():
                cpus.co_scheduled_cpu_s = share * co_scheduled_s
                cpus.times.user_s += share * co_scheduled_s
                cpus.times.idle_s += share * (stood_s - co_scheduled_s)
    return record


def test_of_a_window_in_time_slices_shares_are_of_the_time_in_which_it_ran_and_co_scheduled_processes_are_no_other_load():
    piece = trial(1, "fast+a", "decode-10", [20_000.0], server_busy=0.97, generator_busy=0.5)
    sliced = in_time_slices(trial(1, "fast+a", "decode-10", [20_000.0], server_busy=0.97, generator_busy=0.5))
    before, after = (
        {row.role: row for row in window_usage(record, record.windows[-1], 20_000)} for record in (piece, sliced)
    )
    for role in ("server", "generator"):
        for column in ("used_fraction", "cpu_per_request_sampled_s", "context_switches_rps"):
            assert getattr(after[role], column) == pytest.approx(getattr(before[role], column))
        assert after[role].busy_fraction == pytest.approx(before[role].busy_fraction, abs=0.02)
        assert after[role].other_fraction <= before[role].other_fraction + 1e-9
    assert checked(sliced)["other load"].ok


def test_other_load_is_seen_in_time_slices_too():
    record = in_time_slices(trial(1, "fast+a", "decode-10", [20_000.0]))
    for raw in record.windows:
        for place, sample in enumerate(raw.samples):
            sample.cpus["server"].co_scheduled_cpu_s -= place * 0.5
    assert not checked(record)["other load"].ok


@pytest.mark.parametrize(
    ("shown", "late_s", "ok"),
    [(1.0, 0.0, True), (0.96, 0.005, True), (8.0, 0.0, False), (0.9, 0.0, False), (1.0, 0.05, False)],
)
def test_a_clock_or_a_server_that_did_not_stand_still_makes_a_trial_void(shown, late_s, ok):
    check = checked(in_time_slices(trial(1, "fast+a", "decode-10", [20_000.0]), shown=shown, late_s=late_s))["clock"]
    assert (check.ok, check.void) == (ok, True)
    assert "clock" not in checked(trial(1, "fast+a", "decode-10", [20_000.0]))


@pytest.mark.parametrize(
    ("work", "ok"),
    [
        ({"sql2": (20_000, 400_000), "other": (0, 0)}, True),
        ({"sql2": (20_000 + 80, 400_000 + 80 * 20), "other": (3, 3)}, True),  # some under way, a few of others
        ({"sql2": (19_000, 380_000), "other": (0, 0)}, False),  # from a cache
        ({"sql2": (20_000, 20_000), "other": (0, 0)}, False),  # one row instead of twenty
        ({"sql2": (400_000, 400_000), "other": (0, 0)}, False),  # a query for each row
        ({"sql2": (20_000, 400_000), "other": (20_000, 0)}, False),  # something beside it
        (None, False),
    ],
)
def test_the_backend_s_own_count_proves_that_the_work_was_done(work, ok):
    record = trial(1, "fast+a", "decode-10", [20_000.0])
    record.work_per_request = {"sql2": {"calls": 1, "rows": 20}}
    for raw in record.windows:
        raw.backend_work = work and {
            kind: dict(zip(("calls", "rows"), numbers, strict=True)) for kind, numbers in work.items()
        }
    check = checked(record)["backend work"]
    assert check.ok == ok
    assert check.void


@pytest.mark.parametrize(
    ("calls", "ok"), [(1000, True), (1080, True), (920, True), (800, False), (1200, False), (20_000, False)]
)
def test_of_a_mix_only_requests_under_way_may_be_missing_or_too_many(calls, ok):
    record = trial(1, "fast+a", "decode-10", [20_000.0])
    record.work_per_request = {"sql2": {"calls": 0.05, "rows": 1.0}}
    for raw in record.windows:
        raw.backend_work = {"sql2": {"calls": calls, "rows": calls * 20}, "other": {"calls": 0, "rows": 0}}
    assert checked(record)["backend work"].ok == ok


def under_pressure(**at_the_end):
    record = trial(1, "fast+a", "decode-10", [20_000.0, 20_000.0])
    calm = {"throttled_count": 7, "clock_hz": 3_000_000_000, "memory_stall_s": 1.5, "swapped_pages_count": 40}
    for raw in record.windows:
        for look, sample in enumerate(raw.samples):
            sample.pressure = Pressure(**calm | (at_the_end if look == 2 else {}))
    return checked(record)


@pytest.mark.parametrize(
    ("at_the_end", "flagged"),
    [
        ({}, set()),
        ({"throttled_count": 8}, {"throttling"}),
        ({"clock_hz": 2_500_000_000}, {"throttling"}),
        ({"clock_hz": 2_900_000_000}, set()),
        ({"memory_stall_s": 1.6}, {"memory pressure"}),
        ({"memory_stall_s": 1.501}, set()),
        ({"swapped_pages_count": 41}, {"memory pressure"}),
        ({"throttled_count": None, "clock_hz": None, "memory_stall_s": None}, set()),
    ],
)
def test_a_machine_under_pressure_is_flagged_and_no_trial_is_void_for_it(at_the_end, flagged):
    checks = under_pressure(**at_the_end)
    assert {name for name in ("throttling", "memory pressure") if not checks[name].ok} == flagged
    assert not checks["throttling"].void
    assert not checks["memory pressure"].void


def test_a_record_from_before_pressure_was_sampled_is_not_held_against_the_machine():
    checks = checked(trial(1, "fast+a", "decode-10", [20_000.0]))
    assert checks["throttling"].ok
    assert checks["memory pressure"].ok


def with_cpu_times(record, *, visible, unattributed=0.0):
    """The record, with shares of CPU 0's and CPU 1's time: what visible other processes used, and what nobody seen used.

    ``/proc/stat`` shows neither as idle.
    """
    for raw in record.windows:
        for sample in raw.samples:
            at_s = sample.at_s
            for cpu, cpus in enumerate((sample.cpus["server"], sample.cpus["generator"])):
                cpus.other_cpu_s = visible.get(cpu, 0.0) * at_s
                busy_s = min(cpus.times.idle_s, (visible.get(cpu, 0.0) + unattributed) * at_s)
                cpus.times.idle_s -= busy_s
                cpus.times.system_s += busy_s
    return record


def other_load_of(visible, unattributed=0.0, idle=None):
    record = trial(1, "fast+a", "decode-10", [20_000.0, 20_000.0], server_busy=0.7, generator_busy=0.7)
    record.idle_other_fraction = idle or {}
    return checked(with_cpu_times(record, visible=visible, unattributed=unattributed))["other load"]


def test_the_kernel_s_own_work_on_an_idle_machine_is_no_other_load():
    # As seen on the generator's CPU: 5 % neither idle nor of any process, beside 25 % idle.
    check = other_load_of({0: 0.0005, 1: 0.001}, unattributed=0.05)
    assert check.ok
    assert "at most 0.1%" in check.detail


@pytest.mark.parametrize(("cpu", "share", "void"), [(0, 0.05, False), (1, 0.05, False), (0, 0.15, True)])
def test_a_foreign_process_is_flagged_and_on_the_server_s_cpus_above_a_tenth_the_trial_is_void(cpu, share, void):
    check = other_load_of({cpu: share}, unattributed=0.03)
    assert not check.ok
    assert check.void == void
    assert f"{share:.1%}" in check.detail


def test_what_other_processes_use_on_the_idle_machine_too_is_subtracted():
    idle = {0: 0.03, 1: 0.03}
    assert other_load_of({0: 0.045, 1: 0.045}, idle=idle).ok
    assert not other_load_of({0: 0.06, 1: 0.045}, idle=idle).ok
    assert not other_load_of({0: 0.12}, idle=idle).void
    assert other_load_of({0: 0.14}, idle=idle).void


def test_a_machine_that_was_busy_before_the_run_excuses_no_other_load():
    check = other_load_of({0: 0.2, 1: 0.2}, idle={0: 1.0, 1: 0.7})
    assert not check.ok
    assert check.void


def test_a_process_that_ran_elsewhere_takes_no_more_than_what_is_left_of_a_cpu():
    record = trial(1, "fast+a", "decode-10", [20_000.0], server_busy=1.0, generator_busy=0.7)
    for sample in record.windows[-1].samples:
        sample.cpus["server"].other_cpu_s, sample.cpus["generator"].other_cpu_s = 0.9 * sample.at_s, 0.0
    assert checked(record)["other load"].ok


def test_a_process_outside_of_this_container_is_seen_by_what_nobody_here_used():
    assert not other_load_of({0: 0.0, 1: 0.0}, unattributed=0.2).ok


def with_percentiles(record, throughput_rps=10_000.0):
    """A record whose windows are in time slices, with one window in one piece."""
    record = in_time_slices(record)
    record.windows.append(window(throughput_rps, "percentiles"))
    return record


def test_percentiles_never_come_from_time_slices_and_throughput_from_nothing_else():
    record = with_percentiles(trial(1, "fast+a", "decode-10", [20_000.0, 20_000.0]))
    tables = build_tables([record])
    counted = tables.trials[tables.trials["kind"] == "window"]
    assert counted["throughput_rps"].tolist() == [20_000.0, 20_000.0]
    assert launch_throughputs(tables.trials).tolist() == pytest.approx([20_000.0])
    assert tables.latency["count"].sum() == 10_000
    # Service times of 20,000 requests/s would be half as long.
    assert tables.latency["value_us"].min() >= 7_000
    assert set(tables.usage["window"]) == set(counted["window"])


def test_windows_in_one_piece_give_both():
    tables = build_tables([trial(1, "fast+a", "decode-10", [20_000.0, 20_000.0])])
    assert tables.latency["count"].sum() == 40_000
    assert tables.trials["kind"].tolist() == ["warmup", "window", "window"]
    assert tables.trials["warmup"].tolist() == [True, False, False]


@pytest.mark.parametrize("planned", [True, False])
def test_a_trial_in_time_slices_alone_has_no_percentiles_and_fails_where_they_were_planned(planned):
    record = in_time_slices(trial(1, "fast+a", "decode-10", [20_000.0])).model_copy(
        update={"measures_percentiles": planned}
    )
    assert build_tables([record]).latency.empty
    found = checked(record)["Little's law"]
    assert (found.ok, found.detail) == (not planned, "no window in one piece, and so no percentiles")


def test_little_s_law_is_a_column_and_is_judged_on_windows_in_one_piece():
    record = with_percentiles(trial(1, "fast+a", "decode-10", [20_000.0]))
    assert build_tables([record]).trials["little_ratio"].tolist() == pytest.approx([1.0, 1.0, 1.0], abs=0.001)
    assert checked(record)["Little's law"].ok
    assert build_tables([with_rate(record, 20_000.0)]).trials["little_ratio"].isna().all()


def test_the_virtual_clock_is_checked_in_time_slices_and_the_rest_in_all_measured_windows():
    record = with_percentiles(trial(1, "fast+a", "decode-10", [20_000.0]))
    assert checked(record)["clock"].ok
    assert "3 samples" not in checked(record)["pinning"].detail
    record.windows[-1].server_listened = False
    assert not checked(record)["responding process"].ok


def open_loop(**edit):
    """A trial whose windows paceload measured, with an edited report."""
    report = json.loads((RECORDED / "open.txt").read_text()) | edit
    record = trial(1, "fast+a", "decode-10", [20_000.0, 20_000.0]).model_copy(update={"generator": "paceload"})
    for raw in record.windows:
        raw.stdout, raw.load = json.dumps(report), Load(20, 1, 0.5, rate_rps=400.0, seed=7)
    return checked(record)


def test_an_open_loop_is_held_to_its_schedule_and_to_what_was_scheduled():
    checks = open_loop()
    assert checks["schedule"].ok
    # 400 requests/s for half a second are 195 in this draw, and all of them were completed.
    assert checks["offered load"].detail == "100.0% of the offered rate was achieved"
    assert "Little's law" not in checks


def test_a_recorded_window_in_which_the_generator_fell_behind_makes_its_trial_void():
    record = trial(1, "fast+a", "decode-10", [20_000.0, 20_000.0]).model_copy(update={"generator": "paceload"})
    for raw in record.windows:
        raw.stdout = (RECORDED / "late.txt").read_text()
        raw.load = Load(400, 1, 0.02, rate_rps=400_000.0, seed=5)
    check = checked(record)["schedule"]
    assert not check.ok
    assert check.void


def test_a_generator_that_was_late_makes_its_trial_void():
    late = {"mean_ns": 0.0, "hdr": "", "ns": [[1000, 190], [1_500_000, 5]]}
    check = open_loop(lateness=late)["schedule"]
    assert not check.ok
    assert check.void
    assert "2.56% more than 1 ms late" in check.detail


def test_scheduled_requests_without_a_response_are_load_that_was_not_achieved():
    assert not open_loop(scheduled=220, read_errors=25)["offered load"].ok
