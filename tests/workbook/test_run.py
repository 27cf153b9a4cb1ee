"""What `run` says when it is interrupted."""

from pathlib import Path

import pytest

from runners.cli import commands
from runners.core.parameters import PROFILES
from runners.workbook import run as running
from runners.workbook.run import Report

NAMES = ["01-ping", "02-json-decode", "03-json-roundtrip"]


@pytest.fixture
def interrupted_in_the_second(monkeypatch):
    def execute(known, values, *, measuring=True):
        if known.experiment == NAMES[1]:
            raise KeyboardInterrupt
        return Report(known.experiment, known.run_id, Path("report.html"), (), ())

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
    run_id = said.partition("01-ping (1 of 3), run ")[2].split()[0]
    assert f"Run {run_id} was interrupted in 02-json-decode." in said
    assert f"./wrkbook run {' '.join(NAMES[1:])} --run-id {run_id} --profile quick -p systems gin,beast" in said
