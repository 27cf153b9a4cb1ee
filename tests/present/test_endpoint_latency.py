"""Response times at a fixed rate stand beside the throughput of each endpoint, and take no part in what is said of saturation."""

from types import SimpleNamespace

import pytest

from runners.present.endpoints import latency
from runners.present.endpoints.sentences import response_times
from runners.present.endpoints.tables import columns, shapes
from tests.present.endpoint_frames import AT_RATE, make_endpoints, with_fixed_rate


@pytest.fixture
def cells():
    return with_fixed_rate(make_endpoints().cells)


def test_the_shortest_and_the_longest_p99_are_named_with_the_rate(cells):
    said = response_times(SimpleNamespace(cells=cells))
    assert said.startswith("Text, 6,000/s: p99 is shortest with beta, 267 µs")
    assert "; longest with gamma, 800 µs" in said


def test_overlapping_intervals_tell_nobody_apart(cells):
    wide = cells.assign(p99_low_s=1e-5, p99_high_s=1.0)
    assert "p99 does not tell the servers apart: beta" in response_times(SimpleNamespace(cells=wide))


def test_throughput_and_response_times_stand_in_one_row(cells):
    (line,) = [line for line in str(latency.beside_throughput(cells)).splitlines() if line.startswith("beta")]
    assert "60.0 k" in line
    assert "100.0%" in line
    assert "66.7 µs" in line
    assert "267 µs" in line


def test_a_cell_without_a_number_is_a_row_with_its_reason(cells):
    gone = (cells["workload"] == AT_RATE) & (cells["system"] == "beta")
    cells.loc[gone, "status"] = "failed: it ended"
    assert "failed: it ended" in str(latency.beside_throughput(cells))
    assert "beta" not in response_times(SimpleNamespace(cells=cells))


def test_a_fixed_rate_is_no_second_load_generator_of_the_columns(cells):
    assert shapes(cells) == ["", "other"]
    assert list(columns(cells)) == ["text", "json", "sql1", "sql2-20"]


def test_the_chart_states_the_rate(cells):
    chart = latency.at_fixed_rate(cells)
    assert "Text, 6,000/s, p50" in [ax.get_title(loc="left") for ax in chart.axes]
    assert chart.png()


def test_a_run_without_rates_shows_no_chart_and_says_nothing(cells):
    closed = cells[cells["offered_rps"].isna()]
    assert latency.at_fixed_rate(closed) is None
    assert response_times(SimpleNamespace(cells=closed)) == ""
    assert latency.at_fixed_rate(closed.drop(columns="offered_rps")) is None
