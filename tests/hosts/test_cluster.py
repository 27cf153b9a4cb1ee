"""Tasks of hosts: each has its own result or error, whenever it ends; and the end of the hosts themselves."""

import pytest

from runners.core.errors import WrkbookError
from runners.hosts.cluster import Hosts
from runners.hosts.inventory import read_inventory
from runners.hosts.ssh import SshWorker


class EndsDuringTheLook:
    """A task that ends while the time of one look passes: its result or error is there at the next."""

    status = "pending"

    def __init__(self, outcome):
        self.outcome = outcome

    def result(self, timeout=None):
        if self.status == "pending":
            self.status = "error" if isinstance(self.outcome, Exception) else "finished"
            raise TimeoutError(f"timed out after {timeout} s.")
        if self.status == "error":
            raise self.outcome
        return self.outcome


class Connected(Hosts):
    """Hosts of which these are there."""

    present = frozenset({"server"})


class Lost(Hosts):
    """Hosts of which none is there."""

    present = frozenset()


def test_a_task_that_ends_as_a_look_ends_has_its_result():
    assert Connected(None).result("server", EndsDuringTheLook("its result")) == "its result"


def test_a_task_that_fails_as_a_look_ends_has_its_own_error():
    with pytest.raises(ValueError, match="of its own"):
        Connected(None).result("server", EndsDuringTheLook(ValueError("an error of its own")))


def test_a_time_limit_of_the_task_itself_is_its_error():
    with pytest.raises(TimeoutError, match="of its own"):
        Connected(None).result("server", EndsDuringTheLook(TimeoutError("a limit of its own")))


@pytest.mark.parametrize("outcome", ["a result", ValueError("an error")])
def test_a_host_that_is_gone_gives_no_result(outcome):
    with pytest.raises(WrkbookError, match="the host server is gone"):
        Lost(None).result("server", EndsDuringTheLook(outcome))


@pytest.mark.servers
def test_a_worker_over_ssh_ends_when_it_is_told_to_and_is_not_waited_for_in_vain(network, inventory, monkeypatch):
    statuses, close = [], SshWorker.close

    async def noted(worker):
        await close(worker)
        statuses.append(worker._process.exit_status)

    monkeypatch.setattr(SshWorker, "close", noted)
    with network.inside("controller"), Hosts(read_inventory(inventory)):
        assert any(network.pids(name) for name in ("server", "backend"))
    assert statuses == [0, 0]
    assert not any(network.pids(name) for name in ("server", "backend"))
