"""The command ``doctor``: what it prints, its exit status, and that it installs nothing."""

import contextlib
import json
import os
import shutil
import sys
import time
from types import SimpleNamespace

import pytest

from runners.cli import commands
from runners.core.errors import WrkbookError
from runners.machine.pinning_plan import PinningPlan
from runners.machine.preflight import PreflightItem
from runners.machine.topology import Core
from runners.measure import machine_survey
from runners.measure.machine_survey import Diagnosis, diagnose, sandbox
from runners.systems import host

GOOD = PreflightItem("memory", "good", "8 GiB available")
ADVICE = PreflightItem("turbo", "advice", "on", "echo 1 | sudo tee /sys/there")
PROBLEM = PreflightItem("sandbox", "problem", "forbidden", "as root: sysctl this=1")
PLAN = PinningPlan((0,), (1, 2), (3,), why={"server": "one core"}, threats=("It is small.",))


@pytest.fixture
def run(monkeypatch, capsys):
    """A function that runs the command where `findings` are found; returns exit status, stdout and stderr."""

    def command(findings, *options, plan=PLAN):
        monkeypatch.setattr(machine_survey, "diagnose", lambda: Diagnosis(findings, plan))
        monkeypatch.setattr(sys, "argv", ["wrkbook", "doctor", *options])
        with pytest.raises(SystemExit) as caught:
            commands.main()
        return (caught.value.code or 0, *capsys.readouterr())

    return command


def test_each_finding_is_a_line_with_its_remedy_below_and_the_plan_at_the_end(run):
    status, out, err = run([GOOD, ADVICE])
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "✓ memory: 8 GiB available",
        "! turbo: on",
        "    → echo 1 | sudo tee /sys/there",
        "",
        "CPUs as planned:",
        "  server        0    one core",
        "  generator     1-2",
        "  housekeeping  3",
        "  ! It is small.",
    ]


def test_a_problem_is_an_exit_status_of_1_and_is_told_on_stderr_with_its_remedy(run):
    status, out, err = run([GOOD, PROBLEM, ADVICE])
    assert status == 1
    assert "✗ sandbox: forbidden" in out
    assert err == "wrkbook: nothing can be measured here: sandbox\n  → as root: sysctl this=1\n"


@pytest.mark.parametrize(("findings", "status"), [([GOOD, ADVICE], 0), ([PROBLEM], 1)])
def test_json_says_the_same_to_programs(run, findings, status):
    told, out, _ = run(findings, "--json")
    assert told == status
    assert json.loads(out) == {
        "can_measure": status == 0,
        "findings": [vars(finding) for finding in findings],
        "cpus": {"server": "0", "generator": "1-2", "housekeeping": "3"},
        "why": {"server": "one core"},
        "threats": ["It is small."],
    }


def test_without_a_plan_there_is_none_to_show(run):
    _, out, _ = run([PROBLEM], plan=None)
    assert "as planned" not in out
    assert json.loads(run([PROBLEM], "--json", plan=None)[1])["cpus"] is None


def test_this_machine_is_examined(monkeypatch):
    monkeypatch.setattr(host, "check_sandbox", lambda: None)
    diagnosis = diagnose(interval_s=0.1)
    names = [finding.name for finding in diagnosis.findings]
    assert len(set(names)) == len(names)
    assert {"CPUs", "other load", "speed of the CPUs", "sandbox", "disk for the image"} <= set(names)


def test_the_speed_is_that_of_the_planned_cpus_during_the_preflight(monkeypatch):
    spans = []

    class Probes(contextlib.nullcontext):
        def __init__(self, cpus):
            super().__init__(self)
            self.cpus = cpus

        def shares(self, start_s, end_s):
            spans.append((start_s, end_s))
            return dict.fromkeys(self.cpus, 0.5)

    moments_s = []
    monkeypatch.setattr(machine_survey, "SpeedProbes", Probes)
    monkeypatch.setattr(machine_survey, "preflight", lambda *_, **__: moments_s.append(time.monotonic()) or [GOOD])
    found = machine_survey._machine([Core((cpu,)) for cpu in range(3)], 0.0)
    assert found[0] == GOOD
    assert (found[1].level, found[1].detail.split(" of its")[0]) == ("advice", "CPU 0: 50.0 %, CPU 1: 50.0 %")
    start_s, end_s = spans[-1]
    assert start_s <= moments_s[0] <= end_s


def test_one_cpu_is_a_problem_and_no_failure(monkeypatch):
    diagnosis = diagnose(interval_s=0.0, affinity={min(os.sched_getaffinity(0))})
    assert diagnosis.plan is None
    assert "CPUs" in [finding.name for finding in diagnosis.problems]


def test_without_hwloc_and_without_an_image_the_cpus_are_not_planned_and_nothing_is_made(monkeypatch):
    monkeypatch.setattr(machine_survey, "topology_at_hand", lambda: None)
    monkeypatch.setattr(host, "check_sandbox", lambda: None)
    diagnosis = diagnose(interval_s=0.0)
    names = [finding.name for finding in diagnosis.findings]
    assert diagnosis.plan is None
    assert not {"NUMA", "SMT"} & set(names)
    (finding,) = [finding for finding in diagnosis.findings if finding.name == "CPUs"]
    assert (finding.level, "hwloc-nox" in finding.remedy) == ("advice", True)


def test_an_lstopo_that_fails_is_a_problem_and_no_failure(monkeypatch):
    def fail():
        raise WrkbookError("hwloc cannot read the topology of this machine: no /sys", "mount it")

    monkeypatch.setattr(machine_survey, "topology_at_hand", fail)
    monkeypatch.setattr(host, "check_sandbox", lambda: None)
    diagnosis = diagnose(interval_s=0.0)
    assert "no /sys" in next(found.detail for found in diagnosis.problems if found.name == "CPUs")


def test_a_cache_folder_that_cannot_be_made_is_a_problem_and_no_failure(monkeypatch):
    def refuse():
        raise PermissionError(13, "Permission denied", "/home/of/nobody")

    monkeypatch.setattr(machine_survey, "cache_folder", refuse)
    monkeypatch.setattr(host, "check_sandbox", lambda: None)
    (problem,) = [found for found in machine_survey._sandbox_and_image() if found.level == "problem"]
    assert problem.name == "disk for the image"
    assert "/home/of/nobody" in problem.detail
    assert "XDG_CACHE_HOME" in problem.remedy


@pytest.mark.parametrize(("ready", "level"), [(True, "good"), (False, "problem")])
def test_an_image_that_is_still_to_be_made_needs_more_space(monkeypatch, ready, level):
    monkeypatch.setattr(machine_survey, "image_for", lambda _: SimpleNamespace(ready=ready))
    monkeypatch.setattr(machine_survey, "sandbox", lambda image_ready: GOOD)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2 * 2**30))
    assert machine_survey._sandbox_and_image()[1].level == level


# The sandbox


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH with stand-ins for what the sandbox needs; each leaves a trace when it is started."""

    def add(name, exit_status=0):
        (tmp_path / name).write_text(
            f"#!/bin/sh\n: > {tmp_path}/{name}.started\necho no namespaces >&2; exit {exit_status}\n"
        )
        (tmp_path / name).chmod(0o755)

    for name in ("mmdebstrap", "newuidmap", "bwrap"):
        add(name)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(host, "_KEYRING", tmp_path)
    return SimpleNamespace(folder=tmp_path, add=add)


def test_a_sandbox_that_can_be_entered_is_good(programs):
    assert sandbox(image_ready=True).level == "good"
    assert (programs.folder / "bwrap.started").exists()


def test_a_forbidden_sandbox_is_a_problem(programs):
    programs.add("bwrap", exit_status=1)
    finding = sandbox(image_ready=True)
    assert finding.level == "problem"
    assert "no namespaces" in finding.detail
    assert finding.remedy


def test_packages_that_the_first_run_installs_are_advice_and_are_not_installed(programs, monkeypatch):
    (programs.folder / "bwrap").unlink()
    for name in ("apt-get", "sudo"):
        programs.add(name)
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    finding = sandbox(image_ready=False)
    assert finding.level == "advice"
    assert "bubblewrap missing" in finding.detail
    assert "sudo apt-get install --yes" in finding.remedy
    assert not list(programs.folder.glob("*.started"))


def test_packages_that_nobody_can_install_are_a_problem(programs):
    (programs.folder / "mmdebstrap").unlink()
    finding = sandbox(image_ready=True)
    assert finding.level == "problem"
    assert "mmdebstrap" in finding.detail


@pytest.mark.parametrize(("ready", "level"), [(True, "good"), (False, "problem")])
def test_subordinate_ids_are_needed_only_while_the_image_is_not_made(programs, monkeypatch, ready, level):
    def refuse():
        raise WrkbookError("no range", "usermod --add-subuids 1-2 me")

    monkeypatch.setattr(host, "ensure_unshare", refuse)
    finding = sandbox(image_ready=ready)
    assert finding.level == level
    assert ("usermod" in finding.remedy) == (not ready)
