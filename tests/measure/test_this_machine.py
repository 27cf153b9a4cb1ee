"""Where the topology of this machine comes from, and plans for recorded machines."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from runners.cli import commands
from runners.core.errors import WrkbookError
from runners.experiments import experiment, measuring
from runners.machine.pinning_plan import PinningPlan
from runners.machine.topology import LSTOPO, Core
from runners.measure import run_pinning, this_machine
from runners.measure.block import measure_block
from runners.measure.roles import OneMachine
from runners.measure.this_machine import plan_recorded, this_topology, topology_at_hand, usable_cores
from runners.systems.process import ServerProcess
from tests.machine.machines import MACHINES, grid, xml

HYBRID = MACHINES["i9-12900HK: 6 P-cores with SMT, 8 E-cores"][0]


@pytest.fixture
def unread():
    """The topology is read anew, and forgotten afterwards."""
    this_topology.cache_clear()
    yield
    this_topology.cache_clear()


@pytest.fixture
def lstopo(monkeypatch, tmp_path, unread):
    """A function that puts an lstopo on the host which runs a shell script; there is no image."""

    def install(script):
        program = tmp_path / LSTOPO[0]
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    monkeypatch.setattr(this_machine.Image, "ready", False)
    return install


def test_an_lstopo_of_the_host_is_used_while_there_is_no_image_and_only_once(lstopo, tmp_path):
    (tmp_path / "machine.xml").write_text(xml(grid(cores=4, threads=2), refused={7}))
    lstopo(f"echo run >> {tmp_path}/runs; cat {tmp_path}/machine.xml")
    assert [core.cpus for core in usable_cores(range(1, 9))] == [(4,), (1, 5), (2, 6), (3,)]
    assert topology_at_hand() == this_topology()
    assert (tmp_path / "runs").read_text() == "run\n"


def test_without_image_and_lstopo_nothing_is_at_hand(monkeypatch, tmp_path, unread):
    monkeypatch.setattr(this_machine.Image, "ready", False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert topology_at_hand() is None


def test_without_lstopo_the_image_is_made(monkeypatch, tmp_path, unread):
    def make(image):
        raise WrkbookError("the image is being made")

    monkeypatch.setattr(this_machine.Image, "ready", False)
    monkeypatch.setattr(this_machine.Image, "ensure", make)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WrkbookError, match="the image is being made"):
        usable_cores()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo no /sys >&2; exit 1", "no /sys"),
        ("exit 3", "exit status 3"),
        ("echo '<html/>'", "the output of lstopo is not a topology of hwloc"),
    ],
)
def test_an_lstopo_that_fails_is_told_with_what_it_printed(lstopo, script, told):
    lstopo(script)
    with pytest.raises(WrkbookError) as caught:
        this_topology()
    assert told in caught.value.problem
    assert "lstopo-no-graphics" in caught.value.remedy


@pytest.mark.servers
def test_the_image_has_an_lstopo_that_knows_this_machine(unread):
    cpus = {cpu for core in usable_cores() for cpu in core.cpus}
    assert cpus == os.sched_getaffinity(0)


@pytest.mark.servers
@pytest.mark.parametrize(
    ("made", "server"), [("package:2 l3:8 core:8 pu:2", "0-125"), ("numa:4 core:8 pu:4", "0-15"), ("pu:2", "0")]
)
def test_machines_that_lstopo_makes_up_are_planned(tmp_path, made, server):
    command = this_machine.command_at_hand()[: -len(LSTOPO)]
    outcome = subprocess.run(
        [*command, LSTOPO[0], "--input", made, "--of", "xml"], capture_output=True, text=True, check=True
    )
    (tmp_path / "machine.xml").write_text(outcome.stdout)
    assert plan_recorded(tmp_path / "machine.xml").plan.as_dict()["server"] == server


# ./wrkbook doctor --topology


@pytest.fixture
def doctor(monkeypatch, capsys, tmp_path):
    """A function that runs ``doctor --topology`` on a text; returns exit status, stdout and stderr."""

    def run(text, *options):
        file = tmp_path / "machine.xml"
        if text is not None:
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        monkeypatch.setattr(sys, "argv", ["wrkbook", "doctor", "--topology", str(file), *options])
        with pytest.raises(SystemExit) as caught:
            commands.main()
        return (caught.value.code or 0, *capsys.readouterr())

    return run


def test_the_plan_of_a_recorded_machine_is_printed_with_reasons(doctor):
    status, out, err = doctor(HYBRID)
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[:3] == [
        "14 cores with 20 CPUs: 1 package, 1 NUMA node, 1 L3 cache",
        "kind 1 of 2: CPU 0-11, IntelCore, up to 5000 MHz",
        "kind 2 of 2: CPU 12-19, IntelAtom",
    ]
    assert lines[5] == (
        "  server        0-11   6 cores (12 CPUs) of the fastest kind, so that the load generator gets as many cores or more"
    )
    assert "  ! The load generator runs on slower cores than the servers: it may be the limit of fast ones." in lines
    assert any(line.startswith("  backend       10-11") for line in lines)


def test_offline_and_refused_cpus_are_printed(doctor):
    out = doctor(xml(grid(cores=6), offline={1}, refused={4, 5}))[1]
    assert "offline: CPU 1\nnot allowed: CPU 4-5\n" in out


def test_programs_get_the_roles_of_each_cpu(doctor):
    found = json.loads(doctor(HYBRID, "--json")[1])
    assert found["cpus"] == {"server": "0-11", "generator": "12-18", "housekeeping": "19"}
    assert found["roles"]["0"] == ["server"]
    assert found["roles"]["19"] == ["housekeeping"]
    assert found["with_backend"]["cpus"]["backend"] == "10-11"
    assert len(found["cores"]) == 14


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "machine.xml cannot be read"),
        (b"\xff\xfe", "machine.xml cannot be read"),
        ("<topology>", "machine.xml is not a topology of hwloc"),
        (xml(grid(cores=1)), "1 usable CPU(s) leave none"),
    ],
)
def test_what_cannot_be_planned_is_an_error_with_a_remedy(doctor, text, told):
    status, out, err = doctor(text)
    assert (status, out) == (1, "")
    assert told in err
    assert "  → " in err


# CPUs that vanish between the plan and the run

GONE = PinningPlan((3999,), (min(os.sched_getaffinity(0)),), (3998,))


def test_a_block_whose_cpus_have_gone_ends_the_run_by_their_names():
    settings = SimpleNamespace(source=SimpleNamespace(plan=GONE), roles=OneMachine())
    with pytest.raises(WrkbookError, match="CPU 3999 is gone since the CPUs were planned"):
        measure_block(settings, 1, (), print)


def test_a_server_whose_cpus_have_gone_is_not_launched():
    artifact = SimpleNamespace(server=SimpleNamespace(label="gin"))
    with pytest.raises(WrkbookError, match="CPU 3999 is gone"):
        ServerProcess(artifact, 1, [3999]).launch()


def test_an_experiment_whose_cpus_have_gone_does_not_begin(monkeypatch, tmp_path):
    monkeypatch.setattr(run_pinning, "usable_cores", lambda _: [Core((cpu,)) for cpu in (3997, 3998, 3999)])
    monkeypatch.setattr(measuring, "build_all", lambda *_: {})
    begun = experiment.Experiment("01-ping", {"run_id": "gone"}, workloads=["ping"])
    before = os.sched_getaffinity(0)
    with pytest.raises(WrkbookError, match="CPU 3997, 3998, 3999 are gone"):
        begun.measure()
    assert os.sched_getaffinity(0) == before
    assert not begun.run.exists
