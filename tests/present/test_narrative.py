"""Sentences: true of the frames, whatever the frames hold."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.present import narrative, sentences
from runners.present.wording import PERCENT, RATES, RATIOS, TIMES, amount, decimals, listing, quantity, unit_of
from runners.records import PLACEBO
from tests.present.frames import make_comparisons, make_sample, make_shares, verdict_of

NUMBER = re.compile(r"(?<![\w.+-])\d+(?:\.\d+)?(?![\w.]*[\w])")
BASELINE = "gin+encoding/json"


SAMPLE = make_sample()
EXAMPLES = settings(max_examples=12, deadline=None)


@st.composite
def runs(draw):
    """The sample with rates, verdicts, bottlenecks and profile drawn anew."""
    cells = SAMPLE.cells.copy()
    factors = np.array(draw(st.lists(st.floats(0.1, 10), min_size=len(cells), max_size=len(cells))))
    for column in ("throughput_rps", "throughput_low_rps", "throughput_high_rps"):
        cells[column] = cells[column] * factors
    limits = st.sampled_from(["server", "server", "client"])
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
    for _, row in run.comparisons.iterrows():
        text = sentences.compared(run, row)
        body = text.partition(": ")[2].replace(row["system_a"], "").replace(row["system_b"], "")
        body = re.sub(r"\(±\d+\.\d %\)", "", body)
        rates = run.cells[
            run.cells["system"].isin([row["system_a"], row["system_b"]]) & (run.cells["workload"] == row["workload"])
        ]
        known = as_shown(rates[["throughput_rps", "throughput_low_rps", "throughput_high_rps"]].to_numpy().flat, RATES)
        known |= as_shown([row["ratio"], row["ratio_low"], row["ratio_high"]], RATIOS)
        assert set(NUMBER.findall(body)) <= known


@EXAMPLES
@given(runs())
def test_the_words_of_a_verdict_are_those_of_the_frame(run):
    for _, row in run.comparisons.iterrows():
        text = sentences.compared(run, row)
        said = {word for word in ("faster", "slower", "equivalent", "inconclusive", "not ranked") if word in text}
        assert said == {"not ranked" if row["verdict"] == "at least" else row["verdict"]}


@EXAMPLES
@given(runs())
def test_conclusions_speak_of_every_workload_never_of_the_control_and_never_of_nothing(run):
    text = "\n".join(narrative.conclusions(run))
    assert PLACEBO not in text
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
def test_a_headline_is_only_about_a_decided_pair_of_which_no_side_is_client_bound(run):
    headline = narrative.headline(run)
    decided = run.comparisons["verdict"].isin(["faster", "slower"]) & ~run.comparisons[["system_a", "system_b"]].eq(
        PLACEBO
    ).any(axis=1)
    assert ("faster" in headline or "slower" in headline) == decided.any()


def test_the_order_names_ties_and_bounds():
    run = make_sample()
    text = sentences.order(run, "decode-1")
    assert text.index("drogon+") < text.index("gin+encoding/json") < text.index("gin+simdjson-go")
    assert "Cannot be told apart: drogon+glaze and drogon+simdjson." in text
    assert "drogon at least" in sentences.order(run, "discard-1")


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        (["drogon+simdjson"], "at least 5.17 ×"),
        ([BASELINE], "at most 5.17 ×"),
        ([BASELINE, "drogon+simdjson"], "so they are not ranked"),
    ],
)
def test_a_client_bound_side_makes_the_ratio_a_bound(bound, says):
    run = make_sample()
    run.cells.loc[run.cells["system"].isin(bound), "bottleneck"] = "client"
    run.comparisons = make_comparisons(run.cells)
    row = run.comparisons.query(
        "workload == 'decode-10' and system_a == 'drogon+simdjson' and system_b == @BASELINE"
    ).iloc[0]
    assert says in sentences.compared(run, row)
    assert says in sentences.compared(run, row.replace("at least", "not comparable"))


def test_a_share_of_a_client_bound_floor_is_an_upper_bound():
    run = make_sample()
    text = sentences.above_floor(run, "decode-1")
    assert "drogon+yyjson at most " in text
    assert "gin+encoding/json at most " not in text


def test_published_ratios_are_compared_in_direction():
    run = make_sample()
    said = [text for text in narrative.conclusions(run, BASELINE) if "published" in text]
    assert len(said) == 2
    assert any("5.38 × for drogon+simdjson (here: the same direction)" in text for text in said)
    run.published.loc[run.published["system"] == "drogon+simdjson", "throughput_rps"] = 1.0
    said = [text for text in narrative.conclusions(run, BASELINE) if "published" in text]
    assert all("for drogon+simdjson (here: the opposite direction)" in text for text in said)


def test_what_the_probe_saw_is_said_and_where_none_ran_that_is_said():
    run = make_sample()
    mean = run.trials["speed_ratio"].mean() * 100
    assert f"ran at {mean:.1f} % of their undisturbed speed" in sentences.speed(run)
    assert "adjusted, window by window" in sentences.speed(run)
    assert "the less a window weighs (down to 0.50)" in sentences.speed(run)
    assert "own turns" not in sentences.speed(run)
    [lucky, *_, unlucky] = run.trials.index[~run.trials["warmup"]]
    run.trials.loc[[lucky, unlucky], "own_turns_ratio"] = 1.034, 0.952
    assert "each window's own turns (95.2 % to 103 % of what they left to its round)" in sentences.speed(run)
    run.trials["weight_ratio"] = run.trials["weight_ratio"].where(run.trials["warmup"], 1.0)
    assert "weighs" not in sentences.speed(run)
    run.trials["adjusted_rps"] = run.trials["throughput_rps"].where(~run.trials["warmup"])
    assert "as measured, as there are too few windows" in sentences.speed(run)
    run.trials["speed_ratio"] = np.nan
    assert "throughputs are as measured" in sentences.speed(run)


def test_a_run_of_one_block_claims_no_noise_band():
    run = make_sample()
    run.comparisons[["ratio_low", "ratio_high"]], run.comparisons["verdict"] = np.nan, "inconclusive"
    run.noise_floor_ratio.clear()
    text = "\n".join([*narrative.conclusions(run), sentences.compared(run, run.comparisons.iloc[0])])
    assert "noise band of this run" not in text
    assert "one block shows no noise" in text


def test_the_verdicts_of_a_workload_are_one_sentence_with_the_band_that_they_were_made_with():
    run = make_sample()
    [text] = [
        text for text in narrative.conclusions(run, BASELINE) if text.startswith("decode, 10 operations, against")
    ]
    assert "drogon+simdjson 5.17 ×" in text
    assert text.endswith("beyond the noise band of this run (±2.0 %).")


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
    assert [listing(list("abc")[:count]) for count in (1, 2, 3)] == ["a", "a and b", "a, b and c"]


def test_the_sample_itself_follows_the_method():
    assert [verdict_of(*case, 1.02) for case in ((1.03, 1.1), (0.8, 0.9), (0.99, 1.01), (0.9, 1.1))] == [
        "faster",
        "slower",
        "equivalent",
        "inconclusive",
    ]


def test_a_second_load_generator_s_opinion_of_a_workload_makes_no_sentences_of_its_own():
    first, second = list(dict.fromkeys(SAMPLE.cells["workload"]))[:2]
    renamed = {second: f"{first}@autocannon"}
    assert renamed[second] not in sentences.workloads_of(
        replace(SAMPLE, cells=SAMPLE.cells.replace({"workload": renamed}))
    )
    renamed = {second: "json10@20"}
    assert "json10@20" in sentences.workloads_of(replace(SAMPLE, cells=SAMPLE.cells.replace({"workload": renamed})))
