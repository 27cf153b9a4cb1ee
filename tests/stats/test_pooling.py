"""Sessions pooled: what one says, what several say, and what the next will."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from runners.core.records import Interval
from runners.stats.estimates import UNKNOWN, critical_value
from runners.stats.pooling import Estimate, pool


def session(value, error, launches=8):
    arm = critical_value(2, launches - 1) * error
    return Estimate(Interval(value, value * math.exp(-arm), value * math.exp(arm)), launches)


SESSIONS = st.lists(
    st.builds(session, st.floats(0.05, 20), st.floats(1e-4, 0.2), st.integers(2, 40)), min_size=2, max_size=8
)


def parts(interval):
    return interval.value, interval.low, interval.high


@given(SESSIONS, st.randoms(use_true_random=False))
def test_the_order_of_sessions_changes_nothing(sessions, chance):
    shuffled = list(sessions)
    chance.shuffle(shuffled)
    one, other = pool(sessions), pool(shuffled)
    assert parts(one.further) == pytest.approx(parts(other.further), rel=1e-5)
    assert parts(one.mean) == pytest.approx(parts(other.mean), rel=1e-5)
    assert one.between == pytest.approx(other.between, rel=1e-4, abs=1e-7)


@given(SESSIONS)
def test_the_interval_of_a_further_session_holds_that_of_the_mean(sessions):
    found = pool(sessions)
    assert found.further.low < found.mean.low <= found.mean.value <= found.mean.high < found.further.high
    assert found.between >= 0


@given(SESSIONS, st.floats(0.01, 100))
def test_pooling_ratios_in_another_unit_gives_the_same_in_that_unit(sessions, unit):
    scaled = [
        Estimate(Interval(*(end * unit for end in parts(each.interval))), each.launches_count) for each in sessions
    ]
    one, other = pool(sessions), pool(scaled)
    assert parts(other.further) == pytest.approx([end * unit for end in parts(one.further)], rel=1e-5)


@given(st.floats(0.05, 20), st.floats(1e-4, 0.1), st.integers(2, 8))
def test_sessions_that_agree_have_no_spread_between_them(value, error, count):
    found = pool([session(value, error)] * count)
    assert found.between == 0
    assert found.mean.value == pytest.approx(value)
    # Of a further session: the error of the mean and that of its own launches.
    arm = critical_value(2, count - 1) * error * math.sqrt(1 + 1 / count)
    assert math.log(found.further.high / value) == pytest.approx(arm, rel=1e-6)


@given(st.lists(st.floats(0.1, 10), min_size=3, max_size=8, unique=True))
def test_precise_sessions_give_the_prediction_interval_of_a_normal_sample(values):
    logs = np.log(values)
    spread = logs.std(ddof=1)
    if spread < 0.01:
        return
    found, count = pool([session(value, 1e-6) for value in values]), len(values)
    arm = critical_value(2, count - 1) * spread * math.sqrt(1 + 1 / count)
    assert math.log(found.further.high / found.further.value) == pytest.approx(arm, rel=1e-3)
    assert found.between == pytest.approx(math.expm1(spread), rel=1e-3)


def test_one_session_and_sessions_without_an_interval_are_not_pooled():
    one = session(2.0, 0.01)
    assert pool([]) is None
    assert pool([one]) is None
    assert pool([one, Estimate(UNKNOWN, 0), Estimate(Interval(2.0, math.nan, math.nan), 1)]) is None
    assert pool([one, one, Estimate(UNKNOWN, 0)]).sessions_count == 2


def test_sessions_whose_launches_are_all_the_same_are_pooled():
    found = pool([session(1.0, 0.0), session(1.0, 0.0), session(1.02, 0.0)])
    assert found.between == pytest.approx(0.0116, abs=0.001)
    assert pool([session(1.0, 0.0)] * 3).further.high == pytest.approx(1.0, abs=1e-4)


def test_a_session_that_lies_apart_widens_the_interval_more_than_a_noisy_one():
    agree = [session(1.0, 0.01), session(1.0, 0.01), session(1.0, 0.01)]
    apart, noisy = pool([*agree, session(1.2, 0.01)]), pool([*agree, session(1.2, 0.2)])
    assert apart.further.high > noisy.further.high
    assert apart.between > 0.05
