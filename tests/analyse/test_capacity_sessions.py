"""Capacities over sessions: from three on, the interval is that of a further session, and a bound in one session is a bound over all."""

import math
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from runners.analyse.capacities import session_ratio
from runners.analyse.carried import carried
from runners.analyse.results import analyse
from runners.analyse.searches import launch_capacities
from runners.analyse.sessions import with_sessions
from runners.core.records import CONTROL
from runners.present.kit.wording import MOST_WORDS, words_count
from runners.present.levels import charts, report, sentences, tables
from runners.present.sessions import figure
from runners.stats.estimates import geometric_mean_interval
from runners.stats.pooling import Estimate, pool
from tests.analyse import loaded
from tests.analyse.synthetic import run_of as throughput_run
from tests.analyse.test_capacities import GOAL, over, searched, window
from tests.analyse.test_sessions import MACHINE

SPEEDS = [1.0, 1.15, 0.92, 1.06]


def session(place, *, speed=1.0, highest_rps=40_000.0, apart=0.0, launches=2, **service_rps):
    """Windows of two launches of each system; a session runs all of them at its own speed, and the second one `apart` more."""
    chance = random.Random(place)
    return [
        each
        for number, (name, rate) in enumerate(service_rps.items())
        for block in range(launches)
        for each in searched(
            rate * speed * math.exp(apart * number + chance.gauss(0, 0.01)), highest_rps, system=name, block=block
        )
    ]


def test_from_three_sessions_on_a_capacity_is_their_mean_with_the_interval_of_a_further_one():
    sessions = [session(place, speed=speed, a=20_000.0, b=9_000.0) for place, speed in enumerate(SPEEDS)]
    found = over(sessions)
    for name in ("a", "b"):
        launches = [launch_capacities(pd.DataFrame(each)).set_index("system").loc[[name]] for each in sessions]
        low, high = (
            [geometric_mean_interval(each[side].to_numpy()) for each in launches]
            for side in ("capacity_rps", "failed_rps")
        )
        own = [
            Estimate(replace(met, low=min(met.low, failed.low), high=max(met.high, failed.high)), 2)
            for met, failed in zip(low, high, strict=True)
        ]
        further = pool(own).further
        row = found.loc[name]
        assert (row["capacity_rps"], row["capacity_low_rps"], row["capacity_high_rps"]) == pytest.approx(
            (further.value, further.low, further.high)
        )
        assert (row["sessions_count"], row["launches_count"], row["launches_made_count"]) == (4, 8, 8)
        means = [math.exp(np.log(each["capacity_rps"]).mean()) for each in launches]
        assert min(means) < row["capacity_rps"] < max(means)
        assert row["capacity_low_rps"] < min(means) < max(means) < row["capacity_high_rps"]


def test_what_all_systems_of_a_session_share_is_in_their_capacities_and_not_in_their_ratios():
    found = over([session(place, speed=speed, a=20_000.0, b=10_000.0) for place, speed in enumerate(SPEEDS)]).loc["b"]
    assert (found["leader"], found["verdict"]) == ("a", "slower")
    assert found["ratio_high"] / found["ratio_low"] < found["capacity_high_rps"] / found["capacity_low_rps"]
    assert found["between_ratio"] < 0.05
    assert found["ratio_low"] < found["own_ratio"] < found["ratio_high"]


def test_systems_that_changed_places_between_sessions_are_not_called_slower():
    each = [
        session(place, apart=apart, launches=5, a=20_000.0, b=20_000.0)
        for place, apart in enumerate([0.2, -0.2, 0.2, -0.2])
    ]
    alone, together = over(each[:1]), over(each)
    assert set(alone["verdict"]) == {"", "slower"}
    assert set(together["verdict"]) == {"", "undecided"}
    assert together["between_ratio"].max() > 0.1


def test_one_and_two_sessions_say_what_their_own_launches_say():
    each = [session(place, speed=speed, a=20_000.0, b=9_000.0) for place, speed in enumerate(SPEEDS)]
    pd.testing.assert_frame_equal(over(each[:2]), over([each[1]]))
    assert over(each[:2])["between_ratio"].isna().all()


def test_what_one_session_knows_only_as_a_bound_is_a_bound_over_all():
    each = [session(place, a=20_000.0, b=9_000.0) for place in range(4)]
    free = over(each)
    each[0] = [*session(0, a=20_000.0, b=9_000.0, launches=1), *late_above(15_000.0, a=20_000.0, b=9_000.0)]
    found = over(each)
    assert found["sessions_count"].to_dict() == {"a": 4, "b": 4}
    assert found["bound"].to_dict() == {"a": "at least", "b": ""}
    assert found.loc["b", ["ratio_bound", "verdict"]].tolist() == ["at most", "slower"]
    assert free.loc["b", ["ratio_bound", "verdict"]].tolist() == ["", "slower"]


def late_above(rate_rps, **service_rps):
    """A second launch in which the load generator missed its schedule above a rate."""
    windows = session(0, launches=1, **service_rps)
    return [{**each, "block": 1, "late_fraction": 0.5 if each["offered_rps"] > rate_rps else 0.0} for each in windows]


def test_the_band_of_the_control_leaves_out_the_sessions_in_which_it_is_a_bound():
    each = [session(place, a=20_000.0, **{CONTROL: 20_100.0}) for place in range(4)]
    bounded = [*each[:3], session(3, highest_rps=15_000.0, a=20_000.0, **{CONTROL: 20_100.0})]
    assert over(each[:3]).loc[CONTROL, "ratio"] == pytest.approx(1.005, abs=0.02)
    assert math.isnan(over(bounded).loc[CONTROL, "ratio"])
    assert over([bounded[3], *each[:3]]).loc[CONTROL, "ratio"] == over(each[:3]).loc[CONTROL, "ratio"]


def test_windows_of_fresh_launches_are_counted_over_the_sessions():
    each = [
        [*session(place, a=20_000.0), window(100.0, seconds, kind="confirmation", block=9)]
        for place, seconds in enumerate((0.001, 0.006, 0.002))
    ]
    row = over(each).loc["a"]
    assert (row["held_count"], row["confirmations_count"], row["confirmed_rps"]) == (2, 3, 100.0)
    assert over(each[1:]).loc["a", "confirmations_count"] == 1


@settings(max_examples=20)
@given(st.permutations([0, 1, 2]))
def test_the_order_of_other_sessions_changes_nothing(order):
    each = [session(place, speed=speed, a=20_000.0, b=9_000.0) for place, speed in enumerate(SPEEDS)]
    pd.testing.assert_frame_equal(over([*(each[place] for place in order), each[3]]), over(each))


QUEUES = {"decode-10": {"fast+a": 40_000.0, "slow+b": 10_000.0}}


def measured(folder, place, run_id="", share=1.0):
    """A session, `place` hours after the first, at its own speed; the slow system at a `share` of that."""
    speeds = {"fast+a": SPEEDS[place], "slow+b": SPEEDS[place] * share}
    queues = {label: {system: rate * speeds[system] for system, rate in own.items()} for label, own in QUEUES.items()}
    started = {"started_at": f"2026-01-01T{place:02d}:00:00+00:00", "machine": MACHINE}
    return loaded.run_of(
        folder,
        queues,
        run_id=run_id or f"s{place}",
        blocks=2,
        goals=(GOAL.text,),
        shares=(0.5,),
        chance=place,
        record=started,
    )


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    return [measured(folder, place) for place in range(4)]


@pytest.fixture(scope="module")
def results(ledger):
    return with_sessions(analyse(ledger[-1]))


def test_every_compatible_run_counts_whatever_rates_it_planned(results):
    assert results.capacities["sessions_count"].tolist() == [4, 4, 4]
    assert {row["system"] for row in results.capacities.to_dict("records")} == {"fast+a", "slow+b", CONTROL}


def test_the_report_says_what_its_intervals_cover(ledger, results):
    said = report.how_sure(results)
    assert said[0].startswith("Intervals (95 %) cover a further session, at fixed rates this one only; the widest is ±")
    assert said[1] == "Fresh launches at the low ends of each session's intervals held in 16 of 16 windows."
    assert all(words_count(text) <= MOST_WORDS for text in said)
    assert "95 % interval of a further session, with" in charts.capacities(results).caption
    assert "of a further session" in tables.capacities(results).html
    assert "each session at its own rate" in tables.capacities(results).html
    alone = analyse(ledger[0])
    assert report.how_sure(alone)[0].startswith("Intervals are 95 % and cover this session only;")
    assert "at its own rate" not in tables.capacities(alone).html
    assert "further session" not in charts.capacities(alone).caption + tables.capacities(alone).html


def test_the_report_names_a_system_that_too_few_sessions_have(ledger):
    found = with_sessions(analyse(ledger[-1]))
    found.capacities.loc[found.capacities["system"] == "slow+b", "sessions_count"] = 1
    said = report.how_sure(found)[0]
    assert said.startswith(
        "Intervals (95 %) cover a further session (slow+b and fixed rates: this one); the widest is ±"
    )
    assert words_count(said) <= MOST_WORDS


def test_the_sentence_has_the_interval_that_the_table_has(results):
    row = results.capacities.set_index("system").loc["fast+a"]
    assert sentences.capacity(row.to_dict()) in report.answer(results)
    (found,) = [each for each in report.summary(results)["capacities"] if each["system"] == "fast+a"]
    assert found["capacity_rps"] == {
        "value": row["capacity_rps"], "low": row["capacity_low_rps"], "high": row["capacity_high_rps"]
    }  # fmt: skip
    assert found["sessions_count"] == 4


def test_the_figure_has_a_point_for_the_ratio_of_each_session(ledger, results):
    assert figure(analyse(ledger[0])) is None
    chart = figure(results)
    assert chart.title == "4 sessions: the ratio to fast+a in each"
    (ax,) = chart.axes
    row = results.capacities.set_index("system").loc["slow+b"]
    ratios = [session_ratio(each.searches, "decode-10", GOAL.text, "slow+b", "fast+a") for each in results.sessions]
    points = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert points == pytest.approx([100 * math.log(ratio / row["ratio"]) for ratio in ratios])


def test_sessions_that_are_far_apart_are_drawn_as_factors(tmp_path):
    runs = [measured(tmp_path, place, share=share) for place, share in enumerate((1.0, 2.0, 0.6))]
    (ax,) = figure(with_sessions(analyse(runs[-1]))).axes
    ticks = {ax.xaxis.get_major_formatter()(place, 0): place for place in ax.get_xticks()}
    assert ticks["1 ×"] == 0
    assert all(place == pytest.approx(100 * math.log(float(text.removesuffix(" ×")))) for text, place in ticks.items())
    assert len(ticks) > 2
    assert ax.get_xlabel() == "as a multiple of the mean"


def test_other_reports_quote_the_capacity_over_all_sessions(ledger, results):
    rates = {("fast+a", "decode-10"): 60_000.0, ("control", "decode-10"): 60_000.0}
    other = analyse(
        throughput_run(ledger[0].base, rates, record={"machine": {**MACHINE, "memory_bytes": 8_000_004_096}})
    )
    found = carried(other).set_index("system")
    of_08 = results.capacities.set_index("system")
    for column in ("capacity_rps", "capacity_low_rps", "capacity_high_rps"):
        assert found.loc["slow+b", column] == of_08.loc["slow+b", column]
    assert set(found["run_id"]) == {"s3"}
