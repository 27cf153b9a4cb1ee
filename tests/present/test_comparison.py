"""What is said of two runs: true of the frames, whatever they hold."""

from dataclasses import dataclass, field, replace

import pandas as pd
import pytest

from runners.analyse.run_comparison import CommonFactor, Difference
from runners.core.records import CONTROL
from runners.present import comparison as before_after
from runners.present.throughput import charts
from tests.present.frames import labelled
from tests.present.test_charts import drawn_panels, words

MOVED = CommonFactor(0.9, 0.89, 0.91, 2, unchanged=True)
STILL = CommonFactor(1.001, 0.99, 1.01, 2, unchanged=True)


@dataclass
class Side:
    profile: str = "standard"


@dataclass
class Sample:
    """Two compared runs as ``present`` expects them."""

    cells: pd.DataFrame
    common: CommonFactor = STILL
    differences: list = field(default_factory=list)
    unmatched: list = field(default_factory=list)
    noise_floor_ratio: dict = field(default_factory=lambda: {"decode-10": 1.03})
    a: Side = field(default_factory=Side)
    b: Side = field(default_factory=Side)
    same_run: bool = False


def row(system, ratio, verdict, workload="decode-10", **about):
    server, _, codec = system.partition("+")
    rates = {"a_rps": 1000.0, "a_low_rps": 990.0, "a_high_rps": 1010.0}
    rates |= {name.replace("a_", "b_", 1): rate * ratio for name, rate in rates.items()}
    ratios = {}
    for name, value in (("ratio", ratio), ("p99_ratio", 1 / ratio), ("cpu_ratio", 1 / ratio)):
        ratios |= {name: value, f"{name}_low": value * 0.99, f"{name}_high": value * 1.01}
    facts = {"system": system, "server": server, "codec": codec or None, **labelled(workload), "operations_count": 10.0}
    facts |= {"unchanged": False, "bottleneck": "server", "status": "ok", "bound": "", "verdict": verdict}
    return facts | rates | ratios | about


@pytest.fixture
def sample():
    rows = [
        row("gin+a", 1.2, "faster"),
        row("drogon+b", 0.8, "slower"),
        row("beast", 1.0, "equivalent", unchanged=True),
    ]
    return Sample(pd.DataFrame([*rows, row(CONTROL, 1.21, "", server="gin", codec="a")]))


def test_every_cell_is_concluded_upon_with_ratio_and_verdict_but_the_control(sample):
    text = "\n".join(before_after.conclusions(sample))
    for words_ in (
        "gin+a 1.20 × (1.19 to 1.21), faster",
        "drogon+b 0.800 ×",
        "slower",
        "beast 1.00 × (0.99 to 1.01), equivalent",
    ):
        assert words_ in text
    assert CONTROL not in text
    assert "The noise band of both runs is ±3.0 %." in text


def test_a_cell_that_must_not_be_ranked_is_said_to_be_bound_by_the_load_generator(sample):
    bound = replace(sample, cells=sample.cells.assign(verdict="not comparable", bottleneck="generator"))
    text = "\n".join(before_after.conclusions(bound))
    assert "gin+a 1.20 × (1.19 to 1.21), not ranked: the load generator was the limit" in text
    assert "faster" not in text


def test_tail_and_cost_are_told_of_what_changed_only(sample):
    (said,) = [sentence for sentence in before_after.conclusions(sample) if "99th percentile" in sentence]
    assert "of gin+a the 99th percentile of the service time is 0.833 ×" in said
    assert "beast" not in said


def test_the_headline_counts_what_changed_and_names_the_clearest(sample):
    said = before_after.headline(sample)
    assert "1 of 3 cells became faster and 1 slower" in said
    assert "drogon+b on decode, 10 operations: 0.800 ×" in said


def test_without_a_change_the_headline_says_so(sample):
    level = replace(sample, cells=sample.cells.assign(verdict=["equivalent", "undecided", "equivalent", ""]))
    assert before_after.headline(level) == "No cell became faster or slower: 2 equivalent and 1 undecided."
    assert before_after.headline(replace(level, same_run=True)) == "Both are the same run: nothing can differ."


@pytest.mark.parametrize(
    ("common", "told", "not_told"),
    [
        (STILL, "the machine itself hardly differed", "part of every ratio"),
        (MOVED, "0.900 × (single cells: 0.890 × to 0.910 ×): no server's change made that but the machine", "hardly"),
        (replace(MOVED, unchanged=False), "All moved in one direction", "is the same in both runs have"),
        (replace(STILL, unchanged=False), "No server is known to be the same", "All moved"),
        (replace(MOVED, unchanged=False, cells_count=1), "the ratios of all 1 cell have", "All moved"),
    ],
)
def test_the_common_factor_tells_the_machine_from_the_change_as_far_as_it_can(sample, common, told, not_told):
    for sentences in (before_after.conclusions, before_after.abstract):
        text = "\n".join(sentences(replace(sample, common=common)))
        assert told in text
        assert not_told not in text


def test_a_smoke_run_on_either_side_is_said_first(sample):
    assert before_after.SMOKE not in before_after.conclusions(sample)
    for side in ("a", "b"):
        assert before_after.conclusions(replace(sample, **{side: Side("quick")}))[0] == before_after.SMOKE


def test_what_was_not_measured_alike_is_a_conclusion_and_stands_first_in_the_table(sample):
    differing = [
        Difference("versions.git_commit", "c1", "c2", True),
        Difference("machine.kernel", "6.1", "<b>6.2</b>", False),
    ]
    text = "\n".join(before_after.abstract(replace(sample, differences=differing)))
    assert "not measured alike" in text
    assert "machine.kernel (6.1 in A, <b>6.2</b> in B)" in text
    shown = before_after.what_changed(differing)
    assert shown.text.index("machine.kernel") < shown.text.index("versions.git_commit")
    assert "<b>" not in shown.html
    assert "nothing that the records hold" in before_after.what_changed([]).text


def test_the_table_shows_every_cell_and_what_is_not_estimable_as_such(sample):
    cells = sample.cells.assign(p99_ratio=float("nan"))
    text = before_after.compared(replace(sample, cells=cells)).text
    assert all(system in text for system in cells["system"])
    assert "not estimable" in text
    assert "▲ faster" in text
    assert "server unchanged" in text


def test_the_forest_plot_says_what_its_points_are_and_whose_band_is_shaded(sample):
    comparisons = sample.cells.rename(columns={"system": "system_a"}).assign(system_b="run A", family="leader")
    chart = charts.ratios(comparisons, sample.cells, sample.noise_floor_ratio, paired=False)
    (panel,) = drawn_panels(chart)
    assert any("1.20 ×" in text and "faster" in text for text in words(panel))
    assert panel.get_xlabel() == "B ÷ A\nshaded: the noise band of both runs (±3.0 %)"
    assert "per block" not in chart.get_supxlabel()


def summary_of(*cells):
    about = {"experiment": "01-ping", "run_a": "x", "run_b": "y", "conclusions": ["It is faster."]}
    return {**about, "cells": list(cells)}


def summary_cell(system, ratio, verdict, bound="", ends=(None, None)):
    estimate = {"value": 1000.0, "low": 990.0, "high": 1010.0}
    rates = {f"throughput_{side}_rps": estimate for side in "ab"}
    about = {"workload": "ping", "system": system, "server": "gin", "verdict": verdict, "bound": bound}
    return {**about, **rates, "ratio": {"value": ratio, "low": ends[0], "high": ends[1]}}


def test_the_terminal_says_what_the_control_is_and_does_not_call_it_a_placebo():
    (_, line) = before_after.comparison_rows(summary_of(summary_cell(CONTROL, 1.0, "")))
    assert line[:2] == ["ping", "control"]
    assert line[-1] == "(A/A control: gin launched twice)"


@pytest.mark.parametrize(
    ("bound", "before", "after", "ratio"),
    [("", "", "", ""), ("at most", "≥ ", "", "≤ "), ("at least", "", "≥ ", "≥ "), ("unknown", "≥ ", "≥ ", "")],
)
def test_a_throughput_that_the_load_generator_limited_is_a_lower_bound_as_in_its_run_s_report(
    sample, bound, before, after, ratio
):
    shown = [f"{before}1.00 k requests/s", f"{after}1.00 k requests/s", f"{ratio}1.00 ×"]
    (_, line) = before_after.comparison_rows(summary_of(summary_cell("gin", 1.0, "equivalent", bound)))
    assert line[2:5] == shown
    cells = pd.DataFrame([row("gin", 1.0, "equivalent", bound=bound)])
    (_, *cells) = before_after.compared(replace(sample, cells=cells)).text.splitlines()[-1].split("\t")
    assert [cell.partition(" k ")[0] for cell in cells[:2]] == [f"{before}1.00", f"{after}1.00"]
    assert cells[2].startswith(f"{ratio}1.00 ×")


def test_what_is_not_ranked_has_one_name_in_table_terminal_and_conclusions(sample):
    bound = {"verdict": "not comparable", "bound": "unknown"}
    found = replace(sample, cells=sample.cells.assign(**bound))
    line = summary_cell("gin", 1.0, "not comparable", "unknown")
    texts = [before_after.compared(found).text, str(before_after.comparison_rows(summary_of(line)))]
    texts += [before_after.headline(found), "\n".join(before_after.conclusions(found))]
    for text in texts:
        assert "not ranked" in text
        assert "not comparable" not in text
