"""The benchmarks of the method itself: on tiny numbers, and the page with their results."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

from runners.analyse.comparisons import against_leader
from runners.core.project import PROJECT
from runners.core.records import CONTROL
from runners.stats.estimates import critical_value

PAGE = PROJECT / "docs" / "validity.md"


@pytest.fixture(scope="module")
def script():
    path = PROJECT / "benchmarks" / "method_validity.py"
    spec = importlib.util.spec_from_file_location("method_validity", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measured(script, blocks, burning=0.9, noise=0.005):
    """System → block → throughput of the burning server, simulated."""
    draw = np.random.default_rng(3)
    rates = {script.PLAIN: 1.0, script.AGAIN: 1.0, script.BURNING: burning, CONTROL: 1.0}
    index = range(1, blocks + 1)
    return {name: pd.Series(rate * np.exp(draw.normal(0, noise, blocks)), index) for name, rate in rates.items()}


def test_the_simulation_has_a_row_for_every_case(script):
    draw = np.random.default_rng(1)
    assert len(script.coverage(draw, 20)) == 16
    assert len(script.stopping(draw, 20)) == 6
    assert len(script.whole_runs(draw, 10)) == 12
    assert len(script.widths()) == 4


def test_the_simulation_compares_as_the_analysis_does(script):
    logs = script.launches(np.random.default_rng(2), 1, np.array([0.01, 0.02, 0.03]), 6, 0.3)
    (leader,), (means,), (errors,) = script.to_leader(logs)
    found = against_leader({str(number): pd.Series(np.exp(row)) for number, row in enumerate(logs[0])})
    assert found.keys() == {"0", "1", "2"} - {str(leader)}
    for system, comparison in found.items():
        assert np.log(comparison.interval.value) == pytest.approx(means[int(system)])
        arm = np.log(comparison.interval.high / comparison.interval.value)
        assert arm == pytest.approx(critical_value(3, 5) * errors[int(system)])


def test_launches_are_as_correlated_as_was_asked_for(script):
    logs = script.launches(np.random.default_rng(1), 20_000, np.array([0.02]), 3, 0.6)[:, 0]
    assert np.corrcoef(logs[:, 1], logs[:, 2])[0, 1] == pytest.approx(0.6, abs=0.03)
    assert logs.std(axis=0) == pytest.approx(0.02, rel=0.03)


@pytest.mark.parametrize("blocks", [2, 6, 12, 40])
def test_any_number_of_blocks_gives_a_row(script, blocks):
    head, _, row = script.measured_row(measured(script, blocks), 0.02, 30).splitlines()
    found = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert found["| blocks in all"] == f"| {blocks}"
    assert found["an equal called slower"].startswith("0%")
    if blocks >= 6:
        assert "burning called slower |" in head
        assert " 100% (" in f" {found['burning called slower |']}"


def test_without_blocks_the_benchmark_says_so(script):
    with pytest.raises(SystemExit, match="fewer than two blocks"):
        script.measured_row(measured(script, 1), 0.02, 30)


def test_the_page_about_validity_is_short():
    assert len(PAGE.read_text().splitlines()) <= 212
