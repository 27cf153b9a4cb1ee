"""What is shown of latency under load says what the frames say: leaders, ties, bounds, and what is missing."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from runners.analyse.results import Results, analyse
from runners.analyse.sessions import CostSpread, cost_spread
from runners.analyse.summary import summary
from runners.core.records import CONTROL
from runners.core.units import quantity
from runners.present.answer import published
from runners.present.kit.decision import LEADERS
from runners.present.kit.frames import inverse
from runners.present.kit.wording import MOST_WORDS, PER_SECOND, factor, words_count
from runners.present.levels import charts, report, sentences, tables
from runners.present.limits import limits_of
from runners.present.load_generators import omission, omitted
from tests.analyse.loaded import run_of

QUEUES = {
    "decode-10": {"fast+a": 56_000.0, "fast+b": 30_000.0, "slow+c": 9_600.0},
    "ping": {"fast": 90_000.0, "slow": 52_000.0},
}
FIRST = "p99 <= 5 ms"


def made(folder, queues=QUEUES, **about) -> Results:
    return analyse(run_of(folder, queues, **about))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return made(tmp_path_factory.mktemp("raw"), stalled=True)


@pytest.fixture(scope="module")
def tied(tmp_path_factory):
    queues = {"decode-10": {"fast+a": 56_000.0, "fast+b": 55_600.0, "slow+c": 9_600.0}}
    return made(tmp_path_factory.mktemp("tied"), queues, noise=0.02)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """One system, one block, and a search that never failed."""
    return made(tmp_path_factory.mktemp("alone"), {"ping": {"fast": 30_000.0}}, blocks=1, highest=0.5, confirmed=False)


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """A load generator that was late in every window of the search."""
    return made(
        tmp_path_factory.mktemp("late"),
        {"ping": {"fast": 30_000.0, "slow": 9_000.0}},
        blocks=2,
        late=0.1,
        confirmed=False,
    )


def capacity(results, system, goal=FIRST):
    rows = results.capacities
    return rows[(rows["system"] == system) & (rows["objective"] == goal)].iloc[0]


def shown(row):
    return quantity(row["capacity_rps"], row["capacity_low_rps"], row["capacity_high_rps"], PER_SECOND)


def test_the_first_sentence_says_who_carries_most_how_much_and_how_sure(results):
    first, leader, second = sentences.answer(results), capacity(results, "fast+a"), capacity(results, "fast+b")
    more = factor(*inverse(second))
    assert first == f"decode, 10 operations at p99 ≤ 5 ms: fast+a carries most, {shown(leader)}, {more} fast+b."
    assert second["verdict"] == "slower"


def test_systems_that_are_not_told_apart_tie(tied):
    assert (
        capacity(tied, "fast+b")["verdict"] in ("undecided", "equivalent")
        or capacity(tied, "fast+a")["verdict"] == "undecided"
    )
    first = sentences.answer(tied)
    leader, other = sentences.family(tied, tied.capacities["base_workload"].iloc[0], FIRST)["system"][:2]
    carries = f"{leader}, {shown(capacity(tied, leader))}, ties with {other}"
    more = factor(*inverse(capacity(tied, "slow+c")))
    assert first == f"decode, 10 operations at p99 ≤ 5 ms: {carries}; {more} slow+c."


def test_one_system_in_one_block_is_a_bound_without_an_interval(alone):
    first = sentences.answer(alone)
    assert first == "ping: fast carries at least 15.0 k/s at p99 ≤ 5 ms; no other was compared."
    assert sentences.confirmed(alone) == "No capacity was confirmed by a fresh launch."


def test_one_block_decides_nothing(tmp_path):
    found = made(tmp_path, {"ping": {"fast": 30_000.0, "slow": 9_000.0}}, blocks=1)
    first = sentences.answer(found)
    assert re.fullmatch(
        r"ping: fast shows most at p99 ≤ 5 ms: \S+ k/s \(interval not known\); one launch decides nothing\.",
        first,
    )


def test_a_leader_that_reached_the_end_of_the_search_carries_at_least_that(tmp_path):
    found = made(tmp_path, {"ping": {"fast": 60_000.0, "slow": 9_000.0}}, highest=0.8)
    first = sentences.answer(found)
    assert first.startswith("ping at p99 ≤ 5 ms: fast carries most, at least 48.0 k/s")
    assert ", at least " in first
    assert "× " in first
    assert "≥ 48.0" in str(tables.capacities(found))
    assert "≤ 2.08" in str(tables.capacities(found))


def test_systems_that_both_reached_the_end_of_the_search_are_not_ranked(tmp_path):
    found = made(tmp_path, {"ping": {"fast": 60_000.0, "slow": 59_000.0}}, blocks=2, highest=0.8)
    first = sentences.answer(found)
    assert first.startswith("ping: fast and slow keep p99 ≤ 5 ms at the highest rates: fast at least 48.0 k/s")


def test_a_run_without_a_capacity_says_why(late):
    assert (
        sentences.answer(late)
        == "ping: no system has a capacity at p99 ≤ 5 ms: all searches are void, or the load generator was late."
    )
    assert (
        "No capacity was found of fast (ping) and slow (ping): the table has the reasons."
        in sentences.threats_of_levels(late)
    )
    assert "all searches are void" in str(tables.capacities(late))
    assert charts.capacities(late).png().startswith(b"\x89PNG")


def test_a_smoke_run_is_no_evidence(tmp_path):
    found = made(tmp_path, {"ping": {"fast": 60_000.0, "slow": 9_000.0}}, blocks=2, profile="quick")
    assert published(found, report)[0].startswith("Smoke run, not evidence: ping at ")


def test_the_decision_table_has_capacity_cost_and_p99_of_each_workload(results):
    lines = report.decision_table(results).text.splitlines()
    assert "decode, 10 operations: capacity at p99 ≤ 5 ms" in lines
    assert "ping: capacity at p99 ≤ 5 ms" in report.other_decisions(results).text.splitlines()
    assert lines[2] == LEADERS
    assert lines[3].startswith("fast+a\t")
    assert "\tleader\t2 of 2\t" in lines[3]


def test_every_row_of_the_table_has_the_verdict_of_its_interval(results):
    text = str(tables.capacities(results))
    for row in results.capacities.to_dict("records"):
        assert (row["verdict"] == "slower") == (row["ratio_high"] < 1 and row["system"] != CONTROL)
        if row["verdict"]:
            assert f"{row['ratio']:.3f} × {row['ratio_low']:.3f} to {row['ratio_high']:.3f}" in text
    assert "2 of 2 at" in text
    assert "half load: 4,800/s" in text


def test_where_nothing_is_told_apart_the_least_and_the_most_are_named_with_their_intervals(results):
    wide = {"cpu_per_request_low_s": 4e-6, "cpu_per_request_high_s": 1.1e-3, "p99_low_s": 1e-4, "p99_high_s": 2e-2}
    levels, cells = results.levels.assign(**wide), results.cells.assign(**wide)
    found = SimpleNamespace(
        levels=levels, cells=cells, own_cells=cells, manifest=results.manifest, session_cells=[], noise_floor_ratio={}
    )
    for said in (sentences.cost(found, "decode-10"), sentences.longest(found, "decode-10")):
        assert re.fullmatch(
            r"decode, 10 operations, \S+/s, (CPU per request|p99), not told apart: .* \(.*\), .* \(.*\)\.", said
        )
        assert words_count(said) <= MOST_WORDS


def test_what_did_not_hold_again_is_named(results):
    frame = results.capacities.copy()
    frame.loc[(frame["system"] == "slow+c") & (frame["objective"] == FIRST), "held_count"] = 1
    said = sentences.confirmed(SimpleNamespace(capacities=frame))
    assert said.endswith("held in 9 of 10 windows; not in all: slow+c.")


@pytest.mark.parametrize("which", ["results", "tied", "alone", "late"])
@pytest.mark.parametrize("draw", [charts.latency, charts.latency_by_share])
def test_no_panel_is_empty_and_every_chart_says_what_is_to_be_seen(draw, which, request):
    chart = draw(request.getfixturevalue(which))
    assert chart.png().startswith(b"\x89PNG")
    assert len(chart.description) > 30
    panels = [ax for ax in chart.axes if ax.get_title(loc="left")]
    assert panels
    for ax in panels:
        assert any(len(line.get_xdata()) for line in ax.lines)
        assert ax.get_xlabel()
        assert "control" not in [text.get_text() for text in ax.texts]


def test_the_intervals_of_systems_at_one_rate_stand_side_by_side(tmp_path):
    found = made(tmp_path, {"ping": {"fast": 30_000.0, "slow": 30_000.0}}, blocks=2, shares=(0.5,))
    (panel,) = [ax for ax in charts.latency(found).axes if ax.get_title(loc="left")]
    whiskers = [
        line.get_xdata()[0] for line in panel.lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2
    ]
    assert len(set(whiskers)) == 2


def test_a_saturated_level_is_an_open_marker_on_top(tmp_path):
    found = made(tmp_path, {"ping": {"fast": 30_000.0, "slow": 10_000.0}}, blocks=2, shares=(0.5, 1.2))
    (panel,) = [ax for ax in charts.latency(found).axes if ax.get_title(loc="left")]
    hollow = [line for line in panel.lines if line.get_markerfacecolor() == "none"]
    # The second of two systems stands half a step to the right of its rate.
    assert [list(line.get_xdata()) for line in hollow] == [[pytest.approx(12_000.0 * (1 + charts._STEP / 2))]]
    assert "slow (ping, from 12,000/s on)" in sentences.saturated(found)
    assert "saturated" in str(tables.levels(found))


def test_names_beside_lines_do_not_lie_over_each_other(results):
    for ax in charts.latency(results).axes:
        heights = sorted(text.xy[1] for text in ax.texts if text.get_text() in set(results.cells["system"]))
        assert all(np.diff(heights) >= 0.05)


def test_the_closed_loop_hides_what_the_open_one_sees(results, alone):
    assert omission(results).png().startswith(b"\x89PNG")
    assert re.search(
        r"an open loop sees p99 9\d\.\d ms \(calculated: 100 ms\), a closed loop 5\.1\d? ms\.", omitted(results)
    )
    assert omission(alone) is None
    assert omitted(alone) == ""


def test_the_limits_are_those_of_an_open_loop(results):
    said = "\n".join(limits_of(results))
    assert "Arrivals are a Poisson process" in said
    assert "closed loop" not in said
    assert "bursts" not in said
    assert "lower bounds" not in said


def test_the_summary_holds_capacities_and_levels_with_their_intervals(results):
    found = report.summary(results, cost_spread(results))
    row = found["capacities"][0]
    assert row["capacity_rps"] == {
        "value": row["capacity_rps"]["value"],
        **{end: results.capacities[f"capacity_{end}_rps"].iloc[0] for end in ("low", "high")},
    }
    assert len(found["levels"]) == len(results.levels)
    assert found["cost_spread"] == {"sessions_count": 1, "largest_spread_ratio": None}
    assert not set(found) & set(summary(results, [], ""))


def test_costs_of_several_sessions_are_said_to_agree_by_the_largest_difference():
    costs = pd.DataFrame(
        [
            ("ping", "a", "one", 1e-5),
            ("ping", "a", "two", 1.02e-5),
            ("ping", "b", "one", 2e-5),
            ("ping", "b", "two", 2.01e-5),
        ],
        columns=["base_workload", "system", "run_id", "cpu_per_request_s"],
    )
    assert (
        sentences.agreed(CostSpread(costs, 2))
        == "CPU per request agrees between 2 sessions within 2.0 % (largest: a, ping)."
    )
