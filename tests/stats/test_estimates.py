"""The intervals cover what they claim to cover, and the comparisons behave like ratios."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from runners.core.histogram import Histogram
from runners.core.records import Interval
from runners.stats import histograms
from runners.stats.estimates import (
    compare,
    compare_unpaired,
    critical_value,
    geometric_mean_interval,
    mean_interval,
    percentile_intervals,
)

EXPERIMENTS = 2000

throughputs = st.floats(min_value=10.0, max_value=1e6)
cells = st.lists(throughputs, min_size=2, max_size=8)
pairs = st.lists(st.tuples(throughputs, throughputs), min_size=2, max_size=8)


def simulated(rng, launches, sd=0.02):
    """Launches of a cell whose true geometric mean is 1."""
    return np.exp(rng.normal(0, sd, launches))


def ends(interval):
    return (interval.value, interval.low, interval.high)


def covers(interval, truth):
    return interval.low <= truth <= interval.high


# Geometric mean ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("launches", [3, 5, 8, 15])
def test_the_interval_covers_the_truth_as_often_as_it_says(launches):
    rng = np.random.default_rng(20)
    covered = [covers(geometric_mean_interval(simulated(rng, launches)), 1.0) for _ in range(EXPERIMENTS)]
    assert 0.935 <= np.mean(covered) <= 0.965


@given(cells)
def test_the_interval_is_student_s_t_interval_of_the_logarithms(cell):
    logarithms = np.log(cell)
    error = stats.sem(logarithms)
    found = geometric_mean_interval(cell)
    assert found.value == pytest.approx(stats.gmean(cell))
    if error > 0:
        expected = stats.t.interval(0.95, len(cell) - 1, loc=logarithms.mean(), scale=error)
        assert np.log([found.low, found.high]) == pytest.approx(expected)


@given(cells)
def test_the_value_lies_within_its_interval_and_within_the_range_of_its_launches(cell):
    found = geometric_mean_interval(cell)
    assert found.low <= found.value <= found.high
    assert min(cell) * (1 - 1e-12) <= found.value <= max(cell) * (1 + 1e-12)


def test_launches_that_are_missing_are_left_out():
    assert geometric_mean_interval([100.0, math.nan, 110.0]) == geometric_mean_interval([100.0, 110.0])


def test_one_launch_has_a_value_and_says_that_it_has_no_interval():
    found = geometric_mean_interval([200.0])
    assert found.value == pytest.approx(200.0)
    assert np.isnan([found.low, found.high]).all()


@pytest.mark.parametrize("nothing", [[], [math.nan]])
def test_without_a_single_launch_everything_is_nan(nothing):
    assert np.isnan(ends(geometric_mean_interval(nothing))).all()


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf])
def test_a_throughput_without_logarithm_is_an_error(bad):
    with pytest.raises(ValueError, match="measurement is"):
        geometric_mean_interval([100.0, bad])


# Critical values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("freedom", [3, 9, 30])
def test_the_critical_value_of_two_systems_is_student_s_and_grows_with_their_number(freedom):
    known = [critical_value(count, freedom) for count in (1, 2, 3, 5, 9)]
    assert known[0] == known[1] == pytest.approx(stats.t.ppf(0.975, freedom))
    assert (np.diff(known[1:]) > 0).all()


def test_the_critical_value_agrees_with_a_printed_table():
    """Student's t with 10 degrees of freedom leaves 0.25 % at each end beyond 3.581: what ten pairs of five systems need."""
    assert critical_value(5, 10) == pytest.approx(3.581, abs=0.001)


# Ratios -----------------------------------------------------------------------------------------------------------


@given(pairs, st.floats(min_value=1e-3, max_value=1e3))
def test_a_faster_clock_for_both_changes_no_ratio(blocks, factor):
    first, second = np.array(blocks).T
    plain, scaled = compare(first, second), compare(first * factor, second * factor)
    assert _logs(scaled.interval) == pytest.approx(_logs(plain.interval), abs=1e-6)


@given(pairs, st.integers(2, 6))
def test_exchanging_the_systems_inverts_the_ratio(blocks, systems_count):
    first, second = np.array(blocks).T
    there, back = (compare(*sides, systems_count=systems_count) for sides in ((first, second), (second, first)))
    assert _logs(there.interval) == pytest.approx(
        [-end for end in _logs(back.interval, "value", "high", "low")], abs=1e-6
    )
    assert there.p_value == pytest.approx(back.p_value, rel=1e-6, abs=1e-9)


def _logs(interval, *names):
    return [np.clip(np.log(getattr(interval, name)), -700, 700) for name in names or ("value", "low", "high")]


@given(pairs)
def test_a_ratio_lies_within_the_range_of_its_blocks_ratios(blocks):
    ratios = [first / second for first, second in blocks]
    found = compare(*np.array(blocks).T).interval.value
    assert min(ratios) * (1 - 1e-9) <= found <= max(ratios) * (1 + 1e-9)


def test_pairing_cancels_the_drift_that_both_systems_share():
    rng = np.random.default_rng(2)
    drift = np.exp(rng.normal(0, 0.1, 10))
    first, second = drift * simulated(rng, 10), drift * simulated(rng, 10)
    paired, unpaired = (compare(first, other).interval for other in (second, second[rng.permutation(10)]))
    assert paired.half_width_ratio < 0.5 * unpaired.half_width_ratio


@given(pairs)
def test_the_p_value_is_below_five_percent_exactly_where_the_interval_leaves_out_one(blocks):
    found = compare(*np.array(blocks).T)
    interval = found.interval
    if min(abs(math.log(end)) for end in (interval.low, interval.high)) > 1e-9:
        assert (found.p_value < 0.05) == (not covers(interval, 1.0))


def test_blocks_that_lack_one_side_are_left_out():
    first, second = [100.0, math.nan, 104.0, 99.0], [50.0, 51.0, 51.0, math.nan]
    found = compare(first, second)
    assert found == compare([100.0, 104.0], [50.0, 51.0])
    assert found.blocks_count == 2


def test_a_ratio_of_one_block_has_no_interval_and_no_p_value():
    found = compare([200.0], [100.0])
    assert found.interval.value == pytest.approx(2.0)
    assert np.isnan([found.interval.low, found.interval.high, found.p_value]).all()


def test_ratios_without_variation_are_certain():
    assert compare([1.0, 2.0], [1.0, 2.0]).p_value == 1.0
    assert compare([2.0, 4.0], [1.0, 2.0]).p_value == 0.0


def test_unequal_numbers_of_blocks_cannot_be_paired():
    with pytest.raises(ValueError, match="cannot be paired: 2 and 3"):
        compare([1.0, 2.0], [1.0, 2.0, 3.0])


def test_a_difference_is_a_mean_of_differences_and_may_hold_zeros():
    found = compare([1.0, 4.0, 6.0], [0.0, 1.0, 2.0], kind="difference")
    assert found.interval.value == pytest.approx((1 + 3 + 4) / 3)
    assert found.interval.low < found.interval.value < found.interval.high


def test_a_mean_of_one_value_has_no_interval():
    assert np.isnan(ends(mean_interval([3.0]))[1:]).all()


# Ratios of two runs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first_count", "second_count"), [(3, 3), (5, 5), (4, 12), (15, 10)])
@pytest.mark.parametrize(("first_sd", "second_sd"), [(0.02, 0.02), (0.01, 0.05)])
def test_the_interval_of_an_unpaired_ratio_covers_the_truth(first_count, second_count, first_sd, second_sd):
    rng = np.random.default_rng(50)
    found = [
        compare_unpaired(1.1 * simulated(rng, first_count, first_sd), simulated(rng, second_count, second_sd))
        for _ in range(EXPERIMENTS)
    ]
    assert 0.92 <= np.mean([covers(each.interval, 1.1) for each in found]) <= 0.99


@given(cells, cells)
def test_an_unpaired_ratio_has_the_interval_and_p_value_of_welch(first, second):
    found = compare_unpaired(first, second)
    if np.std(np.log(first)) > 1e-6 and np.std(np.log(second)) > 1e-6:
        welch = stats.ttest_ind(np.log(first), np.log(second), equal_var=False)
        assert np.log(ends(found.interval)[1:]) == pytest.approx(tuple(welch.confidence_interval()), rel=1e-6, abs=1e-9)
        assert found.p_value == pytest.approx(welch.pvalue, rel=1e-6, abs=1e-9)
    assert found.blocks_count == min(len(first), len(second))


def test_an_unpaired_ratio_does_not_depend_on_the_order_of_launches_as_a_paired_one_does():
    rng = np.random.default_rng(52)
    drift = np.exp(rng.normal(0, 0.1, 12))
    first, second = drift * simulated(rng, 12), drift * simulated(rng, 12)
    unpaired, paired = compare_unpaired(first, second).interval, compare(first, second).interval
    assert unpaired.value == pytest.approx(paired.value)
    assert unpaired.half_width_ratio > 2 * paired.half_width_ratio


@pytest.mark.parametrize(("first", "second"), [([200.0], [100.0, 100.0]), ([200.0, 200.0], [100.0])])
def test_one_launch_on_either_side_gives_a_ratio_without_interval(first, second):
    found = compare_unpaired(first, second)
    assert found.interval.value == pytest.approx(2.0)
    assert np.isnan([found.interval.low, found.interval.high, found.p_value]).all()


def test_a_run_without_launches_has_no_ratio():
    assert np.isnan(ends(compare_unpaired([], [1.0, 2.0]).interval)).all()


def test_launches_that_never_vary_give_a_certain_ratio():
    found = compare_unpaired([2.0, 2.0], [1.0, 1.0, 1.0])
    assert ends(found.interval) == pytest.approx((2.0, 2.0, 2.0))
    assert found.p_value == 0.0


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
    found = percentile_intervals(launches, (50.0, 99.0))
    expected = histograms.percentiles(merged.values_us, merged.counts, (50.0, 99.0)) / 1e6
    assert [found[50.0].value, found[99.0].value] == pytest.approx(expected)
    assert all(each.low < each.value < each.high for each in found.values())


def test_the_interval_of_a_percentile_covers_the_truth():
    rng = np.random.default_rng(40)
    truth = histograms.merge(launch_of(rng, 1000) for _ in range(1000))
    expected = histograms.percentiles(truth.values_us, truth.counts, (50.0, 99.0)) / 1e6
    covered = []
    for _ in range(300):
        found = percentile_intervals([launch_of(rng, 1000) for _ in range(5)], (50, 99))
        covered.append([covers(found[50], expected[0]), covers(found[99], expected[1])])
    coverage = np.mean(covered, axis=0)
    assert (coverage >= 0.91).all()
    assert (coverage <= 0.99).all()


def test_a_percentile_with_fewer_than_ten_samples_beyond_it_is_not_estimable():
    launches = [histogram(range(1, 501)), histogram(range(1, 500))]
    assert math.isnan(percentile_intervals(launches, (99.0,))[99.0].value)
    enough = [*launches, histogram([1])]
    assert percentile_intervals(enough, (99.0,))[99.0].value == pytest.approx(495e-6)


def test_one_launch_gives_percentiles_without_intervals_and_none_gives_nan():
    one = percentile_intervals([histogram(range(1, 101)), Histogram((), ())], (50.0,))[50.0]
    assert one.value == pytest.approx(50e-6)
    assert math.isnan(one.low)
    assert np.isnan(ends(percentile_intervals([], (50.0,))[50.0])).all()


def test_a_percentile_on_which_all_launches_agree_has_an_interval_without_width():
    same = percentile_intervals([histogram([7] * 50)] * 3, (50.0,))[50.0]
    assert same == Interval(same.value, same.value, same.value)


@given(st.lists(st.lists(st.integers(0, 10_000), min_size=30, max_size=60), min_size=2, max_size=5))
def test_a_percentile_lies_within_its_interval(samples):
    found = percentile_intervals([histogram(values) for values in samples], (50.0,))[50.0]
    assert found.low <= found.value <= found.high
