"""The judge: each verdict and kind on made-up cells, and the register against its own published figures."""

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.analyse.claims import Claim, load_claims, published_amounts, published_value
from runners.analyse.judgements import VERDICTS, judge, judge_all, rank_agreement
from runners.analyse.published import figures
from runners.analyse.results import analyse
from tests.analyse import synthetic
from tests.analyse.made_up import cell, run_of

CLAIMS = load_claims()
FIGURES = figures()
BAND = 1.02


def claim(kind="ratio", systems=("a", "b"), workloads=("ping",), metric="throughput_rps", **more):
    about = {"id": "x", "source": "s", "place": "p", "quote": "q", "experiment": "01-ping"}
    return Claim(**about | more, kind=kind, systems=systems, workloads=workloads, metric=metric)


def published(**amounts):
    rows = [{"source": "s", "experiment": "01-ping", "system": name, "workload": "ping", "throughput_rps": value, "p50_s": value}
            for name, value in amounts.items()]  # fmt: skip
    return pd.DataFrame(rows)


def verdict(asked, figures, rows, **about):
    return judge(asked, figures, {"01-ping": run_of(rows, **about)}).verdict


def measured(a, b, width=0.001, metric="throughput_rps", **more):
    return [cell("a", "ping", width, **{metric: a}, **more), cell("b", "ping", width, **{metric: b})]


# Ratios ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours", "width", "expected"),
    [
        (2.0, 2.0, 0.001, "reproduced"),
        (2.0, 2.15, 0.001, "reproduced"),  # within ±10 %
        (2.0, 2.30, 0.010, "direction only"),
        (2.0, 2.30, 0.170, "reproduced"),  # the published ratio lies within the interval
        (2.0, 2.50, 0.400, "direction only"),  # and here too, but an interval as wide knows no size
        (2.0, 1.01, 0.001, "refuted"),  # equal
        (2.0, 0.50, 0.001, "refuted"),  # the other way round
        (2.0, 1.02, 0.010, "inconclusive"),
        (2.0, 1.50, 0.600, "inconclusive"),
        (0.5, 0.50, 0.001, "reproduced"),
        (0.5, 0.70, 0.001, "direction only"),
        (0.5, 0.99, 0.001, "refuted"),
        (0.5, 0.98, 0.010, "inconclusive"),
        # Published as equal within the noise.
        (1.01, 0.99, 0.001, "reproduced"),
        (1.01, 1.30, 0.001, "refuted"),
        (1.01, 0.80, 0.001, "refuted"),
        (1.01, 1.12, 0.150, "reproduced"),
        (1.01, 1.30, 0.290, "inconclusive"),
    ],
)
@pytest.mark.parametrize("paired", [True, False])
def test_the_verdict_on_a_ratio(theirs, ours, width, expected, paired):
    # An unpaired interval is made of two.
    each = width if paired else width / math.sqrt(2)
    rows = measured(ours * 1000, 1000, each)
    assert verdict(claim(), published(a=theirs, b=1), rows, paired=paired, width=width) == expected


def test_the_pair_may_be_compared_in_the_other_order():
    rows = measured(2000, 1000)[::-1]
    assert verdict(claim(), published(a=2, b=1), rows) == "reproduced"


def test_a_noisy_machine_leaves_open_what_its_noise_hides():
    assert verdict(claim(), published(a=2, b=1), measured(1100, 1000), floor=1.2) == "inconclusive"
    assert verdict(claim(), published(a=2, b=1), measured(1030, 1000), floor=1.2) == "refuted"


def test_of_two_workloads_the_noisier_counts():
    run = run_of([cell("a", "text", throughput_rps=1150.0), cell("a", "json", throughput_rps=1000.0)])
    asked = claim(systems=("a",), workloads=("text", "json"))
    figures = pd.DataFrame({"source": "s", "system": "a", "workload": ["text", "json"], "throughput_rps": [2.0, 1.0]})
    for floors, expected in {
        (1.2, 1.0): "inconclusive",
        (1.0, 1.2): "inconclusive",
        (1.0, 1.0): "direction only",
    }.items():
        run.noise_floor_ratio = dict(zip(("text", "json"), floors, strict=True))
        assert judge(asked, figures, {"01-ping": run}).verdict == expected


@pytest.mark.parametrize(
    ("bound", "ours", "expected"),
    [("a", 2.0, "direction only"), ("b", 2.0, "inconclusive"), ("ab", 2.0, "inconclusive"), ("a", 0.5, "inconclusive")],
)
def test_a_client_bound_throughput_is_a_lower_bound_at_most(bound, ours, expected):
    rows = measured(ours * 1000, 1000)
    for row in rows:
        row["bottleneck"] = "client" if row["system"] in bound else "server"
    assert verdict(claim(), published(a=2, b=1), rows) == expected


def test_the_client_bound_side_of_a_latency_is_the_better_one_when_it_is_lower():
    rows = measured(0.001, 0.002, metric="p50_s")
    rows[0]["bottleneck"] = "client"
    assert verdict(claim(metric="p50_s"), published(a=1, b=2), rows) == "direction only"
    rows[0]["bottleneck"], rows[1]["bottleneck"] = "server", "client"
    assert verdict(claim(metric="p50_s"), published(a=1, b=2), rows) == "inconclusive"


def test_memory_does_not_depend_on_what_the_generator_could_ask_for():
    rows = measured(5e6, 1e7, metric="rss_peak_bytes", throughput_rps=1.0)
    rows[0]["bottleneck"] = "client"
    figures = published(a=1, b=2).rename(columns={"p50_s": "rss_peak_bytes"})
    assert verdict(claim(metric="rss_peak_bytes"), figures, rows) == "reproduced"


def test_one_launch_decides_nothing():
    assert verdict(claim(), published(a=2, b=1), measured(2000, 1000, math.nan), width=math.nan) == "inconclusive"


# Orders, words, absolutes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "width", "expected"),
    [
        ((1, 2, 3), 0.001, "reproduced"),
        ((1, 3, 2), 0.001, "refuted"),
        ((1, 2, 2.01), 0.001, "refuted"),
        ((1, 2, 2.1), 0.040, "inconclusive"),
        ((2, 1.98, 1.9602), 0.0247, "refuted"),  # by the first and the last alone
    ],
)
def test_the_verdict_on_an_order(ours, width, expected):
    asked = claim("order", systems=("a", "b", "c"), metric="p50_s")
    rows = [cell(name, "ping", width, p50_s=value) for name, value in zip("abc", ours, strict=True)]
    found = judge(asked, published(), {"01-ping": run_of(rows)})
    assert found.verdict == expected
    if expected == "refuted":
        assert "<" in found.why


@pytest.mark.parametrize(
    ("reading", "ours", "width", "expected"),
    [
        ({}, 1.1, 0.001, "reproduced"),
        ({}, 1.0, 0.001, "refuted"),
        ({}, 0.5, 0.001, "refuted"),
        ({}, 1.1, 0.100, "inconclusive"),
        ({"at_least_ratio": 2.0}, 2.5, 0.001, "reproduced"),
        ({"at_least_ratio": 2.0}, 1.5, 0.001, "direction only"),
        ({"at_most_ratio": 1.5}, 1.2, 0.001, "reproduced"),
        ({"at_most_ratio": 1.5}, 1.8, 0.001, "direction only"),
        ({"at_most_ratio": 1.5}, 0.8, 0.001, "refuted"),
        ({"within_ratio": 1.2}, 0.9, 0.001, "reproduced"),
        ({"within_ratio": 1.2}, 1.5, 0.001, "refuted"),
        ({"within_ratio": 1.2}, 0.7, 0.001, "refuted"),
        ({"within_ratio": 1.2}, 1.2, 0.010, "inconclusive"),
    ],
)
def test_the_verdict_on_a_word(reading, ours, width, expected):
    asked = claim("word", metric="p50_s", **reading)
    assert verdict(asked, published(), measured(1.0, ours, width / math.sqrt(2), "p50_s")) == expected


def test_of_a_lower_bound_nobody_knows_that_it_is_only_slightly_more():
    rows = measured(1000, 1200)
    rows[1]["bottleneck"] = "client"
    assert verdict(claim("word", at_most_ratio=1.5), published(), rows) == "direction only"
    assert verdict(claim("word", at_least_ratio=1.1), published(), rows) == "reproduced"


def test_errors_against_none_are_decided_and_none_against_none_is_no_difference():
    asked = claim("order", metric="errors_count")
    for (a, b), expected in {(0, 9): "reproduced", (0, 0): "refuted", (9, 0): "refuted"}.items():
        assert verdict(asked, published(), measured(a, b, metric="errors_count", throughput_rps=1.0)) == expected


def test_an_absolute_is_compared_and_never_judged():
    asked = claim("absolute", systems=("a",))
    found = judge(asked, published(a=500), {"01-ping": run_of(measured(1000, 1))})
    assert (found.verdict, found.ours.value) == ("not testable", 1000)
    assert found.why == "published on another machine: ours is 2 × it"


def test_a_build_time_belongs_to_the_system_whatever_the_load():
    rows = [cell("a", "json10@20", throughput_rps=1.0, build_s=0.5)]
    asked = claim("absolute", systems=("a",), workloads=("build",), metric="build_s")
    assert judge(asked, published(), {"01-ping": run_of(rows)}).ours.value == 0.5


@pytest.mark.parametrize(
    ("asked", "rows", "why"),
    [
        (claim(untestable="no number decides it"), measured(2, 1), "no number decides it"),
        (claim(experiment="06-tcp-proxies"), measured(2, 1), "no run of 06-tcp-proxies here"),
        (claim(systems=("a", "z")), measured(2, 1), "z at ping was not measured"),
        (claim(metric="tm99_s"), measured(2, 1), "a at ping has no tm99_s; b at ping has no tm99_s"),
        (claim(), [*measured(2, 1)[:1], cell("b", "ping", status="failed: it crashed")], "b at ping failed: it crashed"),
        (claim(source="another"), measured(2, 1), "no published ratio"),
    ],
)  # fmt: skip
def test_what_cannot_be_tested_says_why(asked, rows, why):
    found = judge(asked, published(a=2, b=1), {"01-ping": run_of(rows)})
    assert (found.verdict, found.why) == ("not testable", why)


# The register against what was published ----------------------------------------------------------------------------


def as_published(turned=False, **about):
    """Runs in which every system did as published; `turned`: the inverse of it."""
    amounts = [name for name in FIGURES if name.endswith(("_s", "_rps", "_bytes", "_count"))]
    runs = {}
    for experiment, group in FIGURES.groupby("experiment"):
        rows = []
        for row in group.to_dict("records"):
            known = {name: row[name] for name in amounts if not math.isnan(row[name])}
            values = {name: 1 / value if turned and value else value for name, value in known.items()}
            rows.append(cell(row["system"], row["workload"], about.get("width", 0.001), **values))
        runs[experiment] = run_of(rows, **about)
    return runs


def decidable(kinds):
    for asked in CLAIMS:
        amounts = published_amounts(asked, FIGURES)
        if asked.kind in kinds and not asked.untestable and not any(math.isnan(value) for value in amounts):
            yield asked


# Peaks are given ±10 %, which is more than some of them are apart.
EXACT = [asked for asked in decidable({"ratio", "order", "word"}) if asked.metric not in {"tm99_s", "rss_peak_bytes"}]


@settings(max_examples=5, deadline=None)
@given(width=st.floats(0, 0.002), floor=st.floats(1.0, 1.02), paired=st.booleans())
def test_who_measures_what_was_published_reproduces_it(width, floor, paired):
    runs = as_published(width=width, floor=floor, paired=paired)
    assert len(EXACT) >= 60
    assert {asked.id: judge(asked, FIGURES, runs).verdict for asked in EXACT} == dict.fromkeys(
        (asked.id for asked in EXACT), "reproduced"
    )


@settings(max_examples=4, deadline=None)
@given(width=st.floats(0, 0.002), paired=st.booleans())
def test_who_measures_the_inverse_refutes_every_ratio(width, paired):
    runs = as_published(turned=True, width=width, paired=paired)
    for asked in decidable({"ratio"}):
        # Of two that were published as equal the inverse is equal as well.
        if max(ratio := published_value(asked, FIGURES), 1 / ratio) > BAND:
            assert judge(asked, FIGURES, runs).verdict == "refuted", asked.id


@settings(max_examples=200, deadline=None)
@given(theirs=st.floats(1.03, 50), ours=st.floats(0.02, 50), width=st.floats(0, 0.5))
def test_turning_a_claim_round_changes_no_verdict(theirs, ours, width):
    rows = measured(ours * 1000, 1000, width)
    there = verdict(claim(), published(a=theirs, b=1), rows, width=width)
    back = verdict(claim(systems=("b", "a")), published(a=theirs, b=1), rows, width=width)
    assert there == back


def test_all_claims_get_a_verdict_and_a_reason():
    frame = judge_all(CLAIMS, FIGURES, as_published())
    assert list(frame["id"]) == [asked.id for asked in CLAIMS]
    assert set(frame["verdict"]) <= set(VERDICTS)
    assert frame["why"].str.len().min() > 0
    assert (judge_all(CLAIMS, FIGURES, {})["verdict"] == "not testable").all()


# Ranks ------------------------------------------------------------------------------------------------------------


def test_ranks_agree_with_themselves_and_disagree_with_their_inverse():
    same, turned = (rank_agreement(FIGURES, as_published(turned=turned)) for turned in (False, True))
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
    assert rank_agreement(FIGURES, {"02-json-decode": run})["cells_count"].tolist() == [8, 8, 8]


def test_a_real_run_is_judged(tmp_path):
    rates = {("fast+a", "decode-1"): 2000.0, ("slow+b", "decode-1"): 1000.0, ("placebo", "decode-1"): 2000.0}
    run = {"02-json-decode": analyse(synthetic.run_of(tmp_path, rates))}
    systems, about = ("fast+a", "slow+b"), {"workloads": ("decode-1",), "experiment": "02-json-decode"}
    figures = published(**{"fast+a": 2.0, "slow+b": 1.0}).assign(workload="decode-1")
    assert judge(claim(systems=systems, **about), figures, run).verdict == "reproduced"
    # All at their limit with the same number of connections: Little's law.
    assert judge(claim("order", systems=systems, metric="p99_s", **about), figures, run).verdict == "reproduced"
    assert judge(claim("order", systems=systems, **about), figures, run).verdict == "refuted"
    assert judge(claim("word", systems=systems, metric="rss_peak_bytes", **about), figures, run).verdict == "refuted"
    assert rank_agreement(figures.assign(experiment="02-json-decode"), run)["cells_count"].tolist() == [2, 2]
