"""From raw records to cells, comparisons, shares and verdicts, on runs whose truth is known."""

import json
import math
from dataclasses import replace

import pandas as pd
import pytest

from runners.analyse.results import analyse
from runners.analyse.tables import measured_windows
from runners.processed import write_processed
from runners.summaries import read_summary
from tests.analyse.synthetic import run_of, trial

RATES = {
    ("fast+a", "decode-10"): 60_000.0,
    ("fast+b", "decode-10"): 60_100.0,
    ("slow+c", "decode-10"): 30_000.0,
    ("placebo", "decode-10"): 60_000.0,
    ("fast", "discard-10"): 75_000.0,
    ("slow", "discard-10"): 40_000.0,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return analyse(run_of(tmp_path_factory.mktemp("raw"), RATES))


def comparison(results, a, b):
    frame = results.comparisons
    return frame[(frame["system_a"] == a) & (frame["system_b"] == b)].iloc[0]


def cell(results, system, workload="decode-10"):
    return results.cells[(results.cells["system"] == system) & (results.cells["workload"] == workload)].iloc[0]


def test_every_planned_cell_has_a_row_with_an_interval_around_its_value(results):
    assert list(zip(results.cells["system"], results.cells["workload"], strict=True)) == list(RATES)
    for _, row in results.cells.iterrows():
        assert row["status"] == "ok"
        assert row["throughput_low_rps"] < row["throughput_rps"] < row["throughput_high_rps"]
        assert row["trials_count"] == 8


def test_a_ratio_is_found_through_drift_that_is_larger_than_the_difference(results):
    row = comparison(results, "fast+a", "slow+c")
    assert row["ratio_low"] <= 2.0 <= row["ratio_high"]
    assert row["ratio_high"] - row["ratio_low"] < 0.05
    assert row["verdict"] == "faster"


def test_two_systems_that_are_alike_are_equivalent(results):
    assert comparison(results, "fast+a", "fast+b")["verdict"] == "equivalent"


def test_the_control_gives_the_noise_floor_and_is_compared_with_its_twin_only(results):
    assert 1.0 < results.noise_floor_ratio["decode-10"] < 1.02
    pairs = results.comparisons[
        (results.comparisons["system_a"] == "placebo") | (results.comparisons["system_b"] == "placebo")
    ]
    assert pairs[["system_a", "system_b"]].to_numpy().tolist() == [["placebo", "fast+a"]]


def test_the_share_of_the_floor_is_that_of_the_same_server(results):
    shares = results.shares.set_index("system")["share_ratio"]
    assert set(shares.index) == {"fast+a", "fast+b", "slow+c"}
    assert shares["fast+a"] == pytest.approx(0.8, rel=0.02)
    assert shares["slow+c"] == pytest.approx(0.75, rel=0.02)


def test_cpu_memory_and_service_times_are_per_request_and_in_units(results):
    row = cell(results, "slow+c")
    assert row["cpu_per_request_s"] == pytest.approx(0.95 / 30_000, rel=0.05)
    assert row["cpu_user_per_request_s"] == pytest.approx(row["cpu_per_request_s"] * 0.75)
    assert row["p50_s"] == pytest.approx(80 / 30_000, rel=0.05)
    assert row["rss_peak_bytes"] == 10_000_000
    assert row["bottleneck"] == "server"


def test_sixteen_samples_beyond_estimate_a_percentile_and_fewer_than_ten_do_not(tmp_path):
    found = analyse(run_of(tmp_path, {("fast+a", "decode-10"): 1000.0, ("placebo", "decode-10"): 1000.0}, blocks=2))
    row = cell(found, "fast+a")
    assert not math.isnan(row["p99_s"])
    assert math.isnan(row["p99_99_s"])


def test_a_client_bound_system_is_not_ranked(tmp_path):
    odd = {("fast+a", "decode-10"): {"server_busy": 0.7, "generator_busy": 0.99}}
    found = analyse(run_of(tmp_path, RATES, odd=odd))
    assert cell(found, "fast+a")["bottleneck"] == "client"
    assert comparison(found, "fast+a", "slow+c")["verdict"] == "at least"
    assert comparison(found, "fast+a", "fast+b")["verdict"] == "not comparable"


@pytest.mark.parametrize(
    ("about", "check"),
    [
        ({"server_listened": False}, "answering process"),
        ({"status_errors": 1000}, "errors"),
        ({"answer_bytes": 149}, "answer size"),
        ({"steal": 0.2, "server_busy": 0.8}, "steal"),
        ({"strays": [{"thread": "x", "cpu": 1, "allowed": "0-1"}]}, "pinning"),
    ],
)
def test_a_void_trial_is_left_out_and_listed(tmp_path, about, check):
    found = analyse(run_of(tmp_path, RATES, blocks=3, odd={("slow+c", "decode-10"): about}))
    row = cell(found, "slow+c")
    assert row["status"].startswith("failed: all trials are void (")
    assert check in row["status"]
    assert any(check in warning for warning in row["warnings"])
    assert "slow+c" not in set(found.comparisons["system_a"]) | set(found.comparisons["system_b"])
    assert cell(found, "fast+a")["status"] == "ok"


@pytest.mark.parametrize(
    ("about", "void_for"),
    [({}, ()), ({"steal": 0.05, "server_busy": 0.95}, ()), ({"steal": 0.2, "server_busy": 0.8}, ("steal",))],
)
def test_while_it_measures_a_run_knows_which_of_its_windows_will_not_count(about, void_for):
    rows = measured_windows(trial(1, "slow+c", "decode-10", [30_000.0, 30_100.0], **about))
    assert [(row["throughput_rps"], row["void_for"]) for row in rows] == [(30_000.0, void_for), (30_100.0, void_for)]


def test_what_a_void_trial_cost_is_in_no_number(tmp_path):
    run = run_of(tmp_path, RATES, blocks=2, noise=0, drift=0)
    before = cell(analyse(run), "slow+c")
    strays = [{"thread": "x", "cpu": 1, "allowed": "0-1"}]
    run.write_block(3, [trial(3, "slow+c", "decode-10", [10 * RATES["slow+c", "decode-10"]] * 2, strays=strays)])
    after = cell(analyse(run), "slow+c")
    for name in ("cpu_per_request_s", "context_switches_per_request_ratio", "generator_cpu_per_request_s", "p99_s"):
        assert after[name] == pytest.approx(before[name], rel=1e-9), name


def test_steal_is_flagged_and_kept(tmp_path):
    found = analyse(
        run_of(tmp_path, RATES, blocks=3, odd={("slow+c", "decode-10"): {"steal": 0.05, "server_busy": 0.95}})
    )
    assert cell(found, "slow+c")["status"] == "ok"
    flagged = found.checks[~found.checks["ok"].astype(bool) & (found.checks["system"] == "slow+c")]
    assert "steal" in set(flagged["name"])


def test_a_server_that_does_not_conform_gets_no_number_but_its_first_difference(tmp_path):
    rates = {cell: rate for cell, rate in RATES.items() if cell[0] != "slow"}
    run = run_of(tmp_path, rates, blocks=2, nonconforming={"slow": "does not keep the contract: x"})
    assert cell(analyse(run), "slow+c")["status"] == "failed: does not keep the contract: x"


def test_the_summary_is_strict_json_with_every_cell_and_comparison(results, tmp_path):
    folder = write_processed(results, ["A sentence."], "A headline.", tmp_path)
    text = (folder / "summary.json").read_text()
    summary = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert len(summary["cells"]) == len(RATES)
    assert set(summary["cells"][0]["throughput_rps"]) == {"value", "low", "high"}
    assert {
        "schema",
        "experiment",
        "run_id",
        "profile",
        "parameters",
        "machine",
        "versions",
        "noise_floor",
        "checks",
    } <= set(summary)
    assert read_summary(folder) == summary
    assert {path.name for path in folder.iterdir()} == {
        "trials.parquet",
        "latency.parquet",
        "usage.parquet",
        "checks.parquet",
        "summary.json",
    }


def test_the_summary_tells_of_each_check_how_often_it_failed_and_why(results, tmp_path):
    checks = results.tables.checks.copy()
    last = checks[checks["name"] == "steal"].index[-1]
    checks.loc[last, ["ok", "detail"]] = [False, "3 % stolen"]
    found = replace(results, tables=replace(results.tables, checks=checks))
    summary = json.loads((write_processed(found, [], "", tmp_path) / "summary.json").read_text())
    assert len(summary["checks"]) == len(checks[["system", "workload", "name"]].drop_duplicates())
    [failed] = [check for check in summary["checks"] if not check["ok"] and check["name"] == "steal"]
    place = checks.loc[last]
    assert (failed["system"], failed["workload"], failed["block"]) == (
        place["system"],
        place["workload"],
        place["block"],
    )
    assert (failed["failed_count"], failed["detail"]) == (1, "3 % stolen")
    [table] = tmp_path.rglob("checks.parquet")
    same = pd.read_parquet(table).query("name == 'steal' and system == @place.system and workload == @place.workload")
    assert failed["trials_count"] == len(same) > 1


def test_the_same_raw_records_give_the_same_numbers(results, tmp_path):
    again = analyse(results.run)
    texts = [
        (write_processed(found, [], "", tmp_path / name) / "summary.json").read_bytes()
        for name, found in (("a", results), ("b", again))
    ]
    assert texts[0] == texts[1]
