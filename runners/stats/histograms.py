"""Histograms of response times: undo wrk's correction, merge, describe; and response times that are known by calculation."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runners.core.histogram import Histogram

MIN_SAMPLES_BEYOND = 10
_DENSE = 16  # times as many values as bins

DELAY_S, STALL_S, EVERY_S, WORK_S = 0.005, 0.1, 1.0, 2e-3
"""Times of ``servers/calibration``: the delay of /delayed, length and period of the stalls of /stalled, the work of /work."""


def correct(histogram: Histogram, expected_us: int) -> Histogram:
    """Return the histogram that wrk prints for a raw one, with its correction for coordinated omission.

    A service time n of at least twice the expected interval E stands for requests that were not sent meanwhile, so
    wrk adds samples at n − E, n − 2E, … as long as they are greater than E (``stats_correct`` in its src/stats.c). It
    goes through the values upwards, so what it adds is never corrected again: above E, the corrected count at m is
    the sum of the raw counts at m, m + E, m + 2E, …

    Parameters
    ----------
    histogram : Histogram
        Raw service times.
    expected_us : int
        The interval E, at least 1.
    """
    _check_interval(expected_us)
    values, counts = histogram.arrays
    if not len(values) or values[-1] < 2 * expected_us:
        return histogram
    rows = int(values[-1]) // expected_us + 1
    dense = np.zeros(rows * expected_us, dtype=np.int64)
    dense[values] = counts
    # One row per interval: samples that are multiples of E apart stand in one column.
    filled = dense.reshape(rows, expected_us)[::-1].cumsum(axis=0)[::-1].ravel()
    filled[: expected_us + 1] = dense[: expected_us + 1]
    return Histogram(np.flatnonzero(filled), filled[filled > 0])


def recover(histogram: Histogram, expected_us: int) -> Histogram:
    """Return the raw histogram of a corrected one: the exact inverse of :func:`correct`.

    By the sum given there, the raw count at m > E is the corrected count at m less the corrected count at m + E.

    Raises
    ------
    ValueError
        When no raw histogram leads to this one with this interval.
    """
    _check_interval(expected_us)
    values, counts = histogram.arrays
    if not len(values):
        return histogram
    place = np.searchsorted(values, values + expected_us)
    place[place == len(values)] = 0
    added = np.where((values > expected_us) & (values[place] == values + expected_us), counts[place], 0)
    raw = counts - added
    if raw.min() < 0 or added.sum() != counts[values > 2 * expected_us].sum():
        raise ValueError(f"not a histogram that wrk corrected with an expected interval of {expected_us} µs")
    return Histogram(values[raw > 0], raw[raw > 0])


def merge(histograms: Iterable[Histogram]) -> Histogram:
    """Merge the samples of several histograms."""
    parts = [histogram.arrays for histogram in histograms]
    if not parts:
        return Histogram((), ())
    all_values, all_counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    if all_values.max(initial=0) < _DENSE * len(all_values):
        # An array as long as the largest value is quicker than sorting: ten thousand trials have millions of bins.
        dense = np.zeros(all_values.max() + 1, dtype=np.int64)
        np.add.at(dense, all_values, all_counts)
        values = np.flatnonzero(dense)
        return Histogram(values, dense[values])
    values, place = np.unique(all_values, return_inverse=True)
    counts = np.zeros(len(values), dtype=np.int64)
    np.add.at(counts, place, all_counts)
    return Histogram(values, counts)


def percentiles(values: ArrayLike, counts: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """Return percentiles by nearest rank: the smallest value that at least q % of the samples do not exceed.

    This is definition 1 of Hyndman and Fan (1996). wrk takes the next sample when q % of the count is a whole number.

    Parameters
    ----------
    values, counts : array_like
        The histogram.
    q : array_like
        Percentages, above 0 and up to 100.
    """
    samples, cumulative = np.asarray(values, dtype=np.float64), np.cumsum(counts)
    wanted = np.asarray(q, dtype=np.float64)
    if not len(samples):
        return np.full(wanted.shape, np.nan)
    return np.asarray(samples[np.searchsorted(cumulative, _rank(int(cumulative[-1]), wanted))])


def estimable(total: int, q: float) -> bool:
    """Return whether at least `MIN_SAMPLES_BEYOND` samples lie beyond a percentile."""
    return total - int(_rank(total, np.float64(q))) >= MIN_SAMPLES_BEYOND


def mean(values: ArrayLike, counts: ArrayLike) -> float:
    """Return the arithmetic mean; NaN without a sample."""
    total = np.sum(counts)
    return float(np.dot(values, counts) / total) if total else float("nan")


def stddev(values: ArrayLike, counts: ArrayLike) -> float:
    """Return the standard deviation of a sample, with n − 1 as in wrk."""
    total = np.sum(counts)
    if total < 2:
        return float("nan")
    deviations = np.asarray(values, dtype=np.float64) - mean(values, counts)
    return float(np.sqrt(np.dot(deviations**2, counts) / (total - 1)))


def trimmed_mean(values: ArrayLike, counts: ArrayLike, fraction: float = 0.01) -> float:
    """Return the mean without the best and the worst samples; with 0.01 it is called tm99 here.

    Samples on the edge count in part, so that exactly this fraction of the whole is left out at each end.

    Parameters
    ----------
    values, counts : ArrayLike
        The histogram.
    fraction : float
        Share of the samples to leave out at each end, at least 0 and less than 0.5.
    """
    if not 0 <= fraction < 0.5:
        raise ValueError(f"cannot leave out {fraction} of the samples at each end")
    edges = np.concatenate(([0.0], np.cumsum(counts)))
    total = edges[-1]
    kept = np.diff(np.clip(edges, fraction * total, (1 - fraction) * total))
    return float(np.dot(values, kept) / kept.sum()) if total else float("nan")


def maximum(values: ArrayLike, counts: ArrayLike) -> float:
    """Return the largest value that has samples."""
    samples = np.asarray(values, dtype=np.float64)[np.asarray(counts) > 0]
    return float(samples.max()) if len(samples) else float("nan")


def _rank(total: int, q: NDArray[np.float64] | np.float64) -> NDArray[np.int64]:
    # Rounded first: 99.9 % of 1000 is 999, though the product of floats is a little more.
    return np.ceil(np.round(q * total / 100, 6)).astype(np.int64)


def _check_interval(expected_us: int) -> None:
    if expected_us < 1:
        raise ValueError(f"an expected interval has at least 1 µs, not {expected_us}")


def stalled_response_s(percentile: float) -> float:
    """Return the response time of a server that delays by `DELAY_S` and stands still for `STALL_S` every `EVERY_S`.

    Arrivals at any moment are equally likely. One in a stall waits for its end, and then for the delay; one whose response falls due in
    a stall gets it at the end of that.
    """
    share = (1 - percentile / 100) * EVERY_S
    # Longer than r: of the arrivals in a stall those of (STALL + DELAY - r) seconds; and of those just before it, all up to STALL.
    if share >= STALL_S + DELAY_S:
        return DELAY_S
    return STALL_S + 2 * DELAY_S - share if share >= 2 * DELAY_S else STALL_S + DELAY_S - share / 2


def mean_wait_s(rate_rps: float, service_s: float) -> float:
    """Return the mean wait in a queue with one server, Poisson arrivals and a constant service time (Pollaczek and Khinchine)."""
    busy = rate_rps * service_s
    return busy * service_s / (2 * (1 - busy)) if busy < 1 else math.inf
