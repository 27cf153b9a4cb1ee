"""Levels of a load that stand for one another, and that the verdict says so."""

import math

import pandas as pd
import pytest

from runners.analyse.claims.judgements import judge
from runners.analyse.claims.register import Claim, like_column, like_workload, load_claims, nearest_workload
from runners.analyse.claims.review import ranks_compared
from runners.analyse.published import figures, published_workloads
from tests.analyse.made_up import cell, run_of


@pytest.mark.parametrize(
    ("wanted", "measured", "expected"),
    [
        ("json10@20000", {"json10@19900", "json10@20000"}, "json10@20000"),
        ("json10@20000", {"json10@19900", "json10@20"}, "json10@19900"),
        ("json10@20000", {"json10@19100", "json10@20400"}, "json10@20400"),
        ("json10@20000", {"json10@18900"}, "json10@20000"),
        ("json10@20000", {"blog@20000", "blog@19900"}, "json10@20000"),
        ("relay@no-keepalive", {"relay@moderate"}, "relay@no-keepalive"),
        ("decode-10", {"decode-9"}, "decode-10"),
    ],
)
def test_the_nearest_level_within_five_percent_stands_in(wanted, measured, expected):
    cells = pd.DataFrame([cell("a", label) for label in sorted(measured)])
    assert nearest_workload(wanted, cells) == expected


@pytest.mark.parametrize(
    ("metric", "generator", "expected"),
    [
        ("p99_s", "wrk", "corrected_p99_s"),
        ("stddev_s", "wrk", "corrected_stddev_s"),
        ("throughput_rps", "wrk", "throughput_rps"),
        ("p99_s", "perf-gauge", "p99_s"),
    ],
)
def test_what_wrk_corrects_before_it_prints_has_a_column_of_its_own(metric, generator, expected):
    assert like_column(metric, generator) == expected


def test_the_workload_that_the_same_generator_measured_is_preferred():
    cells = pd.DataFrame([cell("a", "text"), cell("a", "text@autocannon")])
    assert like_workload("text", "autocannon", cells) == "text@autocannon"
    assert like_workload("text", "wrk", cells) == "text"


def test_a_label_says_nothing_where_the_columns_say_otherwise():
    cells = pd.DataFrame([cell("a", "json10@19900")]).assign(shape_connections_count=math.nan)
    assert nearest_workload("json10@20000", cells) == "json10@20000"


def test_every_published_level_is_declared():
    labels = {label for claim in load_claims() for label in claim.workloads} | set(figures()["workload"])
    assert {label for label in labels if label.partition("@")[2].isdigit()} == set(published_workloads())


def published(**rates):
    rows = [
        {
            "source": "s",
            "experiment": "05-x",
            "generator": "perf-gauge",
            "system": name,
            "workload": "json10@20000",
            "throughput_rps": rate,
        }
        for name, rate in rates.items()
    ]
    return pd.DataFrame(rows)


def claim(**more):
    about = {"id": "x", "source": "s", "place": "p", "quote": "q", "experiment": "05-x", "metric": "throughput_rps"}
    return Claim(**about | {"kind": "ratio", "systems": ("a", "b"), "workloads": ("json10@20000",)} | more)


def test_a_claim_about_a_level_that_could_not_be_kept_is_judged_at_the_nearest_and_says_so():
    run = run_of([cell("a", "json10@19900", throughput_rps=2000.0), cell("b", "json10@19900", throughput_rps=1000.0)])
    found = judge(claim(), published(a=2.0, b=1.0), {"05-x": run})
    assert found.verdict == "reproduced"
    assert "json10@19900 for json10@20000" in found.why
    assert ranks_compared(published(a=2.0, b=1.0), {"05-x": run})["cells_count"].tolist() == [2]


def test_a_claim_about_a_level_far_from_any_measured_is_not_testable():
    run = run_of([cell("a", "json10@1000", throughput_rps=2000.0), cell("b", "json10@1000", throughput_rps=1000.0)])
    found = judge(claim(), published(a=2.0, b=1.0), {"05-x": run})
    assert (found.verdict, "json10@20000 was not measured" in found.why) == ("not testable here", True)
