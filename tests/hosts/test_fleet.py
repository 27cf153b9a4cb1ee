"""A fleet: records travel whole, and each job is measured once."""

import io
import tarfile

import pytest

from runners.core.errors import WrkbookError
from runners.hosts.fleet import packed, share, unpack
from runners.hosts.inventory import read_inventory
from runners.store.ledger import Run


@pytest.fixture
def measured(tmp_path):
    run = Run("02-json-decode", "r1", tmp_path / "there")
    (run.folder / "block-001").mkdir(parents=True)
    (run.folder / ".partial-block-002").mkdir()
    (run.folder / "run.json").write_text("{}")
    (run.folder / "block-001" / "a.json.xz").write_bytes(b"sealed")
    return run


def test_records_come_back_as_they_were_without_what_is_not_sealed(measured, tmp_path):
    here = Run("02-json-decode", "r1", tmp_path / "here")
    unpack(packed(measured.folder), here)
    found = sorted(str(path.relative_to(here.folder)) for path in here.folder.rglob("*") if path.is_file())
    assert found == ["block-001/a.json.xz", "run.json"]
    assert (here.folder / "block-001" / "a.json.xz").read_bytes() == b"sealed"
    assert [path.name for path in here.folder.parent.iterdir()] == ["r1"]


def test_records_that_are_here_already_are_never_overwritten(measured):
    with pytest.raises(WrkbookError, match="never overwritten"):
        unpack(packed(measured.folder), measured)


def test_a_truncated_archive_leaves_nothing(measured, tmp_path):
    here = Run("02-json-decode", "r1", tmp_path / "here")
    with pytest.raises(WrkbookError, match="did not come whole"):
        unpack(packed(measured.folder)[:700], here)
    assert not here.folder.exists()
    assert not list(here.folder.parent.iterdir())


def test_an_archive_that_leaves_its_folder_is_refused(tmp_path):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../outside"), io.BytesIO())
    with pytest.raises(WrkbookError, match="did not come whole"):
        unpack(made.getvalue(), Run("02-json-decode", "r1", tmp_path))
    assert not (tmp_path / "outside").exists()


def test_hosts_with_different_roles_are_no_fleet(tmp_path):
    file = tmp_path / "hosts.toml"
    file.write_text('controller = "192.0.2.1"\n[[hosts]]\naddress = "192.0.2.2"\nroles = ["server"]\n')
    with pytest.raises(WrkbookError, match="different roles"):
        next(share(read_inventory(file), []))
