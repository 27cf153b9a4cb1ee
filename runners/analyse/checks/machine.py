"""Checks of the machine during a trial: who else used its CPUs, heat, and memory."""

from __future__ import annotations

import math
from statistics import fmean

from runners.analyse.checks.load import SCHEDULE
from runners.analyse.usage import Windows, window_usage
from runners.core.records import Check
from runners.core.trial_record import TrialRecord
from runners.machine.topology import parse_cpu_list

_STEAL, _OTHER_LOAD = "steal", "other load"
DISTURBANCES = frozenset({_STEAL, _OTHER_LOAD, SCHEDULE})
"""Names of the checks that make a trial void for what the machine did meanwhile: another try may do better.

A single pause of the load generator's CPU makes sends late: 10 ms of a second are 1 % of its schedule.
"""

_NOISE_TOLERANCE = 0.02
_TAKEN_TOLERANCE = 0.10
# A machine on which other processes use more than this is not idle: the rest counts as other load.
_MOST_IDLE_SHARE = 0.03
# Of the CPUs' clock frequency within a trial.
_FREQUENCY_TOLERANCE = 0.10
_STALL_TOLERANCE = 0.01


def steal(record: TrialRecord, windows: Windows) -> Check:
    """Check that the hypervisor took at most 2 % of the pinned CPUs' time; more than 10 % of the server's: void."""
    advice = "measure on a machine of your own, or more blocks"
    return _taken(record, windows, _STEAL, "steal_fraction", "stolen by the hypervisor", advice, {})


def other_load(record: TrialRecord, windows: Windows) -> Check:
    """Check that other processes used at most 2 % of the pinned CPUs' time beyond the idle machine; 10 % of the server's: void."""
    idle = {cpu: min(share, _MOST_IDLE_SHARE) for cpu, share in record.idle_other_fraction.items()}
    what = "used by other processes" + (" beyond what they use on the idle machine" if idle else "")
    advice = "end other programs, or measure more blocks"
    return _taken(record, windows, _OTHER_LOAD, "other_fraction", what, advice, idle)


def throttling(record: TrialRecord, windows: Windows) -> Check:
    """Check that heat did not slow the server's CPUs, and their clock fell by at most 10 % within the trial."""
    samples = _pressures(windows, "throttled_count")
    slowed = sum(after - before for before, after in samples)
    clocks = [clock for pair in _pressures(windows, "clock_hz") for clock in pair]
    fallen = 1 - min(clocks) / max(clocks) if clocks else 0.0
    if slowed:
        detail = f"heat slowed the server's CPUs {slowed} times"
    elif clocks:
        detail = f"the clock of the server's CPUs stayed within {fallen:.1%}"
    else:
        detail = "heat slowed nothing" if samples else "neither heat nor clock can be read on this machine"
    ok = not slowed and fallen <= _FREQUENCY_TOLERANCE
    return Check("throttling", ok, detail, "cool the machine, plug it in, or fix its clock")


def memory_pressure(record: TrialRecord, windows: Windows) -> Check:
    """Check that nothing waited for memory for more than 1 % of the time, and nothing was swapped."""
    swapped = sum(after - before for before, after in _pressures(windows, "swapped_pages_count"))
    stalls = _pressures(windows, "memory_stall_s")
    elapsed_s = sum(raw.samples[-1].at_s - raw.samples[0].at_s for raw, _ in windows if raw.samples)
    waited = sum(after - before for before, after in stalls) / elapsed_s if elapsed_s else 0.0
    detail = f"tasks waited for memory {waited:.1%} of the time, {swapped} pages were swapped"
    detail = detail if stalls else "not shown by this kernel"
    advice = "end other programs, or give the machine more memory"
    return Check("memory pressure", not swapped and waited <= _STALL_TOLERANCE, detail, advice)


def _pressures(windows: Windows, name: str) -> list[tuple[float, float]]:
    """Return a value of :class:`runners.core.trial_record.Pressure` in the first and last sample of each window, where it is known."""
    found = []
    for raw, _ in windows:
        samples = [getattr(sample.pressure, name) for sample in raw.samples]
        if len(samples) > 1 and None not in samples:
            found.append((samples[0], samples[-1]))
    return found


def _taken(
    record: TrialRecord, windows: Windows, name: str, column: str, what: str, advice: str, idle: dict[int, float]
) -> Check:
    """Judge a share of the CPUs' time, less what `idle` (CPU → share) says of the idle machine."""
    taken = []
    for raw, result in windows:
        for row in window_usage(record, raw, result.requests_count):
            usual = fmean(idle.get(cpu, 0.0) for cpu in parse_cpu_list(record.cpus[row["role"]]))
            taken.append((row["role"], max(0.0, row[column] - usual)))
    worst = max((share for _, share in taken), default=math.nan)
    of_server = max((share for role, share in taken if role == "server"), default=math.nan)
    detail = f"at most {worst:.1%} of the pinned CPUs' time {what}" if taken else "not sampled"
    return Check(name, not worst > _NOISE_TOLERANCE, detail, advice, void=of_server > _TAKEN_TOLERANCE)
