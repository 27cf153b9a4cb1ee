"""The survey of the idle machine, and the choice between time slices and windows in one piece."""

import os

import pytest

from runners.core.run_manifest import IdleMachine, SpeedReading
from runners.machine.speed_probe import SpeedProbes
from runners.measure.machine_survey import chosen_slices, spreads, survey


def seen(steal=0.0, spread=0.004):
    return IdleMachine(
        duration_s=2.0,
        steal_fraction={0: 0.0, 1: steal},
        other_fraction={0: 0.001, 1: 0.001},
        speed_spread={0: spread, 1: 0.003} if spread else {},
    )


@pytest.mark.parametrize(
    ("machine", "slice_s", "said"),
    [
        (seen(), 0.0, "the machine is quiet"),
        (seen(steal=0.005, spread=0.02), 0.0, "the machine is quiet"),
        (seen(steal=0.01), 0.1, "the machine is noisy"),
        (seen(spread=0.031), 0.1, "the machine is noisy"),
        (seen(spread=None), 0.0, "the machine is quiet"),
    ],
)
def test_auto_uses_time_slices_where_the_idle_machine_is_noisy(machine, slice_s, said):
    found, reason = chosen_slices("auto", machine)
    assert found == slice_s
    assert reason.startswith(said)


def test_the_reason_has_the_numbers_and_the_limits():
    _, reason = chosen_slices("auto", seen(steal=0.011, spread=0.057))
    assert "1.1% of a CPU's time was stolen (limit 0.5%)" in reason
    assert "varied by 5.7% (limit 2%)" in reason


@pytest.mark.parametrize(("steal", "slice_s"), [(0.0, 0.0), (0.01, 0.02)])
def test_where_the_machine_decides_whether_the_length_may_be_given(steal, slice_s):
    assert chosen_slices("auto-20", seen(steal=steal))[0] == slice_s


@pytest.mark.parametrize(("given", "slice_s"), [("0", 0.0), ("250", 0.25)])
def test_a_length_that_was_given_is_used_whatever_the_machine_does(given, slice_s):
    assert chosen_slices(given, seen(steal=0.5)) == (slice_s, "as the parameter slices says")


def test_the_spread_is_the_variation_between_tenths_of_a_second():
    rates = {0: [100.0, 100.0, 100.0], 1: [90.0, 100.0, 110.0], 2: [100.0]}
    speed = [
        SpeedReading(cpu=cpu, at_s=0.0, mean_hz=rate, wakes_hz=450.0) for cpu, found in rates.items() for rate in found
    ]
    assert spreads(speed) == {0: 0.0, 1: 0.1}


def test_a_survey_has_every_measured_cpu():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    with SpeedProbes(cpus) as probes:
        found = survey(probes, cpus, 0.5)
    idle = found.idle
    assert set(idle.steal_fraction) == set(idle.other_fraction) == set(idle.speed_spread) == set(cpus)
    assert {reading.cpu for reading in found.idle_speed} == set(cpus)
    assert all(share >= 0 for share in idle.other_fraction.values())
