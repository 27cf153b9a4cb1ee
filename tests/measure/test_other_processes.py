"""CPU time of processes that are not wrkbook's: what counts, where, and what does not."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runners.measure import other_processes
from runners.measure.other_processes import OtherProcesses, Reading, others, readings, used_between

CPU = min(os.sched_getaffinity(0))
BUSY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    pass
"""


def reading(cpu_s=0.0, children_s=0.0, cpu=0, parent=1):
    return Reading(parent, cpu_s, children_s, cpu)


def test_a_process_counts_with_what_it_used_meanwhile_on_the_cpus_where_it_was_seen():
    before, after = {(7, 1): reading(5.0, cpu=0)}, {(7, 1): reading(5.2, cpu=1)}
    assert used_between(before, after, [0, 1, 2]) == pytest.approx({0: 0.2, 1: 0.2, 2: 0.0})


def test_a_process_that_began_meanwhile_counts_from_its_beginning_even_under_a_known_pid():
    before, after = {(7, 1): reading(5.0)}, {(7, 9): reading(0.3)}
    assert used_between(before, after, [0]) == pytest.approx({0: 0.3})


def test_what_ended_meanwhile_counts_with_what_it_used_meanwhile_on_every_cpu():
    shell = {(3, 1): reading(1.0, children_s=10.0)}
    before = shell | {(7, 1): reading(5.0, cpu=1)}
    # It used 0.4 s more before it ended, and a child that nobody saw used 0.1 s.
    after = {(3, 1): reading(1.0, children_s=15.5)}
    assert used_between(before, after, [0, 1]) == pytest.approx({0: 0.5, 1: 0.5})


def test_what_ended_without_a_trace_takes_nothing_away_from_the_others():
    before = {(7, 1): reading(50.0), (8, 1): reading(1.0)}
    assert used_between(before, {(8, 1): reading(1.3)}, [0]) == pytest.approx({0: 0.3})


def test_own_processes_and_their_descendants_are_not_others():
    found = {(pid, 1): reading(parent=parent) for pid, parent in ((10, 1), (11, 10), (12, 11), (20, 1), (21, 20))}
    assert {pid for pid, _ in others(found, 10)} == {20, 21}


def test_packets_are_handled_for_the_measured_processes(tmp_path):
    own = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2]
    for pid, name in ((os.getpid(), "(ksoftirqd/0)"), (os.getppid(), "(a (b) c)")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} {name}{own}")
    (tmp_path / "2147483647").mkdir()
    (tmp_path / "cpuinfo").touch()
    assert [pid for pid, _ in readings(tmp_path)] == [os.getppid()]


def test_a_process_that_has_not_run_since_is_not_read_again(tmp_path, monkeypatch):
    (tmp_path / str(os.getppid())).mkdir()
    stat = tmp_path / str(os.getppid()) / "stat"
    stat.write_text(Path(f"/proc/{os.getppid()}/stat").read_text())
    used_s = iter([1.0, 1.0, 1.5])
    monkeypatch.setattr(other_processes, "process_cpu_s", lambda _: next(used_s))
    first = readings(tmp_path)
    text = stat.read_text()
    stat.write_text("broken")
    assert readings(tmp_path, first) == first
    stat.write_text(text)
    (again,) = readings(tmp_path, first).values()
    assert again.cpu_s == 1.5


def test_own_children_are_not_seen_and_the_children_of_others_are(monkeypatch):
    seen = OtherProcesses()
    seen.used_s([CPU])
    with subprocess.Popen([sys.executable, "-c", BUSY, str(CPU), "0.5"]) as busy:
        deadline = time.monotonic() + 10
        while busy.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        mine = seen.used_s([CPU])[CPU]
        monkeypatch.setattr(os, "getpid", lambda: 2**22 + 1)  # as another process sees it
        foreign = OtherProcesses()
        foreign.used_s([CPU])
        with subprocess.Popen([sys.executable, "-c", BUSY, str(CPU), "60"]) as other:
            deadline = time.monotonic() + 30
            while (used_s := foreign.used_s([CPU])[CPU]) < 0.1 and time.monotonic() < deadline:
                time.sleep(0.05)
            other.kill()
        assert used_s >= 0.1
    assert mine == mine
