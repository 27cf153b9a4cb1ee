"""Which two runs are compared, and what is refused before anything is analysed."""

import pytest

from runners.core.errors import WrkbookError
from runners.core.project import COMPARING, NOTEBOOKS, experiments, find_experiment
from runners.experiments import reviews
from runners.experiments.reviews import TwoRuns, find_pairs
from runners.store import runs
from runners.store.ledger import Run
from tests.analyse.synthetic import manifest

RECORD = manifest(parameters={"connections": 80}, machine={"kernel": "6.1"})
PLACES = {
    "01-ping": ["early", "late", "ping-only"],
    "02-json-decode": ["early", "late", "decode-only"],
}


@pytest.fixture
def raw(tmp_path, monkeypatch):
    """A ledger in which two experiments have two runs of the same ids."""
    for experiment, run_ids in PLACES.items():
        for run_id in run_ids:
            Run(experiment, run_id, tmp_path).open(RECORD)
    monkeypatch.setattr(reviews, "find_runs", lambda run_id, searched: runs.find_runs(run_id, searched, tmp_path))
    return tmp_path


def test_every_experiment_that_has_both_runs_is_compared(raw):
    pairs = find_pairs("early", "late")
    assert [(a.experiment, a.run_id, b.experiment, b.run_id) for a, b in pairs] == [
        ("01-ping", "early", "01-ping", "late"),
        ("02-json-decode", "early", "02-json-decode", "late"),
    ]


@pytest.mark.parametrize("name", ["02", "02-json-decode"])
def test_only_the_named_experiment_is_compared(raw, name):
    assert [a.experiment for a, _ in find_pairs("early", "late", name)] == ["02-json-decode"]


def test_a_run_may_be_compared_with_itself(raw):
    ((a, b),) = find_pairs("ping-only", "ping-only")
    assert a == b


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("early", "lat"),
            "there is no run 'lat'\n  → did you mean 'late'? there are:\n    01-ping: early (complete), late (complete)",
        ),
        (("decode-only", "late", "01"), "there is no run 'decode-only' of 01-ping"),
        (("../early", "late"), "there is no run '../early'"),
        (("early", "late", "77"), "there is no notebook named '77'"),
        (("early", "late", "../x"), "there is no notebook named '../x'"),
        (
            ("ping-only", "decode-only"),
            "run ping-only is of 01-ping, run decode-only of 02-json-decode: runs of different experiments are never",
        ),
    ],
)
def test_a_run_that_cannot_be_found_or_compared_is_named_with_a_remedy(raw, arguments, told):
    with pytest.raises(WrkbookError) as caught:
        find_pairs(*arguments)
    assert told in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"run_a": "", "run_b": "late"}, "parameter run_a"),
        ({"run_a": "early", "run_b": "late", "anyway": "yes"}, "parameter anyway"),
        ({"run_a": "early", "run_b": "late"}, "several experiments have both runs: 01-ping, 02-json-decode"),
        (
            {"run_a": "early", "run_b": "late", "run_c": "x", "In": ["# Parameters\nrun_c = 'x'\n"]},
            "unknown parameter run_c (did you mean run_",
        ),
    ],
)
def test_a_wrong_parameter_of_the_notebook_is_named(raw, values, told):
    with pytest.raises(WrkbookError) as caught:
        TwoRuns(values)
    assert told in str(caught.value)


def test_the_notebook_refuses_runs_that_were_not_measured_alike_unless_told_to(raw):
    Run("01-ping", "elsewhere", raw).open(RECORD.model_copy(update={"machine": {"kernel": "6.2"}}))
    values = {"run_a": "ping-only", "run_b": "elsewhere"}
    with pytest.raises(WrkbookError, match=r"machine\.kernel \(6\.1 in A, 6\.2 in B\)"):
        TwoRuns(values)
    assert [each.field for each in TwoRuns({**values, "anyway": True}).differences] == ["machine.kernel"]


def test_the_notebook_that_compares_is_there_and_is_no_experiment():
    assert (NOTEBOOKS / f"{COMPARING}.ipynb").exists()
    assert COMPARING not in experiments()
    assert "02-json-decode" in experiments()


@pytest.mark.parametrize("name", ["90", "90-compare-runs", "notebooks/90-compare-runs.ipynb"])
def test_running_the_notebook_that_compares_tells_the_command_for_it(name):
    with pytest.raises(WrkbookError, match="needs two runs") as caught:
        find_experiment(name)
    assert caught.value.remedy == "./wrkbook compare RUN_A RUN_B"
