"""The command ``list``: what there is, in which state, and what was run last."""

import json

import pytest

from runners.analyse.summary import _write_summary
from runners.cli import commands, listing
from runners.cli.console import plain
from runners.core.project import PROJECT
from runners.store import ledger, runs
from tests.analyse.synthetic import run_of

EXPERIMENT = "02-json-decode"
REFERENCE = json.loads((PROJECT / "data/processed" / EXPERIMENT / "reference/summary.json").read_text())
RATES = {("gin+simdjson-go", "decode-10"): 60_000.0, ("drogon+glaze", "decode-10"): 30_000.0}


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A ledger of the test's own, as the listing sees it."""
    monkeypatch.setattr(listing, "runs", lambda name: ledger.runs(name, tmp_path / "raw"))
    monkeypatch.setattr(listing, "processed_folder", lambda run: tmp_path / run.run_id)
    return tmp_path


def as_text(found):
    return plain(*listing.parts(found))


def made(data, run_id, started_at, headline=""):
    run_of(data / "raw", RATES, blocks=1, run_id=run_id, record={"started_at": started_at})
    if headline:
        (data / run_id).mkdir()
        _write_summary(data / run_id, REFERENCE | {"headline": headline})


def test_without_runs_everything_is_listed_all_the_same(data):
    text = as_text(listing.listing())
    assert "02-json-decode" in text
    assert "never run" in text
    assert "autocannon" in text.partition("Load generators")[2]
    workloads = text.partition("Workloads")[2]
    assert "drogon+simdjson," in workloads
    assert "gin+go-json*" in workloads


def test_the_last_run_is_the_one_that_started_last_whatever_its_name(data):
    made(data, "b-first", "2026-01-01T10:00:00+00:00", "Then it was slow.")
    made(data, "a-second", "2026-01-02T10:00:00+00:00", "Now it is fast.")
    found = listing.listing()
    (entry,) = [entry for entry in found["experiments"] if entry["experiment"] == "02-json-decode"]
    assert entry["runs"] == ["b-first", "a-second"]
    assert entry["last"]["run_id"] == "a-second"
    lasts = {system["system"]: system["last"] for system in found["systems"]}
    assert lasts["gin"]["run_id"] == lasts["drogon"]["run_id"] == "a-second"
    assert lasts["beast"] is None
    text = as_text(found)
    assert "2 runs, the last: a-second (2026-01-02 10:00 UTC, standard)" in text
    assert "Now it is fast." in text
    assert "Then it was slow." not in text


def test_a_run_without_a_report_says_how_to_get_one(data):
    made(data, "stopped", "2026-01-01T10:00:00+00:00")
    assert "./wrkbook report stopped" in as_text(listing.listing())


def test_every_run_is_listed_with_its_state(data):
    made(data, "whole", "2026-01-01T10:00:00+00:00")
    made(data, "stopped", "2026-01-02T10:00:00+00:00")
    with pytest.raises(KeyboardInterrupt), runs.being_measured(ledger.Run(EXPERIMENT, "stopped", data / "raw")):
        raise KeyboardInterrupt
    found = listing.listing()
    (entry,) = [entry for entry in found["experiments"] if entry["experiment"] == EXPERIMENT]
    assert entry["states"] == {"whole": "complete", "stopped": "interrupted at block 2"}
    lines = [line.split(maxsplit=1) for line in as_text(found).splitlines()]
    assert ["stopped", "interrupted at block 2"] in lines
    assert ["whole", "complete"] in lines


def test_json_is_all_that_is_printed(data, capsys):
    commands.list_(as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"experiments", "systems", "workloads", "variants"}
    assert {"built", "conforming", "last"} <= set(found["systems"][0])
