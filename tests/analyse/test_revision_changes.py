"""What a change of the sources did, from trials of both revisions in the same blocks."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import given, strategies as st

from runners.analyse.results import analyse
from runners.analyse.revision_changes import Change, _p99, changes
from runners.analyse.tables import Tables
from runners.core.records import Interval, System
from tests.analyse.synthetic import run_of

BEFORE = "0123456789ab"
SYSTEMS = {
    "fast+a": System("fast", "a"),
    f"fast+a+{BEFORE}": System("fast", "a", BEFORE, earlier=True),
    "slow+b": System("slow", "b"),
    "control": System("fast", "a", control=True),
}
SAME = Interval(1.0, 0.999, 1.001)
UNKNOWN = Interval(1.0, math.nan, math.nan)


def test_a_cell_of_both_revisions_has_its_ratio_after_over_before(tmp_path):
    rates = {"fast+a": 9000.0, f"fast+a+{BEFORE}": 10_000.0, "slow+b": 5000.0, "control": 9000.0}
    cells = {(name, "decode-10"): rate for name, rate in rates.items()}
    results = analyse(run_of(tmp_path, cells, 8, record={"systems": {name: SYSTEMS[name] for name in rates}}))
    (found,) = changes(results)
    assert (found.system, found.workload, found.blocks_count) == ("fast+a", "decode-10", 8)
    assert found.throughput.low < 0.9 < found.throughput.high
    assert found.throughput.value == pytest.approx(0.9, rel=0.02)
    assert found.decision(0.02) == "regression"
    assert found.control.low < 1 < found.control.high
    assert found.as_dict(0.02)["throughput"]["value"] == found.throughput.value


@pytest.mark.parametrize(
    ("rates", "cpu", "decided"),
    [
        (SAME, SAME, "no regression"),
        (Interval(0.98, 0.975, 0.985), SAME, "regression"),
        (Interval(0.98, 0.965, 0.995), SAME, "undecided"),
        (Interval(1.3, 1.2, 1.4), SAME, "no regression"),
        (SAME, Interval(1.03, 1.02, 1.04), "regression"),
        (SAME, Interval(0.8, 0.7, 0.9), "no regression"),
        (UNKNOWN, SAME, "undecided"),
        (SAME, UNKNOWN, "undecided"),
        (UNKNOWN, Interval(1.03, 1.02, 1.04), "regression"),
    ],
)
def test_one_slower_side_decides_and_an_unknown_one_leaves_it_open(rates, cpu, decided):
    assert Change("s", "w", rates, cpu, 1.0, 8, is_bound=False).decision(0.02) == decided


@pytest.mark.parametrize(
    ("control", "decided"),
    [
        (SAME, "regression"),
        (UNKNOWN, "regression"),
        (Interval(0.98, 0.95, 1.01), "regression"),
        (Interval(0.98, 0.975, 0.985), "undecided"),
        (Interval(1.02, 1.015, 1.025), "undecided"),
    ],
)
def test_a_control_that_differs_from_itself_leaves_everything_open(control, decided):
    slower = Interval(0.9, 0.89, 0.91)
    assert Change("s", "w", slower, SAME, 1.0, 8, is_bound=False, control=control).decision(0.02) == decided


def test_where_the_load_generator_was_the_limit_the_cpu_time_decides():
    slower = Interval(0.5, 0.4, 0.6)
    assert Change("s", "w", slower, SAME, 1.0, 8, is_bound=True).decision(0.02) == "no regression"


@given(st.floats(0.5, 2), st.floats(0, 0.5), st.floats(0.001, 0.5))
def test_a_regression_lies_wholly_below_the_border(value, arm, threshold):
    found = Change("s", "w", Interval(value, value * (1 - arm), value * (1 + arm)), SAME, 1.0, 8, is_bound=False)
    assert (found.decision(threshold) == "regression") == (value * (1 + arm) < 1 - threshold / 2)


def test_numbers_that_are_not_known_are_null_in_json():
    assert Change("s", "w", UNKNOWN, SAME, math.nan, 1, is_bound=False).as_dict(0.02)["throughput"]["low"] is None


def test_p99_is_compared_block_by_block_at_the_rate_of_both():
    label, rows = "decode-10@100/s", []
    for block, slower in ((1, 1.1), (2, 1.1), (3, 1.1)):
        for system, factor in (("gin+before", 1.0), ("gin", slower)):
            rows += [
                {"block": block, "system": system, "workload": label, "value_us": value, "count": count}
                for value, count in ((100, 980), (round(1000 * factor), 20))
            ]
    results = SimpleNamespace(
        cells=pd.DataFrame({"workload": ["decode-10", label], "base_workload": ["decode-10"] * 2}),
        fixed_rate=[label],
        tables=Tables(pd.DataFrame(), pd.DataFrame(rows), *[pd.DataFrame()] * 3),
    )
    found = _p99(results, "decode-10", "gin+before", "gin")
    assert found.value == pytest.approx(1.1)
    assert found.low == pytest.approx(found.high)
    assert math.isnan(_p99(results, "discard-10", "gin+before", "gin").value)
