"""The ledger: records are whole, written once, and never silently wrong."""

import hashlib
import json
import lzma
import re

import pandas as pd
import pytest
from pydantic import ValidationError

from runners.core.errors import WrkbookError
from runners.store.ledger import Run, check_run_id, new_run_id, runs, write_once
from tests.analyse.synthetic import manifest, trial

TRIAL = trial(1, "gin+encoding/json", "decode-10", [20_000.0])


def changed(**fields):
    return TRIAL.model_copy(update=fields)


@pytest.fixture
def run(tmp_path):
    found = Run("02-json-decode", "r1", tmp_path)
    found.open(manifest(profile="quick"))
    return found


def test_what_was_written_is_read_again(run):
    run.write_block(1, [TRIAL])
    (read,) = run.trials()
    assert read == TRIAL
    assert run.read() == manifest(profile="quick")
    assert [found.run_id for found in runs("02-json-decode", run.base)] == ["r1"]


def test_blocks_are_read_by_number_beyond_999_too(run):
    for number in (1000, 999, 2):
        run.write_block(number, [changed(block=number)])
    assert run.blocks == [2, 999, 1000]
    assert [found.block for found in run.trials()] == [2, 999, 1000]


def test_a_block_is_one_file_of_lines_in_an_order_of_their_own_that_pandas_reads(run):
    path = run.write_block(1, [changed(system="gin+encoding/json/v2"), TRIAL])
    assert [found.name for found in run.folder.iterdir() if found != run.folder / "run.json"] == ["block-001.jsonl.xz"]
    systems = ["gin+encoding/json", "gin+encoding/json/v2"]
    assert [found.system for found in run.trials()] == systems
    assert list(pd.read_json(path, lines=True)["system"]) == systems


def test_a_run_of_an_earlier_version_with_one_file_a_trial_is_read(run):
    path = run.write_block(1, [TRIAL, changed(system="drogon")])
    folder = run.folder / "block-001"
    folder.mkdir()
    for line in lzma.decompress(path.read_bytes()).splitlines():
        (folder / f"{json.loads(line)['system'][:3]}.json.xz").write_bytes(lzma.compress(line))
    path.unlink()
    with pytest.raises(WrkbookError, match="never overwritten"):
        run.write_block(1, [TRIAL])
    run.write_block(2, [changed(block=2)])
    assert run.blocks == [1, 2]
    assert [(found.block, found.system) for found in run.trials()] == [
        (1, "drogon"),
        (1, "gin+encoding/json"),
        (2, "gin+encoding/json"),
    ]


def test_a_block_is_never_overwritten(run):
    run.write_block(1, [TRIAL])
    with pytest.raises(WrkbookError, match="never overwritten"):
        run.write_block(1, [TRIAL])


def test_a_run_is_opened_once(run):
    with pytest.raises(WrkbookError, match="never overwritten"):
        run.open(manifest())


def test_a_block_that_fails_half_way_leaves_nothing(run):
    with pytest.raises(ValidationError):
        run.write_block(1, [TRIAL, changed(system="other", block="one")])
    assert list(run.trials()) == []
    assert [path.name for path in run.folder.iterdir()] == ["run.json"]


def test_what_an_interrupted_write_left_is_replaced(run):
    (run.folder / ".partial-block-001.jsonl.xz-x1").write_bytes(b"half")
    run.write_block(1, [TRIAL])
    assert len(list(run.trials())) == 1
    assert sorted(path.name for path in run.folder.iterdir()) == ["block-001.jsonl.xz", "run.json"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:-10],
        lambda raw: b"",
        lambda raw: raw[:10] + b"\xff" * 30,
        lambda raw: lzma.compress(b'{"schema":'),
        lambda raw: lzma.compress(b""),
        lambda raw: lzma.compress(lzma.decompress(raw)[:-9]),
    ],
)
def test_a_damaged_record_is_named(run, damage):
    path = run.write_block(1, [TRIAL])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(WrkbookError, match=re.escape(path.name)):
        list(run.trials())


@pytest.mark.parametrize("edit", [{"block": 2}, {"more": 1}, {"sha256": "0" * 64}])
def test_an_edited_record_is_named_and_not_used(run, edit):
    path = run.write_block(1, [TRIAL])
    record = json.loads(lzma.decompress(path.read_bytes()))
    path.write_bytes(lzma.compress(json.dumps(record | edit).encode()))
    with pytest.raises(WrkbookError, match=re.escape(path.name) + ".*edited"):
        list(run.trials())


@pytest.mark.parametrize("schema", ["wrkbook.trial/0", "wrkbook.trial/4"])
def test_a_record_of_another_schema_is_named(run, schema):
    path = run.write_block(1, [TRIAL])
    path.write_bytes(lzma.compress(json.dumps({"schema": schema}).encode()))
    with pytest.raises(WrkbookError, match=re.escape(path.name) + ".*" + re.escape(schema)):
        list(run.trials())


@pytest.mark.parametrize("run_id", ["../x", "", "a b", "/etc", "x" * 65, ".hidden", "a;b", "é"])
def test_a_run_id_that_is_no_plain_name_is_refused(run_id):
    with pytest.raises(WrkbookError, match="run-id"):
        check_run_id(run_id)


def test_a_new_run_id_is_a_good_one():
    assert check_run_id(new_run_id("quick")).endswith("-quick")


def test_writing_to_a_folder_that_is_not_there_tells_what_to_do(tmp_path):
    with pytest.raises(WrkbookError, match="could not be written"):
        write_once(tmp_path / "missing" / "file", b"x")


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ({"colour": "red"}, "colour: Extra inputs"),
        ({"shape": {"name": "", "colour": "red"}}, "shape.*colour"),
        ({"block": "one"}, "block: "),
        ({"windows": None}, "windows: "),
    ],
)
def test_a_sealed_record_whose_fields_are_not_those_of_its_schema_is_named_with_the_field(run, edit, told):
    path = run.write_block(1, [TRIAL])
    content = json.loads(lzma.decompress(path.read_bytes())) | edit
    del content["sha256"]
    seal = hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()
    path.write_bytes(lzma.compress(json.dumps(content | {"sha256": seal}, separators=(",", ":")).encode()))
    with pytest.raises(WrkbookError, match=re.escape(path.name) + ".*" + told):
        list(run.trials())


@pytest.mark.parametrize("edit", [{"colour": "red"}, {"cells": 3}, {"schema": "wrkbook.run/99"}])
def test_a_manifest_that_is_not_of_this_schema_is_named(run, edit):
    path = run.folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | edit))
    with pytest.raises(WrkbookError, match=r"run\.json.*" + next(iter(edit.values() if "schema" in edit else edit))):
        run.read()
