"""Servers and proxies on an address other than loopback's own, as on hosts of their own."""

import pytest

from runners.machine.pinning import plan_with_backend
from runners.measure.this_machine import usable_cores
from runners.systems.addresses import Addresses
from runners.systems.backend import FIRST_BACKEND_PORT, Backend
from runners.systems.process import ServerProcess
from tests.free_ports import free_ports
from tests.systems.conftest import NAMES, PROXIES
from tests.systems.seen import listening_addresses

pytestmark = pytest.mark.servers
ELSEWHERE, AS_THE_KERNEL_WRITES_IT = "127.0.0.2", "0200007F"
# They measure the load generator and the method, beside it on one machine.
ON_LOOPBACK_ONLY = {"burn", "calibration"}


@pytest.mark.parametrize("name", [*(name for name in NAMES if name not in ON_LOOPBACK_ONLY), *PROXIES, "nginx"])
def test_it_listens_on_the_address_that_it_is_given_and_on_no_other(artifacts, name):
    cpus = list(plan_with_backend(usable_cores()).server)
    port, behind = free_ports(2)
    addresses = Addresses(own=ELSEWHERE, backend=ELSEWHERE)
    with ServerProcess(artifacts[name], port, cpus, behind, addresses=addresses) as process:
        for each in process.ports:
            assert listening_addresses(each) == {AS_THE_KERNEL_WRITES_IT}


def test_a_database_listens_on_loopback_for_its_counters_and_where_it_is_told(artifacts):
    cpus = list(plan_with_backend(usable_cores()).backend)
    (port,) = free_ports(1, FIRST_BACKEND_PORT)
    with Backend(artifacts["postgresql"], port, cpus, addresses=Addresses(own=ELSEWHERE)) as process:
        assert listening_addresses(port) == {AS_THE_KERNEL_WRITES_IT, "0100007F"}
        assert process.work()
