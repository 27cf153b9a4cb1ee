"""The report of a comparison of two revisions: what is decided stands first, and a row for each cell."""

import re
from dataclasses import replace

import pytest

from runners.analyse.results import analyse
from runners.analyse.revision_changes import Change
from runners.core.records import Interval, System
from runners.present.limits import limits_of
from runners.present.throughput import report, revision
from tests.analyse.synthetic import run_of
from tests.present.test_report import MOST_WORDS
from tests.test_language import words

BEFORE = "0123456789ab"
SAME = Interval(1.0, 0.999, 1.001)
SYSTEMS = {
    "fast+a": System("fast", "a"),
    f"fast+a+{BEFORE}": System("fast", "a", BEFORE, earlier=True),
    "control": System("fast", "a", control=True),
}


def compared(tmp_path, rates):
    """Results of two workloads; `rates`: workload → requests/s now, of 10,000 before."""
    cells = {
        (name, workload): before if name.endswith(BEFORE) else rate
        for workload, rate in rates.items()
        for name, before in zip(SYSTEMS, (0, 10_000.0, 0), strict=True)
        if name != "control" or workload == "decode-10"
    }
    results = analyse(run_of(tmp_path, cells, 8, record={"systems": SYSTEMS}))
    results.parameters["precision"] = 0.005
    return results


@pytest.mark.parametrize(
    ("rates", "decided", "ratio"),
    [
        ({"decode-10": 9000.0, "decode-100": 10_000.0}, "Regression since", 0.9),
        ({"decode-10": 10_000.0}, "No regression since", 1.0),
    ],
)
def test_the_answer_is_what_is_decided_and_the_cell_that_changed_for_the_worst(tmp_path, rates, decided, ratio):
    answer = report.answer(compared(tmp_path, rates))
    found = re.fullmatch(
        rf"{decided} revision {BEFORE}: at decode with 10 operations, fast\+a serves (\S+) × .*", answer
    )
    assert float(found[1]) == pytest.approx(ratio, abs=0.01)
    assert words(answer) <= MOST_WORDS
    assert report.message(compared(tmp_path / "again", rates)).endswith(f"at revision {BEFORE}")


def test_nothing_is_said_of_a_precision_that_a_comparison_does_not_aim_at(tmp_path):
    results = compared(tmp_path, {"decode-10": 9000.0})
    results.parameters["precision"] = 0.00001
    said = " ".join([*report.how_sure(results), *limits_of(results)])
    assert "in the median" in said
    assert "aim" not in said
    assert "are not reported" not in said
    results.manifest.systems[f"fast+a+{BEFORE}"] = replace(SYSTEMS[f"fast+a+{BEFORE}"], earlier=False)
    said = " ".join([*report.how_sure(results), *limits_of(results)])
    assert said.count("aim") == 2


def test_the_answer_names_the_ratio_that_decides_be_it_throughput_or_cpu_time(tmp_path, monkeypatch):
    results = compared(tmp_path, {"decode-10": 10_000.0})
    costly = Change("fast+a", "decode-10", Interval(1.0, 0.98, 1.02), Interval(1.1, 1.08, 1.12), 1.0, 8, is_bound=False)
    equal = replace(costly, throughput=Interval(0.9, 0.7, 1.1), cpu=Interval(1.0, 0.7, 1.3), control=SAME)
    monkeypatch.setattr(revision, "changes", lambda _: [equal, replace(costly, control=SAME)])
    assert revision.answer(results).endswith("fast+a serves 0.909 × (0.893 to 0.926) as many requests per CPU second.")
    slower = replace(costly, throughput=Interval(0.91, 0.9, 0.92), control=SAME)
    monkeypatch.setattr(revision, "changes", lambda _: [slower])
    assert revision.answer(results).endswith("fast+a serves 0.910 × (0.900 to 0.920) as many requests/s.")
    monkeypatch.setattr(revision, "changes", lambda _: [equal])
    assert revision.answer(results).startswith("Undecided whether")
    assert revision.answer(results).endswith("fast+a serves 0.900 × (0.700 to 1.100) as many requests/s.")


def test_each_cell_has_a_row_with_its_decision_before_the_numbers_of_both_builds(tmp_path):
    results = compared(tmp_path, {"decode-10": 9000.0, "decode-100": 10_000.0})
    text = report.decision_table(results).text
    changed, chosen = text.index("What changed"), text.index("Both builds: decode")
    assert changed < chosen
    rows = [line.split("\t") for line in text[changed:chosen].splitlines() if line.startswith("fast+a\t")]
    assert [row[-1] for row in rows] == ["regression", "no regression"]
    assert f"+{BEFORE} is the build of that earlier git revision. The threshold is 2.0 %" in text[changed:chosen]


def test_where_the_control_leaves_everything_open_a_note_says_so(tmp_path, monkeypatch):
    results = compared(tmp_path, {"decode-10": 9000.0})
    assert "launched twice" not in revision.comparison(results).text
    (found,) = revision.changes(results)
    monkeypatch.setattr(revision, "changes", lambda _: [replace(found, control=Interval(0.95, 0.94, 0.96))])
    shown = revision.comparison(results).text
    assert "undecided" in shown
    assert (
        "At decode-10 the control, one build launched twice, serves 0.950 × (0.940 to 0.960) as much as itself" in shown
    )


def test_without_an_earlier_revision_nothing_is_said_of_one(tmp_path):
    cells = {(name, "decode-10"): 9000.0 for name in ("fast+a", "slow+b", "control")}
    results = analyse(run_of(tmp_path, cells, 8))
    assert revision.answer(results) == ""
    assert BEFORE not in report.message(results)
    assert not revision.comparison(results).text
    assert "What changed" not in report.decision_table(results).text
