"""What `run` refuses before it begins, what it says of each notebook, and what when it is interrupted."""

from pathlib import Path

import pytest

from runners.cli import commands
from runners.core.errors import WrkbookError
from runners.core.parameters import PROFILES
from runners.experiments import plan
from runners.store.ledger import Run
from runners.systems import revisions
from runners.systems.catalogue import Catalogue
from runners.workbook import run as running
from runners.workbook.run import Report
from tests.analyse.synthetic import manifest
from tests.systems.test_revisions import project  # noqa: F401  (a fixture)

NAMES = ["01-ping", "02-json-decode", "03-json-roundtrip"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"measure_flaws": False}, "unknown parameter measure_flaws"),
        ({"connections": 0}, "parameter connections"),
        ({"connections": 60_000}, "60000 do not fit into the limit of"),
        ({"systems": ["drogn"]}, "there is no system named 'drogn'"),
        ({"server_cpus": "0", "generator_cpus": "0"}, "overlap on CPU 0"),
        ({"server_cpus": "977"}, "CPU 977 does not exist"),
        ({"run_id": "../up"}, "run-id"),
        ({"min_blocks": 5, "max_blocks": 2}, "min_blocks (5) is larger than max_blocks (2)"),
    ],
)
def test_what_is_wrong_with_the_last_notebook_is_said_before_the_first_begins(values, told, monkeypatch, capsys):
    monkeypatch.setattr(running, "_execute", None)
    with pytest.raises(WrkbookError) as caught:
        running.run(NAMES, values, 0.0)
    assert told in str(caught.value)
    assert capsys.readouterr() == ("", "")


def test_a_run_that_was_begun_with_other_parameters_is_refused_before_anything_begins(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(plan, "Run", lambda name, run_id: Run(name, run_id, tmp_path))
    monkeypatch.setattr(running, "_execute", None)
    Run("02-json-decode", "begun", tmp_path).open(manifest(parameters={"connections": 40}))
    with pytest.raises(WrkbookError, match="run begun was started with other parameters: connections was 40, is 80"):
        running.run(NAMES, {"run_id": "begun"}, 0.0)
    assert capsys.readouterr() == ("", "")


def test_a_notebook_gets_only_what_is_not_its_own_default(monkeypatch):
    injected = {}
    monkeypatch.setattr(running, "execute", lambda name, values, *_, **__: injected.update({name: values}) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        running.run(["02-json-decode"], {"profile": "standard", "connections": 40, "run_id": "r1"}, 5.0)
    assert injected == {"02-json-decode": {"connections": 40, "run_id": "r1", "budget_minutes": 5.0}}


@pytest.mark.parametrize(
    ("budget_minutes", "sure_blocks"),
    [(0.0, PROFILES["standard"].min_blocks), (PROFILES["standard"].budget_minutes, 1)],
)
def test_several_notebooks_begin_with_the_time_that_they_take(budget_minutes, sure_blocks, monkeypatch, capsys):
    expected = []
    monkeypatch.setattr(running, "expected_s", lambda *given: expected.append(given) or 2520.0 * len(given[0]))
    monkeypatch.setattr(running, "_execute", lambda *_: "report")
    running.run(NAMES, {"run_id": "r1", "systems": ["gin"]}, budget_minutes)
    said = [line.partition("run r1")[2] for line in capsys.readouterr().err.splitlines() if "run r1" in line]
    assert said == [
        "; this and the rest take about 2 h 6 min to measure",
        "; this and the rest take about 1 h 24 min to measure",
        "; this takes about 42 min to measure",
    ]
    assert [names for names, *_ in expected] == [NAMES, NAMES[1:], NAMES[2:]]
    limits = [parameters.effective_profile for _, parameters, _ in expected]
    # Nothing is measured here, so all time is left.
    assert [each.budget_minutes for each in limits] == [5.0, 7.5, 15.0]
    assert {each.sure_blocks for each in limits} == {sure_blocks}
    assert [systems for *_, systems in expected] == 3 * [["gin"]]


def test_notebooks_that_were_never_measured_begin_without_a_time(monkeypatch, capsys):
    monkeypatch.setattr(running, "expected_s", lambda *_: 0.0)
    monkeypatch.setattr(running, "_execute", lambda *_: "report")
    running.run(NAMES[:2], {"run_id": "r1"}, 0.0)
    assert "(1 of 2), run r1\n" in capsys.readouterr().err


def test_one_notebook_alone_begins_without_a_time_which_its_status_line_says(monkeypatch, capsys):
    monkeypatch.setattr(running, "_execute", lambda *_: "report")
    running.run(NAMES[:1], {"run_id": "r1"}, 0.0)
    assert capsys.readouterr().err == "\n01-ping (1 of 1), run r1\n"


def test_a_report_exports_the_revision_that_its_plan_names_again(project, tmp_path, monkeypatch):  # noqa: F811
    commit = revisions.commit_of("HEAD")
    known, made = Run("02-json-decode", "r1", tmp_path), []
    known.open(manifest(parameters={"variants": [commit[:12]]}))
    monkeypatch.setattr(running, "Catalogue", lambda: Catalogue(project / "servers"))
    monkeypatch.setattr(running, "_execute", lambda *_, **__: made.append(list(running.Catalogue().variants)))
    running.rebuild(known)
    assert made == [[commit[:12]]]


@pytest.fixture
def interrupted_in_the_second(monkeypatch):
    def execute(known, values, *, measuring=True):
        if known.experiment == NAMES[1]:
            raise KeyboardInterrupt
        return Report(
            known.experiment,
            known.run_id,
            Path("report.html"),
            (),
            (),
            {"headline": "It is fast.", "cells": [], "checks": []},
        )

    monkeypatch.setattr(running, "_execute", execute)


@pytest.mark.usefixtures("interrupted_in_the_second")
def test_an_interrupt_names_the_run_and_the_notebooks_that_have_not_ended():
    with pytest.raises(running.Interrupted) as caught:
        running.run(NAMES, {"profile": "quick", "run_id": "r1"}, PROFILES["quick"].budget_minutes)
    assert (caught.value.run_id, caught.value.names) == ("r1", NAMES[1:])


@pytest.mark.usefixtures("interrupted_in_the_second")
def test_the_command_prints_how_an_interrupted_run_of_a_name_that_it_chose_itself_is_continued(capsys):
    with pytest.raises(KeyboardInterrupt):
        commands.run(NAMES, profile="quick", parameter=["systems=gin,beast"])
    said = capsys.readouterr().err
    run_id = said.partition("01-ping (1 of 3), run ")[2].partition(";")[0]
    assert f"Run {run_id} was interrupted in 02-json-decode." in said
    assert f"./wrkbook run {' '.join(NAMES[1:])} --run-id {run_id} --profile quick -p systems gin,beast" in said
