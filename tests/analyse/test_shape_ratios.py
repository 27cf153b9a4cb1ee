"""Two loads of one cell are compared within blocks."""

import pytest

from runners.analyse.results import analyse
from tests.analyse.synthetic import run_of

RATES = {
    ("fast+a", "text"): 2000.0,
    ("slow", "text"): 1000.0,
    ("control", "text"): 2000.0,
    ("fast+a", "text@other"): 1500.0,
    ("slow", "text@other"): 900.0,
    ("control", "text@other"): 1500.0,
    ("slow", "json@other"): 900.0,
}


def test_each_cell_of_another_shape_is_set_against_the_run_s_own_load(tmp_path):
    # Blocks differ by up to 30 %: a ratio that was not paired would have an interval as wide.
    found = analyse(run_of(tmp_path, RATES, drift=0.3)).shape_ratios
    assert found[["system", "workload", "shape"]].to_numpy().tolist() == [
        ["fast+a", "text", "other"],
        ["slow", "text", "other"],
    ]
    assert found["ratio"].to_list() == pytest.approx([0.75, 0.9], rel=0.02)
    assert ((found["ratio_low"] < found["ratio"]) & (found["ratio"] < found["ratio_high"])).all()
    assert ((found["ratio_high"] - found["ratio_low"]) < 0.04).all()


def test_a_run_of_one_load_has_nothing_to_compare(tmp_path):
    one = {names: rate for names, rate in RATES.items() if "@" not in names[1]}
    assert analyse(run_of(tmp_path, one)).shape_ratios.empty
