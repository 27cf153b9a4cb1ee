"""Systems at the same offered rate: what one adds to another is found, with an interval over blocks."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from runners.analyse.fixed_rates import STATISTICS, Latencies, added_latencies, latencies_of
from runners.core.histogram import Histogram
from tests.conftest import examples

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
    return Latencies({(name, WORKLOAD): blocks for name, blocks in systems.items()})


def drawn(rng, blocks, middle_us=500.0, requests=2000, spread=0.4, between=0.03):
    """Log-normal service times, whose middle varies between launches."""
    found = {}
    for block in range(blocks):
        times = np.exp(rng.normal(math.log(middle_us) + rng.normal(0, between), spread, requests)).astype(int) + 1
        values, counts = np.unique(times, return_counts=True)
        found[block] = Histogram(tuple(values.tolist()), tuple(counts.tolist()))
    return found


@examples(10)
@given(launches, st.integers(1, 50_000))
def test_a_constant_delay_is_what_a_proxy_is_said_to_add(blocks, plus_us):
    found = added_latencies(of(direct=blocks, proxy=moved(blocks, 1, plus_us)), [WORKLOAD], "direct")
    assert list(found["statistic"]) == list(STATISTICS)
    known = found.dropna(subset=["added_s"])
    assert len(known) >= 3
    for column in ("added_s", "added_low_s", "added_high_s"):
        assert known[column].to_numpy() == pytest.approx(plus_us * 1e-6)


@examples(10)
@given(launches)
def test_a_system_adds_nothing_to_itself(blocks):
    found = added_latencies(of(direct=blocks, same=blocks), [WORKLOAD], "direct").dropna(subset=["added_s"])
    assert (found[["added_s", "added_low_s", "added_high_s"]] == 0).all(axis=None)


def test_what_a_block_does_to_both_systems_cancels_out():
    rng = np.random.default_rng(2)
    direct = {
        block: moved({0: launch}, plus_us=int(rng.integers(0, 5000)))[0] for block, launch in drawn(rng, 8).items()
    }
    found = of(direct=direct, proxy=moved(direct, plus_us=200)).difference(WORKLOAD, "proxy", "direct")["p50_s"]
    assert found.value == pytest.approx(200e-6)
    assert found.high - found.low < 1e-9


def test_the_interval_of_two_equal_systems_holds_0_nearly_always():
    rng = np.random.default_rng(3)
    found = [of(a=drawn(rng, 6), b=drawn(rng, 6)).difference(WORKLOAD, "a", "b")["p50_s"] for _ in range(40)]
    assert sum(interval.low <= 0 <= interval.high for interval in found) >= 35


def test_a_percentile_with_too_few_samples_beyond_it_is_not_estimated():
    few = {block: Histogram(tuple(range(100, 200)), (1,) * 100) for block in range(4)}
    found = of(direct=few, a=few).difference(WORKLOAD, "a", "direct")
    assert math.isnan(found["p99_s"].value)
    assert found["p50_s"].value == 0


def test_only_blocks_that_have_both_are_paired():
    rng = np.random.default_rng(5)
    direct = drawn(rng, 6)
    proxy = {block: launch for block, launch in moved(direct, plus_us=70).items() if block != 2}
    found = of(direct=direct, proxy=proxy).difference(WORKLOAD, "proxy", "direct")["tm99_s"]
    assert found.value == pytest.approx(70e-6)


def test_systems_without_a_common_block_are_not_compared():
    rng = np.random.default_rng(6)
    first, other = drawn(rng, 1), {7: drawn(rng, 1)[0]}
    assert math.isnan(of(a=first, b=other).difference(WORKLOAD, "a", "b")["p50_s"].value)


def test_cells_that_failed_take_no_part():
    known = {("a", WORKLOAD): {1: Histogram((5,), (3,))}, ("b", WORKLOAD): {1: Histogram((6,), (3,))}}
    cells = pd.DataFrame({"system": ["a", "b"], "workload": [WORKLOAD] * 2, "status": ["ok", "failed: x"]})
    assert list(latencies_of(SimpleNamespace(launches=known), cells).cells) == [("a", WORKLOAD)]
