"""The formulas of the calibration server, against queues on a simulated clock."""

import itertools

import numpy as np
import pytest

from runners.stats import histograms


@pytest.mark.parametrize("percentile", [10.0, 50.0, 89.0, 92.0, 95.0, 99.0, 99.5, 99.9])
def test_the_percentiles_of_the_stalled_server_are_those_of_arrivals_at_any_moment(percentile):
    phase = np.linspace(0, histograms.EVERY_S, 1_000_001)
    read = np.maximum(phase, histograms.STALL_S)
    due = read + histograms.DELAY_S
    # What falls due in the next stall comes at its end.
    served = np.where(due >= histograms.EVERY_S, histograms.EVERY_S + histograms.STALL_S, due)
    assert np.percentile(served - phase, percentile) == pytest.approx(
        histograms.stalled_response_s(percentile), abs=1e-5
    )


@pytest.mark.parametrize("busy", [0.2, 0.6, 0.8])
def test_the_mean_wait_is_that_of_a_simulated_queue(busy):
    service_s, draw = 200e-6, np.random.default_rng(1)
    gaps = draw.exponential(service_s / busy, 400_000)
    # Lindley's recursion: a request waits for what the one before still needs.
    waits = itertools.accumulate(gaps, lambda wait, gap: max(0.0, wait + service_s - gap), initial=0.0)
    assert np.mean(list(waits)) == pytest.approx(histograms.mean_wait_s(busy / service_s, service_s), rel=0.03)


def test_a_queue_that_gets_more_than_it_can_serve_has_no_mean_wait():
    assert histograms.mean_wait_s(6000, 200e-6) == float("inf")
