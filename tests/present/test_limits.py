"""The limits of a run: said when they hold for the run, and only then."""

import re

import numpy as np
import pytest

from runners.core.run_manifest import HostFacts, LinkFacts
from runners.present.limits import _network, limits_of
from tests.present.frames import make_sample


def said(run):
    return "\n".join(limits_of(run))


def calm():
    """A run on real, tuned hardware with CPUs enough and nothing flagged."""
    run = make_sample()
    run.machine = {
        "virtual_machine": "no",
        "governor": "performance",
        "pinning": {"server": "0-3", "generator": "4-7", "housekeeping": "8"},
    }
    run.cells["bottleneck"] = "server"
    run.checks["ok"] = True
    run.precision_ratio = 0.5
    run.trials["duration_s"] = 1.0
    return run


def test_a_calm_run_is_limited_by_its_design_alone():
    text = said(calm())
    assert "closed loop of 80 connections" in text
    assert "loopback" in text
    assert "A window lasts 1 s" in text
    for word in ("virtual", "Too few CPUs", "governor", "lower bounds", "wider than", "often failed", "differed"):
        assert word not in text


def failed(run):
    run.cells.loc[run.cells.index[0], ["status", "throughput_rps"]] = ["failed: contract", np.nan]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (failed, "No number for gin (discard-1): failed: contract."),
        (lambda run: run.cells.__setitem__("errors_count", 12), "Errors, all windows together: gin (discard-1) 12, "),
        (lambda run: run.machine.update(virtual_machine="yes (QEMU)"), "The machine is virtual"),
        (lambda run: run.manifest.pinning_threats.append("CPU 4-7 has several roles."), "CPU 4-7 has several roles"),
        (lambda run: run.machine.update(governor="powersave"), "governor was powersave"),
        (lambda run: run.cells.__setitem__("bottleneck", "generator"), "The load generator limited gin (discard-1)"),
        (lambda run: run.cells.__setitem__("bottleneck", "both"), "Server and load generator together limited gin"),
        (lambda run: setattr(run, "precision_ratio", 0.0001), "ratios are wider than the aim, ±0.0 %"),
        (lambda run: run.checks.__setitem__("ok", run.checks["name"] != "steal"), "steal (100 % of trials)"),
        (lambda run: run.manifest.versions.update(git_state="modified"), "differed from the commit"),
        (lambda run: run.trials.__setitem__("time_slices_count", 10), "in time slices of 100 ms"),
    ],
)
def test_each_limit_is_said_when_it_holds(change, says):
    run = calm()
    assert says not in said(run)
    change(run)
    assert says in said(run)


def test_what_failed_stands_before_what_is_true_of_every_run():
    run = calm()
    failed(run)
    run.machine.update(virtual_machine="yes")
    places = [said(run).index(text) for text in ("No number for", "virtual", "closed loop", "loopback")]
    assert places == sorted(places)


def test_the_notebook_s_own_limits_stand_among_the_first():
    found = limits_of(calm(), ["An own limit."])
    assert found[0] == "An own limit."


def test_the_control_is_not_named_as_a_system():
    run = calm()
    run.precision_ratio = 0.0001
    run.comparisons["ratio_high"] *= np.where(run.comparisons["system_a"].eq("control"), 3, 1)
    assert "the control" in said(run)
    assert not re.search(r"(?<!the )\bcontrol\b", said(run))


def host(name, fingerprint):
    return HostFacts(
        name=name, roles=[name], cpus={}, machine={}, fingerprint=fingerprint, builds={}, clock_offset_s=0.0
    )


@pytest.mark.parametrize(
    ("fingerprints", "said"),
    [
        ([], "Client and server share one machine and its loopback network"),
        (["a", "b"], "Client and server are on different hosts; the link between them before the run: 956 Mbit/s"),
        (["a", "a"], "Some of the 2 hosts are one machine and share its CPUs and kernel"),
    ],
)
def test_what_lies_between_client_and_server_is_said_of_this_run(fingerprints, said):
    hosts = [host(f"host-{place}", each) for place, each in enumerate(fingerprints)]
    link = LinkFacts(rate_bps=956e6, rtt_s=2e-4) if hosts else None
    assert _network(hosts, link).startswith(said)
