"""The Universal Scalability Law finds the parameters of made-up throughputs, and says how sure it is."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from runners.stats.scalability import LEAST_BLOCKS, fit, law, peak_of

COUNTS = [1, 2, 4, 8, 16]
RATES = st.floats(1e3, 1e6)
CONTENTIONS, COHERENCIES = st.floats(0, 0.5), st.floats(0, 0.01)


def blocks(rate, contention, coherency, *, count=8, noise=0.0, seed=1, drift=0.0):
    random = np.random.default_rng(seed)
    shape = (count, len(COUNTS))
    factors = np.exp(random.normal(0, noise, shape) + random.normal(0, drift, (count, 1)))
    return law(COUNTS, rate, contention, coherency) * factors


@given(RATES, CONTENTIONS, COHERENCIES)
def test_known_parameters_are_recovered_from_exact_throughputs(rate, contention, coherency):
    found = fit(COUNTS, blocks(rate, contention, coherency))
    assert found.rate_rps.value == pytest.approx(rate, rel=1e-6)
    assert found.contention.value == pytest.approx(contention, abs=1e-6)
    assert found.coherency.value == pytest.approx(coherency, abs=1e-7)
    assert found.misfit_ratio < 1e-6


@given(RATES, CONTENTIONS, COHERENCIES, st.integers(0, 1000))
def test_no_fit_has_a_negative_parameter_and_no_interval_is_upside_down(rate, contention, coherency, seed):
    found = fit(COUNTS, blocks(rate, contention, coherency, noise=0.05, seed=seed), seed=seed)
    for interval in (found.rate_rps, found.contention, found.coherency):
        assert 0 <= interval.low <= interval.high
        assert interval.value >= 0


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    held = [fit(COUNTS, blocks(1e5, 0.05, 1e-3, count=12, noise=0.02, seed=seed)) for seed in range(60)]
    for name, truth in (("contention", 0.05), ("coherency", 1e-3)):
        intervals = [getattr(found, name) for found in held]
        assert sum(each.low <= truth <= each.high for each in intervals) >= 48


def test_what_slows_a_whole_block_does_not_widen_the_growth():
    found = fit(COUNTS, blocks(1e5, 0.05, 1e-3, drift=0.3))
    assert found.contention.high - found.contention.low < 1e-6
    assert found.rate_rps.high > 1.1 * found.rate_rps.low


def test_the_same_seed_gives_the_same_interval():
    made = blocks(1e5, 0.05, 1e-3, noise=0.02)
    assert fit(COUNTS, made, seed=3) == fit(COUNTS, made, seed=3)
    assert fit(COUNTS, made, seed=3) != fit(COUNTS, made, seed=4)


def test_three_counts_are_too_few_for_three_parameters():
    assert fit([1, 2, 4], law([1, 2, 4], 1e5, 0.1, 0.0)[np.newaxis]) is None


def test_few_blocks_have_an_estimate_without_an_interval():
    found = fit(COUNTS, blocks(1e5, 0.05, 1e-3, count=LEAST_BLOCKS - 1))
    assert found.contention.value == pytest.approx(0.05)
    assert math.isnan(found.contention.low)


def test_a_block_that_lacks_a_count_is_left_out():
    made = blocks(1e5, 0.05, 1e-3)
    made[0] *= 3
    made[0, 2] = math.nan
    assert fit(COUNTS, made).rate_rps.value == pytest.approx(1e5)
    assert fit(COUNTS, made[:1]) is None


@given(st.floats(0, 0.9), st.floats(1e-6, 1e-2))
def test_the_peak_is_where_the_law_is_highest(contention, coherency):
    peak = peak_of(contention, coherency)
    around = law([max(1, peak * 0.99), peak, peak * 1.01], 1.0, contention, coherency)
    assert around[1] >= around.max() * (1 - 1e-9)
    assert peak_of(contention, 0.0) == math.inf
