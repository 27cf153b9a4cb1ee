"""wrk over TLS, with the real tool: every connection of a full handshake is a new session, and of a resumed one an old session."""

import subprocess

import pytest

from runners.contract.runner import contract_request
from runners.core.load import Load
from runners.core.records import Workload
from runners.generators.wrk import Wrk
from runners.measure.conformance import build_all, full_image
from runners.systems.catalogue import Catalogue
from runners.systems.certificate import certificate_folder
from runners.systems.sandbox import Sandbox
from tests.contract.fake import serving
from tests.contract.test_tls import settings

pytestmark = pytest.mark.servers
LOAD = Load(connections=2, threads=1, duration_s=1)


@pytest.fixture(scope="module")
def built():
    catalogue = Catalogue()
    return build_all(catalogue, [catalogue.server("wrk")])["wrk"]


@pytest.mark.parametrize(("workload", "resumed"), [("tls", 0.0), ("tls-new", 0.0), ("tls-resumed", 1.0)])
def test_handshakes_are_those_of_the_workload(built, tmp_path, workload, resumed):
    tls, wrk = settings(certificate_folder()), Wrk()
    request = contract_request("/json", Workload(workload), "pretty", 1)
    wrk.prepare(request, tmp_path)
    with serving(tls=tls) as url:
        argv = wrk.command(request, LOAD, "127.0.0.1", int(url.rpartition(":")[2]))
        env = {"LD_PRELOAD": ":".join(wrk.libraries(request))}
        sandbox = Sandbox(full_image(Catalogue()), read_only={"/load": tmp_path, "/build": built.folder}, env=env)
        outcome = subprocess.run(sandbox.command(argv), capture_output=True, text=True, check=True)
        result = wrk.parse(outcome.stdout, LOAD)
        seen = tls.session_stats()
    assert result.errors.total_count == 0, outcome.stdout
    assert result.requests_count > 20
    # One connection each on kept ones; else one a request, of which the first two and perhaps two under way are not counted.
    if workload == "tls":
        assert seen["accept_good"] == LOAD.connections
    else:
        assert 0 <= seen["accept_good"] - result.requests_count <= 2 * LOAD.connections
    assert seen["hits"] == pytest.approx(resumed * seen["accept_good"], abs=2 * LOAD.connections)
