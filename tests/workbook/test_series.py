"""Sessions at an interval: what is measured, what is waited for, and how a series goes on."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runners.cli.commands import run as command
from runners.core.errors import WrkbookError
from runners.core.parameters import check_parameters
from runners.experiments import plan
from runners.store.ledger import Run
from runners.store.runs import being_measured
from runners.workbook import run as running, series
from runners.workbook.run import Report
from runners.workbook.series import Series, run_series, session_id
from tests.analyse.synthetic import manifest

NAME = "01-ping"
EVERY = Series(3, 2700.0)


class Clock:
    """A clock that moves only when someone sleeps or measures."""

    def __init__(self):
        self.now, self.naps = datetime(2026, 1, 1, 12, 0, tzinfo=UTC), []

    def sleep(self, seconds):
        self.naps.append(seconds)
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(series, "_now", lambda: found.now)
    monkeypatch.setattr(series.time, "sleep", found.sleep)
    return found


@pytest.fixture
def ledger(tmp_path, monkeypatch, clock):
    """Execute notebooks in ten minutes each, and return when each run began."""
    begun = {}

    def run_in(name, run_id):
        return Run(name, run_id, tmp_path)

    for module in (plan, running, series):
        monkeypatch.setattr(module, "Run", run_in)

    def execute(known, values, *, measuring=True):
        if measuring:
            begun[known.experiment, known.run_id] = clock.now
            if not known.exists:
                parameters = check_parameters({}, known.experiment).model_dump(exclude={"run_id"})
                known.open(manifest(started_at=clock.now.isoformat(), parameters=parameters))
            clock.now += timedelta(minutes=10)
        return Report(
            known.experiment, known.run_id, Path("report.html"), (), (), {"headline": "", "cells": [], "checks": []}
        )

    monkeypatch.setattr(running, "_execute", execute)
    return begun


def minutes(begun):
    first = min(begun.values())
    return {run_id: (at - first).total_seconds() / 60 for (_, run_id), at in begun.items()}


def test_sessions_begin_at_the_interval_and_each_is_a_run_of_its_own(ledger, clock):
    reports = run_series([NAME], {"profile": "standard", "run_id": "s"}, 0.0, EVERY)
    assert minutes(ledger) == {"s": 0, "s-2": 45, "s-3": 90}
    assert [report.run_id for report in reports] == ["s-3"]


def test_waiting_sleeps_and_says_when_the_next_session_and_the_end_are(ledger, clock, capsys):
    run_series([NAME], {"profile": "standard", "run_id": "s"}, 0.0, EVERY)
    assert max(clock.naps) <= 10.0
    # 35 minutes between the end of one session and the next: no nap is shorter than it must be.
    assert len(clock.naps) == 2 * 35 * 6
    said = capsys.readouterr().err
    assert "Session 2 of 3 begins at " in said
    assert "in 35 min; the series ends at about " in said
    assert "in 1 h 30 min" in said
    assert said.count("begins at") == 2  # without a terminal, once for each session


def test_a_series_that_was_killed_keeps_its_finished_sessions_and_goes_on(ledger, clock, tmp_path):
    run_series([NAME], {"profile": "standard", "run_id": "s"}, 0.0, Series(1, 2700.0))
    second = Run(NAME, "s-2", tmp_path)
    parameters = check_parameters({}, NAME).model_dump(exclude={"run_id"})
    second.open(manifest(started_at=clock.now.isoformat(), parameters=parameters))
    with pytest.raises(KeyboardInterrupt), being_measured(second):
        raise KeyboardInterrupt
    ledger.clear()
    clock.now += timedelta(hours=5)
    run_series([NAME], {"profile": "standard", "run_id": "s"}, 0.0, EVERY)
    monitored = minutes(ledger)
    assert monitored == {"s-3": 45} or monitored == {"s-2": 0, "s-3": 45}
    assert "s" not in monitored


def test_a_series_of_finished_sessions_measures_nothing_and_makes_the_last_report_again(ledger, clock):
    run_series([NAME], {"profile": "standard", "run_id": "s"}, 0.0, EVERY)
    ledger.clear()
    clock.naps.clear()
    reports = run_series([NAME], {"profile": "standard", "run_id": "s"}, 0.0, EVERY)
    assert ([report.run_id for report in reports], ledger, clock.naps) == (["s-3"], {}, [])


def test_a_session_goes_on_with_the_notebooks_that_are_not_finished(ledger):
    names = [NAME, "02-json-decode"]
    run_series([NAME], {"profile": "standard", "run_id": "s"}, 0.0, Series(1, 0.0))
    ledger.clear()
    run_series(names, {"profile": "standard", "run_id": "s"}, 0.0, Series(2, 0.0))
    assert list(ledger) == [("02-json-decode", "s"), (NAME, "s-2"), ("02-json-decode", "s-2")]


def test_a_session_longer_than_the_interval_is_followed_at_once(ledger, clock):
    run_series([NAME], {"profile": "standard", "run_id": "s"}, 0.0, Series(2, 300.0))
    assert minutes(ledger) == {"s": 0, "s-2": 10}
    assert clock.naps == []


def test_wrong_parameters_of_any_session_are_said_before_anything_begins(ledger, clock, tmp_path, capsys):
    with pytest.raises(WrkbookError, match="there is no system named 'drogn'"):
        run_series([NAME], {"profile": "standard", "systems": ["drogn"]}, 0.0, EVERY)
    Run(NAME, "s-3", tmp_path).open(manifest(parameters={"connections": 40}))
    with pytest.raises(WrkbookError, match="run s-3 was started with other parameters"):
        run_series([NAME], {"profile": "standard", "run_id": "s"}, 0.0, EVERY)
    with pytest.raises(WrkbookError, match="cannot be a run-id"):
        run_series([NAME], {"profile": "standard", "run_id": "x" * 63}, 0.0, EVERY)
    assert (ledger, clock.naps, capsys.readouterr().err) == ({}, [], "")


def failing(monkeypatch, run_id):
    execute = running._execute

    def fail(known, values, *, measuring=True):
        if known.run_id == run_id:
            raise WrkbookError("there is not one sound trial")
        return execute(known, values, measuring=measuring)

    monkeypatch.setattr(running, "_execute", fail)


def test_the_first_session_that_fails_ends_the_series(ledger, monkeypatch, clock):
    failing(monkeypatch, "s")
    with pytest.raises(WrkbookError, match="not one sound trial"):
        run_series([NAME], {"profile": "standard", "run_id": "s"}, 0.0, EVERY)
    assert (ledger, clock.naps) == ({}, [])


def test_a_later_session_that_fails_is_left_out_and_named_at_the_end(ledger, monkeypatch):
    failing(monkeypatch, "s-2")
    with pytest.raises(WrkbookError, match="sessions failed: s-2"):
        run_series([NAME], {"profile": "standard", "run_id": "s"}, 0.0, EVERY)
    assert minutes(ledger) == {"s": 0, "s-3": 90}


def test_an_interrupt_while_waiting_says_how_the_series_is_continued(ledger, monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(series.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        command([NAME], parameter=["connections=40"], run_id="s", sessions=3, interval="45m")
    said = capsys.readouterr().err
    assert "./wrkbook run 01-ping --run-id s --sessions 3 --every 2700s -p connections 40" in said


def test_a_time_that_is_none_is_refused(ledger):
    with pytest.raises(WrkbookError, match="--every 'soon' is not a time"):
        command([NAME], sessions=3, interval="soon")
    assert ledger == {}


def test_session_ids():
    assert [session_id("a", number) for number in (1, 2, 12)] == ["a", "a-2", "a-12"]
