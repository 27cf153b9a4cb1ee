"""Tables that are kept beside a run's records: the same as parsed ones, and never those of other records or other code."""

import os
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from runners.analyse import kept_tables
from runners.analyse.kept_tables import run_tables
from runners.analyse.tables import Tables, build_tables
from runners.core.errors import WrkbookError
from tests.analyse.synthetic import run_of

RATES = {("fast+a", "decode-10"): 60_000.0, ("slow+c", "decode-10"): 30_000.0, ("control", "decode-10"): 60_000.0}


@pytest.fixture(autouse=True)
def kept_from_the_first_trial_on(monkeypatch):
    monkeypatch.setattr(kept_tables, "_LEAST_TO_KEEP", 0)


def assert_same(a: Tables, b: Tables) -> None:
    for each in fields(Tables):
        pd.testing.assert_frame_equal(getattr(a, each.name), getattr(b, each.name), check_exact=True)


@settings(max_examples=5, deadline=None)
@given(st.lists(st.floats(1_000, 90_000), min_size=1, max_size=3))
def test_kept_tables_are_those_of_the_records(throughputs):
    with TemporaryDirectory() as folder:
        run = run_of(Path(folder), {(f"system+{number}", "decode-1"): rate for number, rate in enumerate(throughputs)})
        parsed = build_tables(run.trials())
        assert_same(run_tables(run), parsed)
        assert (run.folder / ".tables" / "key").exists()
        assert_same(run_tables(run), parsed)


def test_kept_tables_are_read_without_the_records(tmp_path, monkeypatch):
    run = run_of(tmp_path, RATES)
    first = run_tables(run)
    monkeypatch.setattr(kept_tables, "read_trials", lambda path: pytest.fail(f"{path} was parsed again"))
    assert_same(run_tables(run), first)


@pytest.mark.parametrize("file", ["key", "trials.parquet", "latency.parquet"])
@pytest.mark.parametrize("content", [b"", b"something else", None])
def test_damaged_tables_are_made_again(tmp_path, file, content):
    run = run_of(tmp_path, RATES)
    first, path = run_tables(run), run.folder / ".tables" / file
    sound = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert_same(run_tables(run), first)
    assert path.read_bytes() == sound


def test_another_block_makes_the_tables_again(tmp_path):
    run = run_of(tmp_path, RATES)
    before = run_tables(run)
    last = max(run.blocks)
    run.write_block(
        last + 1, [record.model_copy(update={"block": last + 1}) for record in run.trials() if record.block == last]
    )
    assert len(run_tables(run).trials) > len(before.trials)


def test_an_edited_record_is_refused_though_tables_are_kept(tmp_path):
    run = run_of(tmp_path, RATES)
    run_tables(run)
    edited, other = run.files[:2]
    edited.write_bytes(other.read_bytes()[:-9])
    with pytest.raises(WrkbookError, match="is damaged"):
        run_tables(run)


def test_other_code_makes_the_tables_again(tmp_path, monkeypatch):
    run = run_of(tmp_path, RATES)
    run_tables(run)
    key = (run.folder / ".tables" / "key").read_text()
    monkeypatch.setattr(kept_tables, "_digest_of_code", lambda: "of another version")
    run_tables(run)
    assert (run.folder / ".tables" / "key").read_text() != key


def test_a_ledger_that_cannot_be_written_to_is_read(tmp_path, monkeypatch):
    run = run_of(tmp_path, RATES)
    monkeypatch.setattr(kept_tables, "_keep", lambda *_: (_ for _ in ()).throw(PermissionError("read-only")))
    assert_same(run_tables(run), build_tables(run.trials()))


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU parses alone")
def test_many_trials_are_parsed_on_all_cpus_into_the_same_tables(tmp_path, monkeypatch):
    run = run_of(tmp_path, RATES)
    monkeypatch.setattr(kept_tables, "_LEAST_FOR_ALL_CPUS", 1)
    monkeypatch.setattr(kept_tables, "_BYTES_A_TASK", 1)
    assert_same(run_tables(run), build_tables(run.trials()))


def test_the_launches_of_a_cell_are_the_bins_of_its_trials(tmp_path):
    tables = build_tables(run_of(tmp_path, RATES).trials())
    rows = tables.latency.astype({"system": str, "workload": str})
    assert set(tables.launches) == set(zip(rows["system"], rows["workload"], strict=True))
    for (system, workload), blocks in tables.launches.items():
        own = rows[(rows["system"] == system) & (rows["workload"] == workload)]
        assert list(blocks) == sorted(own["block"].unique())
        for block, histogram in blocks.items():
            of_block = own[own["block"] == block]
            assert histogram.values_us == tuple(of_block["value_us"])
            assert histogram.counts == tuple(of_block["count"])


def test_a_run_without_a_sound_trial_has_no_launches():
    assert build_tables([]).launches == {}
