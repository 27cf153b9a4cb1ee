"""Sandboxes that a killed kernel leaves behind."""

import os
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest

from runners.systems.sandbox import orphans_ended

KERNEL = """
import subprocess, sys, time
child = subprocess.Popen([sys.argv[1], "600"], stdout=subprocess.DEVNULL, start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def program(tmp_path):
    """A program that only sleeps, under a name."""

    def named(name):
        shutil.copy2("/bin/sleep", tmp_path / name)
        return str(tmp_path / name)

    return named


def killed_kernel_s_child(program):
    kernel = subprocess.Popen([sys.executable, "-c", KERNEL, program], stdout=subprocess.PIPE, text=True)
    child = psutil.Process(int(kernel.stdout.readline()))
    while child.name() != program.rpartition("/")[2]:
        time.sleep(0.01)
    kernel.send_signal(signal.SIGKILL)
    kernel.communicate()
    return child


def test_a_sandbox_that_a_killed_kernel_leaves_is_ended(program):
    with orphans_ended():
        left = killed_kernel_s_child(program("bwrap"))
        assert left.is_running()
    assert not left.is_running()


def test_a_sandbox_that_ends_by_itself_is_no_zombie_until_the_end(program):
    with orphans_ended() as remove_ended:
        left = killed_kernel_s_child(program("bwrap"))
        remove_ended()
        assert left.status() != psutil.STATUS_ZOMBIE
        left.kill()
        deadline = time.monotonic() + 10
        while left.is_running() and time.monotonic() < deadline:
            remove_ended()
            time.sleep(0.01)
        assert not psutil.pid_exists(left.pid)


def test_one_s_own_sandbox_and_other_programs_go_on(program):
    own = subprocess.Popen([program("bwrap"), "600"])
    other = None
    try:
        with orphans_ended():
            other = killed_kernel_s_child(program("other"))
        assert own.poll() is None
        assert other.is_running()
    finally:
        own.kill()
        own.wait()
        if other is not None:
            other.kill()
            other.wait()


def test_afterwards_orphans_are_none_of_its_business(program):
    with orphans_ended():
        pass
    left = killed_kernel_s_child(program("bwrap"))
    try:
        assert left.ppid() != os.getpid()
    finally:
        left.kill()
