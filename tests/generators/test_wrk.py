"""wrk: the command, and what it printed in real windows, generated windows, and windows that were tampered with."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, strategies as st

from runners.core.histogram import Histogram
from runners.core.load import GeneratorError, Load, LoadErrors
from runners.core.request import Request
from runners.generators.wrk import Wrk
from runners.generators.wrk_exact import COARSE_PARTS, PARTS
from runners.stats import histograms
from runners.stats.histograms import correct
from tests.generators import wrk_printer

RECORDED = Path(__file__).parents[1] / "recorded" / "wrk"
LOADS = {
    "microseconds": Load(connections=1, threads=1, duration_s=0.3),
    "milliseconds": Load(connections=10, threads=1, duration_s=1),
    "tail": Load(connections=1, threads=1, duration_s=1.5),
    "seconds": Load(connections=40, threads=1, duration_s=4),
    "timeouts": Load(connections=30, threads=1, duration_s=3, timeout_s=1),
    "statuses": Load(connections=2, threads=1, duration_s=0.3),
    "read-errors": Load(connections=2, threads=1, duration_s=0.3),
    "killed-server": Load(connections=8, threads=2, duration_s=1),
    "few-descriptors": Load(connections=30, threads=1, duration_s=1),
    "unanswered": Load(connections=5, threads=1, duration_s=1),
    "threads": Load(connections=11, threads=3, duration_s=1),
    # Of a server with 40 descriptors: over a thousand connections are open and never responses, and wrk counts no error.
    "many-connections": Load(connections=1200, threads=1, duration_s=1, ramp_up_s=0.0778),
}
every_recording = pytest.mark.parametrize("name", LOADS)


def recorded(name):
    return (RECORDED / f"{name}.txt").read_text()


def parsed(name):
    return Wrk().parse(recorded(name), LOADS[name])


def split(output):
    text, exact = output.split("wrkbook ")
    fields = json.loads(exact)
    for name in ("latency_us", "thread_rps"):
        fields[name]["histogram"] = pairs(fields[name]["histogram"])
    return text, fields


def pairs(steps):
    found, value = [], 0
    for printed in steps.split():
        step, count = printed.split(":") if ":" in printed else (1, printed)
        value += int(step)
        found.append([value, int(count)])
    return found


# The command


def command(request=None, **load):
    load = {"connections": 80, "threads": 1, "duration_s": 15.0} | load
    return Wrk().command(request or Request("GET", "/ping"), Load(**load), "127.0.0.1", 21400)


def test_the_command_names_the_load_and_the_request():
    request = Request("POST", "/discard/db/table", b"[]", "application/json; charset=utf-8")
    assert command(request, connections=20000, threads=4, timeout_s=10.0) == [
        "wrk", "--threads", "4", "--connections", "20000", "--duration", "15s", "--timeout", "10s", "--latency",
        "--script", "/load/wrk.lua", "http://127.0.0.1:21400/discard/db/table",
        "--", "POST", "application/json; charset=utf-8", "/load/body",
    ]  # fmt: skip


@pytest.mark.parametrize("load", [{"rate_rps": 100.0}, {"keepalive_requests": 1}])
def test_what_wrk_cannot_do_is_refused(load):
    with pytest.raises(GeneratorError, match="neither"):
        command(**load)


@pytest.mark.parametrize(("requested", "given_to_wrk"), [(0.4, "1s"), (1.0, "1s"), (1.5, "2s"), (60.0, "60s")])
def test_a_window_that_is_not_whole_seconds_is_rounded_up(requested, given_to_wrk):
    assert given_to_wrk in command(duration_s=requested)


def test_a_get_without_body_sends_none_and_a_post_without_body_an_empty_one():
    assert command(Request("GET", "/ping"))[-2:] == ["--", "GET"]
    assert command(Request("POST", "/ping"))[-1] == "/load/body"


@pytest.mark.parametrize(
    "load",
    [{"connections": 3, "threads": 4}, {"threads": 0}, {"duration_s": 0.0}, {"timeout_s": 0.5}, {"timeout_s": 2.5}],
)
def test_a_load_that_wrk_cannot_make_is_refused(load):
    with pytest.raises(GeneratorError):
        command(**load)


@pytest.mark.parametrize("path", ["ping", "", "/a b", "/a\r\nX: y", "/é"])
def test_a_path_that_is_not_one_is_refused(path):
    with pytest.raises(GeneratorError, match="not a path"):
        command(Request("GET", path))


def test_preparing_writes_the_body_as_it_is_and_the_script(tmp_path):
    body = bytes(range(256))
    Wrk().prepare(Request("POST", "/", body), tmp_path)
    assert (tmp_path / "body").read_bytes() == body
    assert "function done(" in (tmp_path / "wrk.lua").read_text()


def test_the_script_leaves_wrk_its_fast_path():
    script = (Path(__file__).parents[2] / "runners/generators/wrk.lua").read_text()
    assert not re.findall(r"^\s*(?:function\s+)?(?:request|response|delay)\b\s*[(=]", script, re.MULTILINE)


# Real windows


@every_recording
def test_the_recovered_histogram_has_every_answer_within_the_timeout(name):
    result = parsed(name)
    assert result.service_time.total_count == result.requests_count - result.errors.timeout_count
    assert result.corrected.total_count >= result.service_time.total_count


@every_recording
def test_the_model_of_wrk_prints_what_wrk_printed(name):
    text, fields = split(recorded(name))
    run, url = re.search(r"Running (\S+) test @ (\S+)", text).groups()
    assert wrk_printer.text(fields, LOADS[name], url, run) == text


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("microseconds", LoadErrors()),
        ("timeouts", LoadErrors(timeout_count=35)),
        ("statuses", LoadErrors(status_count=2138)),
        ("read-errors", LoadErrors(read_count=1136)),
        ("killed-server", LoadErrors(read_count=8, write_count=34751)),
        ("few-descriptors", LoadErrors(connect_count=18)),
    ],
)
def test_errors_are_told_apart(name, errors):
    assert parsed(name).errors == errors


def test_a_window_ended_by_a_signal_is_whole_and_has_its_real_duration():
    result = parsed("tail")
    assert result.duration_s == pytest.approx(1.5, abs=0.1)
    assert (result.requests_count, result.corrected.total_count) == (416, 435)
    assert result.warnings == ()


def test_what_was_odd_is_said():
    assert parsed("threads").connections_count == 9
    assert "9 connections, not 11" in parsed("threads").warnings[0]
    assert parsed("few-descriptors").connections_count == 12
    assert "could not be opened" in parsed("few-descriptors").warnings[0]
    assert "35 responses took longer than 1 s" in parsed("timeouts").warnings[0]
    assert parsed("unanswered").warnings == ("no request was completed",)
    assert parsed("unanswered").service_time == Histogram((), ())


def test_a_window_much_shorter_than_requested_is_said_to_be():
    warnings = Wrk().parse(recorded("milliseconds"), Load(connections=10, threads=1, duration_s=15)).warnings
    assert warnings == ("the window lasted 1.00 s instead of 15 s",)


# Windows that were tampered with


def edited_texts(name):
    """The text once for each of its results, with that one changed in its last digit."""
    text, _ = split(recorded(name))
    start = text.index("threads and") - 3
    for number in re.finditer(r"(?<![\w.%+/-])\d+(?:\.\d+)?(?![\d.%])", text[start:]):
        end = start + number.end()
        yield text[: end - 1] + str((int(text[end - 1]) + 3) % 10) + text[end:]


@every_recording
def test_every_printed_number_is_held_against_the_exact_line(name):
    text, fields = split(recorded(name))
    edited = list(edited_texts(name))
    assert len(edited) >= 15
    for other in edited:
        with pytest.raises(GeneratorError):
            Wrk().parse(other + wrk_printer.line(fields), LOADS[name])
    assert Wrk().parse(text + wrk_printer.line(fields), LOADS[name])


def add_one(fields, *keys):
    *path, last = keys
    for key in path:
        fields = fields[key]
    fields[last] += max(1, fields[last] // 50)


@pytest.mark.parametrize(
    "keys",
    [
        ("requests",),
        ("bytes",),
        ("duration_us",),
        ("errors", "status"),
        ("errors", "timeout"),
        ("latency_us", "mean"),
        ("latency_us", "stdev"),
        ("latency_us", "min"),
        ("latency_us", "max"),
        ("latency_us", "total"),
        ("latency_us", "histogram", 7, 1),
        ("latency_us", "histogram", -1, 0),
        ("thread_rps", "mean"),
        ("thread_rps", "max"),
    ],
)
def test_every_exact_number_is_held_against_the_text(keys):
    text, fields = split(recorded("milliseconds"))
    add_one(fields, *keys)
    with pytest.raises(GeneratorError):
        Wrk().parse(text + wrk_printer.line(fields), LOADS["milliseconds"])


def test_a_moved_sample_that_keeps_sum_and_mean_is_noticed():
    text, fields = split(recorded("tail"))
    samples = fields["latency_us"]["histogram"]
    samples[-1][1] += 1
    samples[0][1] -= 1
    with pytest.raises(GeneratorError):
        Wrk().parse(text + wrk_printer.line(fields), LOADS["tail"])


def test_output_of_another_load_is_refused():
    with pytest.raises(GeneratorError, match="told to keep 1 threads and 12 connections"):
        Wrk().parse(recorded("milliseconds"), Load(connections=12, threads=1, duration_s=1))


@pytest.mark.parametrize(
    "damage",
    [
        lambda output: "",
        lambda output: output[: len(output) // 2],
        lambda output: output[: output.index("wrkbook")],
        lambda output: output[output.index("wrkbook") :],
        lambda output: output + output,
        lambda output: output[:-10],
        lambda output: output.replace('"errors":{', '"errors":{"dns":1,'),
        lambda output: output.replace('"bytes"', '"octets"'),
        lambda output: re.sub('"histogram":.*', '"histogram":7}}', output),
        lambda output: re.sub(r"  Latency Distribution\n(.*%.*\n)+", "", output),
    ],
)
def test_damaged_output_is_refused_with_a_message(damage):
    with pytest.raises(GeneratorError, match=r"wrk"):
        Wrk().parse(damage(recorded("milliseconds")), LOADS["milliseconds"])


# Generated windows

histograms_us = st.dictionaries(st.integers(1, 4_000), st.integers(1, 5_000), max_size=30).map(
    lambda counts: Histogram(tuple(sorted(counts)), tuple(counts[value] for value in sorted(counts)))
)
few = st.integers(0, 2_000)


@given(
    raw=histograms_us,
    rates=histograms_us,
    duration_us=st.integers(400_000, 4_000_000_000),
    connections=st.integers(1, 20_000),
    read_bytes=st.integers(0, 10**13),
    errors=st.builds(LoadErrors, few, few, few, few, few),
)
def test_parsing_gives_back_what_was_measured(raw, rates, duration_us, connections, read_bytes, errors):
    requests = raw.total_count + errors.timeout_count
    rounds = requests // connections
    corrected = correct(raw, duration_us // rounds) if rounds else raw
    # wrk counts samples from the smallest measured one on, and does not see what it added below that.
    assume(corrected.values_us[:1] == raw.values_us[:1])
    fields = {
        "duration_us": duration_us,
        "requests": requests,
        "bytes": read_bytes,
        "errors": {
            kind: getattr(errors, f"{kind}_count") for kind in ("connect", "read", "write", "status", "timeout")
        },
        "latency_us": wrk_printer.statistics(corrected),
        "thread_rps": wrk_printer.statistics(rates),
    }
    load = Load(connections, 1, duration_us / 1e6)
    result = Wrk().parse(wrk_printer.output(fields, load), load)
    assert (result.service_time, result.corrected) == (raw, corrected)
    assert (result.requests_count, result.read_bytes, result.errors) == (requests, read_bytes, errors)
    assert result.duration_s == duration_us / 1e6
    assert result.connections_count == max(0, connections - errors.connect_count)


@given(
    raw=st.dictionaries(st.integers(1, 900_000), st.integers(1, 50), min_size=1, max_size=60),
    duration_us=st.integers(400_000, 4_000_000),
    connections=st.integers(1, 400),
    coarse=st.booleans(),
)
@example({1: 1, 2: 1, 3: 1, 4: 13, 6: 50}, 400_000, 1, False)
def test_condensed_output_says_the_same_but_for_digits_far_below_the_mean(raw, duration_us, connections, coarse):
    raw = Histogram(tuple(sorted(raw)), tuple(raw[value] for value in sorted(raw)))
    rounds = raw.total_count // connections
    expected_us = duration_us // rounds if rounds else None
    corrected = correct(raw, expected_us) if rounds else raw
    assume(corrected.values_us[:1] == raw.values_us[:1])
    fields = {
        "duration_us": duration_us,
        "requests": raw.total_count,
        "bytes": 0,
        "errors": dict.fromkeys(("connect", "read", "write", "status", "timeout"), 0),
        "latency_us": wrk_printer.statistics(corrected),
        "thread_rps": wrk_printer.statistics(Histogram((5,), (1,))),
    }
    load = Load(connections, 1, duration_us / 1e6)
    output = wrk_printer.output(fields, load)
    condensed = Wrk().condensed(output, load, coarse=coarse)
    assert len(condensed) <= len(output) + 45
    assert Wrk().condensed(condensed, load, coarse=coarse) == condensed
    parts = COARSE_PARTS if coarse else PARTS
    if not rounds or expected_us < 2 * parts:
        assert condensed == output
    far = (expected_us or 0) / parts / 2 + 0.5
    whole, small = Wrk().parse(output, load), Wrk().parse(condensed, load)
    for before, after in ((whole.service_time, small.service_time), (whole.corrected, small.corrected)):
        assert np.abs(spread_out(before) - spread_out(after)).max() <= far
    assert whole.throughput_rps == small.throughput_rps


def spread_out(histogram):
    return np.repeat(histogram.values_us, histogram.counts)


@every_recording
def test_a_condensed_recording_is_still_held_against_its_text(name):
    condensed = Wrk().condensed(recorded(name), LOADS[name])
    assert Wrk().parse(condensed, LOADS[name]).requests_count == parsed(name).requests_count
    if condensed != recorded(name):
        with pytest.raises(GeneratorError):
            Wrk().parse(re.sub(r'"interval_us":\d', '"interval_us":9', condensed), LOADS[name])


@every_recording
def test_a_coarse_recording_is_as_sound_and_no_longer(name):
    coarse, fine = (Wrk().condensed(recorded(name), LOADS[name], coarse=coarse) for coarse in (True, False))
    assert len(coarse) <= len(fine)
    assert Wrk().parse(coarse, LOADS[name]).requests_count == parsed(name).requests_count


def test_a_recording_of_long_latencies_is_condensed():
    assert any(Wrk().condensed(recorded(name), LOADS[name]) != recorded(name) for name in LOADS)


def test_connections_without_a_response_are_seen_by_little_s_law_alone():
    result = parsed("many-connections")
    assert result.errors.total_count == 0
    assert not result.warnings
    # Less than the printed duration, in which wrk opened its connections and sent nothing.
    assert result.duration_s == pytest.approx(1.10, abs=0.01)
    mean_s = histograms.mean(result.service_time.values_us, result.service_time.counts) * 1e-6
    assert result.throughput_rps * mean_s < 0.05 * 1200
