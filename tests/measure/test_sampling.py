"""Sampling of real processes: this one, and one that is pinned elsewhere."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runners.measure import sampling
from runners.measure.sampling import cpu_times, process_cpu_s, role_sample


def test_the_cpu_time_of_a_process_is_what_it_says_itself():
    before = time.process_time()
    seen = process_cpu_s(os.getpid())
    assert before <= seen <= time.process_time()


def test_a_process_that_is_gone_has_no_cpu_time():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert process_cpu_s(process.pid) != process_cpu_s(process.pid)


def test_every_cpu_is_counted():
    assert os.sched_getaffinity(0) <= set(cpu_times())


def test_a_thread_outside_its_cpus_is_unpinned():
    cpus = sorted(os.sched_getaffinity(0))
    code = "import os, sys, time; os.sched_setaffinity(0, {int(sys.argv[1])}); print(flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code, str(cpus[0])], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert role_sample([process.pid], {cpus[0]}).unpinned_threads == []
        elsewhere = role_sample([process.pid], {max(cpus) + 1})
        assert elsewhere.unpinned_threads[0].allowed == str(cpus[0])
        assert elsewhere.threads_count == 1
        assert elsewhere.rss_peak_bytes >= elsewhere.rss_bytes > 1_000_000
    finally:
        process.kill()
        process.wait()


def test_a_role_without_processes_is_empty():
    assert role_sample([], {0}).threads_count == 0


@pytest.mark.parametrize("missing", [2**22 + 7])
def test_a_pid_that_never_was_is_no_error(missing):
    assert role_sample([missing], {0}).threads_count == 0


@pytest.mark.parametrize("left", [["stat"], ["stat", "status"], []])
def test_a_thread_that_ends_while_it_is_sampled_is_not_counted(tmp_path, monkeypatch, left):
    for name in left:
        (tmp_path / name).write_text(Path("/proc/self/stat").read_text() if name == "stat" else "Name:\tending\n")
    monkeypatch.setattr(sampling, "_threads", lambda pid: [tmp_path])
    seen = role_sample([os.getpid()], {0})
    assert (seen.threads_count, seen.unpinned_threads) == (0, [])
