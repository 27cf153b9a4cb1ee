"""Which reports are made again: all but those whose records, sources, settings and own files are as they were."""

import pytest

from runners.core.project import OWN_SESSION_ONLY
from runners.workbook import up_to_date
from runners.workbook.up_to_date import is_up_to_date, note_made, present_state


@pytest.fixture
def ledger(tmp_path):
    """Two runs of one notebook; the reports of both may depend on either."""
    for run_id in ("r1", "r2"):
        folder = tmp_path / "raw" / "02-json-decode" / run_id
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
        (folder / "block-001.jsonl.xz").write_bytes(b"sealed")
    return tmp_path / "raw"


@pytest.fixture
def report(tmp_path):
    folder = tmp_path / "processed" / "r1"
    (folder / "figures").mkdir(parents=True)
    (folder / "report.html").write_text("<p>")
    (folder / "figures" / "figure-01.png").write_bytes(b"png")
    return folder


def test_a_report_is_up_to_date_from_when_that_is_noted(report, ledger):
    state = present_state(ledger)
    assert not is_up_to_date(report, state)
    note_made(report, state)
    assert is_up_to_date(report, present_state(ledger))


@pytest.mark.parametrize("file", ["report.html", "figures/figure-01.png"])
@pytest.mark.parametrize("change", ["removed", "changed", "another beside it"])
def test_a_report_of_which_a_file_is_gone_or_changed_is_made_again(report, ledger, file, change):
    state = present_state(ledger)
    note_made(report, state)
    path = report / file
    if change == "removed":
        path.unlink()
    elif change == "changed":
        path.write_bytes(path.read_bytes()[::-1])
    else:
        path.with_name("another").touch()
    assert not is_up_to_date(report, state)


@pytest.mark.parametrize("run_id", ["r1", "r2"])
@pytest.mark.parametrize("change", ["more", "same size", "new", "gone", "run"])
def test_a_change_of_any_run_makes_every_report_again(report, ledger, run_id, change):
    note_made(report, present_state(ledger))
    folder = ledger / "02-json-decode" / run_id
    block = folder / "block-001.jsonl.xz"
    match change:
        case "more":
            block.write_bytes(b"sealed, and more")
        case "same size":
            block.write_bytes(b"SEALED")
        case "new":
            (folder / "block-002.jsonl.xz").touch()
        case "gone":
            block.unlink()
        case "run":
            folder.rename(folder.with_name("r3"))
    assert not is_up_to_date(report, present_state(ledger))


def test_tables_that_are_kept_beside_the_records_change_nothing(ledger):
    before = present_state(ledger)
    kept = ledger / "02-json-decode" / "r1" / ".tables"
    kept.mkdir()
    (kept / "trials.parquet").touch()
    assert present_state(ledger) == before


@pytest.mark.parametrize(
    "file", ["runners/present/kit/report.css", "runners/stats/ratios.py", "notebooks/02.ipynb", "requirements.lock"]
)
def test_other_sources_make_every_report_again(ledger, tmp_path, monkeypatch, file):
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("before")
    (tmp_path / "requirements.lock").touch()
    monkeypatch.setattr(up_to_date, "PROJECT", tmp_path)
    monkeypatch.setattr(up_to_date, "NOTEBOOKS", tmp_path / "notebooks")
    before = present_state(ledger)
    path.write_text("after that")
    assert present_state(ledger) != before


def test_without_the_other_sessions_it_is_another_report(ledger, monkeypatch):
    before = present_state(ledger)
    monkeypatch.setenv(OWN_SESSION_ONLY, "1")
    assert present_state(ledger) != before
