"""Checks of the machine during a trial: who else used its CPUs, heat, and memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from runners.analyse.usage import window_usage
from runners.records import Check, LoadResult

Windows = Sequence[tuple[dict[str, Any], LoadResult]]

_STEAL, _OTHER_LOAD = "steal", "other load"
DISTURBANCES = frozenset({_STEAL, _OTHER_LOAD})
"""Names of the checks that make a trial void for what the machine did meanwhile: another try may do better."""

_NOISE_TOLERANCE = 0.02
_TAKEN_TOLERANCE = 0.10
_CLOCK_TOLERANCE = 0.10
_STALL_TOLERANCE = 0.01


def steal(record: dict[str, Any], windows: Windows) -> Check:
    """The hypervisor took less than 2 % of the pinned CPUs' time; more than 10 % of the server's make the trial void."""
    return _below(
        record,
        windows,
        _STEAL,
        "steal_fraction",
        "stolen by the hypervisor",
        "measure on a machine of your own, or more blocks",
    )


def other_load(record: dict[str, Any], windows: Windows) -> Check:
    """Other programs took less than 2 % of the pinned CPUs' time; more than 10 % of the server's make the trial void."""
    return _below(
        record, windows, _OTHER_LOAD, "other_fraction", "used by others", "end other programs, or measure more blocks"
    )


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
    return Check("throttling", ok, detail, "" if ok else "cool the machine, plug it in, or fix its clock")


def memory_pressure(record: dict[str, Any], windows: Windows) -> Check:
    """Nothing waited for memory for more than 1 % of the time, and nothing was swapped."""
    swapped = sum(after - before for before, after in _strains(windows, "swapped_pages_count"))
    elapsed_s = sum(raw["samples"][-1]["at_s"] - raw["samples"][0]["at_s"] for raw, _ in windows if raw["samples"])
    stalls = _strains(windows, "memory_stall_s")
    waited = sum(after - before for before, after in stalls) / elapsed_s if elapsed_s else 0.0
    ok = not swapped and waited <= _STALL_TOLERANCE
    detail = f"tasks waited for memory {waited:.1%} of the time, {swapped} pages were swapped"
    advice = "" if ok else "end other programs, or give the machine more memory"
    return Check("memory pressure", ok, detail if stalls else "not shown by this kernel", advice)


def _strains(windows: Windows, name: str) -> list[tuple[float, float]]:
    """A counter or a gauge of :mod:`runners.measure.strain` at the first and last look of each window, where it is known."""
    found = []
    for raw, _ in windows:
        looks = [sample["strain"][name] for sample in raw["samples"] if sample.get("strain")]
        if len(looks) > 1 and None not in looks:
            found.append((looks[0], looks[-1]))
    return found


def _below(record: dict[str, Any], windows: Windows, name: str, column: str, what: str, advice: str) -> Check:
    rows = [row for raw, result in windows for row in window_usage(record, raw, result.requests_count)]
    worst = max((row[column] for row in rows), default=math.nan)
    ok = not worst > _NOISE_TOLERANCE
    taken = max((row[column] for row in rows if row["role"] == "server"), default=math.nan)
    return Check(
        name,
        ok,
        f"at most {worst:.1%} of the pinned CPUs' time {what}" if rows else "not sampled",
        "" if ok else advice,
        void=taken > _TAKEN_TOLERANCE,
    )
