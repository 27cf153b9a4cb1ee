"""What grows with connections: memory, errors, and what the judge of claims reads of such a run."""

import json
from dataclasses import replace

import numpy as np
import pytest

from runners.analyse.checks.trial import connections_open
from runners.analyse.claims.judgements import judge
from runners.analyse.claims.register import load_claims
from runners.analyse.published import figures
from runners.analyse.results import analyse
from runners.analyse.tables import load_results
from runners.analyse.usage import memory_per_connection
from runners.stats.estimates import mean_interval
from runners.store.ledger import write_once
from tests.analyse.scaled import AFTER_START_BYTES, BASE_BYTES, run_of, trial

CELLS = {
    ("net-http", 20): 60_000.0,
    ("net-http", 10_000): 40_000.0,
    ("net-http", 19_900): {"rate": 38_000.0, "per_connection_bytes": 5000},
    ("express", 20): 8_000.0,
    ("express", 10_000): {"rate": 7_000.0, "per_connection_bytes": 9000},
    ("express", 19_900): {"rate": 6_500.0, "per_connection_bytes": 9000, "errors": 500},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return analyse(run_of(tmp_path_factory.mktemp("raw"), CELLS))


def windows_of(record):
    return [(raw, result) for raw, result in load_results(record) if raw.kind == "window"]


def test_a_connection_s_memory_is_the_mean_of_the_blocks_slopes_with_their_spread(results):
    rows = memory_per_connection(results.usage).set_index("system")
    found = rows.loc["net-http"]
    # Blocks of 2, 4, 6 and 8 % more: their mean is 5 %.
    assert found["per_connection_bytes"] == pytest.approx(5000 * 1.05, rel=1e-3)
    assert found["per_connection_low_bytes"] < 5000 * 1.05 < found["per_connection_high_bytes"]
    assert found["base_bytes"] == pytest.approx(BASE_BYTES, rel=1e-3)
    assert (found["blocks_count"], found["most_connections_count"]) == (4, 19_900)
    assert rows.loc["express", "per_connection_bytes"] > 8000


def test_one_value_has_no_interval_and_none_no_mean():
    assert mean_interval(np.array([3.0])).value == 3.0
    assert np.isnan(mean_interval(np.array([3.0])).low)
    assert np.isnan(mean_interval(np.array([])).value)


def test_peaks_have_an_interval_over_launches_that_holds_the_largest(results):
    row = results.cells[(results.cells["system"] == "net-http") & (results.cells["workload"] == "json10@10000")].iloc[0]
    assert row["rss_peak_low_bytes"] < row["rss_peak_bytes"] <= row["rss_peak_high_bytes"]
    assert row["memory_before_rss_bytes"] == AFTER_START_BYTES
    assert row["memory_after_rss_bytes"] == BASE_BYTES


def test_errors_are_shown_by_kind_and_never_ranked_but_not_void(results):
    row = results.cells[(results.cells["system"] == "express") & (results.cells["workload"] == "json10@19900")].iloc[0]
    assert row["status"] == "ok"
    assert row["errors_status_count"] == 2000
    assert row["errors_fraction"] > 0.001
    pair = results.comparisons.query("workload == 'json10@19900' and system_a == 'express' and family == 'leader'")
    assert pair["verdict"].tolist() == ["not comparable"]
    other = results.comparisons.query("workload == 'json10@20' and system_a == 'express' and family == 'leader'")
    assert other["verdict"].tolist() == ["slower"]


@pytest.mark.parametrize(("seen", "ok"), [(10_000, True), (9_901, True), (9_899, False), (10_101, False)])
def test_connections_that_are_not_open_are_flagged(seen, ok):
    record = trial(1, "gin", "json10", 10_000, 40_000.0, seen=seen)
    check = connections_open(record, windows_of(record))
    assert check.ok == ok
    assert not check.void
    assert f"{seen} of 10000 connections were open" in check.detail
    assert bool(check.advice) != ok


def test_the_time_in_which_connections_were_opened_is_no_time_of_the_window():
    record = trial(1, "gin", "json10", 10_000, 40_000.0)
    for raw in record.windows:
        raw.load = replace(raw.load, ramp_up_s=0.5, duration_s=0.5)
    ((_, result),) = windows_of(record)
    assert result.duration_s == pytest.approx(0.5)
    assert result.throughput_rps == pytest.approx(80_000.0)
    assert not result.warnings


def test_the_judge_finds_the_published_level_the_start_and_the_build(results):
    claims = {claim.id: claim for claim in load_claims()}
    builds = [{"system": "net-http", "cold_s": 50.0, "warm_s": 1.0, "incremental_s": 1.1, "failure": None}]
    path = results.run.folder / "builds.json"
    if not path.exists():
        write_once(path, json.dumps({"cpus": [0], "builds": builds}).encode())
    run = {"05-connection-scale": analyse(results.run).for_claims}

    def verdict(name):
        return judge(claims[name], figures(), run)

    assert verdict("go-memory-after-start").measured.value == AFTER_START_BYTES
    assert verdict("go-build-time").measured.value == 1.1
    assert verdict("go-is-much-faster-than-node").verdict == "reproduced"
    assert verdict("go-throughput-20000-over-20").verdict == "reproduced"
    assert verdict("node-has-errors-where-go-has-none-at-20000").verdict == "reproduced"
    assert verdict("go-over-node-memory-at-20000").verdict == "reproduced"


def test_without_timed_builds_the_judge_says_so(tmp_path):
    run = {"05-connection-scale": analyse(run_of(tmp_path, CELLS, blocks=2)).for_claims}
    claims = {claim.id: claim for claim in load_claims()}
    assert judge(claims["go-build-time"], figures(), run).verdict == "not testable here"
