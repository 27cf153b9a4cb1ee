"""Charts, tables and sentences of growth with CPUs, on a wide machine and on one with two CPUs."""

import pytest

from runners.analyse.results import analyse
from runners.analyse.scaling import scaling_of
from runners.present.kit.theme import Chart
from runners.present.kit.wording import MOST_WORDS, words_count
from runners.present.scaling import charts, report, sentences, tables
from tests.analyse import grown


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    results = analyse(grown.run_of(tmp_path_factory.mktemp("wide")))
    return results, scaling_of(results)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    results = analyse(grown.run_of(tmp_path_factory.mktemp("narrow"), planned=1, counts=(1, 2), profile="quick"))
    return results, scaling_of(results)


def test_the_answer_says_who_grows_most_and_least(wide):
    said = report.answer(wide[0])
    assert said.startswith("decode, 10 operations on 16 CPUs: fast+a serves 12")
    assert "its throughput on 1; slow+b 5" in said


def test_contention_is_told_with_its_interval_of_the_least_and_the_most(wide):
    (told,) = sentences.reasons(*wide)
    assert told.startswith("decode, 10 operations: contention is 2.0")
    assert "with fast+a, 10" in told
    assert told.endswith("with slow+b.")


def test_the_cost_of_a_request_is_told_with_what_was_shared(wide, narrow):
    (told,) = sentences.costs(*wide)
    assert told.startswith("decode, 10 operations: a request costs on 16 CPUs 1.4")
    assert "the CPU time of 1 CPU with" in told
    assert "shared" not in told
    (told,) = sentences.costs(*narrow)
    assert "a request costs on 2 shared CPUs 1.1" in told


def test_one_server_cpu_says_what_a_larger_machine_adds_and_shows_its_throughputs(wide, narrow):
    assert "Servers have 1 CPU here: 2 would add speed-up and efficiency" in sentences.reasons(*narrow)[-1]
    assert sentences.larger_machine(wide[1]) == ""
    assert report.answer(narrow[0]).startswith(
        "decode, 10 operations on 1 CPU: fast+a completes 4.00 × as many as slow+b ("
    )
    assert isinstance(report.main_chart(narrow[0]), Chart)


@pytest.mark.parametrize("which", ["wide", "narrow"])
def test_every_sentence_is_short_and_stands_once(request, which):
    results, _ = request.getfixturevalue(which)
    said = [report.answer(results), *report.conclusions(results), *report.how_sure(results)]
    assert len(set(said)) == len(said)
    assert {text: words_count(text) for text in said if words_count(text) > MOST_WORDS} == {}


def test_the_decision_table_has_growth_where_there_is_some(wide, narrow):
    assert "speed-up" in report.decision_table(wide[0]).text
    assert "speed-up" not in report.decision_table(narrow[0]).text
    assert "2 CPUs, shared" in report.decision_table(narrow[0]).text


@pytest.mark.parametrize("draw", [charts.throughput, charts.speedup, charts.cost])
def test_every_chart_of_a_wide_run_runs_upwards_and_says_what_it_shows(wide, draw):
    chart = draw(*wide)
    assert isinstance(chart, Chart)
    shown = [ax for ax in chart.axes if ax.get_xlabel() == "server CPUs"]
    assert shown
    for ax in shown:
        low, high = ax.get_ylim()
        assert low < high
        assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "4", "8", "16"]
    assert "1, 2, 4, 8, 16 CPUs" in chart.description
    assert chart.png()


@pytest.mark.parametrize("draw", [charts.throughput, charts.cost])
def test_two_cpus_are_enough_for_a_chart_with_something_in_it(narrow, draw):
    chart = draw(*narrow)
    assert chart.png()
    assert any(ax.has_data() for ax in chart.axes)


def test_tables_have_a_line_for_each_system_and_number_of_cpus(wide, narrow):
    shown = tables.growth(*wide)
    assert shown.text.count("slow+b n = 6/6") == 5
    assert "contention" in shown.text
    # Of 16 CPUs three numbers: the median, and the range.
    assert "100 % 90.0 % to 100 %" in shown.text
    assert "contention" not in tables.growth(*narrow).text
    assert tables.costs(*narrow).text.count("2 shared") == 3


def test_a_load_generator_that_was_the_limit_makes_bounds_that_are_named(tmp_path):
    results = analyse(grown.run_of(tmp_path, limited_from=8))
    scaling = scaling_of(results)
    assert "fast+a serves at least " in report.answer(results)
    assert any("the load was the limit of fast+a from 8 CPUs on" in text for text in report.conclusions(results))
    assert charts.speedup(results, scaling).png()


def test_the_threats_say_how_many_connections_a_server_thread_has(wide):
    assert "80 connections on any number of CPUs: 5 for each server thread at the most, 16" in " ".join(
        sentences.limits(*wide)
    )


def test_the_summary_holds_growth_costs_and_laws(wide):
    found = sentences.summary(wide[1])
    assert len(found["growth"]) == 15
    assert len(found["costs"]) == 15
    assert {law["system"] for law in found["laws"]} == {"fast+a", "slow+b"}
    assert found["growth"][0]["speedup_ratio"]["value"] == 1.0
    assert "speedup_low_ratio" not in found["growth"][0]
