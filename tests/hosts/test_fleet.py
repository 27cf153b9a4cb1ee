"""A fleet: records travel whole, and each job is measured once."""

import io
import re
import tarfile
from concurrent.futures import Future

import pytest

from runners.core.errors import WrkbookError
from runners.hosts import fleet
from runners.hosts.fleet import Outcome, jobs_of, matrix_of, packed, share, unpack
from runners.hosts.inventory import read_inventory
from runners.store.ledger import Run
from tests.hosts.conftest import ONE_BLOCK, host, on_controller


@pytest.fixture
def measured(tmp_path):
    run = Run("02-json-decode", "r1", tmp_path / "there")
    run.folder.mkdir(parents=True)
    (run.folder / ".partial-block-002.jsonl.xz-x").touch()
    (run.folder / "run.json").write_text("{}")
    (run.folder / "block-001.jsonl.xz").write_bytes(b"sealed")
    return run


def test_records_come_back_as_they_were_without_what_is_not_sealed(measured, tmp_path):
    here = Run("02-json-decode", "r1", tmp_path / "here")
    unpack(packed(measured.folder), here)
    found = sorted(str(path.relative_to(here.folder)) for path in here.folder.rglob("*") if path.is_file())
    assert found == ["block-001.jsonl.xz", "run.json"]
    assert (here.folder / "block-001.jsonl.xz").read_bytes() == b"sealed"
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


@pytest.mark.parametrize(
    ("name", "kind"),
    [("../outside", tarfile.REGTYPE), ("..", tarfile.REGTYPE), ("run.json", tarfile.SYMTYPE), ("in", tarfile.DIRTYPE)],
)
def test_an_archive_with_other_things_than_files_of_a_run_is_refused(tmp_path, name, kind):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd" if kind == tarfile.SYMTYPE else ""
        archive.addfile(member, io.BytesIO())
    with pytest.raises(WrkbookError, match="did not come whole"):
        unpack(made.getvalue(), Run("02-json-decode", "r1", tmp_path))
    assert not (tmp_path / "outside").exists()


def test_hosts_with_different_roles_are_no_fleet(tmp_path):
    file = tmp_path / "hosts.toml"
    file.write_text('controller = "192.0.2.1"\n[[hosts]]\naddress = "192.0.2.2"\nroles = ["server"]\n')
    with pytest.raises(WrkbookError, match="different roles"):
        next(share(read_inventory(file), []))


def test_a_matrix_has_a_job_for_each_combination_whose_run_id_names_it():
    matrix = matrix_of(["connections=20,80", "body_style=pretty, compact"])
    jobs = jobs_of(["01-ping", "02-json-decode"], "r", {"profile": "quick"}, matrix)
    assert len({(job.experiment, job.run_id) for job in jobs}) == 8
    assert jobs[1].run_id == "r-connections-20-body_style-compact"
    assert jobs[1].values == {"profile": "quick", "connections": "20", "body_style": "compact"}
    assert [job.run_id for job in jobs_of(["01-ping"], "r", {}, {})] == ["r"]


@pytest.mark.parametrize("word", ["connections", "connections=", "=20"])
def test_a_matrix_without_name_or_value_is_refused(word):
    with pytest.raises(WrkbookError, match="a name and values"):
        matrix_of([word])


class Arriving:
    """Hosts that have measured each job already: what they send is given by run-id."""

    present = frozenset({"all"})

    def __init__(self, sent):
        self._sent = sent

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def call(self, _, task):
        return task()

    def submit_anywhere(self, _, job, cpus):
        found = Future()
        found.set_result(Outcome("all", "", self._sent[job.run_id]))
        return found


def test_records_that_do_not_come_whole_fail_their_own_job_alone(measured, tmp_path, monkeypatch):
    file = tmp_path / "hosts.toml"
    file.write_text('controller = "192.0.2.1"\n[[hosts]]\naddress = "192.0.2.2"\nroles = ["all"]\n')
    whole = packed(measured.folder)
    monkeypatch.setattr(fleet, "Hosts", lambda _: Arriving({"cut": whole[:700], "whole": whole}))
    jobs = jobs_of(["02-json-decode"], "cut", {}, {}) + jobs_of(["02-json-decode"], "whole", {}, {})
    ended = {job.run_id: outcome for job, outcome in share(read_inventory(file), jobs, tmp_path / "here")}
    assert "did not come whole" in ended["cut"].failure
    assert not ended["cut"].records
    assert not ended["whole"].failure
    assert [path.name for path in (tmp_path / "here" / "02-json-decode").iterdir()] == ["whole"]


@pytest.mark.servers
def test_three_hosts_share_experiments_and_one_that_is_here_already_is_kept(network, tmp_path):
    names = ("server", "backend", "generator")
    inventory = network.inventory(
        roles={name: ["all"] for name in names},
        **{name: host(network, name, "0-1") | {"housekeeping": ""} for name in names},
    )
    small = ("-p", "systems", "net-http", "-p", "batch_sizes", "1", *ONE_BLOCK)
    words = ("hosts", "share", inventory, "01", "--each", "connections=20,40,80", *small, "--run-id", "shared")
    outcome = on_controller(network, *words, data=tmp_path)
    # They share two CPUs: what is measured may be void, and each record is sealed all the same.
    found = [Run("01-ping", f"shared-connections-{count}", tmp_path / "raw") for count in (20, 40, 80)]
    assert all(run.blocks for run in found), outcome.stderr[-3000:]
    assert [run.read().parameters["connections"] for run in found] == [20, 40, 80]
    assert all(list(run.trials()) for run in found)
    measured_on = re.findall(r"(?:measured|failed) on (all-\d)", outcome.stderr)
    assert len(measured_on) == len(set(measured_on)) == 3
    assert not any(network.pids(name) for name in names)
    again = on_controller(network, *words, data=tmp_path)
    assert again.returncode == 0
    assert "on all-" not in again.stderr
