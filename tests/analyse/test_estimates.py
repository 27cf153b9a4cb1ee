"""The intervals cover what they claim to cover, and the comparisons behave like ratios."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from runners import histograms
from runners.analyse.estimates import (
    compare,
    compare_unpaired,
    geometric_mean_interval,
    ratio_interval,
)
from runners.analyse.launches import Launch
from runners.analyse.percentiles import percentile_intervals
from runners.records import Histogram, Interval

EXPERIMENTS = 300
FAST = 400

throughputs = st.floats(min_value=10.0, max_value=1e6)
cells = st.lists(st.lists(throughputs, min_size=1, max_size=4), min_size=2, max_size=6)
pairs = st.lists(
    st.tuples(st.lists(throughputs, min_size=1, max_size=3), st.lists(throughputs, min_size=1, max_size=3)),
    min_size=2,
    max_size=6,
)


def simulated(rng, launches, windows=3, launch_sd=0.02, window_sd=0.02):
    """A cell whose true geometric mean is 1."""
    return np.exp(rng.normal(0, launch_sd, (launches, 1)) + rng.normal(0, window_sd, (launches, windows)))


def ends(interval):
    return (interval.value, interval.low, interval.high)


def covers(interval, truth):
    return interval.low <= truth <= interval.high


# Geometric mean ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("launches", [3, 5, 8, 15])
@pytest.mark.parametrize(("launch_sd", "window_sd"), [(0.02, 0.02), (0.02, 0.005), (0.0, 0.02)])
def test_the_interval_covers_the_truth_as_often_as_it_says(launches, launch_sd, window_sd):
    rng = np.random.default_rng(20)
    covered = [
        covers(
            geometric_mean_interval(simulated(rng, launches, 3, launch_sd, window_sd), seed=seed, resamples=FAST), 1.0
        )
        for seed in range(EXPERIMENTS)
    ]
    assert 0.915 <= np.mean(covered) <= 0.98


def test_without_windows_of_its_own_the_interval_is_close_to_the_t_interval_of_the_logarithms():
    rng = np.random.default_rng(3)
    logarithms = np.log(simulated(rng, 30, 1))[:, 0]
    expected = stats.t.interval(0.95, 29, loc=logarithms.mean(), scale=stats.sem(logarithms))
    found = geometric_mean_interval(np.exp(logarithms))
    assert np.log([found.low, found.high]) == pytest.approx(expected, abs=0.05 * (expected[1] - expected[0]))


def test_the_value_is_the_geometric_mean_of_the_launches_and_each_launch_counts_once():
    cell = [[100.0, 400.0, 200.0], [800.0]]
    assert geometric_mean_interval(cell, resamples=FAST).value == pytest.approx(400.0)


def test_nan_windows_are_the_same_as_windows_that_are_not_there():
    ragged = [[100.0, 110.0], [105.0], [98.0, 99.0, 97.0], []]
    nan = math.nan
    padded = np.array([[100.0, nan, 110.0], [nan, 105.0, nan], [98.0, 99.0, 97.0], [nan, nan, nan]])
    assert geometric_mean_interval(ragged) == geometric_mean_interval(padded)


def test_windows_of_a_launch_narrow_the_interval_less_than_launches_do():
    rng = np.random.default_rng(5)
    few_launches = [geometric_mean_interval(simulated(rng, 5, 12), resamples=FAST) for _ in range(40)]
    many_launches = [geometric_mean_interval(simulated(rng, 20, 3), resamples=FAST) for _ in range(40)]
    widths = [np.median([each.half_width_ratio for each in found]) for found in (few_launches, many_launches)]
    assert widths[0] > 1.5 * widths[1]


def test_one_launch_has_a_value_and_says_that_it_has_no_interval():
    found = geometric_mean_interval([[100.0, 400.0]])
    assert found.value == pytest.approx(200.0)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize("nothing", [[], [[]], [[math.nan]], np.full((3, 2), math.nan)])
def test_without_a_single_window_everything_is_nan(nothing):
    assert np.isnan(ends(geometric_mean_interval(nothing))).all()


def test_launches_without_any_variation_have_an_interval_without_width():
    assert ends(geometric_mean_interval(np.full((4, 2), 8.0))) == pytest.approx((8.0, 8.0, 8.0))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf])
def test_a_throughput_without_logarithm_is_an_error(bad):
    with pytest.raises(ValueError, match="measurement is"):
        geometric_mean_interval([[100.0, bad], [100.0, 101.0]])


def test_the_same_seed_gives_the_same_interval_and_another_seed_another_one():
    cell = simulated(np.random.default_rng(1), 6)
    assert geometric_mean_interval(cell, seed=4) == geometric_mean_interval(cell, seed=4)
    assert geometric_mean_interval(cell, seed=4) != geometric_mean_interval(cell, seed=5)


@settings(max_examples=50, deadline=None)
@given(cells)
def test_the_value_lies_within_its_interval(cell):
    found = geometric_mean_interval(cell, resamples=200)
    assert found.low <= found.value <= found.high


# Ratios -----------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(pairs, st.floats(min_value=1e-3, max_value=1e3))
def test_a_faster_clock_for_both_changes_no_ratio(blocks, factor):
    first, second = zip(*blocks, strict=True)
    scaled = [[factor * value for value in row] for row in first], [[factor * value for value in row] for row in second]
    plain = ratio_interval(first, second, resamples=200)
    assert ends(ratio_interval(*scaled, resamples=200)) == pytest.approx(ends(plain), rel=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(throughputs, throughputs), min_size=2, max_size=8))
def test_exchanging_the_systems_inverts_the_ratio(blocks):
    first, second = np.array(blocks).T
    there, back = compare(first, second, resamples=200), compare(second, first, resamples=200)
    inverse = (1 / back.interval.value, 1 / back.interval.high, 1 / back.interval.low)
    assert ends(there.interval) == pytest.approx(inverse, rel=1e-6)
    assert there.p_value == pytest.approx(back.p_value, rel=1e-6, abs=1e-9)


def test_exchanging_the_systems_inverts_the_ratio_up_to_the_resampling_of_windows():
    rng = np.random.default_rng(11)
    first, second = simulated(rng, 10), 1.1 * simulated(rng, 10)
    there, back = ratio_interval(first, second), ratio_interval(second, first)
    assert ends(there) == pytest.approx((1 / back.value, 1 / back.high, 1 / back.low), rel=0.002)


def test_pairing_cancels_the_drift_that_both_systems_share():
    rng = np.random.default_rng(2)
    drift = np.exp(rng.normal(0, 0.1, (10, 1)))
    first, second = drift * simulated(rng, 10), drift * simulated(rng, 10)
    paired = ratio_interval(first, second)
    unpaired = ratio_interval(first, second[rng.permutation(10)])
    assert paired.half_width_ratio < 0.5 * unpaired.half_width_ratio


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_a_system_against_itself_is_rarely_significant(blocks):
    rng = np.random.default_rng(30)
    found = [
        compare(drift * simulated(rng, blocks), drift * simulated(rng, blocks), seed=seed, resamples=FAST)
        for seed, drift in enumerate(np.exp(rng.normal(0, 0.05, (EXPERIMENTS, blocks, 1))))
    ]
    assert 0.02 <= np.mean([each.p_value < 0.05 for each in found]) <= 0.08
    assert 0.92 <= np.mean([covers(each.interval, 1.0) for each in found]) <= 0.98


def test_a_difference_of_five_percent_is_found_in_plausible_noise():
    rng = np.random.default_rng(31)
    found = [ratio_interval(1.05 * simulated(rng, 10), simulated(rng, 10), resamples=FAST) for _ in range(200)]
    assert np.mean([each.low > 1 for each in found]) > 0.95
    assert 0.91 <= np.mean([covers(each, 1.05) for each in found]) <= 0.985


@settings(max_examples=100, deadline=None)
@given(pairs)
def test_the_p_value_is_below_five_percent_exactly_where_the_interval_leaves_out_one(blocks):
    found = compare(*zip(*blocks, strict=True), resamples=200)
    interval = found.interval
    if min(abs(math.log(end)) for end in (interval.low, interval.high)) > 1e-9:
        assert (found.p_value < 0.05) == (not covers(interval, 1.0))


@given(cells)
def test_equal_weights_are_no_weights(blocks):
    weighed = [Launch(row, [0.3] * len(row)) for row in blocks]
    alike = geometric_mean_interval(blocks, resamples=200)
    assert ends(geometric_mean_interval(weighed, resamples=200)) == pytest.approx(ends(alike), rel=1e-9)


def test_what_weighs_less_counts_less_and_widens_less():
    rows = [[100.0], [101.0], [99.0], [100.5], [150.0]]
    plain = geometric_mean_interval(rows)
    weighed = geometric_mean_interval([*(Launch(row, [1.0]) for row in rows[:4]), Launch(rows[4], [0.02])])
    assert 100 < weighed.value < 101 < plain.value
    assert weighed.half_width_ratio < plain.half_width_ratio / 2


def test_within_a_launch_the_windows_weigh_too():
    found = geometric_mean_interval([Launch([100.0, 200.0], [1.0, 0.0001]), Launch([100.0], [1.0])])
    assert found.value == pytest.approx(100, rel=1e-3)


def test_the_interval_of_a_weighted_mean_covers_the_truth():
    rng, covered = np.random.default_rng(4), 0
    for _ in range(400):
        scatter = rng.choice([0.01, 0.06], 10, p=[0.6, 0.4])
        rows = [Launch(np.exp(rng.normal(0, sd, 2)).tolist(), [sd**-2] * 2) for sd in scatter]
        covered += covers(geometric_mean_interval(rows, resamples=300), 1.0)
    assert covered / 400 > 0.92


def test_blocks_that_lack_one_side_are_left_out():
    first = [[100.0, 101.0], [math.nan], [104.0], [99.0, 98.0]]
    second = [[50.0], [51.0], [51.0, 52.0], []]
    found = compare(first, second)
    assert found == compare([first[0], first[2]], [second[0], second[2]])
    assert found.blocks_count == 2


def test_a_ratio_of_one_block_has_no_interval_and_no_p_value():
    found = compare([[200.0]], [[100.0]])
    assert found.interval.value == pytest.approx(2.0)
    assert np.isnan([found.interval.low, found.interval.high, found.p_value]).all()


def test_ratios_without_variation_are_certain():
    assert compare([1.0, 2.0], [1.0, 2.0]).p_value == 1.0
    assert compare([2.0, 4.0], [1.0, 2.0]).p_value == 0.0


def test_unequal_numbers_of_blocks_cannot_be_paired():
    with pytest.raises(ValueError, match="cannot be paired: 2 and 3"):
        ratio_interval([1.0, 2.0], [1.0, 2.0, 3.0])


def test_a_difference_is_a_mean_of_differences_and_may_hold_zeros():
    found = compare([[0.0, 2.0], [4.0], [6.0]], [0.0, 1.0, 2.0], kind="difference")
    assert found.interval.value == pytest.approx((1 + 3 + 4) / 3)
    assert found.interval.low < found.interval.value < found.interval.high


# Ratios of two runs -----------------------------------------------------------------------------------------------

some_launches = st.lists(st.lists(throughputs, min_size=1, max_size=3), min_size=2, max_size=6)


@pytest.mark.parametrize(("first_count", "second_count"), [(3, 3), (5, 5), (4, 12), (15, 10)])
@pytest.mark.parametrize(("first_sd", "second_sd"), [(0.02, 0.02), (0.01, 0.05)])
def test_the_interval_of_an_unpaired_ratio_covers_the_truth(first_count, second_count, first_sd, second_sd):
    rng = np.random.default_rng(50)
    found = [
        compare_unpaired(
            1.1 * simulated(rng, first_count, 2, first_sd, 0.01),
            simulated(rng, second_count, 2, second_sd, 0.01),
            seed=seed,
            resamples=FAST,
        )
        for seed in range(EXPERIMENTS)
    ]
    assert 0.91 <= np.mean([covers(each.interval, 1.1) for each in found]) <= 0.99


# The same examples every time: what is tested is a frequency.
@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    st.integers(3, 10), st.integers(3, 10), st.floats(0.005, 0.05), st.floats(0.005, 0.05), st.integers(0, 2**32 - 1)
)
def test_an_unpaired_ratio_is_covered_whatever_the_launches_are(first_count, second_count, first_sd, second_sd, seed):
    rng = np.random.default_rng(seed)
    covered = [
        covers(
            compare_unpaired(
                simulated(rng, first_count, 2, first_sd), simulated(rng, second_count, 2, second_sd), resamples=FAST
            ).interval,
            1.0,
        )
        for _ in range(200)
    ]
    # 95 % of 200, less four standard errors: 88 %.
    assert np.mean(covered) >= 0.88


def test_without_windows_of_its_own_an_unpaired_ratio_has_the_interval_and_p_value_of_welch():
    rng = np.random.default_rng(51)
    first, second = 1.03 * simulated(rng, 40, 1, 0.01, 0.01), simulated(rng, 20, 1, 0.05, 0.01)
    welch = stats.ttest_ind(np.log(first[:, 0]), np.log(second[:, 0]), equal_var=False)
    found, expected = compare_unpaired(first, second), welch.confidence_interval()
    width = expected.high - expected.low
    assert np.log([found.interval.low, found.interval.high]) == pytest.approx(tuple(expected), abs=0.05 * width)
    assert found.p_value == pytest.approx(welch.pvalue, abs=0.03)
    assert found.blocks_count == 20


@settings(max_examples=50, deadline=None)
@given(some_launches, some_launches)
def test_the_p_value_of_an_unpaired_ratio_agrees_with_its_interval(first, second):
    found = compare_unpaired(first, second, resamples=200)
    interval = found.interval
    assert interval.low <= interval.value <= interval.high
    if min(abs(math.log(end)) for end in (interval.low, interval.high)) > 1e-9:
        assert (found.p_value < 0.05) == (not covers(interval, 1.0))


@settings(max_examples=50, deadline=None)
@given(some_launches, some_launches, st.floats(min_value=1e-3, max_value=1e3))
def test_a_factor_of_one_run_is_a_factor_of_the_ratio(first, second, factor):
    plain = compare_unpaired(first, second, resamples=200).interval
    scaled = compare_unpaired([[factor * value for value in row] for row in first], second, resamples=200).interval
    assert ends(scaled) == pytest.approx([factor * end for end in ends(plain)], rel=1e-6)


def test_an_unpaired_ratio_does_not_depend_on_the_order_of_launches_as_a_paired_one_does():
    rng = np.random.default_rng(52)
    drift = np.exp(rng.normal(0, 0.1, (12, 1)))
    first, second = drift * simulated(rng, 12), drift * simulated(rng, 12)
    unpaired, paired = compare_unpaired(first, second).interval, compare(first, second).interval
    assert unpaired.value == pytest.approx(paired.value)
    assert unpaired.half_width_ratio > 2 * paired.half_width_ratio


@pytest.mark.parametrize(("first", "second"), [([[200.0]], [[100.0], [100.0]]), ([[200.0], [200.0]], [[100.0]])])
def test_one_launch_on_either_side_gives_a_ratio_without_interval(first, second):
    found = compare_unpaired(first, second)
    assert found.interval.value == pytest.approx(2.0)
    assert np.isnan([found.interval.low, found.interval.high, found.p_value]).all()


def test_a_run_without_launches_has_no_ratio():
    assert np.isnan(ends(compare_unpaired([], [[1.0], [2.0]]).interval)).all()


def test_launches_that_never_vary_give_a_certain_ratio_also_where_windows_vary():
    found = compare_unpaired([[2.0], [2.0]], [[1.0], [1.0], [1.0]])
    assert ends(found.interval) == pytest.approx((2.0, 2.0, 2.0))
    assert found.p_value == 0.0
    windows = [[1.0, 4.0], [1.0, 4.0]]
    assert compare_unpaired(windows, windows).p_value == 1.0


# Percentiles ------------------------------------------------------------------------------------------------------


def histogram(values_us):
    values, counts = np.unique(np.asarray(values_us), return_counts=True)
    return Histogram(tuple(values.tolist()), tuple(counts.tolist()))


def launch_of(rng, samples=4000):
    scale, shape = 500 * np.exp(rng.normal(0, 0.05)), 0.3 + rng.normal(0, 0.03)
    return histogram((scale * np.exp(shape * rng.standard_normal(samples))).astype(int))


def test_percentiles_are_those_of_the_merged_histogram_in_seconds():
    rng = np.random.default_rng(6)
    launches = [launch_of(rng) for _ in range(4)]
    merged = histograms.merge(launches)
    found = percentile_intervals(launches, (50.0, 99.0), resamples=100)
    expected = histograms.percentiles(merged.values_us, merged.counts, (50.0, 99.0)) / 1e6
    assert [found[50.0].value, found[99.0].value] == pytest.approx(expected)
    assert all(each.low < each.value < each.high for each in found.values())


def test_the_interval_of_a_percentile_covers_the_truth():
    rng = np.random.default_rng(40)
    truth = histograms.merge(launch_of(rng, 1000) for _ in range(1000))
    expected = histograms.percentiles(truth.values_us, truth.counts, (50.0, 99.0)) / 1e6
    covered = []
    for seed in range(200):
        found = percentile_intervals([launch_of(rng, 1000) for _ in range(5)], (50, 99), seed=seed, resamples=100)
        covered.append([covers(found[50], expected[0]), covers(found[99], expected[1])])
    coverage = np.mean(covered, axis=0)
    assert (coverage >= 0.9).all()
    assert (coverage <= 0.99).all()


def test_a_percentile_with_fewer_than_ten_samples_beyond_it_is_not_estimable():
    launches = [histogram(range(1, 501)), histogram(range(1, 500))]
    assert math.isnan(percentile_intervals(launches, (99.0,), resamples=50)[99.0].value)
    enough = [*launches, histogram([1])]
    assert percentile_intervals(enough, (99.0,), resamples=50)[99.0].value == pytest.approx(495e-6)


def test_one_launch_gives_percentiles_without_intervals_and_none_gives_nan():
    one = percentile_intervals([histogram(range(1, 101)), Histogram((), ())], (50.0,))[50.0]
    assert one.value == pytest.approx(50e-6)
    assert math.isnan(one.low)
    assert np.isnan(ends(percentile_intervals([], (50.0,))[50.0])).all()


def test_a_percentile_on_which_all_launches_agree_has_an_interval_without_width():
    same = percentile_intervals([histogram([7] * 50)] * 3, (50.0,), resamples=50)[50.0]
    assert same == Interval(same.value, same.value, same.value)


def test_percentiles_of_the_same_seed_are_the_same():
    rng = np.random.default_rng(8)
    launches = [launch_of(rng) for _ in range(5)]
    first, second, other = (percentile_intervals(launches, (90.0,), seed=seed, resamples=100) for seed in (1, 1, 2))
    assert first == second
    assert first != other
