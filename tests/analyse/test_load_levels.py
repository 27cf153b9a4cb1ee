"""Levels of load: planned rates become rows, saturated ones lose their percentiles, and headlines follow from the records."""

import json
import math

import numpy as np
import pytest

from runners.analyse.fixed_rates import equal_rates, half_load, own_rates
from runners.analyse.results import analyse
from runners.analyse.sessions import cost_spread
from runners.core.records import CONTROL
from tests.analyse.loaded import SPARE, percentile_s, run_of

QUEUES = {"decode-10": {"fast+a": 20_000.0, "slow+b": 5_000.0}, "ping": {"fast": 30_000.0}}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return analyse(run_of(tmp_path_factory.mktemp("raw"), QUEUES, noise=0.001))


def test_equal_rates_are_those_of_all_systems_and_the_control_and_own_ones_of_each(results):
    decode = results.levels[results.levels["base_workload"] == "decode-10"]
    equal = equal_rates(decode)
    assert set(equal["system"]) == {"fast+a", "slow+b", CONTROL}
    assert set(equal.groupby("offered_rps")["system"].count()) == {3}
    own = own_rates(decode)
    assert own[own["system"] == "fast+a"]["own_share"].tolist() == pytest.approx([0.1, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95])
    # The slowest system's own rates are the equal ones.
    assert own[own["system"] == "slow+b"]["offered_rps"].tolist() == [500, 1250, 2500, 3500, 4000, 4500, 4750]


def test_response_times_are_those_of_the_queue(results):
    row = half_load(results.levels).set_index("system").loc["slow+b"]
    assert row["offered_rps"] == 2500
    assert row["p99_s"] == pytest.approx(percentile_s(99.0, 2500, SPARE * 5000), rel=0.03)
    assert row["cpu_per_request_s"] == pytest.approx(8e5 / 5000 * 1e-6, rel=0.02)
    assert row["cpu_user_per_request_s"] + row["cpu_system_per_request_s"] == pytest.approx(row["cpu_per_request_s"])


def test_a_rate_of_which_too_little_was_completed_has_no_percentiles(tmp_path):
    found = analyse(run_of(tmp_path, {"ping": {"fast": 30_000.0}}, blocks=2, shares=(0.5, 1.2))).levels
    assert found["saturated"].tolist() == [False, False, True, True]
    assert found.loc[found["saturated"], ["p50_s", "p99_s", "p99_high_s"]].isna().all(axis=None)
    assert found.loc[~found["saturated"], "p99_s"].notna().all()


def test_a_search_is_no_cell_and_its_windows_are_no_throughputs(results):
    assert not results.cells["shape"].eq("capacity").any()
    assert (results.cells["status"] == "ok").all()


def test_the_headline_capacity_follows_from_the_recorded_histograms(results):
    """Ten lines from the raw records to the largest rate of each launch whose p99 is at most 5 ms."""
    launches = {}
    for record in results.run.trials():
        if record.system != "fast+a" or record.shape.name != "capacity":
            continue
        held = {}
        for raw in record.windows:
            report = json.loads(raw.stdout)
            times = np.repeat(*np.array(report["response"]["ns"]).T)
            met = times[math.ceil(0.99 * len(times)) - 1] <= 5e6 and report["completed"] >= 0.99 * report["scheduled"]
            held[raw.load.rate_rps] = held.get(raw.load.rate_rps, False) or met
        failed = min((rate for rate, met in held.items() if not met), default=math.inf)
        launches[record.block] = max(rate for rate, met in held.items() if met and rate < failed)
    row = results.capacities.query("system == 'fast+a' and objective == 'p99 <= 5 ms'").iloc[0]
    assert math.exp(np.mean(np.log([*launches.values()]))) == pytest.approx(row["capacity_rps"])
    assert row["launches_count"] == len(launches) == 4


def test_sessions_of_the_same_machine_and_versions_are_compared_and_others_are_not(tmp_path):
    queues = {"ping": {"fast": 30_000.0, "slow": 9_000.0}}
    one = analyse(run_of(tmp_path, queues, blocks=2, run_id="one"))
    assert cost_spread(one).sessions_count == 1
    assert cost_spread(one).spread.empty
    run_of(tmp_path, queues, blocks=2, run_id="other", record={"versions": {"builds": {"fast": "another"}}})
    assert cost_spread(one).sessions_count == 1
    run_of(tmp_path, queues, blocks=2, run_id="two", chance=5)
    found = cost_spread(one)
    assert found.sessions_count == 2
    assert set(found.spread.index.get_level_values("system")) == {"fast", "slow"}
    assert 0 < found.spread.max() < 0.1
