"""Two runs whose truth is known: what changed is found, what the machine did is told apart."""

import math
import re

import numpy as np
import pytest

from runners.analyse.results import analyse
from runners.analyse.run_comparison import compare_runs
from runners.core.errors import WrkbookError
from runners.core.records import Interval
from runners.stats.estimates import geometric_mean_interval, ratio_of
from tests.analyse.synthetic import run_of

RATES = {
    ("fast+a", "decode-10"): 60_000.0,
    ("slow+c", "decode-10"): 30_000.0,
    ("control", "decode-10"): 60_000.0,
    ("fast", "discard-10"): 75_000.0,
    ("slow", "discard-10"): 40_000.0,
}


def builds(**keys):
    """What a record says of the servers' builds."""
    return {"versions": {"builds": keys}}


BEFORE, AFTER = builds(fast="f1", slow="s1"), builds(fast="f1", slow="s2")


def changed(**factors):
    """The rates with those of a server multiplied."""
    return {cell: rate * factors.get(cell[0].partition("+")[0], 1.0) for cell, rate in RATES.items()}


def measured(tmp_path, run_id, rates=RATES, record=BEFORE, **about):
    return run_of(tmp_path, rates, run_id=run_id, record=record, drift=0.01, **about)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Only the server called slow was changed: it became 20 % faster."""
    base = tmp_path_factory.mktemp("raw")
    before = measured(base, "before", chance=1)
    return compare_runs(before, measured(base, "after", changed(slow=1.2), AFTER, chance=2))


def cell(found, system, workload="decode-10"):
    return found.cells[(found.cells["system"] == system) & (found.cells["workload"] == workload)].iloc[0]


def test_every_cell_that_both_runs_have_is_compared(found):
    assert list(zip(found.cells["system"], found.cells["workload"], strict=True)) == list(RATES)
    assert found.unmatched == []


@pytest.mark.parametrize(("system", "workload"), [("slow+c", "decode-10"), ("slow", "discard-10")])
def test_a_server_that_became_faster_is_found_with_its_factor(found, system, workload):
    row = cell(found, system, workload)
    assert row["ratio_low"] <= 1.2 <= row["ratio_high"]
    assert row["verdict"] == "faster"
    assert not row["unchanged"]


def test_a_server_that_was_not_changed_is_equivalent(found):
    row = cell(found, "fast+a")
    assert row["verdict"] == "equivalent"
    assert row["unchanged"]


def test_the_ratio_is_that_of_the_rates_that_are_shown(found):
    for row in found.cells.to_dict("records"):
        assert row["b_rps"] / row["a_rps"] == pytest.approx(row["ratio"])


def test_service_times_and_cpu_time_fall_as_the_throughput_grows(found):
    row = cell(found, "slow+c")
    for name in ("p99_ratio", "cpu_ratio"):
        assert row[name] == pytest.approx(1 / 1.2, rel=0.03)
        assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]


def test_the_control_is_shown_without_a_verdict(found):
    assert cell(found, "control")["verdict"] == ""


def test_the_cells_of_unchanged_servers_show_that_the_machine_held_still(found):
    assert found.common.unchanged
    assert found.common.cells_count == 2
    assert found.common.value == pytest.approx(1.0, abs=0.015)


def test_the_cells_of_unchanged_servers_show_what_the_machine_did(tmp_path):
    before = measured(tmp_path, "before", chance=1)
    after = measured(tmp_path, "after", changed(fast=0.9, slow=1.2 * 0.9), AFTER, chance=2)
    common = compare_runs(before, after).common
    assert common.unchanged
    assert common.low <= common.value <= common.high
    assert common.value == pytest.approx(0.9, rel=0.015)


def test_where_every_server_was_changed_the_factor_is_of_all_cells(tmp_path):
    before = measured(tmp_path, "before", chance=1)
    after = measured(tmp_path, "after", changed(fast=0.9, slow=0.9), builds(fast="f2", slow="s2"), chance=2)
    common = compare_runs(before, after).common
    assert (common.unchanged, common.cells_count) == (False, 4)
    assert common.value == pytest.approx(0.9, rel=0.015)


def test_the_noise_band_is_that_of_the_noisier_run(tmp_path):
    quiet = measured(tmp_path, "quiet", noise=0.001, chance=1)
    loud = measured(tmp_path, "loud", noise=0.05, chance=2)
    floors = [analyse(run).noise_floor_ratio["decode-10"] for run in (quiet, loud)]
    assert floors[0] < floors[1]
    for pair in ((quiet, loud), (loud, quiet)):
        assert compare_runs(*pair).noise_floor_ratio["decode-10"] == floors[1]


def test_a_change_that_the_noise_may_have_made_is_undecided(tmp_path):
    faster = changed(slow=1.05)
    loud = measured(tmp_path, "loud", noise=0.2, chance=1)
    assert cell(compare_runs(loud, measured(tmp_path, "b", faster, chance=2)), "slow+c")["verdict"] == "undecided"


@pytest.mark.parametrize(("limited", "expected"), [("a", ("at most", "undecided")), ("b", ("at least", "faster"))])
def test_a_run_that_the_generator_limited_bounds_the_change(tmp_path, limited, expected):
    odd = {("slow+c", "decode-10"): {"server_busy": 0.7, "generator_busy": 0.99}}
    runs = [
        measured(tmp_path, name, rates, chance=number, odd=odd if name == limited else {})
        for number, (name, rates) in enumerate({"a": RATES, "b": changed(slow=1.2)}.items())
    ]
    row = cell(compare_runs(*runs), "slow+c")
    assert (row["bound"], row["verdict"]) == expected


def test_a_run_is_equivalent_to_itself_in_every_cell_however_noisy(tmp_path):
    run = measured(tmp_path, "noisy", noise=0.3, chance=1)
    found = compare_runs(run, run)
    assert found.differences == []
    assert set(found.cells["verdict"]) == {"equivalent", ""}
    assert (found.cells[["ratio", "ratio_low", "ratio_high", "p99_ratio", "cpu_ratio"]] == 1.0).all(axis=None)


def test_runs_of_one_block_give_ratios_without_intervals_and_no_verdict(tmp_path):
    runs = [measured(tmp_path, name, rates, blocks=1) for name, rates in (("a", RATES), ("b", changed(slow=2.0)))]
    row = cell(compare_runs(*runs), "slow+c")
    assert row["ratio"] == pytest.approx(2.0, rel=0.05)
    assert math.isnan(row["ratio_low"])
    assert row["verdict"] == "undecided"


def test_what_only_one_run_has_is_named_and_the_rest_compared(tmp_path):
    before = measured(tmp_path, "before", chance=1)
    fewer = {place: rate for place, rate in RATES.items() if place[0] != "slow+c"}
    found = compare_runs(before, measured(tmp_path, "after", fewer, chance=2))
    assert found.unmatched == ["slow+c on decode-10 (only in run before)"]
    assert len(found.cells) == len(RATES) - 1


def test_runs_without_a_common_cell_are_an_error(tmp_path):
    before = measured(tmp_path, "before", {("fast+a", "decode-10"): 1000.0}, blocks=2)
    after = measured(tmp_path, "after", {("fast+a", "decode-1"): 1000.0}, blocks=2)
    with pytest.raises(WrkbookError, match="no system has a number on the same workload in both before and after"):
        compare_runs(before, after)


def test_a_truncated_record_is_named(tmp_path):
    before, after = (measured(tmp_path, name, chance=3, blocks=2) for name in ("before", "after"))
    path = after.files[1]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(WrkbookError, match=re.escape(path.name)):
        compare_runs(before, after)


def test_two_runs_that_are_not_alike_are_compared_only_when_told_to(tmp_path):
    before = measured(tmp_path, "before", chance=1, blocks=2)
    machine = {"cpu": "another CPU", "cpus_count": 2, "kernel": "6.1"}
    after = measured(tmp_path, "after", record={**BEFORE, "machine": machine}, chance=2, blocks=2)
    with pytest.raises(WrkbookError, match=r"machine\.cpu \(a CPU in A, another CPU in B\)"):
        compare_runs(before, after)
    (found,) = compare_runs(before, after, anyway=True).differences
    assert not found.allowed


# Ratios of estimates ----------------------------------------------------------------------------------------------


def test_the_interval_of_a_ratio_of_two_estimates_covers_the_truth():
    rng = np.random.default_rng(60)
    covered = []
    for _ in range(300):
        sides = [
            geometric_mean_interval(factor * np.exp(rng.normal(0, sd, 6))) for factor, sd in ((3.0, 0.05), (2.0, 0.02))
        ]
        ratio = ratio_of(*sides)
        covered.append(ratio.low <= 1.5 <= ratio.high)
    assert 0.92 <= np.mean(covered) <= 0.99


def test_a_ratio_of_estimates_without_intervals_is_a_value_alone():
    found = ratio_of(Interval(2.0, math.nan, math.nan), Interval(1.0, 0.9, 1.1))
    assert found.value == 2.0
    assert math.isnan(found.low)
    assert math.isnan(ratio_of(Interval(math.nan, math.nan, math.nan), Interval(1.0, 0.9, 1.1)).value)


def test_an_estimate_that_is_certain_adds_nothing_to_the_interval():
    found = ratio_of(Interval(2.0, 1.5, 3.0), Interval(1.0, 1.0, 1.0))
    assert (found.low, found.high) == pytest.approx((1.5, 3.0))
