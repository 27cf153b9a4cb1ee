"""The whole method on simulated launches: blocks until the ratios are precise, then verdicts; the sources of its constants."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from runners.analyse.comparisons import against_leader, compare_sides, leader_of
from runners.stats.verdicts import noise_floor, precision_reached, verdict
from tests.conftest import examples

RATES = {"a": 1.0, "same": 1.0, "slower": 0.95}
RUNS = 100
LEAST, MOST = 10, 40


def launches(draw, rates, blocks, launch_sd, drift_sd=0.1, within=0.0):
    """System → block → throughput; `within`: the correlation of a system's launches from block to block."""
    drift = draw.normal(0, drift_sd, blocks)
    found = {}
    for system, rate in rates.items():
        own = draw.normal(0, launch_sd, blocks)
        for block in range(1, blocks):
            own[block] = within * own[block - 1] + np.sqrt(1 - within**2) * own[block]
        found[system] = pd.Series(rate * np.exp(drift + own), index=range(1, blocks + 1))
    return found


def decide(draw, launch_sd, precision=0.02):
    """System → verdict, of one run that stops as runs do, against its leader."""
    sides = launches(draw, RATES | {"control": 1.0}, MOST, launch_sd)
    for blocks in range(LEAST, MOST + 1):
        now = {system: side[:blocks] for system, side in sides.items()}
        control = compare_sides(now.pop("control"), now["a"])
        found = against_leader(now)
        if precision_reached([control.interval, *(each.interval for each in found.values())]) <= precision:
            break
    floor = noise_floor(control.interval)
    return {system: verdict(each.interval, floor) for system, each in found.items()}


@examples(2, derandomize=True)
@given(st.floats(0.001, 0.03), st.integers(0, 1000))
def test_equal_systems_are_rarely_told_apart_and_five_percent_are_found(launch_sd, seed):
    draw = np.random.default_rng(seed)
    decided = [decide(draw, launch_sd) for _ in range(RUNS)]
    false = sum(said.get("same", said.get("a")) == "slower" for said in decided)
    found = sum(said.get("slower") == "slower" for said in decided)
    # At most 5 %, at least 95 %; of 100 runs chance allows a few more or less.
    assert false <= 10
    assert found >= 90
    assert all(said.get("slower") != "faster" for said in decided)


@pytest.mark.parametrize("systems", [2, 3, 5, 8])
@pytest.mark.parametrize("blocks", [4, 10])
def test_intervals_against_the_leader_that_the_data_name_hold_together(systems, blocks):
    """Of equal systems the fastest is so by chance: all intervals of a family hold 1 in at least 95 % of the runs."""
    draw = np.random.default_rng(systems * 100 + blocks)
    runs = 600
    held = 0
    for _ in range(runs):
        sides = launches(draw, dict.fromkeys(map(str, range(systems)), 1.0), blocks, 0.02)
        held += all(each.interval.low <= 1 <= each.interval.high for each in against_leader(sides).values())
    # 95 %, less three standard errors.
    assert held / runs >= 0.923


def test_student_s_t_would_not_hold_together():
    """The reason for the larger critical value: a fixed one for two systems errs several times as often."""
    draw = np.random.default_rng(1)
    wrong = 0
    for _ in range(300):
        sides = launches(draw, dict.fromkeys("abcde", 1.0), 10, 0.02)
        leader = leader_of(sides)
        found = [compare_sides(side, sides[leader]) for system, side in sides.items() if system != leader]
        wrong += any(not each.interval.low <= 1 <= each.interval.high for each in found)
    assert wrong / 300 > 0.1
