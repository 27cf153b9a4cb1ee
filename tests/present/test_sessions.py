"""Sessions in a report: one figure, one sentence, and the record of the intervals."""

import math
import re
from types import SimpleNamespace

import pandas as pd
import pytest

from runners.analyse.results import analyse
from runners.analyse.session_record import COLUMNS, FORWARD, LEFT_OUT
from runners.analyse.sessions import with_sessions
from runners.present import sessions as shown_sessions
from runners.present.how_sure import how_sure
from runners.present.kit.wording import MOST_WORDS, words_count
from runners.present.sessions import figure, kept, record_table, sure
from runners.present.throughput.charts import ratios
from runners.present.throughput.report import answer
from runners.present.throughput.tables import comparisons
from tests.analyse.synthetic import run_of
from tests.analyse.test_sessions import MACHINE, SHARES, measured


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Results over one, two … five sessions."""
    tmp_path, found = tmp_path_factory.mktemp("raw"), []
    for place, share in enumerate(SHARES):
        run = measured(tmp_path, place, share)
        found.append(with_sessions(analyse(run)))
    return found


def test_how_sure_names_the_number_of_sessions_and_what_intervals_cover(sessions):
    one, two, _, _, five = (how_sure(each)[0] for each in sessions)
    assert one.startswith("Intervals are 95 % and cover this session only: ratios ±")
    assert re.fullmatch(
        r"Intervals are 95 % and cover this session only; 2 sessions differ by at most \d\.\d %, and 3 give an interval of the next\.",
        two,
    )
    assert re.fullmatch(
        r"Intervals are 95 % and cover one further session: 5 sessions within 4 h, between which ratios vary by at most \d\.\d %\.",
        five,
    )


def test_a_first_session_says_what_earlier_ones_were_like(tmp_path):
    for place, share in enumerate(SHARES):
        measured(tmp_path, place, share, versions={"components": {"fast": {"Go": "1.26"}}})
    first = how_sure(with_sessions(analyse(measured(tmp_path, 9, 0.5))))[0]
    assert "between 5 earlier sessions of this machine ratios varied by at most" in first
    assert words_count(first) <= MOST_WORDS


def test_no_sentence_is_too_long_and_the_count_of_trials_is_that_of_this_run(sessions):
    for results in sessions:
        assert all(words_count(text) <= MOST_WORDS for text in how_sure(results))
        own = "In this session " if results.others else ""
        assert how_sure(results)[-1].startswith(f"{own}24 of 24 trials are valid")


def test_the_answer_has_the_interval_of_a_further_session(sessions):
    row = sessions[-1].comparisons.query("family == 'leader'").iloc[0]
    low, high = 1 / row["ratio_high"], 1 / row["ratio_low"]
    said = [float(number) for number in re.findall(r"\((\d\.\d+) to (\d\.\d+)\)", answer(sessions[-1]))[0]]
    assert said == pytest.approx([low, high], abs=0.06)


def test_the_figure_has_a_point_for_each_session_and_the_band_of_a_further_one(sessions):
    assert figure(sessions[0]) is None
    chart = figure(sessions[-1])
    assert chart.title == "5 sessions: the ratio to fast+a in each"
    (ax,) = chart.axes
    row = sessions[-1].comparisons.query("family == 'leader'").iloc[0]
    (band,) = ax.patches
    ends = [100 * math.log(row[name] / row["ratio"]) for name in ("ratio_low", "ratio_high")]
    assert [band.get_x(), band.get_x() + band.get_width()] == pytest.approx(ends)
    points = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert points == pytest.approx([100 * math.log(share / row["ratio"]) for share in SHARES], abs=0.5)
    assert ax.get_xlabel() == "% from the mean"
    diamond = next(line for line in ax.lines if line.get_marker() == "D")
    assert diamond.get_xdata()[0] == 0


def test_two_sessions_are_drawn_without_a_band(sessions):
    chart = figure(sessions[1])
    assert "No band below 3 sessions." in chart.caption
    assert not chart.axes[0].patches
    assert "<svg" in chart.html


def test_the_record_says_what_share_of_the_ratios_held(sessions):
    rows = [("02", f"s{place % 3}", "w", "b", "a", FORWARD, 4, place < 19) for place in range(20)]
    rows += [("02", "s1", "w", "b", "a", FORWARD, 1, False), ("02", "s1", "w", "b", "a", LEFT_OUT, 5, True)]
    text = record_table(pd.DataFrame(rows, columns=COLUMNS)).text
    assert "19 of 20" in text
    assert "95 %" in text
    assert "0 of 1" in text
    assert "No measurement" in record_table(pd.DataFrame(columns=COLUMNS)).text
    assert "5 of 5" in kept(sessions[-1]).text


def test_tables_and_charts_say_which_interval_they_show(sessions):
    one, five = sessions[0], sessions[-1]
    assert "simultaneous 95 % intervals" in ratios(one.comparisons, one.cells, one.noise_floor_ratio).caption
    assert "95 % intervals of a further session" in ratios(five.comparisons, five.cells, five.noise_floor_ratio).caption
    assert "5 sessions, which vary by" in comparisons(five.comparisons, five.cells).text
    assert "sessions" not in comparisons(one.comparisons, one.cells).text


def test_sessions_that_agree_are_said_to_agree(tmp_path):
    for place in range(3):
        run = measured(tmp_path, place, 0.5)
    # One block gives no interval: that run is no session of the ratio.
    rates = {("fast+a", "decode-10"): 60_000.0, ("slow+c", "decode-10"): 30_000.0, ("control", "decode-10"): 60_000.0}
    record = {"started_at": "2026-01-09T00:00:00+00:00", "machine": MACHINE}
    run_of(tmp_path, rates, blocks=1, run_id="short", record=record)
    said = how_sure(with_sessions(analyse(run)))[0]
    assert re.search(r"3 sessions within 2 h, (which agree within their own noise|between which .* 0\.[1-3] %)\.", said)


@pytest.mark.parametrize(
    ("of_rates", "said"),
    [([1, 1], "at fixed rates"), ([1, 4], "for some rates and added times"), ([4, 4], "for added times")],
)
def test_intervals_that_are_of_this_session_only_are_named(monkeypatch, of_rates, said):
    monkeypatch.setattr(shown_sessions, "_span", lambda results: "12 h")
    cells = pd.DataFrame({"workload": ["w", "w"], "status": "ok", "sessions_count": of_rates})
    leaders = pd.DataFrame({"family": ["leader"], "sessions_count": [4], "between_ratio": [0.083]})
    found = sure(SimpleNamespace(comparisons=leaders, cells=cells, fixed_rate=["w"]))
    assert found == (
        f"Intervals (95 %) cover a further session, {said} this one only; 4 sessions within 12 h vary by at most 8.3 %."
    )
    assert words_count(found) <= MOST_WORDS
