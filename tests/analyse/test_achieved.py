"""What was achieved of a fixed rate is counted by the schedule where there is one."""

import math

import pytest

from runners.analyse.cells import _achieved


def test_fewer_arrivals_than_the_rate_makes_of_the_time_are_no_loss():
    assert _achieved({"achieved_fraction": 0.999, "offered_rps": 1000.0}, 960.0) == 0.999


def test_without_a_schedule_the_rate_decides():
    assert _achieved({"achieved_fraction": math.nan, "offered_rps": 1000.0}, 960.0) == pytest.approx(0.96)


def test_a_closed_loop_has_none():
    assert math.isnan(_achieved({"achieved_fraction": math.nan, "offered_rps": math.nan}, 960.0))
