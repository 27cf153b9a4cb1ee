"""Several runs are reported side by side: each as it ends, each failure told, and none left behind."""

import os
import time

import psutil
import pytest

from runners.cli import rebuilding
from runners.core.errors import WrkbookError
from runners.store.ledger import Run

SLOW, QUICK, WRONG = (Run(name, "r1") for name in ("02-json-decode", "01-ping", "03-json-roundtrip"))
DELAYS_S = {SLOW: 0.5, QUICK: 0.0, WRONG: 0.1}


def report(known):
    time.sleep(DELAYS_S[known])
    if known == WRONG:
        raise WrkbookError("a record is damaged", "restore it")
    return known


@pytest.fixture(autouse=True)
def _reports(monkeypatch):
    monkeypatch.setattr(rebuilding, "rebuild", report)
    monkeypatch.setattr(rebuilding, "show_report", lambda _, known: print(known.experiment))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


def test_each_run_is_told_as_it_ends_and_one_that_fails_says_why(capfd):
    found = list(rebuilding.rebuild_side_by_side([QUICK, WRONG, SLOW]))
    assert sorted(found) == [("", False), ("01-ping\n", True), ("02-json-decode\n", True)]
    assert found[-1] == ("02-json-decode\n", True)
    assert capfd.readouterr().err == "wrkbook: a record is damaged\n  → restore it\n"


def test_the_largest_run_begins_first(tmp_path):
    runs = [Run(f"0{size}-run", "r1", tmp_path) for size in (1, 3, 2)]
    for run in runs:
        run.folder.mkdir(parents=True)
        (run.folder / "block-001.jsonl.xz").write_bytes(b"x" * int(run.experiment[1]))
    assert [run.experiment[:2] for run in rebuilding.largest_last(runs)] == ["01", "02", "03"]


def test_nothing_goes_on_after_an_interrupt(monkeypatch):
    monkeypatch.setitem(DELAYS_S, SLOW, 60)
    before = set(psutil.Process().children())  # of other tests
    outcomes = rebuilding.rebuild_side_by_side([QUICK, SLOW])
    assert next(outcomes) == ("01-ping\n", True)
    assert set(psutil.Process().children()) - before
    with pytest.raises(KeyboardInterrupt):
        outcomes.throw(KeyboardInterrupt)
    assert set(psutil.Process().children()) - before == set()
