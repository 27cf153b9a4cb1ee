"""What tells proxies apart is said first, each throughput names its limit, and no proxy is ranked by times of bursts."""

import math
import re
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

from runners.core.records import CONTROL, PERCENTILES, LoadProfile, Workload, percentile_column
from runners.core.run_manifest import BackendFacts, PlannedLoad, PlannedRates, RelayNote, RelayNotes, RunManifest
from runners.present.answer import published
from runners.present.kit import frames, wording
from runners.present.kit.decision import LEADERS, OTHERS
from runners.present.proxies import report, sentences as proxy_sentences, tables as proxy_tables
from runners.present.throughput import charts
from tests.analyse.synthetic import manifest
from tests.present.frames import labelled

DIRECT = "nginx"
CONNECTING, MODERATE = "relay@no-keepalive", "relay@moderate"
CAPACITY, MAXIMUM = "relay@no-keepalive-capacity", "relay@maximum-wrk"
CPU_US = {DIRECT: 50, "asio-relay": 110, "haproxy-tcp": 112, "http-tunnel": 150, "pproxy": 400, CONTROL: 51}
RATES = {DIRECT: 9000, "asio-relay": 8000, "haproxy-tcp": 8100, "http-tunnel": 7000, "pproxy": 2500, CONTROL: 9010}
LIMITS = {
    CAPACITY: {DIRECT: "both", "haproxy-tcp": "generator"},
    MAXIMUM: {"asio-relay": "backend", "haproxy-tcp": "backend", DIRECT: "unsaturated"},
}
HALF_CLOSED = "a client that has ended its side still receives the whole response"
NOTES = {
    DIRECT: None,
    "asio-relay": RelayNotes(tried=16, failed=[]),
    "haproxy-tcp": RelayNotes(tried=16, failed=[]),
    "http-tunnel": RelayNotes(tried=16, failed=[]),
    "pproxy": RelayNotes(tried=16, failed=[RelayNote(case=HALF_CLOSED, difference="it ended <b>early")]),
}


def cell(system, workload, offered=math.nan):
    rate = RATES[system] if math.isnan(offered) else offered
    cpu_s = CPU_US[system] * 1e-6
    row = {"system": system, "server": DIRECT if system == CONTROL else system, "codec": None, **labelled(workload)}
    row |= {"achieved_fraction": rate / offered}
    row |= {"operations_count": math.nan, "offered_rps": offered, "status": "ok", "remarks": [], "errors_count": 0}
    row |= {"generator": "wrk" if workload == MAXIMUM else "perf-gauge", "little_ratio": 1.0, "errors_fraction": 0.0}
    row |= {"throughput_rps": rate, "throughput_low_rps": rate * 0.97, "throughput_high_rps": rate * 1.03}
    for place, percentile in enumerate(PERCENTILES):
        name = percentile_column(percentile).removesuffix("_s")
        value = cpu_s * (1 + place)
        row |= {f"{name}_s": value, f"{name}_low_s": value * 0.9, f"{name}_high_s": value * 1.1}
    row |= {"cpu_per_request_s": cpu_s, "cpu_per_request_low_s": cpu_s * 0.95, "cpu_per_request_high_s": cpu_s * 1.05}
    row |= {"cpu_user_per_request_s": cpu_s / 2, "cpu_system_per_request_s": cpu_s / 2, "established_count": 80.0}
    row |= {"rss_peak_bytes": CPU_US[system] * 1e5, "pss_bytes": 9e6, "context_switches_per_request_ratio": 1.5}
    row |= {"launches_count": 6, "launches_made_count": 6}
    at_rest = "unsaturated" if not math.isnan(offered) else "server"
    return row | {"bottleneck": LIMITS.get(workload, {}).get(system, at_rest)}


def compared(cells, workload, verdicts, bounds=()):
    """The proxies against direct access, and its control."""
    bounds = dict(bounds)
    rows = []
    for system, verdict in verdicts.items():
        ratio = RATES[system] / RATES[DIRECT]
        family = "control" if system == CONTROL else "leader"
        row = {"workload": workload, "system_a": system, "system_b": DIRECT, "ratio": ratio, "ratio_low": ratio * 0.95}
        row |= {
            "sessions_count": 1,
            "between_ratio": math.nan,
            "ratio_high": ratio * 1.05,
            "p_value": 0.01,
            "blocks_count": 6,
            "family": family,
            "verdict": verdict,
        }
        rows.append(row | {"bound": bounds.get(system, "")})
    return rows


@dataclass
class Run:
    """An analysed run of proxies."""

    cells: pd.DataFrame
    comparisons: pd.DataFrame
    profile: str = "standard"
    baseline: str = DIRECT
    fixed_rate: tuple = (CONNECTING, MODERATE)
    ranked: tuple = (CAPACITY, MAXIMUM)
    repeated: dict = field(default_factory=dict)
    blocks_count: int = 6
    measured_s: float = 600.0
    precision_ratio: float = 0.02
    budget_note: str = ""
    others: tuple = ()
    before: None = None
    noise_floor_ratio: dict = field(default_factory=lambda: {CAPACITY: 1.03, MAXIMUM: 1.03})
    manifest: RunManifest = field(
        default_factory=lambda: manifest(
            notes=NOTES,
            workloads={CAPACITY: Workload("relay", shape=LoadProfile("no-keepalive-capacity", keepalive_requests=1))},
            backends={
                DIRECT: BackendFacts(title="nginx, a file of 10 kB", pool_count=0, pool_per_cpu_count=0, settings={})
            },
            rates=PlannedRates(
                capacities={},
                loads=[
                    PlannedLoad(load=name, shape=LoadProfile(name, keepalive_requests=requests), systems=None)
                    for name, requests in (("no-keepalive", 1), ("moderate", None))
                ],
            ),
        )
    )
    shares: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=["system", "workload", "floor_workload", "share_ratio"])
    )
    checks: pd.DataFrame = field(default_factory=pd.DataFrame)
    published: pd.DataFrame = field(default_factory=lambda: pd.DataFrame({"source": []}))
    trials: pd.DataFrame = field(default_factory=lambda: pd.DataFrame({"speed_ratio": [0.9, 0.8]}))

    @property
    def own_cells(self):
        return self.cells


def make_run():
    """A run in which the load generator, or nginx, was the limit of some cells."""
    cells = pd.DataFrame(
        [cell(system, CONNECTING, 600.0) for system in CPU_US]
        + [cell(system, MODERATE, 900.0) for system in CPU_US]
        + [cell(system, workload) for workload in (CAPACITY, MAXIMUM) for system in CPU_US]
    )
    limited = {"haproxy-tcp": "unknown", "asio-relay": "at most", "http-tunnel": "at most", "pproxy": "at most"}
    first = {"asio-relay": "undecided", "haproxy-tcp": "not comparable", "http-tunnel": "slower", "pproxy": "slower"}
    second = {"asio-relay": "slower", "haproxy-tcp": "slower", "http-tunnel": "slower", "pproxy": "slower", CONTROL: ""}
    rows = compared(cells, CAPACITY, first, limited) + compared(cells, MAXIMUM, second)
    return Run(cells, pd.DataFrame(rows))


@pytest.fixture
def run():
    return make_run()


def test_the_answer_is_the_cpu_time_of_a_connection_with_who_shares_its_interval(run):
    assert proxy_sentences.answer(run) == (
        "asio-relay and haproxy-tcp need least CPU per new connection, 110 µs (104 to 116); pproxy needs 3.6 × (3.4 to 3.9) as much."
    )


def test_the_conclusions_say_what_separates_proxies_cost_capacity_memory_and_relay_cases(run):
    kept, connecting, most, memory, relay_cases, *_ = proxy_sentences.conclusions(run)
    assert kept.startswith("asio-relay and haproxy-tcp need least CPU per request, 110 µs")
    assert connecting.startswith(
        "new connections (no-keepalive-capacity): haproxy-tcp and asio-relay carry most, at least 8.10 k/s"
    )
    assert "direct access carries at least 9.00 k/s" in connecting
    assert "maximum-wrk" in most
    assert memory == "Peak memory over all loads is smallest with asio-relay 10.5 MiB and largest with pproxy 38.1 MiB."
    assert (
        relay_cases
        == "pproxy fails cases of half-closed connections, resets or slow readers (at most 1 of 16); 3 pass all."
    )


def test_one_proxy_alone_is_neither_the_smallest_nor_the_largest(run):
    run.cells = run.cells[run.cells["system"].isin([DIRECT, "pproxy"])]
    said = proxy_sentences.memory(run)
    assert said.startswith("Peak memory of pproxy over all loads is 38.1 MiB")
    notes = {"pproxy": RelayNotes(failed=[], tried=16)}
    assert proxy_sentences.relay_cases(notes).startswith("The one proxy passes all cases")


def test_proxies_whose_intervals_overlap_are_not_ranked_by_cpu_time(run):
    run.cells["cpu_per_request_low_s"] = 1e-6
    first = proxy_sentences.answer(run)
    assert "CPU per new connection does not tell the proxies apart" in first
    assert not re.search(r"\b(least|most)\b", first)


def test_one_launch_has_no_interval_and_ranks_nobody_by_cpu_time(run):
    run.cells["cpu_per_request_low_s"] = run.cells["cpu_per_request_high_s"] = np.nan
    assert "does not tell the proxies apart" in proxy_sentences.answer(run)


def test_direct_access_is_no_proxy_and_needs_least_of_nothing(run):
    said = [proxy_sentences.answer(run), *proxy_sentences.conclusions(run)]
    assert not any("nginx needs" in sentence or "nginx least" in sentence for sentence in said)


def test_no_conclusion_ranks_by_times_of_perf_gauge(run):
    ranking = re.compile(r"\b(fastest|slowest|faster|shortest|longest|lowest|highest)\b|99 %|\bp\d\d")
    said = proxy_sentences.conclusions(run)
    about_times = [sentence for sentence in said if ranking.search(sentence)]
    assert [sentence for sentence in about_times if "maximum-wrk" not in sentence and "in bursts" not in sentence] == []
    assert any("rank no proxy." in sentence for sentence in said)


def test_a_throughput_of_the_backend_is_a_limit_of_the_run_and_ranks_no_proxy(run):
    assert (
        "nginx behind the proxy was the limit of asio-relay (relay@maximum-wrk) and haproxy-tcp (relay@maximum-wrk): "
        "these throughputs are not the proxy's."
    ) in proxy_sentences.threats_of_proxies(run)
    (most,) = [each for each in proxy_sentences.conclusions(run) if "maximum-wrk" in each]
    assert (
        most
        == "kept connections (maximum-wrk): nginx behind haproxy-tcp was the limit, so its 8.10 k/s (7.86 to 8.34) is not the proxy's."
    )


def test_the_decision_table_begins_with_the_least_cpu_and_ends_with_direct_access(run):
    lines = report.decision_table(run).text.splitlines()
    assert lines[1].startswith("system\tCPU per new connection [at 600/s]\tCPU per request [at 900/s]")
    names = [line.split("\t")[0] for line in lines[2:10]]
    assert names == [LEADERS, "asio-relay", "haproxy-tcp", OTHERS, "http-tunnel", "pproxy", DIRECT, ""]
    assert "≥ 8.10 k/s" in lines[4]
    assert "✗ 1 failed of 16 cases" in lines[7]
    assert "✓ all of 16 cases" in lines[3]


def test_the_limit_of_each_cell_stands_in_the_table_of_capacity(run):
    text = str(
        proxy_tables.capacity(run.comparisons, run.cells[run.cells["workload"] == MAXIMUM], run.manifest.backends)
    )
    (asio,) = [line for line in text.splitlines() if line.startswith("asio-relay")]
    assert "nginx the backend" in asio
    assert "slower" not in asio
    (pproxy,) = [line for line in text.splitlines() if line.startswith("pproxy")]
    assert "server" in pproxy
    assert "▼ slower" in pproxy
    assert sum("the leader" in line for line in text.splitlines()[2:]) == 1


def test_a_cell_without_a_number_is_a_row_with_its_reason(run):
    run.cells.loc[run.cells["system"] == "pproxy", "status"] = "failed: it ended"
    unlimited = run.cells[run.cells["workload"] == MAXIMUM]
    assert "failed: it ended" in str(proxy_tables.capacity(run.comparisons, unlimited, run.manifest.backends))
    assert not any("pproxy most" in sentence for sentence in proxy_sentences.conclusions(run))


def test_the_limit_of_each_bar_stands_beside_it(run):
    unlimited = run.cells[run.cells["workload"] == MAXIMUM]
    chart = charts.throughput(unlimited, frames.limits_of(unlimited, run.manifest.backends))
    words = [text.get_text() for ax in chart.axes for text in ax.texts]
    assert words.count("nginx") == 2
    assert "the throughput is the backend's" in chart.caption
    assert chart.png()
    assert "backend" not in charts.throughput(unlimited).caption


def test_the_forest_plot_shows_no_verdict_on_the_throughput_of_the_backend(run):
    rows = frames.without_backend_verdicts(run.comparisons, run.cells, run.manifest.backends)
    chart = charts.ratios(rows, run.cells[run.cells["workload"] == MAXIMUM], run.noise_floor_ratio)
    words = [text.get_text() for ax in chart.axes for text in ax.texts]
    assert sum(word.endswith("limit: nginx") for word in words) == 2
    assert sum(word.endswith("slower") for word in words) == 2
    assert chart.png()


def test_who_missed_the_rate_is_said(run):
    slow = (run.cells["system"] == "http-tunnel") & (run.cells["workload"] == MODERATE)
    run.cells.loc[slow, "achieved_fraction"] = 0.9
    assert any(
        "less than 99 % of the rate achieved by http-tunnel 90.0%" in each
        for each in proxy_sentences.threats_of_proxies(run)
    )


def test_fewer_poisson_arrivals_than_the_rate_makes_are_no_missed_rate(run):
    run.cells.loc[run.cells["workload"] == MODERATE, "throughput_rps"] = 880.0
    assert not any("of the rate" in each for each in proxy_sentences.threats_of_proxies(run))


def test_a_smoke_run_is_no_evidence(run):
    run.profile = "quick"
    headline, conclusions = published(run, report)
    assert headline.startswith("Smoke run, not evidence: asio-relay")
    assert conclusions[0] == wording.SMOKE


def test_a_run_without_any_number_concludes_nothing(run):
    run.cells["status"] = "failed: x"
    run.comparisons = run.comparisons[:0]
    run.manifest.notes = {DIRECT: None}
    assert proxy_sentences.answer(run) == "No proxy has a number."
    assert [each for each in proxy_sentences.conclusions(run) if "perf-gauge" not in each] == []


def test_costs_are_for_a_thousand_requests(run):
    text = str(proxy_tables.connection_costs(run.cells))
    assert "pproxy n = 6/6\t400 ms 380 to 420" in text
    assert "38.1 MiB" in text


def test_relaying_cases_that_failed_are_listed(run):
    fragment = proxy_tables.optional_cases(NOTES)
    assert f"pproxy\t15 of 16\t{HALF_CLOSED}" in str(fragment)
    assert DIRECT not in str(fragment)
    assert "<b>" not in fragment.html
