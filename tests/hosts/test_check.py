"""`./wrkbook hosts check` over three hosts: what is alike, and each planted difference."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runners.core.errors import WrkbookError
from runners.core.project import PROJECT
from runners.hosts.check import CLOCK_LIMIT_S, differences, measured
from runners.hosts.cluster import ClockOffset, Hosts
from runners.hosts.inspection import Inspection
from runners.hosts.inventory import Host, read_inventory
from runners.hosts.link import Link
from runners.hosts.worker import refuse_plain
from tests.hosts.conftest import controller_command, host, on_controller, own_cache

HOST = Host(ssh="server", address="192.0.2.2", roles=["server"], cpus="0-3")
SAME = Inspection(
    fingerprint="0123456789ab",
    commit="a" * 40,
    state="clean",
    versions={"python": "3.11.7"},
    image={"key": "k", "packages": "p"},
    kernel="6.1",
    cpu="CPU",
    settings={"net.core.somaxconn": "4096"},
    missing="",
    plan={"server": "0-2", "housekeeping": "3"},
    findings=(),
)


def differing(**changes):
    """The levels of what differs, by name, where the host has these changes."""
    other = Inspection(**{**vars(SAME), "fingerprint": "ba9876543210", **changes})
    return {found.name: found.level for found in differences(SAME, other, HOST) if found.level != "good"}


def test_two_hosts_that_are_alike_differ_in_nothing():
    assert differing() == {}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"commit": "b" * 40}, {"commit": "problem"}),
        ({"state": "modified"}, {"commit": "advice"}),
        ({"versions": {"python": "3.12.0"}}, {"versions": "problem"}),
        ({"image": {"key": "other", "packages": "p"}}, {"image": "problem"}),
        ({"image": {"key": "k", "packages": "other"}}, {"image": "advice"}),
        ({"kernel": "6.2"}, {"kernel": "advice"}),
        ({"settings": {"net.core.somaxconn": "128"}}, {"kernel setting net.core.somaxconn": "advice"}),
        ({"settings": {}}, {"kernel setting net.core.somaxconn": "advice"}),
        ({"missing": "3"}, {"CPUs of the inventory": "problem"}),
        ({"plan": {}}, {"CPUs of the inventory": "problem"}),
        ({"fingerprint": "0123456789ab"}, {"machine": "advice"}),
    ],
)
def test_each_planted_difference_is_found_with_its_remedy(changes, found):
    assert differing(**changes) == found


def test_a_clock_that_is_off_by_more_than_its_uncertainty_is_a_problem_and_a_slow_link_advice():
    link = Link(rate_bps=1e9, rtt_s=2e-4)
    off = ClockOffset(0.0, 2 * CLOCK_LIMIT_S, 0.001)
    assert [found.level for found in measured(off, link)] == ["problem", "good"]
    unknown = ClockOffset(0.0, 2 * CLOCK_LIMIT_S, 3 * CLOCK_LIMIT_S)
    assert [found.level for found in measured(unknown, Link(rate_bps=1e8, rtt_s=2e-4))] == ["good", "advice"]


@pytest.mark.parametrize("address", ["tcp://192.0.2.1:8786", "192.0.2.1:8786", "tcp://127.0.0.1.example:1"])
def test_an_address_beyond_loopback_that_is_not_encrypted_is_refused(address):
    with pytest.raises(WrkbookError, match="is not encrypted"):
        refuse_plain(address)


@pytest.mark.servers
@pytest.mark.quiet  # it judges clocks and the link, too
def test_three_hosts_are_inspected_and_nothing_is_left_on_them(network, inventory):
    outcome = on_controller(network, "hosts", "check", inventory, "--json")
    assert outcome.returncode == 0, outcome.stderr[-2000:]
    hosts = json.loads(outcome.stdout)["hosts"]
    assert list(hosts) == ["controller", "server", "backend"]
    assert hosts["server"]["cpus"] == {"server": "0", "housekeeping": "1"}
    levels = {finding["name"]: finding["level"] for finding in hosts["server"]["findings"]}
    assert levels["clock"] == levels["image"] == levels["kernel"] == levels["link"] == "good"
    assert levels["machine"] == "advice"  # the namespaces are of one machine
    assert not any(network.pids(name) for name in ("server", "backend"))
    assert not list(network.folder.glob("**/key.pem"))


@pytest.mark.servers
def test_a_missing_cpu_on_a_host_is_a_problem_that_names_it(network):
    wrong = network.inventory(roles={"server": ["server"]}, server=host(network, "server", "0,977"))
    outcome = on_controller(network, "hosts", "check", wrong)
    assert outcome.returncode == 1
    assert "CPU 977" in outcome.stdout
    assert "server: CPUs of the inventory" in outcome.stderr


@pytest.mark.servers
def test_a_host_that_refuses_ssh_is_named_with_what_to_try(network, inventory):
    text = inventory.read_text().replace('ssh = "server"', 'ssh = "root@10.123.0.9"')
    unreached = inventory.with_name("unreached.toml")
    unreached.write_text(text)
    outcome = on_controller(network, "hosts", "check", unreached)
    assert outcome.returncode == 1
    assert "SSH does not reach the host server" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not any(network.pids(name) for name in ("server", "backend"))


@pytest.mark.servers
def test_a_worker_may_be_started_by_hand_with_the_keys_of_the_run(network):
    by_hand = network.inventory(roles={"server": ["server"]}, server=host(network, "server", "0") | {"ssh": ""})
    with subprocess.Popen(
        controller_command(network, "hosts", "check", by_hand), cwd=PROJECT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as checking:  # fmt: skip
        told = ""
        while "type there:" not in told:
            told += checking.stderr.readline()
            assert checking.poll() is None, told
        made, typed = re.search(r"copy (\S+) there .*type there: (.+)", told, re.DOTALL).groups()
        keys = shutil.copytree(made, network.folder / "copied" / "server")
        words = shlex.split(typed)
        assert words[:3] == ["./wrkbook", "hosts", "join"]
        words[words.index("--keys") + 1] = str(keys)
        cache = f"XDG_CACHE_HOME={own_cache(network, 'server')}"
        there = network.command("server", "env", cache, sys.executable, "-m", "runners", *words[1:])
        joined = subprocess.run(there, cwd=PROJECT, capture_output=True, text=True, timeout=120)
        output, failure = checking.communicate(timeout=60)
    assert checking.returncode == 0, (failure, joined.stderr)
    assert "server: 10.123.0.2" in output
    assert joined.stdout.strip() == "joined"
    assert not keys.exists()
    assert not Path(made).exists()
    assert not network.pids("server")


@pytest.mark.servers
def test_a_controller_waits_for_workers_by_hand_and_names_those_that_are_missing(network, monkeypatch):
    monkeypatch.setattr("runners.hosts.cluster.JOIN_WITHIN_S", 1.0)
    by_hand = network.inventory(roles={"server": ["server"]}, server={"ssh": ""})
    with network.inside("controller"), pytest.raises(WrkbookError, match="no worker has joined from server"):
        Hosts(read_inventory(by_hand)).__enter__()
