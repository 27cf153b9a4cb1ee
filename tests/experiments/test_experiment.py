"""An experiment as its notebook sees it, before anything is launched."""

from dataclasses import replace

import pytest

from runners.core.errors import WrkbookError
from runners.experiments.experiment import Experiment
from runners.experiments.plan import idle_other
from runners.measure import run_pinning, run_plan
from runners.store.ledger import Run
from tests.analyse.synthetic import manifest

WINDOWS = {"warmup_s": 0.1, "window_s": 0.5, "windows_count": 3}


@pytest.fixture
def begun(tmp_path):
    """An experiment whose run was begun with a record, or with None was not."""

    def begin(record, run_id="known", **changed):
        experiment = Experiment("01-ping", {"run_id": run_id}, workloads=["ping"], **changed)
        experiment.run_plan = replace(experiment.run_plan, run=Run("01-ping", run_id, tmp_path))
        if record is not None:
            experiment.run.open(manifest(**record))
        return experiment

    return begin


def test_a_run_goes_on_and_is_told_with_the_windows_that_it_was_begun_with(begun):
    windows = {"warmup_s": 0.1, "window_s": 7.0, "windows_count": 3, "slice_s": 0.0}
    profile = begun({"windows": windows}).run_plan.profile
    assert {name: getattr(profile, name) for name in windows} == windows


def test_a_new_run_and_one_that_says_nothing_of_its_windows_have_those_of_the_profile(begun):
    new, old = begun(None, "new"), begun({}, "old")
    assert new.run_plan.profile == new.parameters.effective_profile
    assert old.run_plan.profile == new.run_plan.profile


def test_a_run_that_was_begun_in_one_piece_or_in_other_slices_goes_on_so(begun):
    assert begun(None, "new").run_plan.profile.slice_s == 0.1
    assert begun({"windows": WINDOWS | {"slice_s": 0.0}}, "old").run_plan.profile.slice_s == 0
    assert begun({"windows": WINDOWS | {"slice_s": 0.01}}, "changed").run_plan.profile.slice_s == 0.01


def test_where_each_cell_has_a_process_of_its_own_it_has_one_window_of_a_second_at_least(begun):
    profile = begun(None, process_per_cell=True).run_plan.profile
    assert (profile.windows_count, profile.window_s) == (1, 1.0)


def test_a_resumed_run_keeps_its_cpus_and_needs_no_topology(begun, monkeypatch, tmp_path):
    roles = {"server": "5-6", "generator": "7-9", "housekeeping": "10"}
    begun({"pinning": roles, "pinning_threats": ["They are far apart."]})
    monkeypatch.setattr(run_plan, "Run", lambda *names: Run(*names, tmp_path))
    monkeypatch.delattr(run_pinning, "usable_cores")
    resumed = Experiment("01-ping", {"run_id": "known"}, workloads=["ping"]).run_plan
    assert resumed.pinning.as_dict() == roles
    assert resumed.pinning.threats == ("They are far apart.",)
    assert resumed.threads == 3


@pytest.mark.parametrize("slice_s", [0.0, 0.1])
def test_a_resumed_run_keeps_the_choice_of_time_slices_and_its_reason(begun, slice_s):
    slices = {"requested": "auto", "slice_s": slice_s, "reason": "the machine is such and such"}
    shares = {"steal_fraction": {}, "other_fraction": {0: 0.01}, "speed_spread": {}}
    about = {"idle": {"duration_s": 2.0, **shares}, "idle_speed": []}
    resumed = begun({"windows": WINDOWS | {"slice_s": slice_s}, "slices": slices, "about_machine": about})
    assert resumed.parameters.slices == "auto"
    assert resumed.run_plan.profile.slice_s == slice_s
    assert "the machine is such and such" in resumed.plan().text
    assert ("in time slices of 100 ms" in resumed.plan().text) == (slice_s > 0)
    assert idle_other(resumed.run) == {0: 0.01}


def test_before_a_run_the_plan_says_what_the_choice_of_time_slices_will_depend_on(begun):
    new = begun(None, "new")
    assert "decided just before measuring" in new.plan().text
    assert idle_other(new.run) == {}


@pytest.mark.parametrize("injected", [True, False])
def test_a_parameter_of_another_notebook_is_an_error_through_papermill_too(injected):
    namespace = {"In": ["# Parameters\nmeasure_flaws = False\n"] * injected, "measure_flaws": False}
    with pytest.raises(WrkbookError, match=r"unknown parameter measure_flaws.*\n.*02-json-decode's parameters are"):
        Experiment("02-json-decode", namespace, workloads=["decode"])
