"""What was achieved of a fixed rate is counted by the schedule where there is one."""

import math

import pandas as pd
import pytest

from runners.analyse.cells import _achieved


def windows(of_schedule):
    return pd.DataFrame({"achieved_fraction": of_schedule, "offered_rps": 1000.0})


def test_fewer_arrivals_than_the_rate_makes_of_the_time_are_no_loss():
    assert _achieved(windows([1.0, 0.998]), 960.0) == pytest.approx(0.999)


def test_without_a_schedule_the_rate_decides():
    assert _achieved(windows([math.nan, math.nan]), 960.0) == pytest.approx(0.96)


def test_a_closed_loop_has_none():
    closed = windows([math.nan]).assign(offered_rps=math.nan)
    assert math.isnan(_achieved(closed, 960.0))
