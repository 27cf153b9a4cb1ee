"""The verdicts, case by case, and what leads to them."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from runners.core.records import Interval
from runners.stats.verdicts import band, blocks_needed, bound, holm, is_clear, noise_floor, precision_reached, verdict

NAN = math.nan
FASTER = Interval(1.10, 1.06, 1.14)
SLOWER = Interval(0.90, 0.86, 0.94)
LEVEL = Interval(1.00, 0.99, 1.01)
CROSSING = Interval(1.03, 0.99, 1.06)
ONE_BLOCK = Interval(1.50, NAN, NAN)
MIRRORED = {"faster": "slower", "slower": "faster"}

probabilities = st.lists(st.floats(min_value=0.0, max_value=1.0), max_size=12)
some_ratio = (
    st.tuples(*[st.floats(min_value=0.5, max_value=2.0)] * 3).map(sorted).map(lambda v: Interval(v[1], v[0], v[2]))
)
bounds = st.sampled_from(["", "at most", "at least", "unknown"])


def inverse(ratio):
    return Interval(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)


# Verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "noise", "expected", "clear"),
    [
        (FASTER, 0.01, "faster", True),
        (SLOWER, 0.01, "slower", True),
        (LEVEL, 0.01, "equivalent", False),
        (CROSSING, 0.01, "undecided", False),
        (Interval(1.0, 0.9, 1.1), 0.01, "undecided", False),
        (ONE_BLOCK, 0.01, "undecided", False),
        # Excludes 1, and not the band: by between 1 and 6 %.
        (Interval(1.03, 1.01, 1.06), 0.01, "faster", False),
        # A noise floor above 2 % widens the band, a smaller or unknown one does not narrow it.
        (FASTER, 0.07, "faster", False),
        (Interval(1.03, 1.01, 1.05), 0.07, "equivalent", False),
        # A band that hides 20 % because the machine is noisy shows no equality.
        (Interval(1.03, 0.95, 1.10), 0.20, "undecided", False),
        (Interval(1.015, 1.012, 1.018), 0.001, "equivalent", False),
        (FASTER, NAN, "faster", True),
        # The edges belong to the band, and 1/1.02 is its lower one, not 0.98.
        (Interval(1.04, 1.02, 1.06), 0.0, "faster", False),
        (Interval(1.0, 1 / 1.02, 1.02), 0.0, "equivalent", False),
        (Interval(0.99, 0.9801, 1.0), 0.0, "undecided", False),
        (Interval(0.97, 0.9600, 0.9802), 0.0, "slower", True),
    ],
)
def test_a_verdict_is_read_off_the_interval(ratio, noise, expected, clear):
    assert verdict(ratio, noise) == expected
    assert is_clear(ratio, noise) == clear


@given(some_ratio, st.floats(min_value=0.0, max_value=0.3), bounds)
def test_a_verdict_never_contradicts_the_interval_beside_it(ratio, noise, side):
    found = verdict(ratio, noise, side)
    if found == "faster":
        assert ratio.low > 1
    elif found == "slower":
        assert ratio.high < 1
    elif found == "equivalent":
        assert 1 / (1 + band(noise)) <= ratio.low
        assert ratio.high <= 1 + band(noise)
    elif found == "undecided" and not side:
        # Wholly on one side of 1, an interval decides.
        assert ratio.low <= 1 <= ratio.high


@given(some_ratio, st.floats(min_value=0.0, max_value=0.2), bounds)
def test_the_verdict_on_the_inverse_ratio_is_the_mirror_image(ratio, noise, side):
    edges = (1.0, 1 + band(noise), 1 / (1 + band(noise)))
    if min(abs(math.log(end * edge)) for end in (ratio.low, ratio.high) for edge in edges) < 1e-9:
        return
    other = {"at most": "at least", "at least": "at most"}.get(side, side)
    there = verdict(ratio, noise, side)
    assert verdict(inverse(ratio), noise, other) == MIRRORED.get(there, there)


# Bounds -----------------------------------------------------------------------------------------------------------


def test_the_side_that_the_generator_limited_could_serve_more():
    assert bound(False, False) == ""
    assert bound(True, False) == "at least"
    assert bound(False, True) == "at most"
    assert bound(True, True) == "unknown"


@pytest.mark.parametrize(
    ("ratio", "side", "expected"),
    [
        # Only the faster side was limited: the slower side is decided.
        (SLOWER, "at most", "slower"),
        (FASTER, "at least", "faster"),
        # The slower side was limited: it might be the faster one.
        (SLOWER, "at least", "undecided"),
        (FASTER, "at most", "undecided"),
        (LEVEL, "at most", "undecided"),
        (LEVEL, "at least", "undecided"),
        (ONE_BLOCK, "at most", "undecided"),
        (SLOWER, "unknown", "not comparable"),
        (LEVEL, "unknown", "not comparable"),
    ],
)
def test_a_bound_decides_one_direction_only(ratio, side, expected):
    assert verdict(ratio, 0.01, side) == expected


# Holm -------------------------------------------------------------------------------------------------------------


def holm_by_definition(p_values):
    """Reject the k smallest while p(k) ≤ α / (m − k + 1); the adjusted value is the smallest such α."""
    p = np.asarray(p_values)
    m = len(p)
    return [
        max(min(1.0, (m - np.sum(p < smaller)) * smaller) for smaller in p if smaller <= each) if m else 1.0
        for each in p
    ]


@given(probabilities)
def test_holm_agrees_with_its_definition(p_values):
    assert holm(p_values) == pytest.approx(holm_by_definition(p_values))


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


def test_the_noise_floor_is_the_far_end_of_the_control_s_interval():
    assert noise_floor(Interval(1.03, 0.99, 1.07)) == pytest.approx(0.07)
    assert noise_floor(Interval(1 / 1.05, 0.9, 1.01)) == pytest.approx(1 / 0.9 - 1)


def test_without_an_interval_of_the_control_the_noise_floor_is_unknown():
    assert math.isnan(noise_floor(ONE_BLOCK))


@given(some_ratio)
def test_a_system_never_differs_clearly_from_itself_by_its_own_noise_floor(ratio):
    assert not is_clear(ratio, noise_floor(ratio) + 1e-9)


def test_the_band_is_two_percent_or_the_noise_floor():
    assert [band(0.0), band(0.05), band(NAN)] == [0.02, 0.05, 0.02]


def test_the_precision_is_that_of_the_least_precise_ratio():
    assert precision_reached([LEVEL, FASTER]) == pytest.approx(0.04 / 1.10)


@pytest.mark.parametrize("ratios", [[], [LEVEL, ONE_BLOCK]])
def test_without_every_interval_no_precision_is_reached(ratios):
    assert precision_reached(ratios) == math.inf


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


@pytest.mark.parametrize(("width", "blocks"), [(NAN, 5), (math.inf, 5), (1e200, 2), (0.1, 1), (0.1, 0)])
def test_without_an_interval_nobody_knows_how_many_blocks_are_needed(width, blocks):
    assert blocks_needed(width, blocks, 0.02) is None


def test_a_precision_of_nothing_cannot_be_reached():
    with pytest.raises(ValueError, match="must be positive"):
        blocks_needed(0.1, 5, 0.0)
