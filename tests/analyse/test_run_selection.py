"""Which runs decide about published claims."""

import pytest

from runners.analyse.claims.run_selection import select_runs, selected_before
from tests.analyse.synthetic import run_of

RATES = {("fast+a", "decode-10"): 60_000.0, ("slow+c", "decode-10"): 30_000.0, ("control", "decode-10"): 60_000.0}
NAME = "02-json-decode"


@pytest.fixture
def made(tmp_path):
    """A function that puts a run into the ledger of this test."""

    def make(run_id, profile="standard", day=1, **about):
        record = {"profile": profile, "started_at": f"2026-01-{day:02d}T00:00:00+00:00"}
        return run_of(tmp_path, RATES, run_id=run_id, blocks=2, record=record, **about)

    make.base = tmp_path
    return make


def chosen(made, run_id=""):
    (found,) = select_runs([NAME], run_id, made.base)
    return found


def test_a_publication_run_is_preferred_to_a_standard_one_and_that_to_a_smoke_run(made):
    made("smoke", "quick", day=3)
    assert (chosen(made).run_id, chosen(made).is_smoke) == ("smoke", True)
    made("plain", "standard", day=2)
    assert (chosen(made).run_id, chosen(made).is_smoke) == ("plain", False)
    made("long", "publication", day=1)
    assert chosen(made).run_id == "long"


def test_the_run_that_comes_with_the_project_decides_for_itself_only(made):
    made("reference", "standard", day=2)
    assert chosen(made).run_id == ""
    assert chosen(made, "reference").run_id == "reference"
    made("mine", "quick", day=1)
    assert chosen(made).run_id == "mine"


def test_of_equals_the_newest_decides(made):
    made("z", day=1)
    made("a", day=2)
    assert chosen(made).run_id == "a"


def test_the_run_of_the_same_id_comes_before_all_others(made):
    made("long", "publication", day=9)
    made("mine", "quick", day=1)
    assert chosen(made, "mine").run_id == "mine"
    assert chosen(made, "another").run_id == "long"


def test_a_damaged_run_is_passed_over_and_named(made):
    made("sound", day=1)
    damaged = made("damaged", day=2)
    path = damaged.files[0]
    path.write_bytes(path.read_bytes()[:100])
    found = chosen(made)
    assert found.run_id == "sound"
    assert "run damaged cannot be analysed" in found.why


def test_a_run_without_a_sound_trial_is_no_evidence(made):
    failure = {"failure": {"stage": "running", "message": "it ended"}}
    made("failed", odd=dict.fromkeys(RATES, failure))
    found = chosen(made)
    assert (found.results, found.run_id) == (None, "")
    assert "run failed has not one sound trial" in found.why


def test_a_run_whose_record_is_broken_is_no_evidence(made):
    made("broken").folder.joinpath("run.json").write_text("{")
    assert chosen(made).results is None


def test_without_any_run_that_is_said(made):
    assert chosen(made).why == f"no run of {NAME} here"


def test_what_was_written_down_decides_though_a_newer_run_is_there(made):
    made("then", day=1)
    made("later", "publication", day=2)
    (found, other) = selected_before({NAME: "then"}, [NAME, "06-tcp-proxies"], made.base)
    assert found.run_id == "then"
    assert (other.results, other.why) == (None, "no run of 06-tcp-proxies when this was judged")
    (gone,) = selected_before({NAME: "lost"}, [NAME], made.base)
    assert gone.why == f"run lost of {NAME} is not here any more"
