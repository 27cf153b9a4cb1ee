"""Parameters as words of the command line, and the command that continues an interrupted run."""

import re

import pytest
from typer.testing import CliRunner

from runners.cli.arguments import check_port, joined_parameters, parameter_values, parameter_words, resuming
from runners.cli.commands import app
from runners.core.errors import WrkbookError


@pytest.mark.parametrize(
    "values",
    [
        {"systems": ["gin", "drogon+glaze"], "batch_sizes": [1, 10]},
        {"systems": []},
        {"precision": 0.05, "connections": 40, "measure_flaws": False, "slices": "auto", "server_cpus": "0-3"},
    ],
)
def test_parameters_come_back_from_their_words(values):
    words = joined_parameters(parameter_words(values))
    assert parameter_values([word for word in words if word != "-p"]) == values


def test_the_command_that_continues_names_the_run_and_what_differs_from_the_defaults():
    values = {"profile": "quick", "systems": ["gin", "drogon+glaze"], "run_id": "r1"}
    first, command = resuming(["02-json-decode", "03-json-roundtrip"], values, 2.5).splitlines()
    assert first == "Run r1 was interrupted in 02-json-decode. To continue it:"
    assert command.strip() == (
        "./wrkbook run 02-json-decode 03-json-roundtrip --run-id r1 --profile quick --budget 2.5"
        " -p systems gin,drogon+glaze"
    )


def test_a_run_with_default_parameters_is_continued_by_its_name_alone():
    command = resuming(["01-ping"], {"profile": "standard", "run_id": "r1"}, 0).splitlines()[1]
    assert command.strip() == "./wrkbook run 01-ping --run-id r1"


def test_a_port_of_root_is_refused_with_the_ones_to_choose_from():
    with pytest.raises(WrkbookError, match="choose a port from 1024 up"):
        check_port(80)
    assert (check_port(1024), check_port(None)) == (1024, None)


@pytest.mark.parametrize("arguments", [["--version"], ["--version", "run"]])
def test_the_version_names_the_commit_and_nothing_else_happens(arguments):
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0
    assert re.fullmatch(r"wrkbook [0-9.]+ \(([0-9a-f]{12}(, with changes)?|not a git checkout)\)\n", shown.output)
