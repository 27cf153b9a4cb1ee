"""How long notebooks are expected to take."""

import pytest

from runners.core.parameters import Parameters
from runners.store.ledger import Run
from runners.workbook import expected_time
from runners.workbook.expected_time import expected_s


def summary(started_at, measured_s, blocks_count, profile="standard"):
    cells = [{"system": name, "workload": "ping"} for name in ("gin", "drogon", "axum", "beast", "control")]
    return {
        "started_at": started_at,
        "measured_s": measured_s,
        "blocks_count": blocks_count,
        "profile": profile,
        "cells": cells,
    }


LEDGER = {
    "01-ping": {
        "20261101": summary("2026-11-01", 600.0, 6),
        "20261102": summary("2026-11-02", 320.0, 4),
        "20261103": summary("2026-11-03", 36.0, 3, profile="quick"),
        "20261104": summary("2026-11-04", 0.0, 0),
        "20261105": None,  # it was interrupted
        "reference": summary("2026-10-01", 5000.0, 10),
    },
    "02-json-decode": {"reference": summary("2026-10-01", 230.0, 2)},
    "09-cpu-scaling": {},
}
BRIEF = Parameters(budget_minutes=0.1, min_blocks=5)


@pytest.fixture(autouse=True)
def ledger(monkeypatch):
    monkeypatch.setattr(expected_time, "runs", lambda name: [Run(name, run_id) for run_id in LEDGER[name]])
    monkeypatch.setattr(expected_time, "processed_folder", lambda run: run)
    monkeypatch.setattr(expected_time, "read_summary", lambda run: LEDGER[run.experiment][run.run_id])


def test_the_least_blocks_take_what_they_took_in_the_newest_run_of_the_profile():
    assert expected_s(["01-ping"], BRIEF) == pytest.approx(5 * 80.0)
    assert expected_s(["02-json-decode"], BRIEF) == pytest.approx(5 * 115.0)


def test_a_notebook_takes_its_budget_where_its_least_blocks_take_less():
    assert expected_s(["01-ping"], Parameters(budget_minutes=10.0, min_blocks=5)) == pytest.approx(600.0)


def test_a_notebook_takes_no_more_than_its_largest_number_of_blocks():
    assert expected_s(["01-ping"], Parameters(profile="quick")) == pytest.approx(3 * 12.0)


def test_a_block_of_a_profile_that_was_not_measured_is_as_much_longer_as_its_windows_are():
    assert expected_s(["02-json-decode"], Parameters(profile="quick")) == pytest.approx(3 * 115.0 * 1.3 / 2.3)


@pytest.mark.parametrize(
    ("systems", "share"),
    [(["gin"], 0.4), (["gin", "beast"], 0.6), (["gin", "unknown"], 0.4), (["all"], 1), (["node"], 1)],
)
def test_a_block_of_some_systems_takes_their_share_and_that_of_the_control(systems, share):
    assert expected_s(["01-ping"], BRIEF, systems) == pytest.approx(5 * 80.0 * share)


def test_a_notebook_that_was_never_measured_takes_what_the_others_take():
    assert expected_s(["01-ping", "09-cpu-scaling"], BRIEF) == pytest.approx(2 * 5 * 80.0)


def test_nothing_is_expected_where_no_notebook_was_measured():
    assert expected_s(["09-cpu-scaling"], BRIEF) == 0.0


def test_the_times_of_notebooks_add_up():
    assert expected_s(["01-ping", "02-json-decode"], BRIEF) == pytest.approx(5 * 80.0 + 5 * 115.0)
