"""What is shown of systems at one offered rate says what the frames say, also where something is missing."""

import math
import re
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

from runners.analyse.fixed_rates import Latencies, added_latencies
from runners.analyse.published import figures
from runners.core.records import CONTROL, PERCENTILES, percentile_column
from runners.core.run_manifest import PlannedRates
from runners.present.latency import charts as latency_charts, sentences as latency_sentences, tables as latency_tables
from tests.analyse.test_latencies import drawn, moved
from tests.present.frames import labelled

DIRECT = "nginx"
SLOW, FAST = "relay@no-keepalive", "relay@no-keepalive-fast"
AGAIN = "relay@no-keepalive-perf-gauge"
OFFERED = {SLOW: 600.0, FAST: 3500.0}
RANKING = re.compile(r"\b(fastest|slowest|faster|slower|least|most|shortest|longest|lowest|highest|best|worst)\b")
ADDED_US = {DIRECT: 0, "haproxy-tcp": 300, "asio-relay": 310, "pproxy": 4000, CONTROL: 0}


def cell(system, workload, achieved=1.0, status="ok"):
    middle_s = (500 + ADDED_US[system]) * 1e-6
    row = {"system": system, "server": DIRECT if system == CONTROL else system, "codec": None, **labelled(workload)}
    row |= {"operations_count": math.nan, "offered_rps": OFFERED[workload], "status": status, "remarks": []}
    row["planned_workload"] = SLOW
    row |= {"throughput_rps": OFFERED[workload] * achieved, "achieved_fraction": achieved, "generator": "perf-gauge"}
    for place, percentile in enumerate(PERCENTILES):
        name = percentile_column(percentile).removesuffix("_s")
        value = math.nan if percentile == 99.99 else middle_s * (1 + place / 2)
        row |= {f"{name}_s": value, f"{name}_low_s": value * 0.9, f"{name}_high_s": value * 1.1}
    row |= {"max_s": 0.05, "tm99_s": middle_s, "stddev_s": middle_s / 3, "bottleneck": "unsaturated"}
    row |= {
        f"cpu{part}_per_request{end}_s": 2e-5 for part, end in [("", ""), ("", "_low"), ("", "_high"), ("_user", "")]
    }
    row |= {"cpu_system_per_request_s": 1e-5, "pss_bytes": 9e6, "established_count": 80.0}
    return row | {"context_switches_per_request_ratio": 1.5}


@pytest.fixture(scope="module")
def shown():
    rng = np.random.default_rng(1)
    base = drawn(rng, 6, spread=0.1)
    rows = [cell(system, SLOW) for system in ADDED_US]
    rows += [cell(system, FAST, 0.9 if system == "asio-relay" else 1.0) for system in ADDED_US if system != "pproxy"]
    cells = pd.DataFrame(rows)
    return cells, added_latencies(latencies_of_rows(base, rows), OFFERED, DIRECT)


def latencies_of_rows(base, rows):
    return Latencies({(row["system"], row["workload"]): moved(base, 1, ADDED_US[row["system"]]) for row in rows})


@dataclass
class Run:
    """An analysed run at one rate: by paceload, and again by perf-gauge, in whose bursts medians are three times as long."""

    cells: pd.DataFrame
    latencies: Latencies
    fixed_rate: tuple = (SLOW,)
    repeated: dict = field(default_factory=lambda: {AGAIN: SLOW})
    baseline: str = DIRECT


@pytest.fixture
def paced():
    base = drawn(np.random.default_rng(1), 6, spread=0.1)
    rows = [cell(system, SLOW) | {"generator": "paceload"} for system in ADDED_US]
    again = [row | labelled(AGAIN) | {"generator": "perf-gauge"} for row in rows]
    again = [{name: value * 3 if name.startswith("p50") else value for name, value in row.items()} for row in again]
    return Run(pd.DataFrame(rows + again), latencies_of_rows(base, rows))


def test_the_charts_state_what_was_offered_and_how_much_of_it_was_achieved(shown):
    cells, _ = shown
    chart = latency_charts.regular(cells)
    titles = [ax.get_title(loc="left").replace("\n", " ") for ax in chart.axes]
    assert "relay, no-keepalive-fast, 3,500/s, p50" in titles
    words = [text.get_text() for ax in chart.axes for text in ax.texts]
    assert any(word.endswith("\n3.15 k/s, 90.0 % ▲") for word in words)
    assert any(word.endswith("\n600/s, 100.0 %") for word in words)
    assert chart.png()


def test_a_tail_that_nobody_can_estimate_is_said_to_be_so(shown):
    cells, _ = shown
    chart = latency_charts.tail(cells.assign(p99_9_s=math.nan))
    assert "Not known, for want of requests: p99.9 of" in chart.caption
    assert not any(ax.get_title(loc="left").endswith("p99.9") for ax in chart.axes)
    assert chart.png()


def test_a_failed_cell_is_a_row_with_its_reason(shown):
    cells, _ = shown
    failed = pd.concat([cells, pd.DataFrame([cell(DIRECT, SLOW, status="failed: it ended") | {"system": "gone"}])])
    chart = latency_charts.regular(failed)
    assert any("failed: it ended" in text.get_text() for ax in chart.axes for text in ax.texts)
    assert "failed: it ended" in str(latency_tables.published_form(failed, figures()))


def test_what_is_added_is_drawn_with_its_amount(shown):
    cells, added = shown
    chart = latency_charts.added(added, cells, DIRECT)
    assert "haproxy-tcp +300 µs on relay@no-keepalive" in chart.description
    assert chart.png()


def test_the_published_values_stand_beside_the_highest_rate_of_each_system(shown):
    cells, _ = shown
    text = str(latency_tables.published_form(cells, figures()))
    slow, fast = text.split(FAST)
    assert "published 4.03 ms" in slow  # pproxy, which has no faster tier
    assert "published 878 µs" in fast  # HAProxy
    assert "published 878 µs" not in slow


def test_the_table_of_rates_says_who_was_not_measured_at_which(shown):
    cells, _ = shown
    planned = PlannedRates(capacities={"no-keepalive-capacity": {"pproxy": 1100.0}}, loads=[])
    text = str(latency_tables.rates(planned, cells))
    assert "pproxy\t1.10 k/s\t600/s 100.0%\tnot at this rate" in text


def test_that_requests_come_in_bursts_is_said_at_every_figure_and_table_of_their_times(shown):
    cells, added = shown
    charts = [latency_charts.regular(cells), latency_charts.tail(cells), latency_charts.added(added, cells, DIRECT)]
    for chart in charts:
        for said in (chart.caption, chart.description):
            assert "clients tick together" in said
            assert "half of a burst's queue" in said
            assert "No proxy is ranked by these times." in said
    assert "clients tick together" in str(latency_tables.published_form(cells, figures()))


def test_nothing_at_a_figure_of_service_times_ranks(shown):
    cells, added = shown
    for chart in (
        latency_charts.regular(cells),
        latency_charts.tail(cells),
        latency_charts.added(added, cells, DIRECT),
    ):
        words = [text.get_text() for ax in chart.axes for text in ax.texts]
        assert not RANKING.search(" ".join([chart.title, chart.caption, chart.description, *words]))


def test_proxies_are_ranked_by_what_they_add_to_the_response_time_with_who_is_not_told_apart(paced):
    said = latency_sentences.conclusions(paced)
    first = said[0]
    assert first.startswith("relay, no-keepalive, 600/s: haproxy-tcp adds least to nginx's p50, 300 µs")
    assert "pproxy most, 4.00 ms" in first
    assert not any("in bursts" in sentence for sentence in said)


def test_proxies_that_add_the_same_are_not_told_apart(paced):
    blocks = paced.latencies.cells
    rng = np.random.default_rng(2)
    blocks["asio-relay", SLOW] = {
        block: moved({0: launch}, 1, int(rng.integers(-30, 30)))[0]
        for block, launch in blocks["haproxy-tcp", SLOW].items()
    }
    said = latency_sentences.conclusions(paced)
    assert any(re.search("(haproxy-tcp and asio-relay|asio-relay and haproxy-tcp) add least", each) for each in said)


def test_how_far_bursts_move_the_median_is_computed(paced):
    said = latency_sentences.conclusions(paced)[-1]
    assert "with perf-gauge's bursts p50 is 3.0 ×" in said
    assert said.endswith("that of paceload.")


def test_of_times_in_bursts_only_the_caveat_is_concluded(paced):
    paced.cells["generator"] = "perf-gauge"
    (said,) = latency_sentences.conclusions(paced)
    assert said == "perf-gauge sent in bursts: times hold the queue within a burst, and rank no proxy."


def test_both_tools_stand_side_by_side_with_the_artefact_of_one(paced):
    text = str(latency_tables.generators_compared(paced.cells, paced.repeated))
    assert text.startswith("perf-gauge, the published tool, beside paceload.")
    assert latency_charts.BURSTS in text
    (line,) = [line for line in text.splitlines() if line.startswith("nginx")]
    assert "500 µs 1.50 ms" in line
    assert "3.00 ×" in line


def test_a_run_with_one_tool_says_so(paced):
    assert "one load generator" in str(latency_tables.generators_compared(paced.cells, {}))


def test_charts_of_response_times_say_what_they_count_from_and_nothing_of_bursts(paced):
    cells = paced.cells[paced.cells["workload"] == SLOW]
    for chart in (latency_charts.regular(cells), latency_charts.tail(cells)):
        assert "Response times count from the intended moment" in chart.caption
        assert "clients tick together" not in chart.caption
        assert "esponse times at the offered rate" in chart.title
    assert "not known" in str(latency_tables.published_form(cells, figures()))
