"""A disk that is full or read-only, and a clock that jumps: what was measured stays, and the error says what to do."""

import os
import subprocess
import time
from contextlib import contextmanager

import pytest

from runners.core.errors import WrkbookError
from runners.store import ledger
from runners.store.ledger import Run
from tests.analyse.synthetic import manifest, trial
from tests.faults.blocks import measured, servers, settings
from tests.faults.harness import (
    EXPERIMENT,
    RUN_ID,
    Observed,
    assert_goes_on,
    assert_records_are_sound,
    records,
    run_command,
)


def mountable():
    """Whether this user can make a file system of its own."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


needs_mount = pytest.mark.skipif(
    not mountable(), reason="only root can mount a small tmpfs, and not in every container"
)
TRIAL = trial(1, "a", "ping", [20_000.0])


@contextmanager
def small_disk(folder, size):
    """A file system of this size."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@needs_mount
def test_a_block_that_does_not_fit_on_the_disk_is_not_there_at_all_and_fits_later(tmp_path):
    with small_disk(tmp_path / "disk", "64k") as disk:
        run = Run("faults", "full", disk)
        run.open(manifest(parameters={}))
        run.write_block(1, [TRIAL])
        noise = os.urandom(100_000).hex()
        with pytest.raises(WrkbookError, match=r"could not be written: No space left on device[\s\S]*df -h"):
            run.write_block(2, [TRIAL, TRIAL.model_copy(update={"system": "b", "path": noise})])
        assert sorted(path.name for path in run.folder.iterdir()) == ["block-001.jsonl.xz", "run.json"]
        run.write_block(2, [TRIAL])
        assert len(list(run.trials())) == 2


@needs_mount
def test_a_run_on_a_disk_without_any_room_says_so_and_leaves_nothing(tmp_path):
    with small_disk(tmp_path / "disk", "64k") as disk:
        (disk / "ballast").write_bytes(bytes(56 * 1024))
        with pytest.raises(WrkbookError, match="No space left on device"):
            Run("faults", "full", disk).open(manifest(parameters={"text": "x" * 20_000}))
        assert [path for path in disk.rglob("*") if path.is_file()] == [disk / "ballast"]


@needs_mount
@pytest.mark.servers
def test_a_run_whose_disk_fills_up_keeps_what_it_has_and_goes_on_when_there_is_room(tmp_path, cache):
    with small_disk(tmp_path / "disk", "2m") as disk:
        with Observed(run_command(), disk, cache) as run:
            run.wait_for(lambda: list(disk.rglob("block-001.*")))
            with (disk / "ballast").open("wb", buffering=0) as ballast, pytest.raises(OSError):  # noqa: PT012
                while True:
                    ballast.write(bytes(4096))
            kept = records(disk)
            status = run.wait()
            run.assert_nothing_is_left(set())
            assert "Traceback" not in run.output
            assert "No space left on device" in run.output
        assert status == 1
        assert kept == assert_records_are_sound(disk)
        (disk / "ballast").unlink()
        assert_goes_on(disk, cache, kept)


@needs_mount
@pytest.mark.servers
def test_a_run_with_a_read_only_disk_says_so_before_anything_is_measured(tmp_path, cache):
    with small_disk(tmp_path / "disk", "2m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with Observed(run_command(), disk, cache) as run:
            assert run.wait() == 1
            run.assert_nothing_is_left(set())
            assert "Read-only file system" in run.output
            assert "Traceback" not in run.output
            assert "window" not in run.output


@pytest.mark.servers
def test_a_data_folder_that_is_a_file_is_an_error_before_anything_is_measured(tmp_path, cache):
    data = tmp_path / "data"
    (data / "raw" / EXPERIMENT).mkdir(parents=True)
    # A file where the run's folder would be: the same for root, whom no permission stops.
    (data / "raw" / EXPERIMENT / RUN_ID).write_text("in the way")
    with Observed(run_command(), data, cache) as run:
        assert run.wait() == 1
        run.assert_nothing_is_left(set())
        assert "Traceback" not in run.output
        assert str(data / "raw" / EXPERIMENT / RUN_ID) in run.output


@pytest.mark.servers
@pytest.mark.quiet
def test_only_the_monotonic_clock_decides_how_long_something_takes(tmp_path, monkeypatch, cache):
    monkeypatch.setenv("XDG_CACHE_HOME", cache["XDG_CACHE_HOME"])
    real, requested = time.time, iter(range(10**9))
    # Each look at the wall clock is a day earlier than the one before.
    monkeypatch.setattr(time, "time", lambda: real() - 86_400 * next(requested))
    found, tables = measured(settings(servers(tmp_path / "servers", honest="none")), tmp_path / "raw")
    assert all(record.failure is None for record in found.values())
    assert all(0 < window.elapsed_s < 60 for record in found.values() for window in record.windows)
    assert (tables.trials["throughput_rps"] > 0).all()


def test_no_duration_is_taken_from_the_wall_clock():
    package = ledger.__file__.rpartition("/")[0]
    outcome = subprocess.run(
        ["grep", "-rnE", r"\btime\.time(_ns)?\(\)", package, "--include=*.py"], stdout=subprocess.PIPE
    )
    assert outcome.stdout.decode() == ""
