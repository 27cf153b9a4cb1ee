"""Experiments over hosts: the records, the limit by the network, and a load of several hosts."""

import json

import pytest

from runners.store.ledger import Run
from tests.hosts.conftest import host, on_controller

pytestmark = [pytest.mark.servers, pytest.mark.quiet]
PROFILE = ("--profile", "quick", "-p", "max_blocks", "1")
DECODING = ("02", "-p", "systems", "drogon+simdjson,gin+sonic", "-p", "batch_sizes", "10", *PROFILE)


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
    assert [host["roles"] for host in manifest["hosts"]] == [["server"], ["generator"]]
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


def test_several_hosts_make_one_load(network, tmp_path):
    roles = {"server": ["server"], "backend": ["generator"], "generator": ["generator"]}
    hosts = {"server": "0", "backend": "1", "generator": "1"}
    several = network.inventory(roles=roles, **{name: host(network, name, cpus) for name, cpus in hosts.items()})
    small = ("-p", "systems", "net-http", "-p", "batch_sizes", "1", *PROFILE)
    words = ("01", *small, "--run-id", "two", "--hosts", several)
    outcome = on_controller(network, "run", *words, data=tmp_path)
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    assert "generator-2" in (tmp_path / "processed/01-ping/two/report.html").read_text()
    for record in trials(tmp_path, "01-ping", "two"):
        window = record.windows[-1]
        assert [share.load.connections for share in window.shares] == [window.load.connections // 2] * 2
        assert max(sample.connections_count or 0 for sample in window.samples) == window.load.connections
        assert window.network.overlap_fraction > 0.9
        assert "10.123." not in record.model_dump_json()
