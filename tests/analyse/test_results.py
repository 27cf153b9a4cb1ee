"""From raw records to cells, comparisons, shares and verdicts, on runs whose truth is known."""

import json
import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from runners.analyse.cells import workload_columns
from runners.analyse.results import analyse
from runners.analyse.summary import write_processed
from runners.analyse.tables import measured_windows
from runners.core.records import LoadProfile, Workload
from runners.store.runs import read_summary
from tests.analyse.synthetic import run_of, trial
from tests.conftest import examples

RATES = {
    ("fast+a", "decode-10"): 60_000.0,
    ("fast+b", "decode-10"): 60_100.0,
    ("slow+c", "decode-10"): 30_000.0,
    ("control", "decode-10"): 60_000.0,
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
        assert (row["launches_count"], row["launches_made_count"]) == (8, 8)


def test_a_ratio_is_found_through_drift_that_is_larger_than_the_difference(results):
    leader = results.comparisons.query("family == 'leader'")["system_b"].iloc[0]
    row = comparison(results, "slow+c", leader)
    assert row["ratio_low"] <= 0.5 <= row["ratio_high"]
    assert row["ratio_high"] - row["ratio_low"] < 0.02
    assert row["verdict"] == "slower"


def test_two_systems_that_are_alike_are_equivalent(results):
    (row,) = results.comparisons.query("family == 'leader' and system_a != 'slow+c'").to_dict("records")
    assert row["verdict"] == "equivalent"


def test_every_other_system_is_compared_with_the_leader_and_only_these_have_verdicts(results):
    frame = results.comparisons
    family = frame[frame["family"] == "leader"]
    fastest = results.cells[results.cells["workload"] == "decode-10"].set_index("system")["throughput_rps"]
    assert set(family["system_b"]) == {fastest.drop("control").idxmax()}
    assert len(family) == 2
    assert (family["ratio"] <= 1).all()
    assert set(frame[frame["family"] != "leader"]["verdict"]) == {""}
    assert set(frame[frame["family"] == "other"]["blocks_count"]) == {8}


def test_the_intervals_of_a_family_are_wider_than_those_of_a_pair_alone(results):
    for row in results.comparisons.query("family == 'leader'").to_dict("records"):
        alone = results.paired((row["system_a"], row["workload"]), (row["system_b"], row["workload"])).interval
        assert alone.value == pytest.approx(row["ratio"])
        assert row["ratio_low"] < alone.low < alone.high < row["ratio_high"]


def test_the_control_gives_the_noise_floor_and_is_compared_with_its_twin_only(results):
    assert 1.0 < results.noise_floor_ratio["decode-10"] < 1.02
    control = comparison(results, "control", "fast+a")
    assert results.noise_floor_ratio["decode-10"] == pytest.approx(max(control["ratio_high"], 1 / control["ratio_low"]))
    pairs = results.comparisons[
        (results.comparisons["system_a"] == "control") | (results.comparisons["system_b"] == "control")
    ]
    assert pairs[["system_a", "system_b"]].to_numpy().tolist() == [["control", "fast+a"]]


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
    found = analyse(run_of(tmp_path, {("fast+a", "decode-10"): 1000.0, ("control", "decode-10"): 1000.0}, blocks=2))
    row = cell(found, "fast+a")
    assert not math.isnan(row["p99_s"])
    assert math.isnan(row["p99_99_s"])


LOWER_BOUND_LIMITS = {"server_busy": 0.7, "generator_busy": 0.99}
BOTH_LIMITED = {"server_busy": 0.99, "generator_busy": 0.97}


@pytest.mark.parametrize(("busy", "limit"), [(LOWER_BOUND_LIMITS, "generator"), (BOTH_LIMITED, "both")])
def test_where_the_generator_limited_the_faster_side_alone_the_slower_one_is_decided(tmp_path, busy, limit):
    rates = RATES | {("fast+a", "decode-10"): 66_000.0}
    found = analyse(run_of(tmp_path, rates, odd={("fast+a", "decode-10"): busy}))
    assert cell(found, "fast+a")["bottleneck"] == limit
    for slower in ("fast+b", "slow+c"):
        row = comparison(found, slower, "fast+a")
        assert (row["bound"], row["verdict"]) == ("at most", "slower")


def test_where_the_generator_limited_the_slower_side_it_may_be_the_faster_one(tmp_path):
    found = analyse(run_of(tmp_path, RATES, odd={("slow+c", "decode-10"): LOWER_BOUND_LIMITS}))
    (row,) = found.comparisons.query("family == 'leader' and system_a == 'slow+c'").to_dict("records")
    assert (row["bound"], row["verdict"]) == ("at least", "undecided")


def test_where_the_generator_limited_both_nobody_is_ranked(tmp_path):
    odd = dict.fromkeys([("fast+a", "decode-10"), ("fast+b", "decode-10"), ("slow+c", "decode-10")], BOTH_LIMITED)
    found = analyse(run_of(tmp_path, RATES, odd=odd)).comparisons.query("family == 'leader'")
    assert set(found["bound"]) == {"unknown"}
    assert set(found["verdict"]) == {"not comparable"}


rates = st.floats(min_value=2_000.0, max_value=90_000.0)


@examples(6)
@given(first=rates, second=rates, blocks=st.integers(1, 5), noise=st.floats(0.0, 0.2), chance=st.integers(0, 99))
def test_every_published_throughput_lies_within_the_range_of_its_own_windows(first, second, blocks, noise, chance):
    cells = {("fast+a", "decode-10"): first, ("slow+c", "decode-10"): second, ("control", "decode-10"): first}
    with TemporaryDirectory() as folder:
        found = analyse(run_of(Path(folder), cells, blocks=blocks, noise=min(noise, 0.2), chance=chance))
    windows = found.trials[(found.trials["kind"] == "window") & ~found.trials["void"]]
    for row in found.cells.to_dict("records"):
        own = windows[(windows["system"] == row["system"]) & (windows["workload"] == row["workload"])]["throughput_rps"]
        assert own.min() * (1 - 1e-9) <= row["throughput_rps"] <= own.max() * (1 + 1e-9)


def test_ten_lines_of_pandas_give_every_throughput_ratio_interval_and_n(results, tmp_path):
    folder = write_processed(results, [], "", tmp_path)
    summary = read_summary(folder)

    trials = pd.read_parquet(folder / "trials.parquet")
    sound = trials[(trials["kind"] == "window") & ~trials["void"]]
    launches = np.log(sound["throughput_rps"]).groupby([sound["workload"], sound["system"], sound["block"]]).mean()
    means = np.exp(launches.groupby(["workload", "system"]).mean())
    leader = means["decode-10"].drop("control").idxmax()
    blocks = launches["decode-10"].unstack("system").drop(columns="control")
    apart = blocks.drop(columns=leader).sub(blocks[leader], axis=0)
    k, n = blocks.shape[1], len(blocks)
    arm = stats.t.ppf(1 - 0.05 / (k * (k - 1)), n - 1) * apart.sem()
    low, ratio, high = (np.exp(apart.mean() + side * arm) for side in (-1, 0, 1))

    for row in summary["cells"]:
        assert row["throughput_rps"]["value"] == pytest.approx(means[row["workload"], row["system"]], rel=1e-8)
        assert row["launches_count"] == n
    family = [row for row in summary["comparisons"] if row["family"] == "leader"]
    assert {row["system_a"] for row in family} == set(apart)
    for row in family:
        own = (low[row["system_a"]], ratio[row["system_a"]], high[row["system_a"]])
        assert (row["ratio"]["low"], row["ratio"]["value"], row["ratio"]["high"]) == pytest.approx(own, rel=1e-8)


def test_without_the_share_of_the_connections_that_little_s_law_finds_there_are_no_percentiles(tmp_path):
    found = analyse(run_of(tmp_path, RATES, odd={("slow+c", "decode-10"): {"waiting": 0.26}}))
    row = cell(found, "slow+c")
    assert row["little_ratio"] == pytest.approx(0.74, abs=0.01)
    assert row["throughput_rps"] == pytest.approx(30_000, rel=0.1)
    for name in ("p50_s", "p99_s", "p99_low_s", "p99_99_s", "max_s", "tm99_s"):
        assert math.isnan(row[name]), name
    assert "slow+c" not in set(found.curves["system"])
    # What wrk itself printed stays, for published figures that it printed.
    assert row["corrected_p50_s"] > 0
    assert not math.isnan(cell(found, "fast+a")["p50_s"])


@pytest.mark.parametrize(
    ("about", "check"),
    [
        ({"server_listened": False}, "responding process"),
        ({"status_errors": 1000}, "errors"),
        ({"response_bytes": 149}, "response size"),
        ({"steal": 0.2, "server_busy": 0.8}, "steal"),
        ({"unpinned": [{"thread": "x", "cpu": 1, "allowed": "0-1"}]}, "pinning"),
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
    assert [(row.throughput_rps, row.void_for) for row in rows] == [(30_000.0, void_for), (30_100.0, void_for)]


def test_what_a_void_trial_cost_is_in_no_number(tmp_path):
    run = run_of(tmp_path, RATES, blocks=2, noise=0, drift=0)
    before = cell(analyse(run), "slow+c")
    unpinned = [{"thread": "x", "cpu": 1, "allowed": "0-1"}]
    run.write_block(3, [trial(3, "slow+c", "decode-10", [10 * RATES["slow+c", "decode-10"]] * 2, unpinned=unpinned)])
    after = cell(analyse(run), "slow+c")
    for name in ("cpu_per_request_s", "context_switches_per_request_ratio", "generator_cpu_per_request_s", "p99_s"):
        assert after[name] == pytest.approx(before[name], rel=1e-8), name


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
    assert [check["name"] for check in summary["checks"]] == list(checks["name"].unique())
    [steal] = [check for check in summary["checks"] if check["name"] == "steal"]
    assert (steal["trials_count"], steal["failed_count"]) == ((checks["name"] == "steal").sum(), 1)
    [failed] = steal["failed"]
    place = checks.loc[last]
    assert (failed["system"], failed["workload"], failed["block"]) == (
        place["system"],
        place["workload"],
        place["block"],
    )
    assert (failed["failed_count"], failed["detail"]) == (1, "3 % stolen")


def test_the_same_raw_records_give_the_same_numbers(results, tmp_path):
    again = analyse(results.run)
    texts = [
        (write_processed(found, [], "", tmp_path / name) / "summary.json").read_bytes()
        for name, found in (("a", results), ("b", again))
    ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("workload", "title"),
    [
        (Workload("decode", operations=1), "decode, 1 operation"),
        (Workload("sql2", count=20, shape=LoadProfile("autocannon")), "sql2, 20 records, autocannon"),
        (Workload("ping-delay", delay_ms=20), "ping-delay-20ms"),
    ],
)
def test_a_workload_has_a_title_in_words(workload, title):
    assert workload_columns(workload)["workload_title"] == title
