"""paceload: the command, and what it printed in real runs, generated ones, and damaged ones."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from runners.core.load import GeneratorError, Load
from runners.core.request import Request
from runners.generators.paceload import Paceload, report_of
from runners.stats import histograms

RECORDED = Path(__file__).parents[1] / "recorded" / "paceload"
LOADS = {
    "open": Load(20, 1, 0.5, rate_rps=400.0, seed=7),
    "closed": Load(4, 2, 0.3),
    "stalled": Load(30, 1, 1.2, rate_rps=300.0, seed=3),
    "unanswered": Load(300, 1, 0.3, timeout_s=0.2, rate_rps=9000.0, seed=1),
    "not-found": Load(2, 1, 0.1, rate_rps=100.0),
    "late": Load(400, 1, 0.02, rate_rps=400_000.0, seed=5),
}
GET = Request("GET", "/ping", content_type="")


def recorded(name):
    return (RECORDED / f"{name}.txt").read_text()


def parsed(name):
    return Paceload().parse(recorded(name), LOADS[name])


def mean_us(histogram):
    return histograms.mean(histogram.values_us, histogram.counts)


@pytest.mark.parametrize("name", LOADS)
def test_the_histograms_are_those_that_it_printed(name):
    report, result = report_of(recorded(name)), parsed(name)
    assert result.requests_count == report.completed == result.service_time.total_count
    assert mean_us(result.service_time) == pytest.approx(report.service.mean_ns / 1000, rel=0.002, abs=0.5)


def test_an_open_loop_counts_response_times_from_the_schedule_and_all_that_was_scheduled():
    result = parsed("open")
    assert result.requests_count == 195
    assert result.scheduled_rps == 195 / 0.5
    assert result.response_time.total_count == 195
    assert mean_us(result.response_time) >= mean_us(result.service_time) > 5000
    assert not result.warnings
    assert not result.errors.total_count


def overloaded(*, of_rate, always_s=0.0):
    """The report of a server that responds to all, at this share of their rate, and after `always_s` at the earliest."""
    report, load = report_of(recorded("open")), LOADS["open"]
    took_s = load.duration_s / of_rate + always_s
    waits_ns = [round(1e9 * (always_s + (took_s - always_s - load.duration_s) * place / 194)) for place in range(195)]
    bins = report.response.model_copy(update={"ns": [(wait, 1) for wait in waits_ns], "hdr": ""})
    slow = report.model_copy(update={"elapsed_s": took_s, "response": bins})
    return Paceload().parse(slow.model_dump_json(), load)


@pytest.mark.parametrize("of_rate", [0.3, 0.9, 0.98])
def test_a_server_that_responds_later_and_later_did_not_achieve_the_rate_though_it_responds_to_all(of_rate):
    result = overloaded(of_rate=of_rate)
    assert not result.errors.total_count
    assert result.achieved_fraction == pytest.approx(of_rate)
    assert result.throughput_rps == pytest.approx(of_rate * result.scheduled_rps)


def test_a_server_that_always_takes_its_time_achieves_the_rate():
    assert overloaded(of_rate=1.0, always_s=0.3).achieved_fraction == pytest.approx(1.0)


def test_wrong_responses_achieve_nothing():
    assert parsed("not-found").achieved_fraction == 0.0
    assert parsed("open").achieved_fraction > 0.98


def test_a_closed_loop_has_no_schedule_to_be_late_for():
    result = parsed("closed")
    assert (result.response_time, result.lateness, result.scheduled_rps) == (None, None, None)


def test_a_stall_is_in_the_response_times_of_all_that_arrived_meanwhile():
    result = parsed("stalled")
    late = sum(
        count
        for value, count in zip(result.response_time.values_us, result.response_time.counts, strict=True)
        if value > 10_000
    )
    # A tenth of the arrivals, and those whose responses were due in it.
    scheduled = report_of(recorded("stalled")).scheduled
    assert 0.05 * scheduled < late < 0.25 * scheduled


def test_a_request_without_a_response_is_an_error_and_among_the_response_times():
    result = parsed("unanswered")
    assert result.errors.timeout_count == 699
    assert (
        result.response_time.total_count == report_of(recorded("unanswered")).scheduled == result.requests_count + 699
    )
    assert any("were completed" in warning for warning in result.warnings)


def test_a_status_that_is_none_of_success_is_counted():
    assert parsed("not-found").errors.status_count == 8


def test_a_generator_that_fell_behind_says_how_many_sends_were_late_and_by_how_much():
    (warning,) = parsed("late").warnings
    assert warning == "2.5% of the sends were more than 1 ms late (99 % within 1563 µs)"


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("", "no complete report: Expecting value"),
        ("paceload: no socket: Too many open files\n", "no complete report: Expecting value"),
        (recorded("late")[:300], "no complete report"),
    ],
    ids=["nothing", "its error", "killed while it printed"],
)
def test_a_generator_that_died_is_an_error_that_says_so(printed, told):
    with pytest.raises(GeneratorError, match=told):
        Paceload().parse(printed, LOADS["late"])


@pytest.mark.parametrize("name", LOADS)
def test_a_condensed_report_means_the_same_and_keeps_the_text_for_other_tools(name):
    short = Paceload().condensed(recorded(name), LOADS[name])
    assert len(short) < 0.8 * len(recorded(name))
    assert Paceload().parse(short, LOADS[name]) == parsed(name)
    assert json.loads(short)["service"]["hdr"] == json.loads(recorded(name))["service"]["hdr"]
    assert Paceload().condensed(short, LOADS[name]) == short


@pytest.mark.parametrize("name", LOADS)
def test_in_a_search_times_have_two_digits_and_all_else_is_the_same(name):
    coarse = Paceload().condensed(recorded(name), LOADS[name], coarse=True)
    assert Paceload().condensed(coarse, LOADS[name], coarse=True) == coarse
    result, exact = Paceload().parse(coarse, LOADS[name]), parsed(name)
    assert (result.requests_count, result.errors, result.lateness) == (
        exact.requests_count,
        exact.errors,
        exact.lateness,
    )
    assert result.warnings == exact.warnings
    for times, of in ((result.response_time, exact.response_time), (result.service_time, exact.service_time)):
        assert (times is None) == (of is None)
        if times is not None and of.total_count:
            q = [50.0, 90.0, 99.0, 99.9]
            short, whole = (histograms.percentiles(*each.arrays, q) for each in (times, of))
            assert short == pytest.approx(whole, rel=0.005, abs=1)


@pytest.mark.parametrize(
    "damage",
    [
        {"completed": 3},
        {"unanswered": 1},
        {"scheduled": 196},
        {"read_errors": 1},
        {"rate_rps": 401.0},
        {"seed": 8},
        {"paceload": None},
        {"more": 1},
        {"service": {"mean_ns": 0, "hdr": "", "ns": []}},
    ],
)
def test_a_report_that_contradicts_itself_or_its_load_is_refused(damage):
    with pytest.raises(GeneratorError):
        Paceload().parse(json.dumps(json.loads(recorded("open")) | damage), LOADS["open"])


@given(st.text() | st.integers(0, 2900).map(lambda length: recorded("open")[:length]))
def test_what_is_no_whole_report_is_refused(text):
    with pytest.raises(GeneratorError):
        Paceload().parse(text, LOADS["open"])


@given(st.lists(st.tuples(st.integers(0, 10**10), st.integers(1, 10**6)), unique_by=lambda pair: pair[0], min_size=1))
def test_any_histogram_keeps_its_number_of_samples_in_microseconds(pairs):
    report = json.loads(recorded("open"))
    total = sum(count for _, count in pairs)
    bins = {"mean_ns": 0.0, "hdr": "", "ns": sorted(pairs)}
    report |= {"service": bins, "response": bins, "completed": total, "scheduled": total}
    result = Paceload().parse(json.dumps(report), LOADS["open"])
    assert result.service_time.total_count == total
    assert list(result.service_time.values_us) == sorted(set(result.service_time.values_us))


def test_the_command_has_rate_seed_and_body_where_there_are_some():
    words = Paceload().command(Request("POST", "/x", b"{}"), Load(8, 2, 1.5, rate_rps=1234.5, seed=9), "127.0.0.1", 80)
    options = dict(zip(words[1::2], words[2::2], strict=True))
    assert options["--rate"] == "1234.5"
    assert (options["--seed"], options["--body"], options["--method"]) == ("9", "/load/body", "POST")
    closed = Paceload().command(GET, Load(8, 2, 1.5, keepalive_requests=1), "127.0.0.1", 80)
    assert "--rate" not in closed
    assert closed[closed.index("--keep-alive") + 1] == "0"


@pytest.mark.parametrize("load", [Load(1, 2, 1.0), Load(1, 1, 0.0), Load(1, 1, 1.0, keepalive_requests=5)])
def test_a_load_that_it_cannot_make_is_refused(load):
    with pytest.raises(GeneratorError):
        Paceload().command(GET, load, "127.0.0.1", 80)
