"""A host that is lost, has another version, or whose clock jumps: what the user is told, and what is left."""

import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace

import psutil
import pytest

from runners.analyse.checks.hosts import LEAST_WATCHED_FRACTION
from runners.core.load import Load
from runners.core.project import PROJECT
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
from tests.hosts.conftest import ONE_BLOCK, controller_command, host, on_controller

pytestmark = pytest.mark.servers
PINGING = ("01", "-p", "systems", "net-http", *ONE_BLOCK, "--run-id", "lost")


@pytest.fixture
def running(network, inventory, tmp_path):
    """A run over hosts whose first block is under way."""
    process = subprocess.Popen(
        controller_command(network, "run", *PINGING, "--hosts", inventory),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        cwd=PROJECT, env={**os.environ, "WRKBOOK_DATA": str(tmp_path)},
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while "wrk" not in names(network.pids("controller")):
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield process
    process.kill()
    process.wait()


def names(pids):
    found = set()
    for pid in pids:
        try:
            found.add(psutil.Process(pid).name())
        except psutil.NoSuchProcess:
            continue
    return found


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


def test_a_host_that_disappears_without_a_word_ends_the_run_and_the_same_run_id_goes_on(
    network, inventory, running, tmp_path
):
    with network.unplugged("server"):
        output, _ = running.communicate(timeout=180)
        assert running.returncode == 1
        assert "the host server is gone" in output
        assert gone(network, "server", within_s=90)
        assert gone(network, "backend")
    again = on_controller(network, "run", *PINGING, "--hosts", inventory, data=tmp_path)
    # This machine is not quiet: what is measured may be void, and is sealed all the same.
    assert "on the host" not in again.stderr
    assert Run("01-ping", "lost", tmp_path / "raw").blocks, again.stderr[-3000:]


def test_a_host_with_another_commit_is_refused_before_anything_is_measured(network, tmp_path):
    other = tmp_path / "other"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", PROJECT, other], check=True)
    author = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", other, *author, "commit", "--quiet", "--allow-empty", "-m", "other"], check=True)
    shutil.copytree(PROJECT / "runners", other / "runners", dirs_exist_ok=True)
    planted = network.inventory(roles={"server": ["server"]}, server=host(network, "server", "0", other))
    outcome = on_controller(network, "run", *PINGING, "--hosts", planted, data=tmp_path)
    assert outcome.returncode == 1
    assert "the host server has wrkbook" in outcome.stderr
    assert "git checkout" in outcome.stderr
    assert not (tmp_path / "raw").exists()


def test_a_clock_that_jumps_leaves_a_window_in_which_the_hosts_were_not_together(network, inventory, tmp_path):
    load = Load(10, 1, 1.0)
    with network.inside("controller"), Hosts(read_inventory(inventory)) as hosts:
        roles = HostRoles(hosts)
        try:
            roles.open()
            roles.prepare({"server": ["net-http"]}, ["wrk"])
            here = at_station(lambda own: own)
            wanted = WantedServer(artifact(Catalogue().server("net-http"), here.image), 0, [0], None, None)
            with roles.hold_ports(1, backends=False) as (port,), roles.server(replace(wanted, port=port)) as server:
                target = LoadTarget(server, Request("GET", "/ping"), "wrk", tmp_path)
                context = LoadContext(here.generators, here.image, here.plan, here.probes)
                together = roles.window(context, target, load, "window")
                before = roles.clocks["server"]
                roles.clocks["server"] = replace(before, monotonic_s=before.monotonic_s - 0.5)
                apart = roles.window(context, target, load, "window")
        finally:
            roles.close()
    assert together.network.watched_fraction > 0.9
    assert apart.network.watched_fraction < LEAST_WATCHED_FRACTION


def gone(network, name, within_s=15.0):
    """Whether nothing runs on a host any more, after some time at most."""
    deadline = time.monotonic() + within_s
    while network.pids(name) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not network.pids(name)
