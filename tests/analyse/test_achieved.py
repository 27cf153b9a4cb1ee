"""What was achieved of a fixed rate is counted by the schedule where there is one."""

import math

import pandas as pd
import pytest

from runners.analyse.cell_records import _OF_WINDOWS, _of_cells
from runners.analyse.cells import _achieved

CELL = ("gin", "ping")


def windows(of_schedule, offered_rps=1000.0):
    """Return the numbers of a cell whose windows achieved these shares of their schedules."""
    table = pd.DataFrame({"achieved_fraction": of_schedule, "offered_rps": offered_rps})
    return _of_cells(table.assign(system=CELL[0], workload=CELL[1]), _OF_WINDOWS)(CELL)


def test_fewer_arrivals_than_the_rate_makes_of_the_time_are_no_loss():
    assert _achieved(windows([1.0, 0.998]), 960.0) == pytest.approx(0.999)


def test_without_a_schedule_the_rate_decides():
    assert _achieved(windows([math.nan, math.nan]), 960.0) == pytest.approx(0.96)


def test_a_closed_loop_has_none():
    assert math.isnan(_achieved(windows([math.nan], math.nan), 960.0))
