"""The judge: each verdict and kind on made-up cells, and the register against its own published figures."""

import math

import pandas as pd
import pytest
from hypothesis import given, strategies as st

from runners.analyse.claims.judgements import (
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    SIZE_OFF,
    UNDECIDED,
    VERDICTS,
    judge,
)
from runners.analyse.claims.register import Claim, like_column, load_claims, published_amounts, published_value
from runners.analyse.claims.review import follows_from, judge_all, ranks_compared, standing
from runners.analyse.published import figures
from runners.analyse.results import analyse
from runners.stats.verdicts import SMALLEST_BAND, holm
from tests.analyse import synthetic
from tests.analyse.made_up import cell, run_of
from tests.conftest import examples

CLAIMS = load_claims()
FIGURES = figures()


def claim(kind="ratio", systems=("a", "b"), workloads=("ping",), metric="throughput_rps", **more):
    about = {"id": "x", "source": "s", "place": "p", "quote": "q", "experiment": "01-ping"}
    return Claim(**about | more, kind=kind, systems=systems, workloads=workloads, metric=metric)


def published(generator="perf-gauge", **amounts):
    rows = [{"source": "s", "experiment": "01-ping", "generator": generator, "system": name, "workload": "ping",
             "throughput_rps": value, "p50_s": value, "errors_count": value} for name, value in amounts.items()]  # fmt: skip
    return pd.DataFrame(rows or [{"source": "s", "generator": generator, "system": "", "workload": ""}])


def two_workloads(**amounts):
    rows = [{"source": "s", "generator": "perf-gauge", "system": "a", "workload": name, "throughput_rps": value}
            for name, value in amounts.items()]  # fmt: skip
    return pd.DataFrame(rows)


def judged(tested, figures, rows, **about):
    return judge(tested, figures, {"01-ping": run_of(rows, **about)})


def verdict(tested, figures, rows, **about):
    return judged(tested, figures, rows, **about).verdict


def measured(a, b, width=0.001, metric="throughput_rps", **more):
    return [cell("a", "ping", width, **{metric: a}, **more), cell("b", "ping", width, **{metric: b}, **more)]


def test_no_verdict_says_more_than_one_machine_can():
    assert VERDICTS == (
        "reproduced",
        "right direction, size off by more than 1.5 ×",
        "not reproduced here",
        "undecided",
        "not testable here",
    )


# Ratios ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "own", "width", "expected"),
    [
        (2.0, 2.00, 0.001, REPRODUCED),
        (2.0, 2.90, 0.001, REPRODUCED),  # within 1.5 ×
        (2.0, 1.40, 0.001, REPRODUCED),
        (2.0, 3.10, 0.001, SIZE_OFF),
        (2.0, 3.10, 0.100, REPRODUCED),  # the interval reaches into 1.5 ×
        (2.0, 1.20, 0.001, SIZE_OFF),
        (2.0, 3.00, 0.600, UNDECIDED),  # an interval as wide knows no size
        (2.0, 1.01, 0.001, NOT_REPRODUCED),  # equal, where twice was published
        (1.4, 1.01, 0.001, UNDECIDED),  # equal, where less than 1.5 × was published
        (1.4, 0.90, 0.001, NOT_REPRODUCED),
        (2.0, 0.50, 0.001, NOT_REPRODUCED),  # the other way round
        (2.0, 1.02, 0.010, UNDECIDED),
        (2.0, 1.50, 0.600, UNDECIDED),
        (0.5, 0.50, 0.001, REPRODUCED),
        (0.5, 0.90, 0.001, SIZE_OFF),
        (0.5, 0.99, 0.001, NOT_REPRODUCED),
        (0.5, 0.98, 0.010, UNDECIDED),
        # Published as equal.
        (1.01, 0.99, 0.001, REPRODUCED),
        (1.01, 1.30, 0.001, REPRODUCED),
        (1.01, 1.60, 0.001, NOT_REPRODUCED),
        (1.01, 0.60, 0.001, NOT_REPRODUCED),
        (1.01, 1.40, 0.290, UNDECIDED),
    ],
)
@pytest.mark.parametrize("metric", ["throughput_rps", "p50_s"])
def test_the_verdict_on_a_ratio(theirs, own, width, expected, metric):
    # An unpaired interval is made of two.
    rows = measured(own * 1000, 1000, math.expm1(math.log1p(width) / math.sqrt(2)), metric)
    assert verdict(claim(metric=metric), published(a=theirs, b=1), rows, width=width) == expected


def test_throughputs_are_paired_within_the_run_s_blocks_also_across_workloads():
    run = run_of([cell("a", name, 0.9, throughput_rps=rate) for name, rate in (("text", 2000.0), ("json", 1000.0))])
    tested = claim(systems=("a",), workloads=("text", "json"))
    figures = two_workloads(text=2.0, json=1.0)
    found = judge(tested, figures, {"01-ping": run})
    assert found.verdict == REPRODUCED
    assert (found.measured.low, found.measured.high) == pytest.approx((2 / 1.001, 2 * 1.001))


def test_an_amount_without_an_interval_of_its_run_is_given_none():
    rows = [{name: value for name, value in row.items() if "low" not in name and "high" not in name}
            for row in measured(1e6, 9e6, metric="rss_peak_bytes", throughput_rps=1.0)]  # fmt: skip
    figures = published(a=1, b=9).rename(columns={"p50_s": "rss_peak_bytes"})
    found = judged(claim(metric="rss_peak_bytes"), figures, rows)
    assert found.verdict == UNDECIDED
    assert math.isnan(found.measured.low)
    assert found.why == "the run has no interval for it"


def test_a_noisy_machine_leaves_open_what_its_noise_hides():
    assert verdict(claim(), published(a=2, b=1), measured(1100, 1000), floor=1.2) == UNDECIDED
    assert verdict(claim(), published(a=2, b=1), measured(1030, 1000), floor=1.2) == NOT_REPRODUCED


def test_of_two_workloads_the_noisier_counts():
    run = run_of([cell("a", "text", throughput_rps=1150.0), cell("a", "json", throughput_rps=1000.0)])
    tested = claim(systems=("a",), workloads=("text", "json"))
    figures = two_workloads(text=1.2, json=1.0)
    for floors, expected in {(1.2, 1.0): UNDECIDED, (1.0, 1.2): UNDECIDED, (1.0, 1.0): REPRODUCED}.items():
        run.noise_floor_ratio = dict(zip(("text", "json"), floors, strict=True))
        assert judge(tested, figures, {"01-ping": run}).verdict == expected


@pytest.mark.parametrize("limit", ["generator", "both"])
@pytest.mark.parametrize(
    ("bound", "own", "expected"),
    [
        ("a", 2.0, UNDECIDED),  # the direction is right, of the size only a lower bound is known
        ("a", 3.1, SIZE_OFF),
        ("b", 2.0, UNDECIDED),
        ("ab", 2.0, UNDECIDED),
        ("a", 0.5, UNDECIDED),
        ("b", 0.5, NOT_REPRODUCED),
        ("b", 1.0, UNDECIDED),
    ],
)
def test_a_cell_that_the_generator_limited_is_a_lower_bound(limit, bound, own, expected):
    rows = measured(own * 1000, 1000)
    for row in rows:
        row["bottleneck"] = limit if row["system"] in bound else "server"
    assert verdict(claim(), published(a=2, b=1), rows) == expected


def test_memory_does_not_depend_on_the_generator():
    rows = measured(5e6, 1e7, metric="rss_peak_bytes", throughput_rps=1.0)
    rows[0]["bottleneck"] = "generator"
    rows[1]["generator"] = "wrk"
    figures = published(a=1, b=2).rename(columns={"p50_s": "rss_peak_bytes"})
    assert verdict(claim(metric="rss_peak_bytes"), figures, rows) == REPRODUCED


def test_one_launch_decides_nothing():
    assert verdict(claim(), published(a=2, b=1), measured(2000, 1000, math.nan), width=math.nan) == UNDECIDED


# Like for like -----------------------------------------------------------------------------------------------------


def test_a_percentile_that_wrk_printed_is_held_against_our_corrected_one():
    rows = [cell(name, "ping", generator="wrk", p50_s=raw, corrected_p50_s=corrected)
            for name, raw, corrected in (("a", 1.0, 2.0), ("b", 2.0, 1.0))]  # fmt: skip
    found = judged(claim(metric="p50_s"), published("wrk", a=2, b=1), rows)
    assert (found.verdict, found.measured.value) == (REPRODUCED, 2.0)


def test_what_autocannon_printed_is_held_against_a_cell_that_it_measured():
    rows = measured(1000, 1000, generator="wrk")
    rows += [
        cell(name, "ping@autocannon", generator="autocannon", throughput_rps=rate)
        for name, rate in (("a", 2000), ("b", 1000))
    ]
    found = judged(claim(), published("autocannon", a=2, b=1), rows)
    assert (found.verdict, found.measured.value) == (REPRODUCED, 2.0)
    assert "ping@autocannon for ping" in found.why
    found = judged(claim(), published("autocannon", a=2, b=1), rows[:2])
    assert found.verdict == NOT_TESTABLE
    assert "a at ping was measured with wrk, and published with autocannon" in found.why


def test_claims_about_draft_http_tunnel_are_not_testable():
    about = [tested for tested in CLAIMS if {"draft-http-tunnel", "asio-relay"} & set(tested.systems)]
    assert len(about) >= 6
    for tested in about:
        assert tested.untestable == "draft-http-tunnel is in no registry; asio-relay is another program"
        assert judge(tested, FIGURES, as_published()).verdict == NOT_TESTABLE


# Orders, words, absolutes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "width", "expected"),
    [
        ((1, 2, 3), 0.001, REPRODUCED),
        ((1, 3, 2), 0.001, NOT_REPRODUCED),
        ((1, 2, 2.01), 0.001, UNDECIDED),  # equal, and no size was published
        ((1, 2, 2.1), 0.040, UNDECIDED),
    ],
)
def test_the_verdict_on_an_order(own, width, expected):
    tested = claim("order", systems=("a", "b", "c"), metric="p50_s")
    rows = [cell(name, "ping", width, p50_s=value) for name, value in zip("abc", own, strict=True)]
    found = judged(tested, published(), rows)
    assert found.verdict == expected
    if expected != REPRODUCED:
        assert "b < c" in found.why


def test_the_equals_of_an_order_count_where_1_5_times_was_published():
    tested = claim("order", systems=("a", "b"), metric="p50_s")
    rows = measured(1, 1.001, metric="p50_s")
    assert verdict(tested, published(a=1, b=3), rows) == NOT_REPRODUCED
    assert verdict(tested, published(a=1, b=1.4), rows) == UNDECIDED


@pytest.mark.parametrize(
    ("kind", "own", "expected"),
    [
        ("least", (1, 3, 2), REPRODUCED),  # nothing is said about the others
        ("most", (3, 1, 1), REPRODUCED),
        ("least", (2, 3, 1), NOT_REPRODUCED),
        ("most", (2, 3, 1), NOT_REPRODUCED),
    ],
)
def test_the_least_and_the_most_are_compared_with_each_other_one_alone(kind, own, expected):
    tested = claim(kind, systems=("a", "b", "c"), metric="p50_s")
    assert verdict(tested, published(), [cell(n, "ping", p50_s=v) for n, v in zip("abc", own, strict=True)]) == expected


@pytest.mark.parametrize(
    ("reading", "own", "width", "expected"),
    [
        ({}, 1.1, 0.001, REPRODUCED),
        ({}, 1.0, 0.001, UNDECIDED),
        ({}, 0.5, 0.001, NOT_REPRODUCED),
        ({}, 1.1, 0.100, UNDECIDED),
        ({"within_ratio": 1.2}, 0.9, 0.001, REPRODUCED),
        ({"within_ratio": 1.2}, 1.5, 0.001, NOT_REPRODUCED),
        ({"within_ratio": 1.2}, 0.7, 0.001, NOT_REPRODUCED),
        ({"within_ratio": 1.2}, 1.2, 0.010, UNDECIDED),
    ],
)
def test_the_verdict_on_a_word(reading, own, width, expected):
    tested = claim("word", metric="p50_s", **reading)
    assert verdict(tested, published(), measured(1.0, own, width / math.sqrt(2), "p50_s")) == expected


def test_a_word_is_reproduced_by_its_direction_even_where_only_a_bound_is_known():
    rows = measured(1000, 1200)
    rows[1]["bottleneck"] = "generator"
    assert verdict(claim("word"), published(), rows) == REPRODUCED


def test_errors_against_none_are_decided_and_none_against_many_published_is_no_difference():
    tested = claim("order", metric="errors_count")
    for (a, b), expected in {(0, 9): REPRODUCED, (0, 0): NOT_REPRODUCED, (9, 0): NOT_REPRODUCED}.items():
        assert verdict(tested, published(a=0, b=99), measured(a, b, metric="errors_count")) == expected


def test_an_absolute_is_shown_and_has_neither_verdict_nor_p_value():
    tested = claim("absolute", systems=("a",))
    [row] = judge_all([tested], published(a=500), {"01-ping": run_of(measured(1000, 1))}).to_dict("records")
    assert (row["standing"], row["verdict"], row["measured"]) == ("absolute", "", 1000)
    assert row["why"] == "measured is 2 × the published"
    assert math.isnan(row["p_value"])


def test_a_build_time_belongs_to_the_system_whatever_the_load():
    rows = [cell("a", "json10@20", throughput_rps=1.0, build_s=0.5)]
    tested = claim("absolute", systems=("a",), workloads=("build",), metric="build_s")
    assert judged(tested, published(), rows).measured.value == 0.5


@pytest.mark.parametrize(
    ("tested", "rows", "why"),
    [
        (claim(untestable="no number decides it"), measured(2, 1), "no number decides it"),
        (claim(experiment="06-tcp-proxies"), measured(2, 1), "no run of 06-tcp-proxies here"),
        (claim(systems=("a", "z")), measured(2, 1), "z at ping was not measured"),
        (claim(metric="tm99_s"), measured(2, 1), "a at ping has no tm99_s; b at ping has no tm99_s"),
        (claim(), [*measured(2, 1)[:1], cell("b", "ping", status="failed: it crashed")], "b at ping failed: it crashed"),
        (claim(systems=("b", "c")), [*measured(2, 1), cell("c", "ping", throughput_rps=1.0)], "no published ratio"),
    ],
)  # fmt: skip
def test_what_cannot_be_tested_says_why(tested, rows, why):
    found = judge(tested, published(a=2, b=1), {"01-ping": run_of(rows)})
    assert (found.verdict, found.why) == (NOT_TESTABLE, why)


# Holm over the register ---------------------------------------------------------------------------------------------


def test_a_statement_that_alone_would_be_sure_is_undecided_among_many():
    rows, tested, theirs = [], [], {}
    for number in range(20):
        first, second = f"a{number}", f"b{number}"
        rows += [cell(first, "ping", throughput_rps=1200), cell(second, "ping", throughput_rps=1000)]
        tested.append(claim(systems=(first, second), id=f"x-{number}"))
        theirs |= {first: 1.2, second: 1.0}
    # The interval, 1.03 to 1.40, lies beyond the band, but not by far.
    runs = {"01-ping": run_of(rows, width=0.165)}
    [alone] = judge_all(tested[:1], published(**theirs), runs).to_dict("records")
    together = judge_all(tested, published(**theirs), runs)
    assert alone["verdict"] == REPRODUCED
    assert alone["p_adjusted"] == alone["p_value"] < 0.05
    assert set(together["verdict"]) == {UNDECIDED}
    assert "Holm" in together["why"][0]
    assert together["p_adjusted"].to_numpy() == pytest.approx(holm(together["p_value"]))


@given(own=st.floats(0.5, 2), width=st.floats(0.001, 0.5))
def test_a_p_value_says_the_same_as_the_interval(own, width):
    found = judged(claim(), published(a=1.2, b=1), measured(own * 1000, 1000), width=width)
    beyond = found.measured.low > 1.02 or found.measured.high < 1 / 1.02
    assert (found.p_value < 0.05) == beyond


def test_restatements_take_no_part_in_the_correction():
    tested = [claim(), claim("word", systems=("b", "a"), id="inverse")]
    found = judge_all(tested, published(a=2, b=1), {"01-ping": run_of(measured(2000, 1000))})
    assert found["verdict"].tolist() == [REPRODUCED, ""]
    assert found["p_adjusted"].notna().tolist() == [True, False]
    assert found["follows"].tolist() == [(), ("x",)]


# The register against what was published ----------------------------------------------------------------------------


def as_published(turned=False, **about):
    """Runs in which every system did as published, as the same generator measures it; `turned`: the inverse of it."""
    amounts = [name for name in FIGURES if name.endswith(("_s", "_rps", "_bytes", "_count"))]
    runs = {}
    for experiment, group in FIGURES.groupby("experiment"):
        rows = []
        for row in group.to_dict("records"):
            generator = row["generator"]
            known = {like_column(name, generator): row[name] for name in amounts if not math.isnan(row[name])}
            values = {name: 1 / value if turned and value else value for name, value in known.items()}
            workload = row["workload"] + ("@autocannon" if generator == "autocannon" else "")
            # At a fixed rate times are those of arrivals one by one.
            generator = "paceload" if not math.isnan(row["offered_rps"]) else generator
            rows.append(cell(row["system"], workload, about.get("width", 0.001), generator, **values))
        runs[experiment] = run_of(rows, **about)
    return runs


def decidable(kinds):
    for tested in CLAIMS:
        amounts = published_amounts(tested, FIGURES)
        if tested.kind in kinds and not tested.untestable and not any(math.isnan(value) for value in amounts):
            yield tested


@examples(2)
@given(width=st.floats(0, 0.002), floor=st.floats(1.0, 1.02))
def test_who_measures_what_was_published_reproduces_it(width, floor):
    runs = as_published(width=width, floor=floor)
    tested = list(decidable({"ratio", "order", "least", "most", "word"}))
    assert len(tested) >= 60
    assert {each.id: judge(each, FIGURES, runs).verdict for each in tested} == {each.id: REPRODUCED for each in tested}


@examples(2)
@given(width=st.floats(0, 0.002))
def test_who_measures_the_inverse_reproduces_no_ratio(width):
    runs = as_published(turned=True, width=width)
    for tested in decidable({"ratio"}):
        # Of two that were published as equal the inverse is equal as well.
        if max(ratio := published_value(tested, FIGURES), 1 / ratio) > 1 + SMALLEST_BAND:
            assert judge(tested, FIGURES, runs).verdict == NOT_REPRODUCED, tested.id


@given(theirs=st.floats(1.03, 50), own=st.floats(0.02, 50), width=st.floats(0, 0.5))
def test_turning_a_claim_round_changes_no_verdict(theirs, own, width):
    rows = measured(own * 1000, 1000, width)
    there = verdict(claim(), published(a=theirs, b=1), rows, width=width)
    back = verdict(claim(systems=("b", "a")), published(a=theirs, b=1), rows, width=width)
    assert there == back


def test_every_statement_gets_a_verdict_and_a_reason():
    frame = judge_all(CLAIMS, FIGURES, as_published())
    assert list(frame["id"]) == [tested.id for tested in CLAIMS]
    assert set(frame["verdict"]) <= {*VERDICTS, ""}
    assert ((frame["verdict"] == "") == (frame["standing"] != "statement")).all()
    assert frame["why"].str.len().min() > 0
    nothing = judge_all(CLAIMS, FIGURES, {})
    assert set(nothing.loc[nothing["standing"] == "statement", "verdict"]) == {NOT_TESTABLE}


def test_the_register_s_count_is_of_statements_alone():
    follows = follows_from(CLAIMS)
    counted = judge_all(CLAIMS, FIGURES, as_published())
    assert (counted["standing"] == "statement").sum() == sum(standing(each, follows) == "statement" for each in CLAIMS)
    assert (counted["standing"] == "absolute").sum() == sum(each.kind == "absolute" for each in CLAIMS)


# Times at a fixed rate ----------------------------------------------------------------------------------------------


def at_a_rate(generator):
    rows = [row | {"offered_rps": 600.0, "generator": generator} for row in measured(2.0, 1.0, metric="p50_s")]
    return judged(claim(metric="p50_s"), published(a=2.0, b=1.0), rows)


def test_a_published_time_at_a_rate_is_judged_by_response_times_of_arrivals_one_by_one():
    found = at_a_rate("paceload")
    assert found.verdict == REPRODUCED
    assert "response times from Poisson arrivals" in found.why


def test_times_that_were_measured_with_bursts_decide_nothing_and_are_still_shown():
    found = at_a_rate("perf-gauge")
    assert (found.verdict, found.p_value) == (UNDECIDED, 1.0)
    assert "measured with bursts" in found.why
    assert found.measured.value == pytest.approx(2.0)


def test_another_generator_s_times_without_a_rate_are_still_not_testable():
    rows = measured(2.0, 1.0, metric="p50_s", generator="paceload")
    assert verdict(claim(metric="p50_s"), published(a=2.0, b=1.0), rows) == NOT_TESTABLE


def test_cpu_time_at_a_rate_is_judged_whatever_makes_the_load():
    rows = [row | {"offered_rps": 600.0} for row in measured(1.0, 2.0, metric="cpu_per_request_s")]
    assert verdict(claim("word", metric="cpu_per_request_s"), published(), rows) == REPRODUCED


def test_times_in_bursts_have_no_rank():
    runs = as_published()
    runs["06-tcp-proxies"].cells["generator"] = "perf-gauge"
    assert "06-tcp-proxies" not in set(ranks_compared(FIGURES, runs)["experiment"])


# Ranks ------------------------------------------------------------------------------------------------------------


def test_ranks_agree_with_themselves_and_disagree_with_their_inverse():
    same, turned = (ranks_compared(FIGURES, as_published(turned=turned)) for turned in (False, True))
    assert set(same["experiment"]) == {f"0{n}" + rest for n, rest in enumerate(
        ["-ping", "-json-decode", "-json-roundtrip", "-text-json-sql", "-connection-scale", "-tcp-proxies"], start=1)}  # fmt: skip
    assert same["tau"].to_numpy() == pytest.approx(1)
    assert turned["tau"].to_numpy() == pytest.approx(-1)
    decoded = same[(same["experiment"] == "02-json-decode") & (same["metric"] == "p99_s")]
    assert decoded["cells_count"].tolist() == [10]


def test_failed_cells_have_no_rank():
    runs = as_published()
    run = runs["02-json-decode"]
    run.cells.loc[run.cells["system"] == "drogon+glaze", "status"] = "failed: it crashed"
    assert ranks_compared(FIGURES, {"02-json-decode": run})["cells_count"].tolist() == [8, 8, 8]


def test_a_real_run_is_judged(tmp_path):
    rates = {("fast+a", "decode-1"): 2000.0, ("slow+b", "decode-1"): 1000.0, ("control", "decode-1"): 2000.0}
    results = analyse(synthetic.run_of(tmp_path, rates))
    generator = results.cells["generator"].iloc[0]
    run = {"02-json-decode": results}
    systems, about = ("fast+a", "slow+b"), {"workloads": ("decode-1",), "experiment": "02-json-decode"}
    figures = published(generator, **{"fast+a": 2.0, "slow+b": 1.0}).assign(workload="decode-1")
    assert judge(claim(systems=systems, **about), figures, run).verdict == REPRODUCED
    assert judge(claim("order", systems=systems, **about), figures, run).verdict == NOT_REPRODUCED
    # Both peaks are the same number, and nothing is published about their size.
    assert judge(claim("word", systems=systems, metric="rss_peak_bytes", **about), figures, run).verdict == UNDECIDED
    assert ranks_compared(figures.assign(experiment="02-json-decode"), run)["cells_count"].max() == 2
