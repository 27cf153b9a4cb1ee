"""The state of a run: what was interrupted, what is being measured, and what is void."""

import pytest

from runners.core.errors import WrkbookError
from runners.store.ledger import Run
from runners.store.runs import being_measured, find_runs, kept, mark_void, state
from tests.analyse.synthetic import manifest, trial

TRIAL = trial(1, "gin", "ping", [20_000.0])


@pytest.fixture
def run(tmp_path):
    found = Run("01-ping", "r1", tmp_path)
    found.open(manifest())
    return found


def interrupted(run):
    with pytest.raises(KeyboardInterrupt), being_measured(run):
        raise KeyboardInterrupt


def test_a_run_without_a_mark_is_complete(run):
    run.write_block(1, [TRIAL])
    assert state(run) == "complete"


def test_a_run_is_measuring_until_it_ends_and_complete_afterwards(run):
    with being_measured(run):
        run.write_block(1, [TRIAL])
        assert state(run) == "measuring block 2"
    assert state(run) == "complete"


def test_an_interrupted_run_names_its_block_until_it_was_measured_to_its_end(run):
    run.write_block(1, [TRIAL])
    interrupted(run)
    assert state(run) == "interrupted at block 2"
    with being_measured(run):
        run.write_block(2, [TRIAL])
    assert state(run) == "complete"


def test_a_run_in_which_no_window_counts_is_void_until_one_does(run):
    mark_void(run, void=True)
    assert state(run) == "void"
    mark_void(run, void=False)
    assert state(run) == "complete"


def test_a_resumed_run_says_what_it_keeps_and_which_block_starts_again(run):
    interrupted(run)
    assert kept(run) == "Run r1 goes on: it keeps no block; block 1 starts again."
    for number in (1, 2, 3):
        run.write_block(number, [TRIAL])
    assert kept(run) == "Run r1 goes on: it keeps 3 complete blocks; block 4 starts again."


def test_a_complete_run_that_is_started_again_repeats_no_block(run):
    run.write_block(1, [TRIAL])
    assert kept(run) == "Run r1 goes on: it keeps 1 complete block."


def test_an_unknown_run_lists_all_runs_and_their_states(run, tmp_path):
    interrupted(run)
    Run("02-json-decode", "later", tmp_path).open(manifest())
    with pytest.raises(WrkbookError, match="no run 'latr'") as caught:
        find_runs("latr", ["00-machine", "01-ping", "02-json-decode"], tmp_path)
    lines = caught.value.remedy.splitlines()
    assert lines[0] == "did you mean 'later'? there are:"
    assert [line.strip() for line in lines[1:]] == [
        "01-ping: r1 (interrupted at block 1)",
        "02-json-decode: later (complete)",
    ]


def test_an_unknown_run_of_an_experiment_without_runs_says_that_there_are_none(tmp_path):
    with pytest.raises(WrkbookError, match="no run 'r1' of 01-ping") as caught:
        find_runs("r1", ["01-ping"], tmp_path)
    assert caught.value.remedy == "there are: none"


def test_a_mark_that_cannot_be_written_tells_what_to_do(tmp_path):
    with pytest.raises(WrkbookError, match="could not be written"), being_measured(Run("01-ping", "none", tmp_path)):
        pass
