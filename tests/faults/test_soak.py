"""Runs over and over: memory, descriptors, processes and temporary files stay what they were."""

import gc
import os
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from tests.faults.blocks import measured, servers, settings
from tests.faults.harness import RUN_ID, Observed, run_command

pytestmark = [pytest.mark.servers]
SOAK_S = 60 * float(os.environ.get("WRKBOOK_SOAK_MINUTES", 60))
_GROWN_BYTES = 8 << 20


def test_blocks_in_one_process_leave_no_trace_in_it(tmp_path, monkeypatch, cache):
    monkeypatch.setenv("XDG_CACHE_HOME", cache["XDG_CACHE_HOME"])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    chosen, own = settings(servers(tmp_path / "servers", honest="none")), psutil.Process()
    measured(chosen, tmp_path / "first")  # imports, caches
    gc.collect()
    before = own.memory_info().rss, own.num_fds(), own.num_threads()
    for round_ in range(3):
        measured(chosen, tmp_path / str(round_))
    gc.collect()
    assert own.memory_info().rss - before[0] < _GROWN_BYTES
    assert (own.num_fds(), own.num_threads()) == before[1:]
    assert list(scratch.iterdir()) == []


@pytest.mark.full
def test_runs_for_an_hour_leave_nothing_and_need_no_more_than_the_first(tmp_path, cache, record_property):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env, peaks, counts = {**cache, "TMPDIR": str(scratch)}, [], []
    caches, kept = Path(cache["XDG_CACHE_HOME"]), []
    started, round_ = time.monotonic(), 0
    while time.monotonic() - started < SOAK_S or round_ < 2:
        round_ += 1
        with Observed(run_command(run_id=f"{RUN_ID}-{round_}"), tmp_path / "data", env) as run:
            most, descriptors = 0, 0
            while run.process.poll() is None:
                alive = run.alive()
                most = max(most, sum(_of(process, lambda known: known.memory_info().rss) for process in alive))
                descriptors = max(descriptors, sum(_of(process, psutil.Process.num_fds) for process in alive))
                time.sleep(0.5)
            run.measured_well()
            run.assert_nothing_is_left(set())
        assert list(scratch.iterdir()) == []
        kept.append({*caches.glob("*/*"), *caches.glob("*/builds/*")})
        peaks.append(most)
        counts.append(descriptors)
    for name, figure in {"runs": round_, "most_bytes": max(peaks), "most_descriptors": max(counts)}.items():
        record_property(name, figure)
    assert kept[-1] == kept[0]
    half = len(peaks) // 2
    assert max(peaks[half:]) < 1.15 * max(peaks[:half])
    assert max(counts[half:]) < 1.15 * max(counts[:half])


def _of(process, read):
    try:
        return read(process)
    except psutil.Error:
        return 0
