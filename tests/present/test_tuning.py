"""What tuning buys: a sentence for each stack, and a row for each tuned build."""

from dataclasses import replace

import pytest

from runners.analyse.results import analyse
from runners.core.records import System
from runners.present.throughput import report, tuning
from tests.analyse.synthetic import run_of
from tests.present.test_report import MOST_WORDS
from tests.test_language import words

SYSTEMS = {
    "fast+a": System("fast", "a"),
    "fast+a+pgo": System("fast", "a", "pgo"),
    "fast+a+big": System("fast", "a", "big"),
    "slow+b": System("slow", "b"),
    "slow+b+pgo": System("slow", "b", "pgo"),
    "control": System("fast", "a", control=True),
}


def analysed(tmp_path, rates, blocks=8):
    cells = {(name, "decode-10"): rate for name, rate in rates.items()}
    return analyse(run_of(tmp_path, cells, blocks, record={"systems": {name: SYSTEMS[name] for name in rates}}))


@pytest.fixture
def results(tmp_path):
    rates = {"fast+a": 9000.0, "fast+a+pgo": 10_000.0, "fast+a+big": 9000.0, "slow+b": 5000.0, "slow+b+pgo": 5000.0}
    return analysed(tmp_path, rates | {"control": 9000.0})


def test_each_stack_has_one_sentence_with_the_most_that_tuning_buys(results):
    first, second = tuning.sentences(results)
    assert first.startswith("Tuning buys fast more requests/s at decode with 10 operations: fast+a with pgo, 10.8 %")
    assert second.startswith(
        "Tuning buys slow nothing that this run can show at decode with 10 operations: at best slow+b"
    )
    assert all(words(sentence) <= MOST_WORDS for sentence in (first, second))
    assert {first, second} <= set(report.conclusions(results))


def test_each_tuned_build_has_a_row_with_its_plain_build(results):
    rows = tuning.comparison(results).text.splitlines()[3:]
    assert [tuple(row.split("\t")[:2]) for row in rows] == [
        *(("fast+a+pgo", "fast+a"), ("fast+a+big", "fast+a"), ("slow+b+pgo", "slow+b"))
    ]
    assert rows[0].split("\t")[2].startswith("1.1")


def test_a_tuned_build_whose_plain_build_was_not_measured_is_left_out(tmp_path):
    results = analysed(tmp_path, {"fast+a": 9000.0, "slow+b+pgo": 5000.0, "control": 9000.0})
    assert tuning.sentences(results) == []
    assert not tuning.comparison(results).text


def test_one_block_shows_no_gain(tmp_path):
    results = analysed(tmp_path, {"fast+a": 9000.0, "fast+a+pgo": 12_000.0, "control": 9000.0}, blocks=1)
    (sentence,) = tuning.sentences(results)
    assert "nothing that this run can show" in sentence
    assert "interval not known" in sentence


def test_in_a_comparison_of_revisions_the_earlier_build_is_no_tuning(results):
    earlier = replace(SYSTEMS["fast+a+pgo"], earlier=True)
    results.manifest.systems.update(
        {"fast+a+pgo": earlier, "fast+a+big": SYSTEMS["fast+a"], "slow+b+pgo": SYSTEMS["slow+b"]}
    )
    assert tuning.sentences(results) == []
    assert not tuning.comparison(results).text
