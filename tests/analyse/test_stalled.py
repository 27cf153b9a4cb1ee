"""The server that stops at times: its calculated response times are those of arrivals at any moment."""

import numpy as np
import pytest

from runners.analyse.stalled import DELAY_S, EVERY_S, STALL_S, stalled_response_s


@pytest.mark.parametrize("percentile", [10.0, 50.0, 89.0, 92.0, 95.0, 99.0, 99.5, 99.9])
def test_the_percentiles_of_the_stalled_server_are_those_of_arrivals_at_any_moment(percentile):
    phase = np.linspace(0, EVERY_S, 1_000_001)
    due = np.maximum(phase, STALL_S) + DELAY_S
    # What falls due in the next stall comes at its end.
    responded = np.where(due >= EVERY_S, EVERY_S + STALL_S, due)
    assert np.percentile(responded - phase, percentile) == pytest.approx(stalled_response_s(percentile), abs=1e-5)
