"""The whole method on simulated launches and windows: blocks until the ratios are precise, then verdicts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.analyse.estimates import compare
from runners.analyse.verdicts import holm, noise_floor, precision_reached, verdict

RATES = {"a": 1.0, "same": 1.0, "slower": 0.95, "placebo": 1.0}
PAIRS = [("a", "same"), ("a", "slower"), ("same", "slower")]
RUNS = 60
BLOCKS = range(5, 41)


def decide(draw, launch_sd, window_sd, drift_sd):
    """The verdicts of one run that stops as runs do."""
    cells = {system: [] for system in RATES}
    for block in range(1, BLOCKS[-1] + 1):
        drift = draw.normal(0, drift_sd)
        for system, rate in RATES.items():
            launch = np.log(rate) + drift + draw.normal(0, launch_sd)
            cells[system].append(np.exp(launch + draw.normal(0, window_sd, 2)))
        if block in BLOCKS:
            found = {
                (first, second): compare(cells[first], cells[second], resamples=200)
                for first, second in [*PAIRS, ("placebo", "a")]
            }
            if block == BLOCKS[-1] or precision_reached(found[pair].interval for pair in found) <= 0.02:
                break
    floor = noise_floor([found["placebo", "a"].interval])
    adjusted = holm([found[pair].p_value for pair in PAIRS])
    return [verdict(found[pair].interval, floor, p) for pair, p in zip(PAIRS, adjusted, strict=True)]


@settings(max_examples=4, deadline=None, derandomize=True)
@given(st.floats(0.001, 0.012), st.floats(0.001, 0.03), st.integers(0, 1000))
def test_equal_systems_are_rarely_told_apart_and_five_percent_are_found(launch_sd, window_sd, seed):
    draw = np.random.default_rng(seed)
    decided = [decide(draw, launch_sd, window_sd, drift_sd=0.1) for _ in range(RUNS)]
    false = sum(same in ("faster", "slower") for same, _, _ in decided)
    found = sum(slower == "faster" for _, slower, _ in decided)
    # At most 5 %, at least 95 %; of 60 runs chance allows a few more or less.
    assert false <= 6
    assert found >= 54
    assert not any(slower == "slower" for _, slower, _ in decided)
