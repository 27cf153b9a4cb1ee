"""Signals to the command, to papermill and to the notebook's kernel, at random moments of a run."""

import random
import signal
import time

import pytest

from tests.conftest import FULL
from tests.faults.harness import (
    EXPERIMENT,
    RUN_ID,
    SLICED,
    Observed,
    assert_goes_on,
    assert_records_are_sound,
    papermill_command,
    run_command,
    send,
    was_invalidated,
)

pytestmark = pytest.mark.servers
_SEED = 8
_VICTIMS = ("command", "kernel", "papermill")
_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_KINDS = [(victim, number) for number in _SIGNALS for victim in _VICTIMS]
_MOMENTS_COUNT = 54 if FULL else 3  # these three have each victim and each signal once


def moments():
    """Who is sent what, and when, as a fraction of an undisturbed run."""
    chance = random.Random(_SEED)
    # Each third of the run: starting, measuring, writing the report.
    for index in range(_MOMENTS_COUNT):
        victim, number = _KINDS[index * 4 % len(_KINDS)]  # so that the first few differ in both
        yield victim, number, round((index * 2 % 3 + chance.random()) / 3, 3)


@pytest.mark.parametrize(
    ("victim", "number", "moment"), list(moments()), ids=lambda value: getattr(value, "name", str(value))
)
def test_a_signal_at_any_moment_loses_nothing_and_leaves_nothing(
    tmp_path, cache, undisturbed_s, victim, number, moment
):
    alone = papermill_command(tmp_path / "out.ipynb", **SLICED)
    with Observed(alone if victim == "papermill" else run_command(**SLICED), tmp_path, cache) as run:
        run.wait_for(lambda: time.monotonic() - run.started > moment * undisturbed_s)
        if victim == "kernel":
            run.wait_for(lambda: run.named("ipykernel_launcher"))
        kernels, sockets, kept = run.named("ipykernel_launcher"), run.sockets(), assert_records_are_sound(tmp_path)
        running = run.process.poll() is None and (victim != "kernel" or bool(kernels))
        for process in kernels if victim == "kernel" else [run.process]:
            send(process, number)
        status = run.wait(60)
        run.assert_nothing_is_left(sockets)
        if running:
            _assert_ending(victim, number, status, run.output, started=bool(kernels))
    assert kept.items() <= assert_records_are_sound(tmp_path).items()
    assert_goes_on(tmp_path, cache, kept, run_command(**SLICED))


def test_an_interrupted_run_says_how_to_go_on_and_then_what_it_keeps(tmp_path, cache):
    with Observed(run_command(), tmp_path, cache) as run:
        # In the second block, with servers up.
        assert run.wait_for(lambda: list(tmp_path.rglob("block-001.*")) and run.named("bwrap"))
        kept = assert_records_are_sound(tmp_path)
        send(run.process, signal.SIGINT)
        assert run.wait(60) == 130, run.output
        run.assert_nothing_is_left(set())
        assert (
            f"Run {RUN_ID} was interrupted in {EXPERIMENT}. To continue it:\n  ./wrkbook run {EXPERIMENT} "
            in run.output
        )
    assert not list(tmp_path.rglob(".partial*"))
    assert f"Run {RUN_ID} goes on: it keeps 1 complete block; block 2 starts again." in assert_goes_on(
        tmp_path, cache, kept
    )


def _assert_ending(victim, number, status, output, *, started):
    """What the user sees; papermill's own words are its own."""
    if victim == "papermill":
        assert status != 0 or number == signal.SIGINT
    elif victim == "command" and number == signal.SIGKILL:
        assert status == 128 + signal.SIGKILL
    elif victim == "command":
        assert status == 130 if started else status in (130, 128 + number)
        assert "Traceback" not in output
        assert "interrupted" in output or not started
    elif number == signal.SIGINT:
        assert status == 130
        assert "Traceback" not in output
    else:
        # A kernel that has executed everything may be ended by others, too. Without a sound trial there is no report.
        ended = "All reports:" in output if status == 0 else was_invalidated(output)
        assert (status == 1 and "kernel" in output.lower()) or (status in (0, 1) and ended), output
        assert "Traceback" not in output
