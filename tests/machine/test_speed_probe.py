"""The probe that sees how fast a CPU is."""

import mmap
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from runners.machine import speed_probe
from runners.machine.speed_probe import PERIOD_S, SpeedProbes

CPU = min(os.sched_getaffinity(0))


def wait_for_samples(probes, start, least):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        seen = probes.between(start, time.monotonic()).get(CPU)
        if seen and seen.wakes_hz * (time.monotonic() - start) >= least:
            return seen
        time.sleep(0.05)
    pytest.fail("the probe gave no samples")


def test_a_probe_times_its_work_again_and_again():
    start = time.monotonic()
    with SpeedProbes([CPU]) as probes:
        seen = wait_for_samples(probes, start, 20)
    assert 1e3 < seen.mean_hz <= 1.2 * seen.p90_hz < 1e6


def test_only_what_lies_between_the_two_moments_counts():
    start = time.monotonic()
    with SpeedProbes([CPU]) as probes:
        wait_for_samples(probes, start, 20)
        middle = time.monotonic()
        assert probes.between(middle + 10, middle + 20) == {}
        assert 0 < probes.between(start, middle)[CPU].wakes_hz <= 1 / PERIOD_S
        assert probes.between(start - 5, start) == {}


def test_the_share_of_the_best_speed_is_the_median_against_the_90th_percentile(monkeypatch):
    probes = SpeedProbes([])
    probes._rings = {0: "steady", 1: "halved", 2: "silent", 3: "two"}
    bursts = {"steady": [1.0] * 100, "halved": [1.0] * 20 + [2.0] * 80, "silent": [], "two": [1.0, 2.0]}
    monkeypatch.setattr(speed_probe, "_recent", lambda ring, _: [(5.0, burst_s) for burst_s in bursts[ring]])
    assert probes.shares(0.0, 10.0) == {0: 1.0, 1: 0.5, 3: 1.0}
    assert probes.shares(0.0, 5.0) == {}


def test_what_a_probe_has_seen_is_there_also_while_it_writes():
    writer = """
import mmap, sys
sys.path.insert(0, sys.argv[1])
import speed_probe
with mmap.mmap(int(sys.argv[2]), speed_probe._SIZE) as ring, memoryview(ring) as whole, whole.cast("d") as numbers:
    while True:
        speed_probe._append(numbers, 1.0, 1.0)
"""
    file = os.memfd_create("ring")
    os.ftruncate(file, speed_probe._SIZE)
    folder = str(Path(speed_probe.__file__).parent)
    with mmap.mmap(file, speed_probe._SIZE) as ring:
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", writer, folder, str(file)], pass_fds=[file])
        try:
            deadline = time.monotonic() + 60
            while not any(speed_probe._recent(ring, 0.5)):
                assert time.monotonic() < deadline
            missed = sum(next(iter(speed_probe._recent(ring, 0.5)), None) is None for _ in range(100_000))
        finally:
            process.kill()
            process.wait()
            os.close(file)
    assert missed == 0


def test_leaving_ends_the_probes():
    before = {child.pid for child in psutil.Process().children()}
    with SpeedProbes([CPU]):
        [probe] = [child for child in psutil.Process().children() if child.pid not in before]
    assert not probe.is_running()


def test_a_probe_whose_parent_was_gone_before_it_could_look_ends(tmp_path):
    ring = tmp_path / "ring"
    ring.write_bytes(bytes(1 << 21))
    command = [sys.executable, "-I", "-S", speed_probe.__file__, str(CPU), str(ring), "1"]
    assert subprocess.run(command, timeout=60).returncode == 0


def test_a_probe_stays_on_its_cpu():
    with SpeedProbes([CPU]) as probes:
        wait_for_samples(probes, 0.0, 1)
        [probe] = [child for child in psutil.Process().children() if "speed_probe" in " ".join(child.cmdline())]
        assert probe.cpu_affinity() == [CPU]
