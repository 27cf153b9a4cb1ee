"""Systems at the same offered rate: equal ones are not told apart, and a known difference is found."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.analyse.latencies import RANKED, STATISTICS, Latencies, added_latencies, compare_latencies, latencies_of
from runners.records import PLACEBO, Histogram

WORKLOAD = "relay@moderate"
launches = st.lists(
    st.lists(st.integers(1, 100_000), min_size=20, max_size=60, unique=True), min_size=2, max_size=5
).map(
    lambda blocks: {place: Histogram(tuple(sorted(values)), (50,) * len(values)) for place, values in enumerate(blocks)}
)


def moved(blocks, times=1, plus_us=0):
    return {
        block: Histogram(tuple(value * times + plus_us for value in launch.values_us), launch.counts)
        for block, launch in blocks.items()
    }


def of(**systems):
    return Latencies({(name, WORKLOAD): blocks for name, blocks in systems.items()}, seed=1, resamples=100)


def drawn(rng, blocks, middle_us=500.0, requests=2000, spread=0.4, between=0.03):
    """Log-normal service times, whose middle varies between launches."""
    found = {}
    for block in range(blocks):
        times = np.exp(rng.normal(math.log(middle_us) + rng.normal(0, between), spread, requests)).astype(int) + 1
        values, counts = np.unique(times, return_counts=True)
        found[block] = Histogram(tuple(values.tolist()), tuple(counts.tolist()))
    return found


@settings(max_examples=25, deadline=None)
@given(launches)
def test_a_system_is_never_faster_or_slower_than_itself(blocks):
    found = compare_latencies(of(direct=blocks, a=blocks, placebo=blocks), [WORKLOAD], "direct")
    assert set(found["verdict"]) <= {"equivalent", "inconclusive"}
    assert np.nanmax(np.abs(found["ratio"] - 1)) == 0


@settings(max_examples=25, deadline=None)
@given(launches, st.integers(2, 9))
def test_times_that_are_k_fold_have_the_ratio_k(blocks, times):
    found = compare_latencies(of(direct=blocks, slow=moved(blocks, times), placebo=blocks), [WORKLOAD], "direct")
    rows = found[(found["system_b"] == "slow") & found["ratio"].notna()]
    assert rows["ratio"].to_numpy() == pytest.approx(1 / times)
    assert set(rows["verdict"]) == {"faster"}  # of direct access, by the lower time


@settings(max_examples=25, deadline=None)
@given(launches, st.integers(1, 50_000))
def test_a_constant_delay_is_what_a_proxy_is_said_to_add(blocks, plus_us):
    found = added_latencies(of(direct=blocks, proxy=moved(blocks, 1, plus_us)), [WORKLOAD], "direct")
    assert list(found["statistic"]) == list(STATISTICS)
    known = found.dropna(subset=["added_s"])
    assert len(known) >= 3
    for column in ("added_s", "added_low_s", "added_high_s"):
        assert known[column].to_numpy() == pytest.approx(plus_us * 1e-6)


def test_what_all_systems_of_a_block_meet_together_cancels_out():
    rng = np.random.default_rng(2)
    direct = {}
    for block, launch in drawn(rng, 8).items():
        direct[block] = moved({0: launch}, times=int(rng.integers(1, 6)))[0]
    found = of(direct=direct, proxy=moved(direct, 2)).paired(WORKLOAD, "proxy", "direct", "ratio")
    interval, p = found["p50_s"]
    assert interval.value == pytest.approx(2, rel=0.01)
    assert interval.high / interval.low < 1.02
    assert p < 1e-6


def test_chance_seldom_makes_a_difference_of_two_equal_systems():
    rng = np.random.default_rng(3)
    found = [
        compare_latencies(of(direct=drawn(rng, 6), a=drawn(rng, 6), placebo=drawn(rng, 6)), [WORKLOAD], "direct")
        for _ in range(40)
    ]
    decided = sum(frame["verdict"].isin(["faster", "slower"]).any() for frame in found)
    assert decided <= 4  # 5 % of 40 in the long run, and less with the noise band


def test_a_tail_that_is_longer_is_found_where_the_middle_is_the_same():
    rng = np.random.default_rng(4)
    found = compare_latencies(
        of(steady=drawn(rng, 8, spread=0.2), odd=drawn(rng, 8, spread=0.8)), [WORKLOAD], "steady"
    ).set_index("statistic")["verdict"]
    assert found["p99_s"] == "faster"
    assert found["p50_s"] in ("equivalent", "inconclusive")


def test_a_percentile_with_too_few_samples_beyond_it_is_not_compared():
    few = {block: Histogram(tuple(range(100, 200)), (1,) * 100) for block in range(4)}
    found = compare_latencies(of(direct=few, a=few), [WORKLOAD], "direct").set_index("statistic")
    assert list(found.index) == list(RANKED)
    assert math.isnan(found.loc["p99_s", "ratio"])
    assert found.loc["p99_s", "verdict"] == "inconclusive"
    assert found.loc["p50_s", "ratio"] == 1


def test_only_blocks_that_have_both_are_paired():
    rng = np.random.default_rng(5)
    direct = drawn(rng, 6)
    proxy = {block: launch for block, launch in moved(direct, 3).items() if block != 2}
    interval, _ = of(direct=direct, proxy=proxy).paired(WORKLOAD, "proxy", "direct", "ratio")["tm99_s"]
    assert interval.value == pytest.approx(3)


def test_the_control_is_shown_and_sets_the_noise_but_is_not_tested():
    rng = np.random.default_rng(6)
    direct = drawn(rng, 6)
    found = compare_latencies(of(direct=direct, a=drawn(rng, 6), placebo=moved(direct, 2)), [WORKLOAD], "direct")
    control = found[found["system_a"] == PLACEBO]
    assert control["p_adjusted"].isna().all()
    assert found["noise_ratio"].dropna().to_numpy() == pytest.approx(2, rel=0.01)
    assert not found["verdict"].isin(["faster", "slower"]).any()


def test_cells_that_failed_take_no_part():
    latency = pd.DataFrame(
        [(1, "a", WORKLOAD, 5, 3), (2, "a", WORKLOAD, 6, 3)],
        columns=["block", "system", "workload", "value_us", "count"],
    )
    cells = pd.DataFrame({"system": ["a", "b"], "workload": [WORKLOAD] * 2, "status": ["ok", "failed: x"]})
    assert list(latencies_of(latency, cells, 1).cells) == [("a", WORKLOAD)]
