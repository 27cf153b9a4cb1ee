"""Sentences: true of the frames, whatever the frames hold."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from runners.core.records import CONTROL
from runners.core.units import PERCENT, RATES, RATIOS, TIMES, amount, decimals, listing, quantity, unit_of
from runners.present import narrative
from runners.present.throughput import sentences
from tests.present.frames import labelled, make_comparisons, make_sample, make_shares

NUMBER = re.compile(r"(?<![\w.+-])\d+(?:\.\d+)?(?![\w.]*[\w])")

SAMPLE = make_sample()
EXAMPLES = settings(max_examples=12, deadline=None)


@st.composite
def runs(draw):
    """The sample with rates, verdicts, bottlenecks and profile drawn anew."""
    cells = SAMPLE.cells.copy()
    factors = np.array(draw(st.lists(st.floats(0.1, 10), min_size=len(cells), max_size=len(cells))))
    for column in ("throughput_rps", "throughput_low_rps", "throughput_high_rps"):
        cells[column] = cells[column] * factors
    limits = st.sampled_from(["server", "server", "generator", "both"])
    cells["bottleneck"] = draw(st.lists(limits, min_size=len(cells), max_size=len(cells)))
    return replace(
        SAMPLE,
        cells=cells,
        comparisons=make_comparisons(cells),
        shares=make_shares(cells),
        profile=draw(st.sampled_from(["quick", "standard", "publication"])),
    )


def as_shown(values, scale):
    """All the numbers that a value may be shown as: in its own unit, and with the neighbours' decimals."""
    found = set()
    for value in values:
        for factor, _ in scale:
            found |= {f"{value / factor:.{places}f}" for places in range(8)}
    return found


@EXAMPLES
@given(runs())
def test_every_number_of_a_comparison_is_in_the_frames(run):
    for _, row in run.comparisons.query("family == 'leader'").iterrows():
        text = sentences.compared(run, row)
        body = text.partition(": ")[2].replace(row["system_a"], "").replace(row["system_b"], "")
        body = re.sub(r"\(±\d+\.\d %\)|after 8 blocks", "", body)
        rates = run.cells[
            run.cells["system"].isin([row["system_a"], row["system_b"]]) & (run.cells["workload"] == row["workload"])
        ]
        known = as_shown(rates[["throughput_rps", "throughput_low_rps", "throughput_high_rps"]].to_numpy().flat, RATES)
        known |= as_shown([1 / row["ratio"], 1 / row["ratio_low"], 1 / row["ratio_high"]], RATIOS)
        known |= as_shown([1 - row["ratio_low"], 1 - row["ratio_high"]], PERCENT)
        assert set(NUMBER.findall(body)) <= known


@EXAMPLES
@given(runs())
def test_the_words_of_a_verdict_are_those_of_its_interval(run):
    for row in run.comparisons.query("family == 'leader'").to_dict("records"):
        text = sentences.compared(run, row)
        assert ("undecided" in text) == (row["verdict"] == "undecided")
        assert ("equivalent" in text) == (row["verdict"] == "equivalent")
        assert ("not ranked" in text) == (row["verdict"] == "not comparable")
        if row["verdict"] == "slower":
            assert row["ratio_high"] < 1
            assert f"{row['system_b']} serves" in text
            assert ("at least" in text) == (row["bound"] == "at most")


def test_a_difference_that_reaches_into_the_noise_band_is_said_with_both_ends():
    run = make_sample()
    row = run.comparisons.query("family == 'leader'").iloc[0].to_dict()
    row |= {"ratio": 0.97, "ratio_low": 0.95, "ratio_high": 0.99, "verdict": "slower", "bound": ""}
    assert f"; {row['system_a']} is slower, by between 1.0 and 5.0 %." in sentences.compared(run, row)
    assert "by between" not in sentences.compared(run, row | {"ratio_high": 0.971})


@EXAMPLES
@given(runs())
def test_conclusions_speak_of_every_workload_never_of_the_control_and_never_of_nothing(run):
    text = "\n".join(narrative.conclusions(run))
    assert CONTROL not in text
    assert "nan" not in text
    assert "None" not in text
    for title in ("decode, 1 operation", "decode, 10 operations", "discard, 10 operations"):
        assert title in text


@EXAMPLES
@given(runs())
def test_an_abstract_has_three_to_five_sentences_and_a_smoke_run_says_so_first(run):
    abstract, headline = narrative.abstract(run), narrative.headline(run)
    assert 3 <= len(abstract) <= 5
    quick = run.profile == "quick"
    assert (abstract[0] == narrative.SMOKE) == quick
    assert (narrative.conclusions(run)[0] == narrative.SMOKE) == quick
    assert headline.startswith("Smoke run, not evidence: ") == quick
    assert "\n" not in headline


@EXAMPLES
@given(runs())
def test_a_headline_is_only_about_a_decided_comparison_with_a_leader(run):
    headline = narrative.headline(run)
    decided = run.comparisons[run.comparisons["verdict"] == "slower"]
    assert (" serves " in headline) == (len(decided) > 0)
    assert ("None of the" in headline) == decided.empty


def test_the_order_names_ties_with_the_leader_and_bounds():
    run = make_sample()
    text = sentences.order(run, "decode-1")
    assert text.index("drogon+") < text.index("gin+encoding/json") < text.index("gin+simdjson-go")
    family = run.comparisons.query("workload == 'decode-1' and family == 'leader'")
    tied = family[family["verdict"] != "slower"]
    assert len(tied)
    for row in tied.to_dict("records"):
        words = {"equivalent": "Equivalent to", "undecided": "Not told apart from"}[row["verdict"]]
        assert f"{words} {row['system_b']}: " in text
        assert row["system_a"] in text.partition(words)[2]
    assert "drogon at least" in sentences.order(run, "discard-1")


@pytest.mark.parametrize(
    ("limited", "says"),
    [
        (["drogon+simdjson", "drogon+glaze", "drogon+yyjson"], "serves at least"),
        (
            ["gin+encoding/json"],
            "undecided after 8 blocks, since the load generator was the limit of gin+encoding/json",
        ),
        (["gin+encoding/json", "drogon+simdjson", "drogon+glaze", "drogon+yyjson"], "are not ranked"),
    ],
)
def test_a_side_that_the_generator_limited_makes_the_ratio_a_bound(limited, says):
    run = make_sample()
    run.cells.loc[run.cells["system"].isin(limited), "bottleneck"] = "generator"
    run.comparisons = make_comparisons(run.cells)
    row = run.comparisons.query(
        "workload == 'decode-10' and family == 'leader' and system_a == 'gin+encoding/json'"
    ).iloc[0]
    assert says in sentences.compared(run, row)


def test_no_conclusion_and_no_abstract_states_a_percentile_at_saturation():
    run = make_sample()
    said = [*narrative.conclusions(run), *narrative.abstract(run), narrative.headline(run)]
    assert not any(re.search(r"99 %|\bp\d\d|percentile", sentence) for sentence in said)


def test_the_control_is_printed_with_its_interval():
    run = make_sample()
    row = run.comparisons.query("family == 'control'").iloc[0]
    text = sentences.noise(run)
    assert quantity(row["ratio"], row["ratio_low"], row["ratio_high"], RATIOS) in text
    assert row["system_b"] in text


def test_void_trials_are_counted_as_trials():
    run = make_sample()
    void = run.checks.loc[~run.checks["ok"] & run.checks["void"]]
    places = list(zip(void["system"], void["workload"], strict=True))
    own = [place in places for place in zip(run.cells["system"], run.cells["workload"], strict=True)]
    run.cells.loc[own, "launches_count"] = 7
    made, count = 8 * len(run.cells), sum(own)
    # Two checks of one trial make it void once.
    run.checks = pd.concat([run.checks, void.assign(name="steal")], ignore_index=True)
    assert sentences.checked(run) == f"{made - count} of {made} trials valid; {count} void: pinning and steal."


def test_a_share_of_a_client_bound_floor_is_an_upper_bound():
    run = make_sample()
    text = sentences.above_floor(run, "decode-1")
    assert "drogon+yyjson at most " in text
    assert "gin+encoding/json at most " not in text


def test_published_ratios_are_compared_in_direction():
    run = make_sample()
    said = [text for text in narrative.conclusions(run) if "published" in text]
    leader = run.comparisons.query("family == 'leader' and workload == 'decode-10'")["system_b"].iloc[0]
    theirs = run.published[run.published["workload"] == "decode-10"].set_index("system")["throughput_rps"]
    assert f"against {leader}" in said[-1]
    assert (
        f"{amount(theirs['gin+encoding/json'] / theirs[leader], RATIOS)} for gin+encoding/json (here: the same direction)"
        in said[-1]
    )
    run.published.loc[run.published["system"] == leader, "throughput_rps"] = 1.0
    said = [text for text in narrative.conclusions(run) if "published" in text]
    assert "for gin+encoding/json (here: the opposite direction)" in said[-1]


def test_what_the_probe_saw_is_said_and_where_none_ran_that_is_said():
    run = make_sample()
    mean = run.trials["speed_ratio"].mean() * 100
    assert f"ran at {mean:.1f} % of their undisturbed speed" in sentences.speed(run)
    assert "throughputs are as measured" in sentences.speed(run)
    run.trials["speed_ratio"] = np.nan
    assert "No probe saw" in sentences.speed(run)


def test_a_run_of_one_block_claims_no_noise_band_and_decides_nothing():
    run = make_sample()
    run.comparisons[["ratio_low", "ratio_high"]] = np.nan
    run.comparisons["blocks_count"] = 1
    family = run.comparisons["family"] == "leader"
    run.comparisons.loc[family & (run.comparisons["bound"] == ""), "verdict"] = "undecided"
    run.noise_floor_ratio.clear()
    text = "\n".join([*narrative.conclusions(run), sentences.compared(run, run.comparisons[family].iloc[-1])])
    assert "noise band of this run" not in text
    assert "undecided after 1 block." in text


def test_the_verdicts_of_a_workload_are_one_sentence_against_its_leader():
    run = make_sample()
    (text,) = [text for text in narrative.conclusions(run) if text.startswith("decode, 10 operations, against")]
    for row in run.comparisons.query("workload == 'decode-10' and family == 'leader'").to_dict("records"):
        assert f"{row['system_a']} {quantity(row['ratio'], row['ratio_low'], row['ratio_high'], RATIOS)}, " in text


def test_the_precision_is_that_of_the_widest_interval_and_a_missed_aim_is_said():
    run = make_sample()
    assert "25 min 12 s" in narrative.precision(run)
    assert "not reached" not in narrative.precision(run)
    run.comparisons["ratio_high"] *= 1.2
    assert narrative.precision(run).endswith("; the aim was not reached.")
    run.budget_note = "the limit of 5 minutes ended the run"
    assert narrative.precision(run).endswith("; the limit of 5 minutes ended the run.")


def test_failures_and_errors_are_not_kept_quiet():
    run = make_sample()
    run.cells.loc[run.cells.index[0], ["status", "throughput_rps"]] = ["failed: contract", np.nan]
    run.cells.loc[run.cells.index[1], "errors_count"] = 12
    text = "\n".join(narrative.conclusions(run))
    assert "discard, 1 operation: gin has no number (failed: contract)." in text
    assert "drogon had 12 errors" in text


def test_an_empty_run_says_that_nothing_has_a_number():
    run = make_sample()
    run.cells["status"], run.cells["throughput_rps"] = "failed: build", np.nan
    run.comparisons, run.shares = run.comparisons.iloc[:0], run.shares.iloc[:0]
    assert narrative.headline(run) == "No system has a number."
    assert len(narrative.conclusions(run)) >= len(run.cells) - 2


@given(st.floats(1e-9, 1e8), st.sampled_from([RATES, TIMES, RATIOS, PERCENT]))
def test_a_quantity_keeps_three_significant_digits(value, scale):
    shown = quantity(value, value, value, scale)
    factor, unit = unit_of(value, scale)
    number = float(shown.split()[0])
    assert unit in shown
    assert number * factor == pytest.approx(value, rel=0.006)
    assert decimals(number) >= 0


def test_quantities_read_as_people_write_them():
    assert quantity(61_234, 60_100, 62_300, RATES) == "61.2 k requests/s (60.1 to 62.3)"
    assert quantity(4.1, 4.02, 4.19, RATIOS) == "4.10 × (4.02 to 4.19)"
    assert amount(float("nan"), TIMES) == "–"
    assert amount(999.96e-6, TIMES) == "1.00 ms"
    assert quantity(61_234, 30_000, 60_001, RATES) == "61.2 k requests/s (interval not known)"
    assert [listing(list("abc")[:count]) for count in (1, 2, 3)] == ["a", "a and b", "a, b and c"]


def test_a_second_load_generator_s_opinion_of_a_workload_makes_no_sentences_of_its_own():
    first, second = list(dict.fromkeys(SAMPLE.cells["workload"]))[:2]
    for label, has_sentences in ((f"{first}@autocannon", False), ("json10@20", True)):
        cells = SAMPLE.cells.copy()
        cells.loc[cells["workload"] == second, list(labelled(label))] = list(labelled(label).values())
        assert (label in sentences.workloads_of(replace(SAMPLE, cells=cells))) == has_sentences
