"""The verdicts, case by case, and what leads to them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from runners.analyse.estimates import compare
from runners.analyse.verdicts import band, blocks_needed, holm, noise_floor, precision_reached, verdict
from runners.records import Interval

NAN = math.nan
FASTER = Interval(1.10, 1.06, 1.14)
SLOWER = Interval(0.90, 0.86, 0.94)
LEVEL = Interval(1.00, 0.99, 1.01)
CROSSING = Interval(1.03, 1.00, 1.06)
ONE_BLOCK = Interval(1.50, NAN, NAN)

probabilities = st.lists(st.floats(min_value=0.0, max_value=1.0), max_size=12)
some_ratio = (
    st.tuples(*[st.floats(min_value=0.5, max_value=2.0)] * 3).map(sorted).map(lambda v: Interval(v[1], v[0], v[2]))
)


def inverse(ratio):
    return Interval(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)


# Verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "noise", "p", "expected"),
    [
        (FASTER, 0.01, 0.001, "faster"),
        (SLOWER, 0.01, 0.001, "slower"),
        (LEVEL, 0.01, 0.900, "equivalent"),
        (LEVEL, 0.01, 0.001, "equivalent"),
        (CROSSING, 0.01, 0.001, "inconclusive"),
        (Interval(1.0, 0.9, 1.1), 0.01, 0.9, "inconclusive"),
        (ONE_BLOCK, 0.01, NAN, "inconclusive"),
        # Beyond the band, but not after Holm's correction.
        (FASTER, 0.01, 0.051, "inconclusive"),
        (SLOWER, 0.01, NAN, "inconclusive"),
        # A noise floor above 2 % widens the band, a smaller or unknown one does not narrow it.
        (FASTER, 0.07, 0.001, "inconclusive"),
        (Interval(1.03, 1.01, 1.05), 0.07, 0.001, "equivalent"),
        # On a machine so noisy that the band hides 20 %, nothing was found, but nobody is equal.
        (FASTER, 0.20, 0.001, "inconclusive"),
        (Interval(1.015, 1.012, 1.018), 0.001, 0.001, "equivalent"),
        (FASTER, NAN, 0.001, "faster"),
        # The edges belong to the band, and 1/1.02 is its lower one, not 0.98.
        (Interval(1.04, 1.02, 1.06), 0.0, 0.001, "inconclusive"),
        (Interval(1.0, 1 / 1.02, 1.02), 0.0, 0.9, "equivalent"),
        (Interval(0.99, 0.9801, 1.0), 0.0, 0.9, "inconclusive"),
        (Interval(0.97, 0.9600, 0.9802), 0.0, 0.001, "slower"),
    ],
)
def test_a_verdict_between_servers_at_their_limit(ratio, noise, p, expected):
    assert verdict(ratio, noise, p) == expected


RATIOS = {"faster": FASTER, "slower": SLOWER, "level": LEVEL, "crossing": CROSSING, "one block": ONE_BLOCK}
AT_LEAST = {("faster", True, False), ("slower", False, True)}


@pytest.mark.parametrize(
    ("looks", "first", "second"),
    [case for case in itertools.product(RATIOS, (True, False), (True, False)) if any(case[1:])],
)
def test_a_client_bound_pair_is_never_ranked(looks, first, second):
    expected = "at least" if (looks, first, second) in AT_LEAST else "not comparable"
    found = verdict(RATIOS[looks], 0.01, 0.001, first_client_bound=first, second_client_bound=second)
    assert found == expected


def test_a_client_bound_lead_that_is_not_significant_is_no_lower_bound_of_anything():
    assert verdict(FASTER, 0.01, 0.2, first_client_bound=True) == "not comparable"


@settings(max_examples=200, deadline=None)
@given(some_ratio, st.floats(min_value=0.0, max_value=0.2), st.sampled_from([0.001, 0.2]), st.booleans(), st.booleans())
def test_the_verdict_on_the_inverse_ratio_is_the_mirror_image(ratio, noise, p, first, second):
    mirrored = {"faster": "slower", "slower": "faster"}
    edge = 1 + band(noise)
    if min(abs(math.log(end * side)) for end in (ratio.low, ratio.high) for side in (edge, 1 / edge)) < 1e-9:
        return
    there = verdict(ratio, noise, p, first_client_bound=first, second_client_bound=second)
    back = verdict(inverse(ratio), noise, p, first_client_bound=second, second_client_bound=first)
    assert back == mirrored.get(there, there)


def test_in_simulation_five_percent_are_found_and_a_placebo_is_not_ranked():
    rng = np.random.default_rng(9)

    def cell(blocks, scale=1.0):
        return scale * np.exp(rng.normal(0, 0.01, (blocks, 1)) + rng.normal(0, 0.01, (blocks, 3)))

    verdicts = {1.0: [], 1.05: []}
    for truth, seed in itertools.product(verdicts, range(200)):
        base = cell(15)
        floor = noise_floor([compare(cell(15), base, seed=seed, resamples=300).interval])
        found = compare(cell(15, truth), base, seed=seed, resamples=300)
        verdicts[truth].append(verdict(found.interval, floor, found.p_value))
    assert np.mean([each in ("faster", "slower") for each in verdicts[1.0]]) <= 0.01
    assert np.mean([each == "faster" for each in verdicts[1.05]]) >= 0.9


# Holm -------------------------------------------------------------------------------------------------------------


def holm_by_definition(p_values):
    """Reject the k smallest while p(k) ≤ α / (m − k + 1); the adjusted value is the smallest such α."""
    p = np.asarray(p_values)
    m = len(p)
    return [
        max(min(1.0, (m - np.sum(p < smaller)) * smaller) for smaller in p if smaller <= each) if m else 1.0
        for each in p
    ]


@settings(deadline=None)
@given(probabilities)
def test_holm_agrees_with_its_definition(p_values):
    assert holm(p_values) == pytest.approx(holm_by_definition(p_values))


@settings(deadline=None)
@given(probabilities)
def test_holm_keeps_the_order_and_lies_between_the_raw_value_and_bonferroni(p_values):
    p, adjusted = np.array(p_values), holm(p_values)
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(p * len(p), 1.0) + 1e-12).all()


def test_holm_on_an_example_done_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_what_could_not_be_tested_stays_unknown_and_costs_nothing():
    assert holm([0.02, NAN, 0.04]) == pytest.approx([0.04, NAN, 0.04], nan_ok=True)


# Noise floor, precision, blocks -----------------------------------------------------------------------------------


def test_the_noise_floor_is_how_far_the_placebo_came_out_in_either_direction():
    assert noise_floor([Interval(1.03, 0.99, 1.07)]) == pytest.approx(0.03)
    assert noise_floor([Interval(1 / 1.05, 0.9, 0.99)]) == pytest.approx(0.05)


def test_the_noise_floor_of_several_workloads_is_that_of_the_noisiest():
    assert noise_floor([Interval(1.01, 0.99, 1.02), Interval(1.04, 0.98, 1.06), ONE_BLOCK]) == pytest.approx(0.04)


@pytest.mark.parametrize("nothing", [[], [ONE_BLOCK]])
def test_without_a_placebo_interval_the_noise_floor_is_unknown(nothing):
    assert math.isnan(noise_floor(nothing))


@settings(deadline=None)
@given(some_ratio)
def test_a_system_is_never_ranked_against_itself_by_its_own_noise_floor(ratio):
    assert verdict(ratio, noise_floor([ratio]) + 1e-9, 0.001) in ("equivalent", "inconclusive")


def test_the_band_is_two_percent_or_the_noise_floor():
    assert [band(0.0), band(0.05), band(NAN)] == [0.02, 0.05, 0.02]


def test_the_precision_is_that_of_the_least_precise_ratio():
    assert precision_reached([LEVEL, FASTER]) == pytest.approx(0.04 / 1.10)


@pytest.mark.parametrize("ratios", [[], [LEVEL, ONE_BLOCK]])
def test_without_every_interval_no_precision_is_reached(ratios):
    assert precision_reached(ratios) == math.inf


@settings(deadline=None)
@given(st.integers(2, 60), st.floats(0.001, 0.5), st.floats(0.005, 0.1))
def test_the_blocks_needed_reach_the_target_and_one_fewer_would_not(now, width, target):
    needed = blocks_needed(width, now, target)
    assert needed >= now

    def predicted(blocks):
        ratio = stats.t.ppf(0.975, blocks - 1) / stats.t.ppf(0.975, now - 1)
        return width * ratio * math.sqrt(now / blocks)

    assert predicted(needed) <= target * (1 + 1e-9)
    assert needed == now or predicted(needed - 1) > target


def test_half_the_width_takes_about_four_times_as_many_blocks():
    assert blocks_needed(0.04, 40, 0.02) == pytest.approx(160, rel=0.05)


@pytest.mark.parametrize(("width", "blocks"), [(NAN, 5), (math.inf, 5), (0.1, 1), (0.1, 0)])
def test_without_an_interval_nobody_knows_how_many_blocks_are_needed(width, blocks):
    assert blocks_needed(width, blocks, 0.02) is None


def test_a_precision_of_nothing_cannot_be_reached():
    with pytest.raises(ValueError, match="must be positive"):
        blocks_needed(0.1, 5, 0.0)
