"""Processes that are stopped and go on, and the clock that stands still meanwhile."""

import signal
import subprocess
import sys
import time

import psutil
import pytest
from hypothesis import given, strategies as st

from runners.measure.conformance import build_all, full_image
from runners.measure.virtual_clock import Processes, ProcessSuspender, VirtualClock
from runners.systems.catalogue import Catalogue
from runners.systems.sandbox import Sandbox

TELLS = """
import ctypes, sys, time
class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("us", ctypes.c_long)]
clock, now = ctypes.CDLL("/build/clock.so"), Time()
for line in sys.stdin:
    clock.gettimeofday(ctypes.byref(now), None)
    print(now.s + now.us / 1e6, flush=True)
"""


@pytest.fixture
def busy():
    """A process that computes for ever."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield process
        process.send_signal(signal.SIGKILL)


@pytest.fixture
def clock(tmp_path):
    with VirtualClock(tmp_path) as found:
        yield found


def stopped(process):
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if psutil.Process(process.pid).status() == psutil.STATUS_STOPPED:
            return True
        time.sleep(0.001)
    return False


def goes_on(process):
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
            return True
        time.sleep(0.001)
    return False


def test_processes_stop_and_go_on_and_do_so_whatever_happened(busy):
    def fail():
        with Processes([busy.pid]) as processes:
            processes.stop()
            assert stopped(busy)
            processes.go_on()
            assert goes_on(busy)
            processes.stop()
            assert stopped(busy)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert goes_on(busy)


def test_a_process_stops_at_once_though_its_first_thread_sleeps():
    threads = (
        "import threading, time\nthreading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", threads]) as program, Processes([program.pid]) as processes:
        time.sleep(0.3)
        for _ in range(20):
            processes.stop()
            before_s = processes.cpu_s
            time.sleep(0.02)
            assert processes.cpu_s - before_s < 0.005
            processes.go_on()
            time.sleep(0.005)
        assert processes.cpu_s > 0.05
        program.kill()


def test_a_process_that_has_ended_is_left_alone(busy):
    gone = subprocess.Popen(["true"])
    gone.wait()
    before = psutil.Process().num_fds()
    with Processes([gone.pid, busy.pid]) as processes:
        busy.kill()
        busy.wait()
        processes.stop()
        processes.interrupt()
    assert psutil.Process().num_fds() == before


def test_a_freezer_counts_the_time_in_which_both_ran_and_moves_the_clock_by_the_rest(busy, clock):
    since = time.monotonic()
    with Processes([busy.pid]) as generator, Processes([]) as server:
        suspender = ProcessSuspender(clock, generator, server, since)
        for _ in range(3):
            suspender.stop()
            suspender.stop()  # twice is once
            time.sleep(0.01)
            suspender.go_on()
            suspender.go_on()
        suspender.stop()
        end = time.monotonic()
    assert len(suspender.intervals) == 4
    assert clock.stood_s >= 0.03
    assert suspender.ran_s + clock.stood_s == pytest.approx(end - since, abs=0.05)
    starts_and_ends = [moment for interval in suspender.intervals for moment in interval]
    assert starts_and_ends == sorted(starts_and_ends)


@given(st.lists(st.floats(0, 1e4), max_size=20))
def test_the_file_holds_how_long_the_clock_stood(tmp_path_factory, durations_s):
    with VirtualClock(tmp_path_factory.mktemp("clock")) as clock:
        for duration_s in durations_s:
            clock.stand(duration_s)
        stood_ns = int.from_bytes(clock.path.read_bytes(), "little", signed=True)
    assert stood_ns == pytest.approx(1e9 * sum(durations_s), abs=1e3)


@pytest.mark.servers
def test_a_program_with_the_clock_sees_time_pass_only_while_it_does_not_stand(clock):
    catalogue = Catalogue()
    image = full_image(catalogue)
    built = build_all(catalogue, [catalogue.server("wrk")])["wrk"].folder
    sandbox = Sandbox(
        image,
        read_only={"/load": clock.path.parent, "/build": built},
        env={"VIRTUAL_CLOCK": f"/load/{clock.path.name}"},
    )
    command = sandbox.command(["python3", "-c", TELLS])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:

        def shown():
            program.stdin.write("\n")
            program.stdin.flush()
            return float(program.stdout.readline())

        first = shown()
        assert abs(first - time.monotonic()) < 1
        clock.stand(5.0)
        assert shown() == pytest.approx(first, abs=1e-5)  # never back
        clock.stand(-5.0)
        assert shown() - first < 1
        clock.stand(100.0)
        latest = shown()
        clock.stand(-200.0)
        assert shown() - latest > 100
        program.stdin.close()


@pytest.mark.servers
def test_a_program_whose_clock_is_missing_does_not_start():
    catalogue = Catalogue()
    image = full_image(catalogue)
    built = build_all(catalogue, [catalogue.server("wrk")])["wrk"].folder
    env = {"LD_PRELOAD": "/build/clock.so", "VIRTUAL_CLOCK": "/nowhere"}
    command = Sandbox(image, read_only={"/build": built}, env=env).command(["true"])
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 127
    assert "does not name a clock" in ended.stderr
