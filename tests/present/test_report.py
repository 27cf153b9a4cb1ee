"""Reports about throughput: the answer, the decision table and every sentence hold their limits, whatever was measured."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from runners.core.records import CONTROL, Interval
from runners.present.answer import published, said
from runners.present.kit.decision import LEADERS, OTHERS, Column, decision_table
from runners.present.kit.markup import TableCell
from runners.present.kit.wording import SMOKE
from runners.present.limits import MOST_VISIBLE, limits, limits_of
from runners.present.throughput import report
from runners.present.throughput.workloads import workloads_of
from runners.stats.verdicts import verdict
from tests.conftest import examples
from tests.present.frames import labelled, make_comparisons, make_sample, make_shares
from tests.test_language import words

MOST_WORDS, MOST_CONCLUSIONS, MOST_SURE = 25, 8, 3
BELOW_ONE = re.compile(r"(?<![\d.])0\.\d+ ×")
SAMPLE = make_sample()
STATUSES = st.sampled_from(
    ["ok"] * 6 + ["all trials are void (steal: 31 % of a CPU's time was stolen)", "failed: contract"]
)
LIMITS = st.sampled_from(["server", "server", "generator", "both", "backend", "unsaturated"])
FACTORS = st.one_of(st.floats(0.97, 1.03), st.floats(0.05, 20), st.just(1.0))
WIDTHS = st.sampled_from([np.nan, 0.0, 0.0004, 0.012, 0.2, 3.0])


def column(draw, strategy, rows):
    return draw(st.lists(strategy, min_size=len(rows), max_size=len(rows)))


@st.composite
def any_run(draw):
    """A run with ties, bounds, void cells, errors, few systems, few blocks and intervals of all widths, or none."""
    names = [name for name in dict.fromkeys(SAMPLE.cells["system"]) if name != CONTROL]
    kept = {*draw(st.lists(st.sampled_from(names), min_size=1, unique=True)), *draw(st.sampled_from([[], [CONTROL]]))}
    cells = SAMPLE.cells[SAMPLE.cells["system"].isin(kept)].copy()
    width, blocks = draw(WIDTHS), draw(st.sampled_from([1, 2, 8]))
    cells["throughput_rps"] *= column(draw, FACTORS, cells)
    cells["throughput_low_rps"] = cells["throughput_rps"] / (1 + width)
    cells["throughput_high_rps"] = cells["throughput_rps"] * (1 + width)
    cells["bottleneck"], cells["status"] = column(draw, LIMITS, cells), column(draw, STATUSES, cells)
    cells["errors_count"] = column(draw, st.sampled_from([0, 0, 0, 7]), cells)
    cells["errors_fraction"] = cells["errors_count"] / 100
    cells["launches_count"], cells["launches_made_count"] = column(draw, st.integers(1, blocks), cells), blocks
    cells.loc[cells["status"] != "ok", ["throughput_rps", "launches_count", "cpu_per_request_s"]] = [np.nan, 0, np.nan]
    sound = cells[cells["status"] == "ok"]
    comparisons = make_comparisons(sound)
    comparisons["ratio_low"], comparisons["ratio_high"] = (
        comparisons["ratio"] / (1 + width),
        comparisons["ratio"] * (1 + width),
    )
    comparisons["verdict"] = [
        verdict(Interval(row["ratio"], row["ratio_low"], row["ratio_high"]), 0.01, row["bound"]) if row["family"] == "leader" else ""
        for row in comparisons.to_dict("records")
    ]  # fmt: skip
    return replace(
        SAMPLE,
        cells=cells,
        comparisons=comparisons,
        shares=shares_of(sound),
        checks=SAMPLE.checks[SAMPLE.checks["system"].isin(kept)],
        noise_floor_ratio=SAMPLE.noise_floor_ratio if CONTROL in kept else {},
        blocks_count=blocks,
        profile=draw(st.sampled_from(["quick", "standard"])),
    )


def shares_of(cells):
    """Return the shares of the cells whose floor was measured."""
    floors = {(row["system"], row["operations_count"]) for row in cells.to_dict("records") if row["codec"] is None}
    decoding = cells["workload"].str.startswith("decode")
    known = [(row["server"], row["operations_count"]) in floors for row in cells.to_dict("records")]
    return make_shares(cells[~decoding | np.array(known, dtype=bool)])


def every_sentence(run):
    return [report.answer(run), report.message(run), *report.conclusions(run), *report.how_sure(run), *limits_of(run)]


@examples(10)
@given(any_run())
def test_every_sentence_is_short_said_once_and_plain_whatever_was_measured(run):
    found = every_sentence(run)
    assert [sentence for sentence in found if words(sentence) > MOST_WORDS] == []
    assert len(set(found)) == len(found)
    text = "\n".join([*found, report.decision_table(run).text])
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b", text)
    assert not BELOW_ONE.search("\n".join(found)), text
    assert not re.search(rf"(?<!The )(?<!the )\b{CONTROL}\b", "\n".join(found))
    assert len(report.conclusions(run)) <= MOST_CONCLUSIONS
    assert 1 <= len(report.how_sure(run)) <= MOST_SURE


@examples(5)
@given(any_run())
def test_the_decision_table_has_a_row_for_each_system_and_the_first_is_the_answer(run):
    workload = report.main_workload(run)
    rows = run.cells[(run.cells["workload"] == workload) & (run.cells["system"] != CONTROL)]
    html = report.decision_table(run).html
    shown = re.findall(r'<th scope="row"[^>]*>(?:<[^>]+>)*([^<]+)', html)
    assert sorted(name for name in shown if name in set(rows["system"])) == sorted(rows["system"])
    if len(rows) > 1 and " is fastest at " in report.answer(run):
        assert report.answer(run).startswith(
            f"{next(name for name in shown if name in set(rows['system']))} is fastest"
        )


def test_the_answer_says_who_how_much_compared_with_what_and_how_sure():
    run = make_sample()
    found = report.answer(run)
    leader = run.comparisons.query("workload == 'decode-10' and family == 'leader'")["system_b"].iloc[0]
    assert found.startswith(f"{leader} is fastest at decode with 10 operations on one CPU: ")
    slowest = run.comparisons.query("workload == 'decode-10' and family == 'leader'").sort_values("ratio").iloc[0]
    assert f"{1 / slowest['ratio']:.1f}" in found
    assert f" × {slowest['system_a']} (" in found


def test_systems_that_are_not_told_apart_share_the_first_tier_and_the_answer():
    run = make_sample()
    family = (run.comparisons["workload"] == "decode-10") & (run.comparisons["family"] == "leader")
    run.comparisons.loc[family & (run.comparisons["system_a"] == "drogon+glaze"), "verdict"] = "undecided"
    found, text = report.answer(run), report.decision_table(run).text
    assert found.startswith("drogon+simdjson leads at decode with 10 operations, not told apart from drogon+glaze: ")
    assert re.search(r": [\d.]+ × drogon\+yyjson \(", found), "the next, and not the slowest alone"
    tier = text[text.index(LEADERS) : text.index(OTHERS)]
    assert "drogon+glaze" in tier
    assert "drogon+yyjson" not in tier


def test_a_limited_leader_makes_the_ratio_a_lower_bound():
    run = make_sample()
    run.cells.loc[run.cells["system"] == "drogon+simdjson", "bottleneck"] = "generator"
    run.comparisons = make_comparisons(run.cells)
    assert ": at least " in report.answer(run)
    assert "≥ " in report.decision_table(run).text


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["drogon+simdjson", "drogon+glaze"], "the load was the limit of both."),
        ([], "the load was the limit of the first two."),
    ],
)
def test_where_the_load_was_the_limit_of_all_the_answer_ranks_nobody(names, said):
    run = make_sample()
    kept = run.cells["system"].isin([*names, CONTROL]) if names else run.cells["system"].notna()
    run.cells = run.cells[kept].assign(bottleneck="generator")
    run.comparisons = make_comparisons(run.cells).assign(verdict="not comparable")
    assert "are not told apart" in report.answer(run)
    assert report.answer(run).endswith(said)


def test_a_run_without_a_number_says_so():
    run = make_sample()
    run.cells["status"], run.cells["throughput_rps"] = "failed: build", np.nan
    run.comparisons, run.shares = run.comparisons.iloc[:0], run.shares.iloc[:0]
    assert report.answer(run) == "No system has a number that can be ranked."
    assert report.conclusions(run) == []
    assert "failed: build" in limits_of(run)[0]


def test_a_smoke_run_says_so_first_in_the_headline_and_in_the_conclusions():
    run = make_sample()
    headline, conclusions = published(run, report)
    assert headline == report.answer(run)
    assert SMOKE not in conclusions
    headline, conclusions = published(replace(run, profile="quick"), report)
    assert headline == f"Smoke run, not evidence: {report.answer(run)}"
    assert conclusions[0] == SMOKE


def test_decoding_costs_what_the_share_of_the_floor_leaves():
    run = make_sample()
    row = run.shares.query("workload == 'decode-10'").sort_values("share_ratio").iloc[0]
    (text,) = report.cost(run)
    assert f"{row['system']} {100 * (1 - row['share_ratio']):.1f} % (" in text
    (text,) = report.floor(run)
    assert "drogon serves at least " in text  # the load generator was its limit


def test_the_framework_is_most_of_a_gap_only_where_the_floors_carry_it():
    run = make_sample()
    (text,) = report.floor(run)
    assert text.startswith("Without decoding, drogon serves ")
    floors = run.cells["system"].isin(["gin"])
    run.cells.loc[floors, "throughput_rps"] /= 20
    (text,) = report.floor(run)
    assert text.startswith("Most of the gap at small requests is the framework: without decoding, drogon serves ")
    run.cells.loc[floors, "bottleneck"] = "generator"
    (text,) = report.floor(run)
    assert text.startswith("Without decoding, ")


def test_at_most_five_limits_are_visible_and_the_others_are_folded():
    run, own = make_sample(), ["One.", "Two.", "Three."]
    shown, found = limits(run, own), limits_of(run, own)
    assert len(found) == MOST_VISIBLE + 2
    visible, _, rest = shown.html.partition("<details")
    assert visible.count("<li>") == MOST_VISIBLE
    assert rest.count("<li>") == len(found) - MOST_VISIBLE


def test_sentences_are_shown_once_and_escaped():
    assert said(["a < b"], ["a < b", "c"]).html.count("<p ") == 2
    assert "a &lt; b" in said(["a < b"]).html


@pytest.mark.parametrize(("smallest_first", "first"), [(False, "b"), (True, "a")])
def test_a_decision_table_is_sorted_by_value_and_a_missing_one_stands_last(smallest_first, first):
    values = {"c": float("nan"), "a": 1.0, "b": 2.0}
    columns = [Column("value", "s", {"a": TableCell("1"), "b": TableCell("2")})]
    text = decision_table("What to choose", values, columns, smallest_first=smallest_first).text
    places = [text.index(f"\n{name}") for name in ("a", "b", "c")]
    assert min(places) == text.index(f"\n{first}")
    assert max(places) == places[2]
    assert LEADERS not in text


def test_a_second_load_generator_s_opinion_of_a_workload_is_no_workload_of_its_own():
    first, second = list(dict.fromkeys(SAMPLE.cells["workload"]))[:2]
    for label, ranks in ((f"{first}@autocannon", False), ("json10@20", True)):
        cells = SAMPLE.cells.copy()
        cells.loc[cells["workload"] == second, list(labelled(label))] = list(labelled(label).values())
        assert (label in workloads_of(replace(SAMPLE, cells=cells))) == ranks


def test_of_one_published_ratio_its_direction_is_said():
    run = make_sample()
    rows = run.published[run.published["system"] != "drogon+yyjson"].copy()
    same, turned = (
        replace(run, published=rows),
        replace(run, published=rows.assign(throughput_rps=-rows["throughput_rps"])),
    )
    said_of = "Published on another machine: the one ratio to the leader that is decided here has {} direction."
    assert report.published(same) == [said_of.format("the same")]
    assert report.published(turned) == [said_of.format("another")]
    assert report.published(replace(run, published=rows[:0])) == []
