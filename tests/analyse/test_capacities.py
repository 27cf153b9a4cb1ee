"""Capacity under an objective: the rule finds the known rate of a simulated server, and bounds are bounds."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from runners.analyse.capacities import build_capacities
from runners.analyse.searches import confirmations, launch_capacities, searches
from runners.core.parameter_values import objective
from runners.core.records import CONTROL
from runners.generators.paceload import Paceload
from runners.stats import histograms
from runners.stats.estimates import geometric_mean_interval
from tests.analyse.loaded import percentile_s, rate_of
from tests.analyse.synthetic import manifest
from tests.generators.test_paceload import LOADS, recorded

GOAL = objective("p99 <= 5 ms")
FAILURES = pd.DataFrame(columns=["system", "workload", "base_workload", "block", "message"])


def window(rate_rps, response_s, *, system="a", block=1, late=0.0, achieved=1.0, kind="search", void=False):
    return {
        "kind": kind, "void": void, "system": system, "base_workload": "ping", "workload": "ping@capacity", "block": block,
        "objectives": GOAL.text, "offered_rps": rate_rps, "response_p99_s": response_s, "late_fraction": late,
        "achieved_fraction": achieved,
    }  # fmt: skip


def searched(service_rps, highest_rps, steps=12, **about):
    """The windows of a bisection of a queue whose p99 is known."""
    low, high, rate, found = 0.0, None, highest_rps, []
    for _ in range(steps):
        response_s = percentile_s(99.0, rate, service_rps)
        met = response_s <= GOAL.limit_s
        found += [window(rate, response_s, **about)] * (1 if met else 2)
        low, high = (rate, high) if met else (low, rate)
        if high is None:
            break
        rate = (low + high) / 2
    return found


def built(*windows):
    return over([windows])


def over(sessions):
    """The capacities over sessions, each a list of windows; the last is the run's own."""
    plan = manifest(baseline="a")
    *others, own = (searches(plan, pd.DataFrame(windows), FAILURES) for windows in sessions)
    return build_capacities(plan, own, FAILURES, others).set_index("system")


@given(st.floats(5_000, 200_000), st.floats(0.3, 0.99) | st.floats(1.01, 3.0))
def test_the_capacity_of_a_launch_is_the_rate_at_which_the_percentile_crosses_its_limit(service_rps, times):
    crossing = rate_of(GOAL, service_rps)
    row = launch_capacities(pd.DataFrame(searched(service_rps, crossing * times))).iloc[0]
    assert row["bound"] == ("at least" if times < 1 else "")
    if times > 1:
        assert row["capacity_rps"] <= crossing <= row["failed_rps"]
        assert row["failed_rps"] - row["capacity_rps"] <= crossing * times / 2**10
    else:
        assert row["capacity_rps"] == crossing * times
        assert math.isnan(row["failed_rps"])


@given(st.lists(st.tuples(st.sampled_from([1.0, 2.0, 3.0, 4.0]), st.booleans()), min_size=1, max_size=8))
def test_the_rule_is_the_largest_rate_that_met_below_the_smallest_that_did_not(tries):
    row = launch_capacities(pd.DataFrame([window(rate, 0.004 if met else 0.006) for rate, met in tries])).iloc[0]
    rates = {rate for rate, _ in tries}
    held = {rate for rate in rates if tries.count((rate, True)) > tries.count((rate, False))}
    failed = rates - held
    below = [rate for rate in held if not failed or rate < min(failed)]
    assert row["capacity_rps"] == (max(below) if below else min(failed))
    assert row["bound"] == ("at most" if not below else "" if failed else "at least")


@pytest.mark.parametrize(
    ("last", "bound"),
    [
        (window(200.0, 0.009), ""),
        (window(200.0, 0.001, achieved=0.98), ""),
        (window(200.0, math.nan), ""),
        # The load generator was late: nothing is known of the server.
        (window(200.0, 0.009, late=0.02), "at least"),
    ],
)
def test_a_window_in_which_the_generator_was_late_says_nothing_of_the_server(last, bound):
    row = launch_capacities(pd.DataFrame([window(100.0, 0.001), last])).iloc[0]
    assert (row["capacity_rps"], row["bound"]) == (100.0, bound)


def test_a_launch_in_which_no_rate_met_the_objective_is_at_most_the_lowest_unless_the_generator_was_late_below():
    failed = [window(200.0, 0.009), window(100.0, 0.008)]
    row = launch_capacities(pd.DataFrame(failed)).iloc[0]
    assert (row["capacity_rps"], row["bound"]) == (100.0, "at most")
    assert launch_capacities(pd.DataFrame([*failed, window(50.0, 0.001, late=0.2)])).empty


def test_a_rate_that_fails_once_and_then_holds_has_held():
    tries = [window(100.0, 0.009), window(100.0, 0.004), window(200.0, 0.009), window(200.0, 0.008)]
    assert launch_capacities(pd.DataFrame(tries))["capacity_rps"].tolist() == [100.0]


def test_the_estimate_is_the_geometric_mean_of_the_launches_and_its_interval_holds_the_step_of_the_search():
    rates = [10_000.0, 10_400.0, 9_800.0, 10_100.0]
    windows = [each for block, rate in enumerate(rates) for each in searched(rate, 2 * rate, block=block)]
    launches, row = launch_capacities(pd.DataFrame(windows)), built(*windows).loc["a"]
    met, failed = (geometric_mean_interval(launches[name].to_numpy()) for name in ("capacity_rps", "failed_rps"))
    assert row["capacity_rps"] == pytest.approx(met.value)
    assert (row["capacity_low_rps"], row["capacity_high_rps"]) == pytest.approx((met.low, failed.high))
    assert row["cpus_count"] == pytest.approx(100_000 / row["capacity_rps"])
    assert row["cpus_low_count"] < row["cpus_count"] < row["cpus_high_count"]
    same = built(*[each for block in range(4) for each in searched(1e4, 2e4, steps=5, block=block)]).loc["a"]
    assert same["capacity_low_rps"] < rate_of(GOAL, 1e4) < same["capacity_high_rps"]


def run_of(**service_rps):
    """Four launches of each system, searched up to 40,000 requests/s."""
    return [
        each
        for name, rate in service_rps.items()
        for block in range(4)
        for each in searched(rate * (1 + 0.001 * ((block * 7 + len(name)) % 4)), 40_000.0, system=name, block=block)
    ]


def test_systems_are_compared_with_the_leader_block_by_block_and_verdicts_follow_the_interval():
    found = built(*run_of(**{"a": 20_000.0, "b": 10_000.0, CONTROL: 20_000.0}))
    assert set(found["leader"]) == {"a"}
    assert found.loc["b", "verdict"] == "slower"
    assert found.loc["b", "ratio_low"] < found.loc["b", "ratio"] < found.loc["b", "ratio_high"] < 1
    assert found.loc["b", "ratio"] == pytest.approx(found.loc["b", "capacity_rps"] / found.loc["a", "capacity_rps"])
    assert found.loc[CONTROL, "verdict"] == ""
    assert found.loc[CONTROL, "ratio_low"] <= 1 <= found.loc[CONTROL, "ratio_high"]


def test_a_leader_that_was_not_driven_to_its_limit_makes_ratios_bounds():
    found = built(*run_of(a=80_000.0, b=10_000.0))
    assert found.loc["a", "capacity_rps"] == pytest.approx(40_000.0)
    assert found.loc["a", "bound"] == "at least"
    assert found.loc["b", ["ratio_bound", "verdict"]].tolist() == ["at most", "slower"]
    both = built(*run_of(a=80_000.0, b=90_000.0))
    assert both.loc[both.index != both["leader"].iloc[0], "verdict"].tolist() == ["not comparable"]


def test_void_launches_are_left_out_and_counted():
    windows = run_of(a=20_000.0)
    found = built(*(each | {"void": each["block"] == 2} for each in windows)).loc["a"]
    assert (found["launches_count"], found["launches_made_count"]) == (3, 4)


def test_windows_of_fresh_launches_are_counted_as_held_or_not():
    rows = [window(100.0, seconds, kind="confirmation", block=9) for seconds in (0.001, 0.004, 0.006)]
    late = window(100.0, 0.001, kind="confirmation", block=9, late=0.5)
    found = confirmations(pd.DataFrame([*rows, late])).iloc[0]
    assert (found["held_count"], found["confirmations_count"], found["confirmed_rps"]) == (2, 3, 100.0)


def test_whether_a_real_window_met_an_objective_follows_from_its_recorded_histogram():
    for name, load in LOADS.items():
        result = Paceload().parse(recorded(name), load)
        if result.response_time is None:
            continue
        values = np.repeat(result.response_time.values_us, result.response_time.counts)
        p99_us = np.sort(values)[math.ceil(0.99 * len(values)) - 1]
        times = result.response_time
        assert histograms.percentiles(times.values_us, times.counts, (99.0,))[0] == p99_us
