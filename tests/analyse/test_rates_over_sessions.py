"""Given rates are the same in all sessions, so they are pooled; rates that each session plans from what it carries are not."""

import math
from types import SimpleNamespace

import pytest

from runners.analyse.pooled import pooled_cells
from runners.analyse.results import analyse
from runners.analyse.sessions import cost_spread, with_sessions
from runners.core.load import LEAST_OFFERED
from runners.core.records import Interval
from runners.present.kit.wording import MOST_WORDS, words_count
from runners.present.levels import charts, report, sentences, tables
from runners.stats.pooling import Estimate, pool
from tests.analyse import loaded
from tests.analyse.test_sessions import MACHINE

SPEEDS = [1.0, 0.93, 1.08, 1.02]
RATES = (2000, 10_000)


def measured(folder, place, *, speed=1.0, given=RATES, shares=()):
    """A session, `place` hours after the first, whose two systems run at its own speed."""
    return loaded.run_of(
        folder,
        {"decode-10": {"fast+a": 40_000.0 * speed, "slow+b": 10_000.0 * speed}},
        run_id=f"s{place}",
        blocks=2,
        goals=("p99 <= 5 ms",),
        shares=shares,
        given=given,
        chance=place,
        record={"started_at": f"2026-01-01T{place:02d}:00:00+00:00", "machine": MACHINE},
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    runs = [measured(folder, place, speed=speed) for place, speed in enumerate(SPEEDS)]
    return with_sessions(analyse(runs[-1]))


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """Sessions that planned their rates, each from what it carried."""
    folder = tmp_path_factory.mktemp("raw")
    runs = [measured(folder, place, speed=speed, given=(), shares=(0.5,)) for place, speed in enumerate(SPEEDS)]
    return with_sessions(analyse(runs[-1]))


def level(results, system, rate):
    rows = results.levels.set_index(["system", "offered_rps"])
    return rows.loc[(system, float(rate))]


def cell(session, system, rate):
    return session.cells.set_index(["system", "workload"]).loc[(system, f"decode-10@{rate}/s")]


def test_a_response_time_at_a_given_rate_has_the_interval_of_a_further_session(results):
    of_cells = [cell(each, "fast+a", 2000) for each in results.sessions]
    own = [Interval(*(each[f"p99{end}_s"] for end in ("", "_low", "_high"))) for each in of_cells]
    further = pool([Estimate(each, 2) for each in own]).further
    row = level(results, "fast+a", 2000)
    assert [row["p99_s"], row["p99_low_s"], row["p99_high_s"]] == pytest.approx(
        [further.value, further.low, further.high]
    )
    assert (row["sessions_count"], row["launches_count"]) == (4, 8)
    assert min(each.value for each in own) < row["p99_s"] < max(each.value for each in own)


def test_what_saturates_in_one_session_counts_as_saturated(results):
    achieved = [cell(each, "slow+b", 10_000)["achieved_fraction"] for each in results.sessions]
    assert [share < LEAST_OFFERED for share in achieved] == [False, True, False, False]
    row = level(results, "slow+b", 10_000)
    assert row["saturated"]
    assert row["achieved_fraction"] == achieved[1]
    assert math.isnan(row["p99_s"])
    assert not level(results, "slow+b", 2000)["saturated"]
    assert "slow+b (decode-10, from 10,000/s on)" in sentences.saturated(results)


def test_what_saturates_in_half_of_the_sessions_has_no_times_at_that_rate(tmp_path):
    runs = [measured(tmp_path, place, speed=speed) for place, speed in enumerate([0.9, 0.93, 1.08, 1.02])]
    row = level(with_sessions(analyse(runs[-1])), "slow+b", 10_000)
    assert (row["saturated"], row["sessions_count"]) == (True, 1)
    assert math.isnan(row["p99_s"])


def test_cells_of_one_name_are_pooled_only_where_their_rates_are_the_same(results):
    own, *others = (each.cells for each in reversed(results.sessions))
    other_rates = [table.assign(offered_rps=table["offered_rps"] + 1) for table in others]
    assert set(pooled_cells(own, others)["sessions_count"]) == {3, 4}
    assert set(pooled_cells(own, other_rates)["sessions_count"]) == {1}
    assert set(pooled_cells(own, [*others[:2], other_rates[2]])["sessions_count"]) == {1, 3}


def test_how_far_sessions_differ_in_cost_is_estimated_from_each_session_alone(results):
    costs = cost_spread(results).costs.set_index(["run_id", "system"])["cpu_per_request_s"]
    for each in results.sessions:
        assert costs[each.run_id, "fast+a"] == cell(each, "fast+a", 2000)["cpu_per_request_s"]


def test_the_report_says_that_given_rates_are_of_a_further_session_too(results):
    said = report.how_sure(results)
    assert said[0].startswith("Intervals (95 %) cover a further session; the widest is ±")
    assert "whiskers: 95 % interval of a further session" in charts.latency(results).caption
    assert "of a further session" in tables.levels(results).html
    assert "n = 8" in tables.levels(results).html
    assert all(words_count(text) <= MOST_WORDS for text in [*said, *report.conclusions(results)])


def test_rates_that_sessions_planned_are_those_of_this_session_and_the_report_says_so(planned):
    assert set(planned.levels["sessions_count"]) == {1}
    assert set(planned.levels["launches_count"]) == {2}
    assert report.how_sure(planned)[0].startswith(
        "Intervals (95 %) cover a further session, at fixed rates this one only;"
    )
    assert "of a further session" not in charts.latency(planned).caption + tables.levels(planned).html


def test_systems_are_told_apart_by_the_ratios_of_the_sessions_though_their_own_intervals_overlap(results):
    rows = results.levels[results.levels["offered_rps"] == RATES[0]].set_index("system")
    assert rows["p99_low_s"]["slow+b"] > rows["p99_high_s"]["fast+a"]
    wide = {"p99_low_s": 1e-6, "p99_high_s": 1.0}
    cells = results.cells.assign(**wide)
    found = SimpleNamespace(
        levels=results.levels.assign(**wide),
        cells=cells,
        own_cells=results.own_cells,
        session_cells=results.session_cells,
        manifest=results.manifest,
        noise_floor_ratio={},
    )
    assert "p99 is shortest with fast+a" in sentences.longest(found, "decode-10")
    found.session_cells = []
    assert "p99, not told apart: fast+a" in sentences.longest(found, "decode-10")
