"""autocannon: the command, and what it printed in real windows, published ones, generated ones, and damaged ones."""

import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from runners.core.histogram import Histogram
from runners.core.load import GeneratorError, Load
from runners.core.request import Request
from runners.generators.autocannon import Autocannon
from runners.generators.autocannon_text import parse_text
from runners.stats import histograms
from tests.generators import autocannon_printer

RECORDED = Path(__file__).parents[1] / "recorded" / "autocannon"
LOADS = {
    "closed": Load(connections=10, threads=1, duration_s=0.5),
    "threads": Load(connections=11, threads=2, duration_s=0.5),
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
    return Autocannon().parse(recorded(name), LOADS[name])


def options(request=None, **load):
    load = Load(**({"connections": 80, "threads": 1, "duration_s": 0.4} | load))
    program, script, words = Autocannon().command(request or Request("GET", "/ping"), load, "127.0.0.1", 21400)
    assert (program, script) == ("node", "/load/autocannon.js")
    return json.loads(words)


def test_the_command_names_the_load_and_the_request():
    assert options(timeout_s=1.5) == {
        "url": "http://127.0.0.1:21400/ping", "method": "GET", "connections": 80, "duration": 0.4, "timeout": 1.5,
        "sampleInt": 100,
    }  # fmt: skip
    given = options(Request("POST", "/discard/a/b", b"[]", "text/plain"), threads=4)
    assert (given["workers"], given["body"], given["headers"]) == (4, "/load/body", {"Content-Type": "text/plain"})


@pytest.mark.parametrize(
    "load", [{"threads": 0}, {"threads": 81}, {"duration_s": 0}, {"rate_rps": 10.0}, {"keepalive_requests": 1}]
)
def test_a_load_that_autocannon_cannot_make_is_refused(load):
    with pytest.raises(GeneratorError, match="autocannon"):
        options(**load)


def test_a_path_that_would_be_another_request_is_refused():
    with pytest.raises(GeneratorError, match="not a path"):
        options(Request("GET", "/a b"))


@every_recording
def test_a_recorded_window_is_read_whole(name):
    result = parsed(name)
    assert result.service_time.total_count == result.requests_count
    assert result.duration_s == pytest.approx(LOADS[name].duration_s, abs=0.25)


def test_recorded_errors_are_counted_by_kind():
    refused, late, statuses = parsed("refused"), parsed("timeouts"), parsed("statuses")
    assert refused.errors.connect_count == refused.errors.total_count > 0
    assert (refused.connections_count, refused.requests_count) == (0, 0)
    assert late.errors.timeout_count == late.errors.total_count > 0
    assert late.service_time.values_us[-1] < 1e6
    assert statuses.errors.status_count == statuses.requests_count > 0


def test_a_known_delay_is_seen_in_microseconds():
    delays = parsed("delays").service_time
    assert delays.values_us[0] >= 10_000
    assert any(value % 1000 for value in delays.values_us)


def test_connections_that_were_not_opened_are_told():
    result = parsed("threads")
    assert result.connections_count == 10
    assert "used 10 connections, not 11" in result.warnings[0]


def test_without_keep_alive_autocannon_counts_no_answer():
    text = parse_text(recorded("no-keepalive"))
    assert text.sent_count.value > 0
    assert (text.read_bytes.value, text.requests.mean.value) == (0, 0)


PUBLISHED = {  # requests per interval (1 %, 2.5 %, 50 %, 97.5 %, mean, deviation, least), bytes likewise, sent, read
    "text": ([102847, 102847, 110527, 111359, 109262.55, 2722.29, 102821],
             [13.5e6, 13.5e6, 14.5e6, 14.6e6, 14.3e6, 354e3, 13.5e6], 1202e3, 157e6, 2e-5),
    "json": ([102079, 102079, 108287, 109887, 107488, 2468.63, 102018],
             [20.6e6, 20.6e6, 21.9e6, 22.2e6, 21.7e6, 500e3, 20.6e6], 1182e3, 239e6, 2e-5),
    "sql1": ([44319, 44319, 46719, 46975, 46398.55, 732.44, 44318],
             [7.93e6, 7.93e6, 8.36e6, 8.4e6, 8.3e6, 131e3, 7.93e6], 510e3, 91.3e6, 3e-5),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_table_is_read_exactly(name):
    text = parse_text(recorded(f"published-{name}"))
    rates, sizes, sent, read, stddev_s = PUBLISHED[name]
    for row, expected in ((text.requests, rates), (text.read_bytes_by_interval, sizes)):
        cells = [*row.percentiles.values(), row.mean, row.stddev, row.min]
        assert [cell.value for cell in cells] == expected
    assert (text.sent_count.value, text.read_bytes.value) == (sent, read)
    assert text.latency.percentiles_s == {2.5: 0, 50.0: 0, 97.5: 0, 99.0: 0}
    assert (text.latency.mean_s, text.latency.max_s) == (1e-5, 5e-3)
    assert text.latency.stddev_s == pytest.approx(stddev_s)
    assert (text.planned_s, text.duration_s, text.connections_count) == (10, 11.01, 10)
    assert (text.interval_s, text.intervals_count) == (1, 11)
    assert text.read_bytes_by_interval.mean.admits(8.3e6) == (name == "sql1")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("5k errors (1 timeouts)", {"errors_count": 5000, "timeouts_count": 1}),
        ("7 2xx responses, 12 non 2xx responses", {"non_2xx_count": 12}),
        ("3 requests with mismatched body", {"mismatches_count": 3}),
        ("request pipeline was reset 1 time", {"resets_count": 1}),
        ("4 workers", {"workers_count": 4}),
    ],
)
def test_the_lines_that_are_printed_only_now_and_then_are_read(line, told):
    text = parse_text(recorded("published-text") + line + "\n")
    assert {name: getattr(getattr(text, name), "value", getattr(text, name)) for name in told} == told


@pytest.mark.parametrize(
    "damage",
    [
        lambda output: "",
        lambda output: output[: len(output) // 2],
        lambda output: output + output,
        lambda output: output[:-10],
        lambda output: output.replace("autocannon {", "{"),
        lambda output: output.replace("97.5%", "97%", 1),
        lambda output: re.sub(r"│ Latency .*\n", "", output),
        lambda output: re.sub(r" ms ", " µs ", output, count=1),
        lambda output: output.replace("MB read", "Mb read"),
        lambda output: output.replace('"total":', '"all":'),
    ],
)
def test_damaged_output_is_refused_with_a_message(damage):
    with pytest.raises(GeneratorError, match="autocannon"):
        Autocannon().parse(damage(recorded("closed")), LOADS["closed"])


@pytest.mark.parametrize("name", ["requests", "errors", "timeouts", "non2xx", "duration", "throughput", "latency"])
def test_every_number_of_the_result_is_held_against_the_others(name):
    text, line = re.match(r"(?s)(.*\nautocannon )(.*)", recorded("closed")).groups()
    fields, rest = json.JSONDecoder().raw_decode(line)[0], line[line.index("\nwrkbook") :]
    inner = {"requests": "total", "throughput": "total", "latency": "average"}.get(name)
    if inner:
        fields[name][inner] = fields[name][inner] * 1.1 + 1
    else:
        fields[name] += 1
    with pytest.raises(GeneratorError, match="differ"):
        Autocannon().parse(text + json.dumps(fields) + rest, LOADS["closed"])


def test_output_of_another_load_is_refused():
    with pytest.raises(GeneratorError, match="told to keep 12 connections"):
        Autocannon().parse(recorded("closed"), Load(connections=12, threads=1, duration_s=0.5))


few = st.integers(0, 3_000)


@given(
    counts=st.dictionaries(st.integers(1, 9_000_000), st.integers(1, 5_000), max_size=30),
    errors=st.fixed_dictionaries(dict.fromkeys(("connect", "read", "write", "timeout"), few)),
    read_bytes=st.integers(0, 10**13),
    milliseconds=st.integers(300, 4_000_000),
    threads=st.integers(1, 4),
    data=st.data(),
)
def test_parsing_gives_back_what_was_measured(counts, errors, read_bytes, milliseconds, threads, data):
    seen = Histogram(tuple(sorted(counts)), tuple(counts[value] for value in sorted(counts)))
    non_2xx = data.draw(st.integers(0, seen.total_count))
    load = Load(connections=8, threads=threads, duration_s=milliseconds / 1e3)
    output = autocannon_printer.output(seen, errors, non_2xx, read_bytes, milliseconds, load)
    result = Autocannon().parse(output, load)
    assert result.service_time == seen
    assert (result.requests_count, result.read_bytes) == (seen.total_count, read_bytes)
    assert result.duration_s == pytest.approx(milliseconds / 1e3, abs=1e-9)
    assert {kind: getattr(result.errors, f"{kind}_count") for kind in errors} == errors
    assert result.errors.status_count == non_2xx


def test_the_printed_mean_is_of_latencies_cut_to_milliseconds_and_rounded_up():
    seen = parsed("closed").service_time
    cut = histograms.mean([value // 1000 for value in seen.values_us], seen.counts)
    printed = parse_text(recorded("closed")).latency.mean_s * 1e3
    assert printed == pytest.approx(math.ceil(cut * 100) / 100)
    assert histograms.mean(seen.values_us, seen.counts) > 1000 * cut
