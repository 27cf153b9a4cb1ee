"""Histograms: wrk's correction and its inverse, and statistics against brute force on expanded samples."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from runners.core.histogram import Histogram
from runners.stats.histograms import (
    correct,
    estimable,
    maximum,
    mean,
    merge,
    percentiles,
    recover,
    stddev,
    trimmed_mean,
)


def histogram_of(counts):
    return Histogram(tuple(sorted(counts)), tuple(counts[value] for value in sorted(counts)))


raw_histograms = st.dictionaries(st.integers(0, 3_000), st.integers(1, 10**9), max_size=40).map(histogram_of)
small_histograms = st.dictionaries(st.integers(1, 500), st.integers(1, 30), min_size=1, max_size=30).map(histogram_of)
intervals = st.integers(1, 4_000)


def expanded(histogram):
    return np.repeat(histogram.values_us, histogram.counts)


def as_wrk_does(histogram, expected_us):
    """Sample by sample, in the order of wrk's loop."""
    data = dict(zip(histogram.values_us, histogram.counts, strict=True))
    for value in range(2 * expected_us, max(data, default=0) + 1):
        added = value - expected_us
        while value in data and added > expected_us:
            data[added] = data.get(added, 0) + data[value]
            added -= expected_us
    return histogram_of(data)


@given(raw_histograms, intervals)
def test_the_correction_is_the_one_of_wrk(raw, expected_us):
    assert correct(raw, expected_us) == as_wrk_does(raw, expected_us)


@given(raw_histograms, intervals)
def test_what_wrk_corrected_is_recovered_exactly(raw, expected_us):
    assert recover(as_wrk_does(raw, expected_us), expected_us) == raw


def test_one_long_pause_is_filled_up_and_taken_out_again():
    raw = Histogram((100, 350, 1000), (50, 1, 1))
    corrected = Histogram((100, 150, 200, 250, 300, 350, 400, 500, 600, 700, 800, 900, 1000), (50, *[1] * 12))
    assert correct(raw, 100) == corrected
    assert recover(corrected, 100) == raw


def test_a_histogram_that_lacks_an_added_sample_is_refused():
    with pytest.raises(ValueError, match="expected interval of 100"):
        recover(Histogram((100, 400, 1000), (50, 1, 1)), 100)


@given(raw_histograms.filter(lambda raw: raw.values_us[-1:] > (2_000,)))
def test_a_wrong_interval_does_not_go_unnoticed(raw):
    with pytest.raises(ValueError, match="not a histogram that wrk corrected"):
        recover(correct(raw, 4_000), 3)


def test_an_interval_of_nothing_is_refused():
    for function in (correct, recover):
        with pytest.raises(ValueError, match="at least 1"):
            function(Histogram((1,), (1,)), 0)


def test_a_histogram_of_many_bins_is_recovered_exactly():
    random = np.random.default_rng(1)
    values, counts = np.unique(random.lognormal(5, 0.8, 40_000).astype(int), return_counts=True)
    raw = Histogram(tuple(values.tolist()), tuple(counts.tolist()))
    corrected = correct(raw, 200)
    assert len(corrected.counts) > 1_500
    assert recover(corrected, 200) == raw


@given(st.lists(small_histograms, max_size=5))
def test_a_merged_histogram_has_the_samples_of_all(parts):
    merged = merge(parts)
    samples = np.concatenate([np.array([], dtype=int), *(expanded(part) for part in parts)])
    assert np.array_equal(expanded(merged), np.sort(samples))
    assert list(merged.values_us) == sorted(set(merged.values_us))


@given(small_histograms, st.integers(1, 10_000))
def test_percentiles_are_those_of_the_expanded_samples(histogram, hundredths):
    samples = np.sort(expanded(histogram))
    rank = -(-hundredths * len(samples) // 10_000)  # exact: integers, rounded up
    found = percentiles(histogram.values_us, histogram.counts, hundredths / 100)
    assert found == samples[rank - 1]


@given(small_histograms)
def test_percentiles_agree_with_numpy(histogram):
    shares = [12.5, 25, 50, 75, 87.5, 100]  # exact in binary, where numpy's ranks are exact too
    expected = np.percentile(expanded(histogram), shares, method="inverted_cdf")
    assert np.array_equal(percentiles(histogram.values_us, histogram.counts, shares), expected)


def test_the_percentiles_of_a_thousand_are_not_off_by_one_float():
    assert list(percentiles(range(1, 1001), [1] * 1000, [99.9, 99, 50, 0.1])) == [999, 990, 500, 1]


@pytest.mark.parametrize(
    ("total", "q", "enough"),
    [(999, 99, False), (1000, 99, True), (9_999, 99.9, False), (10_000, 99.9, True), (100_000, 99.99, True),
     (99_999, 99.99, False), (20, 50, True), (19, 50, False), (0, 50, False)],
)  # fmt: skip
def test_a_percentile_needs_ten_samples_beyond_it(total, q, enough):
    assert estimable(total, q) is enough


@given(small_histograms)
def test_mean_deviation_and_maximum_are_those_of_the_samples(histogram):
    values, counts = histogram.values_us, histogram.counts
    samples = expanded(histogram)
    assert mean(values, counts) == pytest.approx(samples.mean())
    assert maximum(values, counts) == samples.max()
    if len(samples) > 1:
        assert stddev(values, counts) == pytest.approx(samples.std(ddof=1))


@given(small_histograms)
def test_tm99_is_the_mean_without_the_best_and_the_worst_hundredth(histogram):
    # A hundred copies of every sample: then a hundredth at each end is a whole number of them.
    samples = np.repeat(np.sort(expanded(histogram)), 100)
    cut = len(samples) // 100
    found = trimmed_mean(histogram.values_us, histogram.counts, 0.01)
    assert found == pytest.approx(samples[cut : len(samples) - cut].mean())


def test_tm99_forgets_one_outlier_in_a_hundred_at_each_end():
    assert trimmed_mean((1, 50, 10**6), (1, 98, 1), 0.01) == pytest.approx(50)
    assert trimmed_mean((1, 50, 10**6), (1, 98, 1), 0.0) == pytest.approx(mean((1, 50, 10**6), (1, 98, 1)))


@pytest.mark.parametrize("fraction", [-0.01, 0.5, 1])
def test_a_share_that_leaves_nothing_is_refused(fraction):
    with pytest.raises(ValueError, match="leave out"):
        trimmed_mean((1, 2), (1, 1), fraction)


def test_nothing_is_known_of_no_samples():
    empty = Histogram((), ())
    assert correct(empty, 5) == recover(empty, 5) == merge([]) == merge([empty, empty]) == empty
    for statistic in (mean, stddev, trimmed_mean, maximum):
        assert np.isnan(statistic((), ()))
    assert np.isnan(percentiles((), (), [50, 99])).all()
    assert np.isnan(stddev((7,), (1,)))
