"""A database on a host of its own."""

import pytest

from runners.store.ledger import Run
from tests.hosts.conftest import ONE_BLOCK, on_controller

QUERYING = ("04", "-p", "systems", "net-http", "-p", "generators", "wrk", "-p", "counts", "20", *ONE_BLOCK)


@pytest.mark.servers
def test_a_database_on_a_host_of_its_own_is_counted_there(network, inventory, tmp_path):
    outcome = on_controller(network, "run", *QUERYING, "--run-id", "sql", "--hosts", inventory, data=tmp_path)
    queried = [
        record for record in Run("04-text-json-sql", "sql", tmp_path / "raw").trials() if record.workload_name == "sql1"
    ]
    # This machine is not quiet: a trial may be void, and is recorded all the same.
    assert queried, outcome.stderr[-3000:]
    for record in queried:
        window = record.windows[-1]
        assert window.backend_work["sql1"]["calls"] > 0
        assert window.samples[-1].backend.cpu_s > window.samples[0].backend.cpu_s
