"""wrk's printed summary alone, as it is found in published benchmarks."""

import math

import pytest
from hypothesis import given, strategies as st

from runners.core.load import GeneratorError, LoadErrors
from runners.core.project import PUBLISHED as FOLDER
from runners.generators.wrk_text import parse_text
from tests.generators import wrk_printer

FILES = {
    "gin-ping": "webserver-benchmarks/ping-gin.txt",
    "drogon-ping": "webserver-benchmarks/ping-drogon.txt",
    "gin-1-operation": "webserver-benchmarks/decode-1-gin-encoding-json.txt",
    "drogon-glaze-10-operations": "webserver-benchmarks/decode-10-drogon-glaze.txt",
    "go-20-connections": "go-response-to-swift/go-20.txt",
    "go-20000-connections": "go-response-to-swift/go-20000.txt",
    "node-20-connections": "go-response-to-swift/node-20.txt",
    "node-20000-connections": "go-response-to-swift/node-20000.txt",
}
US, MS, MIB, GIB = 1e-6, 1e-3, 2**20, 2**30

# threads, connections; latency mean, stddev, max; thread rate mean, stddev, max; 50, 75, 90, 99 %; requests, duration,
# bytes; requests and bytes per second
PUBLISHED = {
    "gin-ping": (
        (40, 80),
        (247.78 * US, 349.98 * US, 7.12 * MS),
        (13890, 1980, 32450),
        (105 * US, 286 * US, 673 * US, 1.71 * MS),
        (8319208, 15.10, 0.91 * GIB),
        (550965.05, 62.00 * MIB),
    ),
    "drogon-ping": (
        (40, 80),
        (162.98 * US, 270.68 * US, 20.21 * MS),
        (13360, 3570, 31560),
        (140 * US, 183 * US, 247 * US, 463 * US),
        (8027674, 15.10, 1.13 * GIB),
        (531620.80, 76.56 * MIB),
    ),
    "gin-1-operation": (
        (40, 80),
        (0.97 * MS, 1.39 * MS, 33.72 * MS),
        (4800, 516.32, 6940),
        (278 * US, 1.39 * MS, 2.94 * MS, 5.88 * MS),
        (2883520, 15.10, 324.49 * MIB),
        (190965.27, 21.49 * MIB),
    ),
    "drogon-glaze-10-operations": (
        (40, 80),
        (400.20 * US, 0.91 * MS, 25.36 * MS),
        (6630, 2080, 26550),
        (272 * US, 380 * US, 502 * US, 4.45 * MS),
        (3970250, 15.10, 526.30 * MIB),
        (262935.10, 34.85 * MIB),
    ),
    "go-20-connections": (
        (1, 20),
        (248.10 * US, 660.77 * US, 29.34 * MS),
        (95980, 4220, 104160),
        (176 * US, 222 * US, 346 * US, 0.97 * MS),
        (5739608, 60.0, 1.96 * GIB),
        (95501.72, 33.33 * MIB),
    ),
    "go-20000-connections": (
        (1, 20000),
        (142.28 * MS, 54.24 * MS, 1.01),
        (76410, 12740, 109640),
        (127.46 * MS, 136.15 * MS, 224.86 * MS, 358.61 * MS),
        (4533633, 60.0, 1.54 * GIB),
        (75427.92, 26.32 * MIB),
    ),
    "node-20-connections": (
        (1, 20),
        (2.75 * MS, 378.70 * US, 24.16 * MS),
        (7320, 431.18, 8050),
        (2.70 * MS, 2.85 * MS, 3.02 * MS, 3.56 * MS),
        (437404, 60.0, 170.57 * MIB),
        (7277.96, 2.84 * MIB),
    ),
    "node-20000-connections": (
        (1, 20000),
        (1.34, 423.74 * MS, 2.00),
        (9330, 3710, 21790),
        (1.38, 1.67, 1.98, 2.00),
        (390175, 60.0, 152.15 * MIB),
        (6493.70, 2.53 * MIB),
    ),
}


def published(name):
    return (FOLDER / FILES[name]).read_text()


def spread(line):
    return line.mean.value, line.stddev.value, line.max.value


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_outputs_are_read_to_the_last_digit(name):
    text = parse_text(published(name))
    read = (
        (text.threads_count, text.connections_count),
        spread(text.latency_s),
        spread(text.thread_rps),
        tuple(at.value for at in text.percentiles_s.values()),
        (text.requests_count, text.duration_s.value, text.read_bytes.value),
        (text.throughput_rps.value, text.transfer_bytes_per_s.value),
    )
    for found, expected in zip(read, PUBLISHED[name], strict=True):
        assert found == pytest.approx(expected, rel=1e-12)
    assert list(text.percentiles_s) == [50.0, 75.0, 90.0, 99.0]


def test_published_errors_are_read():
    assert parse_text(published("node-20000-connections")).errors == LoadErrors(0, 7, 62627, 131594, 0)
    assert parse_text(published("go-20000-connections")).errors == LoadErrors()


def test_the_rest_of_a_line_is_read_too():
    text = parse_text(published("gin-ping"))
    assert text.url == "http://localhost:4046/ping"
    assert text.latency_s.within_stddev_fraction == pytest.approx(0.8803)


def test_a_line_of_statuses_is_read():
    text = published("gin-ping").replace("Requests/sec", "  Non-2xx or 3xx responses: 12\nRequests/sec")
    assert parse_text(text).errors == LoadErrors(status_count=12)


def test_the_rate_under_its_shorter_name_is_read():
    slides = FOLDER / "webserver-benchmarks" / "slides-ping-gin.txt"
    assert "Req/sec: 550965.05" in slides.read_text()
    assert parse_text(slides.read_text()) == parse_text(published("gin-ping"))


def test_lines_around_the_output_do_not_matter():
    assert parse_text(f"$ wrk -c 20 …\n{published('gin-ping')}\nResults: fast\n") == parse_text(published("gin-ping"))


def test_without_the_latency_option_there_are_no_percentiles():
    lines = published("gin-ping").splitlines()
    assert parse_text("\n".join(lines[:5] + lines[10:])).percentiles_s == {}


def test_the_share_within_the_deviation_of_no_samples_is_missing():
    text = published("gin-ping").replace("88.03%", "-nan%")
    assert math.isnan(parse_text(text).latency_s.within_stddev_fraction)


def test_two_outputs_are_not_mixed_up():
    with pytest.raises(GeneratorError, match="more than one"):
        parse_text(published("gin-ping") + published("drogon-ping"))


@pytest.mark.parametrize("line", [0, 1, 3, 4, 6, 9, 10, 11, 12])
def test_a_missing_line_is_named(line):
    lines = published("gin-ping").splitlines()
    with pytest.raises(GeneratorError, match="wrk's"):
        parse_text("\n".join(lines[:line] + lines[line + 1 :]))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("247.78us", "247.78days"),
        ("247.78us", "us"),
        ("13.89k", "13.89K"),
        ("0.91GB", "0.91Gb"),
        ("88.03%", "many%"),
        ("Requests/sec", "  Socket errors: some\nRequests/sec"),
        ("Requests/sec", "  Non-2xx or 3xx responses:\nRequests/sec"),
    ],
)
def test_what_wrk_would_not_print_is_refused(right, wrong):
    text = published("gin-ping")
    assert right in text
    with pytest.raises(GeneratorError):
        parse_text(text.replace(right, wrong, 1))


@given(microseconds=st.floats(0, 1e11), rate=st.floats(0, 1e15), size=st.floats(0, 1e18))
def test_every_unit_that_wrk_prints_is_read_within_its_rounding(microseconds, rate, size):
    text = published("gin-ping")
    text = text.replace("247.78us", wrk_printer.duration(microseconds)).replace("13.89k", wrk_printer.metric(rate))
    text = text.replace("62.00MB", wrk_printer.binary(size) + "B")
    read = parse_text(text)
    assert read.latency_s.mean.admits(microseconds * 1e-6)
    assert read.thread_rps.mean.admits(rate)
    assert read.transfer_bytes_per_s.admits(size)


def test_a_number_half_a_step_away_is_admitted_and_one_step_away_is_not():
    mean = parse_text(published("gin-1-operation")).latency_s.mean
    assert (mean.value, mean.half_step) == pytest.approx((0.97 * MS, 0.005 * MS))
    assert mean.admits(0.9749 * MS)
    assert not mean.admits(0.98 * MS)
