"""A database on a host of its own."""

import pytest

from runners.core.load import Load
from runners.core.request import Request
from runners.hosts.cluster import Hosts
from runners.hosts.inventory import read_inventory
from runners.hosts.roles import HostRoles
from runners.hosts.station import at_station
from runners.measure.load import LoadContext, LoadTarget
from runners.measure.roles import WantedServer
from runners.store.ledger import Run
from runners.systems.build import artifact
from runners.systems.catalogue import Catalogue
from tests.hosts.conftest import ONE_BLOCK, on_controller

pytestmark = pytest.mark.servers
QUERYING = ("04", "-p", "systems", "net-http", "-p", "generators", "wrk", "-p", "counts", "20", *ONE_BLOCK)


def assert_counted(window):
    assert window.backend_work["sql1"]["calls"] > 0
    assert window.samples[-1].backend.cpu_s > window.samples[0].backend.cpu_s


def test_a_database_on_a_host_of_its_own_is_counted_there(network, inventory, tmp_path):
    with network.inside("controller"), Hosts(read_inventory(inventory)) as hosts:
        roles = HostRoles(hosts)
        try:
            roles.open()
            roles.prepare({"server": ["net-http"], "backend": ["postgresql"]}, ["wrk"])
            here = at_station(lambda own: own)
            server, database = (artifact(Catalogue().server(name), here.image) for name in ("net-http", "postgresql"))
            with (
                roles.hold_ports(1, backends=True) as (behind,),
                roles.hold_ports(1, backends=False) as (port,),
                roles.backend(database, behind, [1]) as backend,
                roles.server(WantedServer(server, port, [0], None, backend)) as launched,
            ):
                target = LoadTarget(launched, Request("GET", "/sql1"), "wrk", tmp_path, backend)
                context = LoadContext(here.generators, here.image, here.plan, here.probes)
                window = roles.window(context, target, Load(10, 1, 1.0), "window")
        finally:
            roles.close()
    assert_counted(window)


@pytest.mark.full
def test_a_notebook_that_queries_a_database_counts_it_on_its_host(network, inventory, tmp_path):
    outcome = on_controller(network, "run", *QUERYING, "--run-id", "sql", "--hosts", inventory, data=tmp_path)
    queried = [
        record for record in Run("04-text-json-sql", "sql", tmp_path / "raw").trials() if record.workload_name == "sql1"
    ]
    # This machine is not quiet: a trial may be void, and is recorded all the same.
    assert queried, outcome.stderr[-3000:]
    for record in queried:
        assert_counted(record.windows[-1])
