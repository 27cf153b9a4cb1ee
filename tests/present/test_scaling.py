"""Charts, tables and sentences of growth with CPUs, on a wide machine and on one with two CPUs."""

import pytest

from runners.analyse.results import analyse
from runners.analyse.scaling import scaling_of
from runners.present.kit.markup import Fragment
from runners.present.kit.theme import Chart
from runners.present.scaling import charts, sentences, tables
from tests.analyse import grown


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    results = analyse(grown.run_of(tmp_path_factory.mktemp("wide")))
    return results, scaling_of(results)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    results = analyse(grown.run_of(tmp_path_factory.mktemp("narrow"), planned=1, counts=(1, 2), profile="quick"))
    return results, scaling_of(results)


def test_the_headline_says_who_grows_most_and_least_and_how_far_from_ideal(wide):
    said = sentences.conclusions(*wide)
    assert said[0].startswith(
        "decode, 10 operations: on 16 CPUs a system serves this multiple of its throughput on 1: fast+a 12"
    )
    assert "slow+b 5" in said[0]
    assert said[0].count("of ideal growth") == 2


def test_the_law_is_told_with_its_intervals_and_a_peak_that_is_near(wide):
    (told,) = [text for text in sentences.conclusions(*wide) if "Universal Scalability Law" in text]
    assert "fast+a contention 2.0" in told
    assert "slow+b contention 10" in told
    assert "highest at 2" in told.partition("slow+b")[2]
    assert "highest" not in told.partition("slow+b")[0]


def test_the_cost_of_a_request_is_told_with_the_rate_and_what_was_shared(wide, narrow):
    (told,) = [text for text in sentences.conclusions(*wide) if "a request costs" in text]
    assert "at 1,000/s: on 16 CPUs a request costs" in told
    assert "shared" not in told
    (told,) = [text for text in sentences.conclusions(*narrow) if "a request costs" in text]
    assert "on 2 CPUs, shared with the load generator, a request costs" in told


def test_one_server_cpu_says_what_a_larger_machine_adds_in_the_place_of_a_chart(wide, narrow):
    assert isinstance(charts.speedup(*narrow), Fragment)
    assert "Servers have 1 CPU here: 2 would add speed-up and efficiency" in charts.speedup(*narrow).text
    assert sentences.larger_machine(wide[1]) == ""
    said = sentences.conclusions(*narrow)
    assert said[0].startswith("Smoke run, not evidence: decode, 10 operations on 1 CPU: fast+a serves most, 40")


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
    said = sentences.conclusions(results, scaling)
    assert "fast+a at least " in said[0]
    assert any("the load generator was the limit of fast+a from 8 CPUs on" in text for text in said)
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
