"""A worker by hand: it joins, and says why it could not."""

import asyncio
import itertools
import subprocess
import sys
from contextlib import contextmanager

import pytest

from runners.core.errors import WrkbookError
from runners.core.project import PROJECT
from runners.hosts import worker
from runners.hosts.worker import JOINED, KEY_FILES, take_identity
from tests.free_ports import free_ports

_SCHEDULER = """
import asyncio, sys
from distributed import Scheduler

async def work():
    async with Scheduler(host="127.0.0.1", port=int(sys.argv[1]), dashboard=False) as scheduler:
        print("there", flush=True)
        await scheduler.finished()

asyncio.run(work())
"""


@contextmanager
def started(*command, until):
    """A process that has printed the line `until`; it is killed at the end."""
    with subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT
    ) as process:
        try:
            assert process.stdout.readline() == f"{until}\n"
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def scheduler():
    (port,) = free_ports(1, 19700)
    with started("-c", _SCHEDULER, str(port), until="there"):
        yield f"tcp://127.0.0.1:{port}"


def test_a_second_worker_of_the_same_name_is_refused_with_the_reason(scheduler):
    command = ["-m", "runners", "hosts", "join", scheduler, "--name", "server"]
    with started(*command, until=JOINED):
        second = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=PROJECT, timeout=60)
    assert second.returncode == 1
    reason, told = second.stderr.splitlines()
    assert reason.endswith("name taken, server")
    assert told == f"wrkbook: {scheduler} cannot be joined: it refused this worker"


@pytest.mark.parametrize("others", [(), ("notes.txt",)], ids=["keys alone", "beside another file"])
def test_the_keys_are_deleted_and_nothing_else(tmp_path, others):
    folder = tmp_path / "server"
    folder.mkdir(mode=0o700)
    for name in (*KEY_FILES.values(), *others):
        (folder / name).write_text(name)
    assert take_identity(folder).key == "key.pem"
    assert [path.name for path in tmp_path.rglob("*")] == (["server", *others] if others else [])


def test_where_a_key_is_missing_none_is_deleted(tmp_path):
    folder = tmp_path / "server"
    folder.mkdir(mode=0o700)
    (folder / KEY_FILES["key"]).write_text("key")
    with pytest.raises(WrkbookError, match="does not hold the keys of a run"):
        take_identity(folder)
    assert (folder / KEY_FILES["key"]).exists()


class Responding:
    """Stands for a worker and its scheduler: a call fails where `failing` says so."""

    def __init__(self, failing):
        self.scheduler, self.failing, self.calls_count = self, iter(failing), 0

    async def ncores(self):
        self.calls_count += 1
        if next(self.failing):
            raise OSError("the connection was closed")


def test_a_worker_outlives_single_calls_that_fail_and_ends_when_all_fail_for_its_lease(monkeypatch):
    monkeypatch.setattr(worker, "_PING_EVERY_S", 0.001)
    monkeypatch.setattr(worker, "LEASE_S", 1.0)
    every_second = [True, False] * 20
    found = Responding(itertools.chain(every_second, itertools.repeat(True)))
    asyncio.run(worker._without_lease(found))
    assert found.calls_count > len(every_second)
