"""Windows of many connections: how long they are, and when they begin."""

import subprocess
import sys
import time

import pytest

from runners.core.parameters import PROFILES, Parameters
from runners.measure.design import design, load_shapes
from runners.measure.load import MOST_RAMP_UP_S, expected_ramp_up_s, wait_until_open, window_seconds
from runners.measure.run import block_seconds
from runners.measure.sampling import open_files
from runners.systems.catalogue import Catalogue

OPENS = "import sys, time; kept = [open('/dev/null') for _ in range(int(sys.argv[1]))]; time.sleep(20)"


@pytest.mark.parametrize(
    ("wanted_s", "connections", "seconds"),
    [(1.0, 20, 1.0), (1.0, 1000, 1.0), (1.0, 10_000, 3.0), (1.0, 20_000, 6.0), (15.0, 20_000, 15.0)],
)
def test_a_window_gives_each_of_many_connections_the_time_for_several_responses(wanted_s, connections, seconds):
    assert window_seconds(wanted_s, connections) == pytest.approx(seconds)


def test_opening_is_slow_where_more_than_half_of_the_ports_are_needed():
    assert expected_ramp_up_s(100, 28_232) == 0
    assert expected_ramp_up_s(14_000, 28_232) < 1 < expected_ramp_up_s(19_900, 28_232)
    assert expected_ramp_up_s(19_900, 45_536) < 1


def test_a_fresh_block_s_length_knows_of_launches_and_long_windows():
    def seconds(counts, *, process_per_cell):
        shapes = load_shapes(Parameters(**{"connection_counts": counts}))
        found = design(Catalogue(), ["json10"], systems=["gin"], shapes=shapes, process_per_cell=process_per_cell)
        return block_seconds(found, PROFILES["quick"], 80)

    assert seconds([10], process_per_cell=True) > seconds([10], process_per_cell=False)
    assert seconds([10_000], process_per_cell=True) >= seconds([10], process_per_cell=True) + 2 * 2.0


@pytest.fixture
def opening():
    process = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {OPENS!r}, '300'])"]
    )
    yield process
    for pid in [child.pid for child in __import__("psutil").Process(process.pid).children(recursive=True)]:
        __import__("os").kill(pid, 9)
    process.wait()


def test_the_window_begins_when_the_connections_are_open(opening):
    took = wait_until_open(opening, 300)
    assert opening.poll() is None
    assert took < MOST_RAMP_UP_S
    (child,) = __import__("psutil").Process(opening.pid).children()
    assert open_files(child.pid) >= 300


def test_a_generator_that_ends_is_not_waited_for():
    process = subprocess.Popen(["true"])
    process.wait()
    assert wait_until_open(process, 1000) < MOST_RAMP_UP_S / 2


def test_a_process_that_is_gone_has_no_open_files():
    process = subprocess.Popen(["true"])
    process.wait()
    time.sleep(0.01)
    assert open_files(process.pid) == 0
