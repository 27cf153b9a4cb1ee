"""Experiments over three hosts: the records, the limit by the network, and what a lost host leaves."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from runners.core.project import PROJECT
from runners.store.ledger import Run
from tests.hosts.conftest import on_controller

pytestmark = [pytest.mark.servers, pytest.mark.quiet]
PROFILE = ("--profile", "quick", "-p", "max_blocks", "1")
DECODING = ("02", "-p", "systems", "drogon+simdjson,gin+sonic", "-p", "batch_sizes", "10", *PROFILE)
QUERYING = ("04", "-p", "systems", "net-http", "-p", "generators", "wrk", "-p", "counts", "20", *PROFILE)


@pytest.fixture(scope="module")
def decoded(network, inventory, tmp_path_factory):
    data = tmp_path_factory.mktemp("decoded")
    return data, on_controller(network, "run", *DECODING, "--run-id", "over", "--hosts", inventory, data=data)


def trials(data, experiment, run_id):
    return list(Run(experiment, run_id, data / "raw").trials())


def test_a_run_over_hosts_ends_well_and_leaves_no_process_on_any(network, decoded):
    _, outcome = decoded
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    assert "02-json-decode/over/report.html" in outcome.stdout
    assert not any(network.pids(name) for name in ("server", "backend"))


def test_the_record_names_hosts_by_their_roles_and_holds_no_address(decoded):
    data, _ = decoded
    run = data / "raw/02-json-decode/over"
    manifest = json.loads((run / "run.json").read_text())
    assert [host["roles"] for host in manifest["hosts"]] == [["server"], ["backend"], ["generator"]]
    assert manifest["hosts"][0]["cpus"]["server"] == "0"
    assert set(manifest["hosts"][0]["builds"]) == {"drogon", "gin"}
    assert manifest["parameters"]["hosts"] == "hosts.toml"
    assert 0 < manifest["link"]["rtt_s"] < 0.01
    texts = [
        (run / "run.json").read_text(),
        *(record.model_dump_json() for record in trials(data, "02-json-decode", "over")),
    ]
    assert [text for text in texts if "10.123." in text] == []


def test_what_each_host_saw_is_in_one_record_of_the_window(decoded):
    data, _ = decoded
    for record in trials(data, "02-json-decode", "over"):
        window = record.windows[-1]
        assert record.failure is None
        assert window.server_listened
        assert 0 < window.server_cpu_s < 2 * window.elapsed_s
        first, last = window.samples[0], window.samples[-1]
        assert last.server.cpu_s > first.server.cpu_s
        assert last.generator.cpu_s > first.generator.cpu_s
        assert max(sample.connections_count or 0 for sample in window.samples) == window.load.connections
        assert window.network.received_bytes > window.network.sent_bytes > 0  # batches go in, receipts come out


def test_a_link_that_is_full_is_named_as_the_limit(decoded):
    data, _ = decoded
    summary = json.loads((data / "processed/02-json-decode/over/summary.json").read_text())
    (floor,) = [cell for cell in summary["cells"] if (cell["system"], cell["workload"]) == ("drogon", "discard-10")]
    # 5.8 kB a request through 1 Gbit/s are at most 21,000 a second; a server on loopback carries five times as many.
    assert floor["throughput_rps"]["value"] < 21_500
    if floor["bottleneck"] != "generator":
        assert floor["bottleneck"] == "network"


def test_a_database_on_a_host_of_its_own_is_counted_there(network, inventory, tmp_path):
    outcome = on_controller(network, "run", *QUERYING, "--run-id", "sql", "--hosts", inventory, data=tmp_path)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    queried = [record for record in trials(tmp_path, "04-text-json-sql", "sql") if record.workload_name == "sql1"]
    assert queried
    for record in queried:
        window = record.windows[-1]
        assert window.backend_work["sql1"]["calls"] > 0
        assert window.samples[-1].backend.cpu_s > window.samples[0].backend.cpu_s


@pytest.fixture
def running(network, inventory, tmp_path):
    """A run over hosts whose first block is under way."""
    command = network.command("controller", sys.executable, "-m", "runners", "run", *DECODING, "--run-id", "lost")
    process = subprocess.Popen(
        [*command, "--hosts", inventory], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        cwd=PROJECT, env={**os.environ, "WRKBOOK_DATA": str(tmp_path)},
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while "wrk" not in {psutil.Process(pid).name() for pid in network.pids("controller") if psutil.pid_exists(pid)}:
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield process
    process.kill()
    process.wait()


def test_a_worker_that_dies_ends_the_run_with_the_name_of_its_host(network, running):
    (worker,) = [pid for pid in network.pids("server") if "join" in psutil.Process(pid).cmdline()]
    os.kill(worker, signal.SIGKILL)
    output, _ = running.communicate(timeout=120)
    assert running.returncode == 1
    assert "the host server is gone" in output
    assert "the same --run-id goes on" in output
    assert gone(network, "server")
    assert gone(network, "backend")


def test_a_controller_that_is_killed_leaves_no_process_on_any_host(network, running):
    for pid in network.pids("controller"):
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)
    running.wait(30)
    # At the latest when the lease of 30 s is over.
    assert gone(network, "server", within_s=60)
    assert gone(network, "backend", within_s=60)


def gone(network, name, within_s=15.0):
    """Whether nothing runs on a host any more, after some time at most."""
    deadline = time.monotonic() + within_s
    while network.pids(name) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not network.pids(name)
