"""perf-gauge: the command, and what it printed, logged and pushed in real runs, generated ones, and damaged ones."""

import base64
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from runners.core.histogram import Histogram
from runners.core.load import GeneratorError, Load
from runners.core.request import Request
from runners.generators.perf_gauge import PerfGauge, Portion, portion
from runners.generators.perf_gauge_push import readable
from runners.generators.perf_gauge_report import parse_text
from runners.stats import histograms
from tests.generators import perf_gauge_printer

RECORDED = Path(__file__).parents[1] / "recorded" / "perf-gauge"
LOADS = {
    "closed": Load(connections=10, threads=1, duration_s=0.5),
    "no-keepalive": Load(connections=10, threads=1, duration_s=0.5, keepalive_requests=1),
    "rate": Load(connections=10, threads=1, duration_s=1, rate_rps=3500),
    "unreachable-rate": Load(connections=10, threads=1, duration_s=1, rate_rps=5000),
    "delays": Load(connections=10, threads=1, duration_s=1),
    "refused": Load(connections=2, threads=1, duration_s=0.3),
    "timeouts": Load(connections=10, threads=1, duration_s=3, timeout_s=1),
    "statuses": Load(connections=2, threads=1, duration_s=0.3),
    "body": Load(connections=4, threads=1, duration_s=0.3),
}
every_recording = pytest.mark.parametrize("name", LOADS)


def recorded(name):
    return (RECORDED / f"{name}.txt").read_text()


def parsed(name):
    return PerfGauge().parse(recorded(name), LOADS[name])


def command(request=None, **load):
    load = Load(**({"connections": 10, "threads": 1, "duration_s": 1.5} | load))
    return PerfGauge().command(request or Request("GET", "/ping"), load, "127.0.0.1", 21400)


def test_the_command_names_the_load_and_the_request():
    assert command(rate_rps=3500.0, keepalive_requests=1) == [
        "python3", "/load/perf_gauge_push.py", "--concurrency", "10", "--duration", "1500ms", "--request_timeout", "2000ms",
        "--rate", "3500", "http", "--method", "GET", "http://127.0.0.1:21400/ping",
    ]  # fmt: skip
    assert command(Request("POST", "/discard/a/b", b"[]"))[8:] == [
        "http", "--method", "POST", "--conn_reuse", "--header", "Content-Type:application/json",
        "--body", "file:///load/body", "http://127.0.0.1:21400/discard/a/b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "load",
    [
        {"connections": 0},
        {"duration_s": 0},
        {"timeout_s": 0},
        {"keepalive_requests": 10},
        {"rate_rps": 35.0},
        {"rate_rps": 0.0},
    ],
)
def test_a_load_that_perf_gauge_cannot_make_is_refused(load):
    with pytest.raises(GeneratorError, match="perf-gauge"):
        command(**load)


@pytest.mark.parametrize(
    ("rate_rps", "expected"),
    [
        (3500, Portion(7, 20)),
        (10000, Portion(1, 1)),
        (10, Portion(1, 1000)),
        (5, Portion(1, 2000)),
        (35, Portion(3, 1000)),
        (11110, Portion(1122, 1000)),
    ],
)
def test_a_rate_is_spread_over_the_clients_as_perf_gauge_does(rate_rps, expected):
    assert portion(Load(connections=10, threads=1, duration_s=1, rate_rps=rate_rps)) == expected


@every_recording
def test_a_recorded_run_is_read_whole(name):
    result = parsed(name)
    assert result.service_time.total_count == result.requests_count
    assert result.summary is not None


@pytest.mark.parametrize("name", ["closed", "no-keepalive", "rate", "delays", "statuses"])
def test_the_pushed_histogram_has_the_printed_percentiles(name):
    result = parsed(name)
    values, counts = result.service_time.values_us, result.service_time.counts
    for q in (50.0, 90.0, 99.0):
        (at,) = histograms.percentiles(values, counts, [q]) / 1e6
        # perf-gauge sorts the times anew for what it prints, which moves each up by one step of 0.1 %.
        assert result.summary.percentiles_s[q] == pytest.approx(at, rel=0.02, abs=2e-6)
    assert result.summary.mean_s == pytest.approx(histograms.mean(values, counts) / 1e6, rel=0.01, abs=2e-6)
    assert result.summary.max_s == pytest.approx(values[-1] / 1e6, rel=0.01)


def test_recorded_errors_are_counted_by_kind():
    refused, statuses = parsed("refused"), parsed("statuses")
    assert refused.errors.connect_count == refused.errors.total_count > 0
    assert (refused.requests_count, refused.connections_count, refused.service_time.total_count) == (0, 0, 0)
    assert statuses.errors.status_count == statuses.requests_count > 0


def test_the_first_timeout_ends_the_run_and_is_told():
    late = parsed("timeouts")
    assert late.errors.timeout_count == 1
    assert late.duration_s < 2
    assert any("which ended the run" in warning for warning in late.warnings)


def test_a_rate_that_was_not_reached_is_told():
    assert any("18.5% of the offered rate" in warning for warning in parsed("unreachable-rate").warnings)
    assert any("7 requests back to back every 20 ms" in warning for warning in parsed("rate").warnings)


def test_lost_measurements_are_completed_requests_and_told():
    output = recorded("closed").replace("\nlost 0\n", "\nlost 41\n")
    result = PerfGauge().parse(output, LOADS["closed"])
    assert result.requests_count == parsed("closed").requests_count + 41
    assert any("of 41 requests" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    "damage",
    [
        lambda output: "",
        lambda output: output[: len(output) // 2],
        lambda output: output + output,
        lambda output: output[:-10],
        lambda output: output.replace("report {", "{"),
        lambda output: output.replace("lost ", "last "),
        lambda output: output.replace("p99.99 :", "p99.98 :"),
        lambda output: re.sub(r"p90 .*\n", "", output),
        lambda output: re.sub(r"p90    : +", "p90    : 9", output),
        lambda output: re.sub(r"Requests: ", "Requests: 1", output),
        lambda output: output.replace("200 OK: ", "200 OK: 1"),
        lambda output: re.sub(r'"total_bytes":', '"total_bytes":1', output),
        lambda output: output.replace('"nanos"', '"ns"'),
        lambda output: re.sub(r"Total bytes: ", "Total bytes: 9", output),
    ],
)
def test_damaged_output_is_refused_with_a_message(damage):
    with pytest.raises(GeneratorError, match="perf-gauge"):
        PerfGauge().parse(damage(recorded("closed")), LOADS["closed"])


def test_a_slow_server_s_latencies_are_read_from_milliseconds():
    text = parse_text(recorded("timeouts"))
    assert 0 < text.latencies_s["Min"].value < text.latencies_s["Max"].value < 1
    assert text.latencies_s["Min"].half_step == pytest.approx(5e-6)


def test_a_recorded_push_is_printed_as_it_is_parsed():
    """``delays.push.txt`` is, in base64, what perf-gauge pushed at the end of ``delays.txt``."""
    assert f"\npushed {readable(base64.b64decode(recorded('delays.push')))}\n" in recorded("delays")


@given(end=st.integers(0, 2_000), flip=st.integers(0, 255))
def test_a_damaged_push_is_refused_or_read_but_never_an_accident(end, flip):
    push = bytearray(base64.b64decode(recorded("delays.push")))
    at = end % len(push)
    push[at] ^= flip
    for damaged in (bytes(push), bytes(push[:at])):
        try:
            readable(damaged)
        except (ValueError, KeyError):
            continue


samples = st.dictionaries(st.integers(1, 9_000_000), st.integers(1, 5_000), max_size=20).map(
    lambda counts: Histogram(tuple(sorted(counts)), tuple(counts[value] for value in sorted(counts)))
)


@given(
    succeeded=samples,
    failed=samples,
    body_bytes=st.integers(0, 10**12),
    duration_ns=st.integers(10**9, 10**12),
    lost=st.integers(0, 10_000),
    refused=st.booleans(),
)
def test_parsing_gives_back_what_was_measured(succeeded, failed, body_bytes, duration_ns, lost, refused):
    problem = "error trying to connect: tcp connect error: Connection refused" if refused else "404 Not Found"
    counts = {"200 OK": succeeded.total_count, problem: failed.total_count}
    responses = {what: count for what, count in counts.items() if count}
    load = Load(connections=8, threads=1, duration_s=duration_ns / 1e9)
    output = perf_gauge_printer.output(succeeded, failed, responses, body_bytes, duration_ns, lost)
    result = PerfGauge().parse(output, load)
    assert result.service_time == (succeeded if refused else histograms.merge([succeeded, failed]))
    completed = succeeded.total_count + (0 if refused else failed.total_count)
    assert (result.requests_count, result.read_bytes) == (completed + lost, body_bytes)
    assert result.duration_s == pytest.approx(duration_ns / 1e9)
    assert (result.errors.connect_count if refused else result.errors.status_count) == failed.total_count
