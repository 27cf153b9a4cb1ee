"""What is said of two runs: true of the frames, whatever they hold."""

import re
from dataclasses import dataclass, field, replace

import pandas as pd
import pytest

from runners.analyse.run_comparison import CommonFactor, Difference
from runners.core.records import CONTROL
from runners.present import before_after, comparison
from runners.present.throughput import charts
from tests.present.frames import labelled
from tests.present.test_charts import drawn_panels, words
from tests.test_language import words as count_words

MOVED = CommonFactor(0.9, 0.89, 0.91, 2, unchanged=True)
STILL = CommonFactor(1.001, 0.99, 1.01, 2, unchanged=True)


@dataclass
class Side:
    blocks_count: int = 8


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


def every_sentence(found):
    return [
        before_after.answer(found),
        before_after.message(found),
        *before_after.conclusions(found),
        *before_after.how_sure(found),
        *before_after.limits_of_runs(found),
    ]


def test_the_answer_counts_what_changed_and_names_the_clearest(sample):
    said = before_after.answer(sample)
    assert said.startswith("Of 3 cells 1 became faster and 1 slower; clearest: drogon+b on decode, 10 operations, ")
    assert said.endswith("1.25 × slower (1.24 to 1.26).")


def test_without_a_change_the_answer_says_so(sample):
    level = replace(sample, cells=sample.cells.assign(verdict=["equivalent", "undecided", "equivalent", ""]))
    assert before_after.answer(level) == "None of the 3 cells became faster or slower beyond the noise of both runs."
    assert before_after.answer(replace(level, same_run=True)) == "Both are the same run: nothing can differ."


@pytest.mark.parametrize("verdict", ["faster", "slower", "equivalent", "undecided", "not comparable"])
@pytest.mark.parametrize("common", [STILL, MOVED, replace(MOVED, unchanged=False)])
def test_every_sentence_is_short_said_once_and_has_no_ratio_below_one(sample, verdict, common):
    differing = [Difference(f"versions.{name}", "1", "2", name > "c") for name in "abcdef"]
    cells = sample.cells.assign(verdict=verdict)
    found = every_sentence(replace(sample, cells=cells, common=common, differences=differing, unmatched=["x on y"]))
    assert [sentence for sentence in found if count_words(sentence) > 25] == []
    assert len(set(found)) == len(found)
    assert not re.search(r"(?<![\d.])0\.\d+ ×", "\n".join(found))
    assert CONTROL not in "\n".join(found)


def test_cost_is_told_of_what_changed_only(sample):
    assert before_after.cost(sample) == ["Of the cells that changed, 1 need less CPU time per request and 1 more."]
    assert before_after.cost(replace(sample, cells=sample.cells.assign(verdict="equivalent"))) == []


@pytest.mark.parametrize(
    ("common", "told"),
    [
        (STILL, "Unchanged servers hardly differ (1.00 ×, 2 cells)"),
        (MOVED, "Unchanged servers became 1.11 × slower: the machine changed"),
        (replace(STILL, unchanged=False), "No server is known to be the same in both runs"),
    ],
)
def test_the_common_factor_tells_the_machine_from_the_change_as_far_as_it_can(sample, common, told):
    (said,) = before_after.shared(replace(sample, common=common))
    assert said.startswith(told)
    assert before_after.shared(replace(sample, common=common, same_run=True)) == []


def test_what_was_not_measured_alike_is_the_first_limit_and_stands_first_in_the_table(sample):
    differing = [
        Difference("versions.git_commit", "c1", "c2", True),
        Difference("machine.kernel", "6.1", "<b>6.2</b>", False),
    ]
    first = before_after.limits_of_runs(replace(sample, differences=differing))[0]
    assert first == "The runs were not measured alike, any difference may come from that: machine.kernel."
    shown = comparison.what_changed(differing)
    assert shown.text.index("machine.kernel") < shown.text.index("versions.git_commit")
    assert "<b>" not in shown.html
    assert "nothing that the records hold" in comparison.what_changed([]).text


def test_the_table_shows_every_cell_and_what_is_not_estimable_as_such(sample):
    cells = sample.cells.assign(p99_ratio=float("nan"))
    text = comparison.compared(replace(sample, cells=cells)).text
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
    assert "per block" not in chart.caption


def summary_of(*cells):
    about = {
        "experiment": "01-ping",
        "run_a": "x",
        "run_b": "y",
        "headline": "One changed.",
        "conclusions": ["It is faster."],
    }
    return {**about, "cells": list(cells)}


def summary_cell(system, ratio, verdict, bound="", ends=(None, None)):
    estimate = {"value": 1000.0, "low": 990.0, "high": 1010.0}
    rates = {f"throughput_{side}_rps": estimate for side in "ab"}
    about = {"workload": "ping", "system": system, "server": "gin", "verdict": verdict, "bound": bound}
    return {**about, **rates, "ratio": {"value": ratio, "low": ends[0], "high": ends[1]}}


def test_the_terminal_says_what_the_control_is_by_its_one_name():
    (_, line) = comparison.comparison_rows(summary_of(summary_cell(CONTROL, 1.0, "")))
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
    (_, line) = comparison.comparison_rows(summary_of(summary_cell("gin", 1.0, "equivalent", bound)))
    assert line[2:5] == shown
    cells = pd.DataFrame([row("gin", 1.0, "equivalent", bound=bound)])
    (_, *cells) = comparison.compared(replace(sample, cells=cells)).text.splitlines()[-1].split("\t")
    assert [cell.partition(" k ")[0] for cell in cells[:2]] == [f"{before}1.00", f"{after}1.00"]
    assert cells[2].startswith(f"{ratio}1.00 ×")


def test_what_is_not_ranked_has_one_name_in_table_and_terminal(sample):
    bound = {"verdict": "not comparable", "bound": "unknown"}
    found = replace(sample, cells=sample.cells.assign(**bound))
    line = summary_cell("gin", 1.0, "not comparable", "unknown")
    texts = [comparison.compared(found).text, str(comparison.comparison_rows(summary_of(line)))]
    for text in texts:
        assert "not ranked" in text
        assert "not comparable" not in text
