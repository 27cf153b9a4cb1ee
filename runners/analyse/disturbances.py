"""Checks of the machine during a trial: who else used its CPUs, heat, and memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean
from types import MappingProxyType
from typing import Any

from runners.analyse.usage import Windows, window_usage
from runners.machine.topology import parse_cpu_list
from runners.records import Check

_STEAL, _OTHER_LOAD = "steal", "other load"
DISTURBANCES = frozenset({_STEAL, _OTHER_LOAD})
"""Names of the checks that make a trial void for what the machine did meanwhile: another try may do better."""

_NOISE_TOLERANCE = 0.02
_TAKEN_TOLERANCE = 0.10
# A machine on which other processes use more than this is not idle: the rest counts as other load.
_MOST_IDLE_SHARE = 0.03
_CLOCK_TOLERANCE = 0.10
_STALL_TOLERANCE = 0.01


def steal(record: dict[str, Any], windows: Windows) -> Check:
    """The hypervisor took less than 2 % of the pinned CPUs' time; more than 10 % of the server's make the trial void."""
    advice = "measure on a machine of your own, or more blocks"
    return _below(record, windows, _STEAL, "steal_fraction", "stolen by the hypervisor", advice)


def other_load(record: dict[str, Any], windows: Windows) -> Check:
    """Other processes used at most 2 % more of the pinned CPUs' time than on the idle machine; 10 % more of the server's: void."""
    idle = {cpu: min(share, _MOST_IDLE_SHARE) for cpu, share in record.get("idle_other_fraction", {}).items()}
    what = "used by other processes" + (" beyond what they use on the idle machine" if idle else "")
    advice = "end other programs, or measure more blocks"
    return _below(record, windows, _OTHER_LOAD, "other_fraction", what, advice, idle)


def throttling(record: dict[str, Any], windows: Windows) -> Check:
    """Heat did not slow the server's CPUs, and their clock did not fall by more than 10 % within the trial."""
    looks = _strains(windows, "throttled_count")
    slowed = sum(after - before for before, after in looks)
    clocks = [clock for pair in _strains(windows, "clock_hz") for clock in pair]
    fallen = 1 - min(clocks) / max(clocks) if clocks else 0.0
    ok = not slowed and fallen <= _CLOCK_TOLERANCE
    if slowed:
        detail = f"heat slowed the server's CPUs {slowed} times"
    elif clocks:
        detail = f"the clock of the server's CPUs stayed within {fallen:.1%}"
    else:
        detail = "heat slowed nothing" if looks else "neither heat nor clock can be read on this machine"
    return Check("throttling", ok, detail, "cool the machine, plug it in, or fix its clock")


def memory_pressure(record: dict[str, Any], windows: Windows) -> Check:
    """Nothing waited for memory for more than 1 % of the time, and nothing was swapped."""
    swapped = sum(after - before for before, after in _strains(windows, "swapped_pages_count"))
    elapsed_s = sum(raw["samples"][-1]["at_s"] - raw["samples"][0]["at_s"] for raw, _ in windows if raw["samples"])
    stalls = _strains(windows, "memory_stall_s")
    waited = sum(after - before for before, after in stalls) / elapsed_s if elapsed_s else 0.0
    ok = not swapped and waited <= _STALL_TOLERANCE
    detail = f"tasks waited for memory {waited:.1%} of the time, {swapped} pages were swapped"
    advice = "end other programs, or give the machine more memory"
    return Check("memory pressure", ok, detail if stalls else "not shown by this kernel", advice)


def _strains(windows: Windows, name: str) -> list[tuple[float, float]]:
    """A counter or a gauge of :mod:`runners.measure.strain` at the first and last look of each window, where it is known."""
    found = []
    for raw, _ in windows:
        looks = [sample["strain"][name] for sample in raw["samples"] if sample.get("strain")]
        if len(looks) > 1 and None not in looks:
            found.append((looks[0], looks[-1]))
    return found


def _below(
    record: dict[str, Any],
    windows: Windows,
    name: str,
    column: str,
    what: str,
    advice: str,
    idle: Mapping[str, float] = MappingProxyType({}),
) -> Check:
    """Judge a share of the CPUs' time beyond the share that `idle` has of each CPU."""
    rows = [
        (row["role"], max(0.0, row[column] - _mean_of(idle, record["cpus"][row["role"]])))
        for raw, result in windows
        for row in window_usage(record, raw, result.requests_count)
    ]
    worst = max((beyond for _, beyond in rows), default=math.nan)
    ok = not worst > _NOISE_TOLERANCE
    taken = max((beyond for role, beyond in rows if role == "server"), default=math.nan)
    detail = f"at most {worst:.1%} of the pinned CPUs' time {what}" if rows else "not sampled"
    return Check(name, ok, detail, advice, void=taken > _TAKEN_TOLERANCE)


def _mean_of(shares: Mapping[str, float], cpus: str) -> float:
    """Return the mean share of some CPUs; a CPU that is not listed has none."""
    return fmean(shares.get(str(cpu), 0.0) for cpu in parse_cpu_list(cpus))
