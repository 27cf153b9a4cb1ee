"""Threats to validity: said when they hold for the run, and only then."""

import re

import numpy as np
import pytest

from runners.present.threats import threats
from tests.present.frames import make_sample


def said(run):
    return "\n".join(threats(run))


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


def test_a_calm_run_is_threatened_by_its_design_alone():
    text = said(calm())
    assert "closed loop of 80 connections" in text
    assert "loopback" in text
    assert "A window lasts 1 s" in text
    for word in ("virtual", "too few CPUs", "governor", "lower bounds", "precise", "not met", "differed"):
        assert word not in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda run: run.machine.update(virtual_machine="yes (QEMU)"), "The machine is virtual"),
        (
            lambda run: run.machine["pinning"].update(housekeeping="4-7"),
            "the notebook shared CPU 4-7 with the load generator",
        ),
        (lambda run: run.machine.update(governor="powersave"), "governor was powersave"),
        (
            lambda run: run.cells.__setitem__("bottleneck", "generator"),
            "The load generator, not the server, was the limit of",
        ),
        (lambda run: run.cells.__setitem__("bottleneck", "both"), "Server and load generator both were the limit of"),
        (lambda run: setattr(run, "precision_ratio", 0.0001), "known less precisely than the ±0.0 %"),
        (lambda run: run.checks.__setitem__("ok", run.checks["name"] != "steal"), "steal in 100 % of the trials"),
        (lambda run: run.manifest.versions.update(git_state="modified"), "differed from the commit"),
    ],
)
def test_each_threat_is_said_when_it_holds(change, says):
    run = calm()
    assert says not in said(run)
    change(run)
    assert says in said(run)


def in_turns(run):
    run.trials["duration_s"], run.trials["time_slices_count"] = 1.0, 10


def test_what_time_slices_cost_is_said_of_windows_in_slices():
    run = calm()
    assert "in turns" not in said(run)
    in_turns(run)
    assert "in time slices of 100 ms on average" in said(run)


def test_a_run_without_intervals_says_that_it_shows_no_noise():
    run = calm()
    run.comparisons[["ratio_low", "ratio_high"]] = np.nan
    assert "Nothing in this run shows how large its noise is." in said(run)


def test_the_control_is_not_named_as_a_system():
    run = calm()
    run.precision_ratio = 0.0001
    run.comparisons["ratio_high"] *= np.where(run.comparisons["system_a"].eq("control"), 3, 1)
    assert "the control" in said(run)
    assert not re.search(r"(?<!the )\bcontrol\b", said(run))
