"""A survey of the idle machine before a run: speed, steal, other load, topology, and preflight."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict
from statistics import fmean, stdev

from tqdm import tqdm

from runners.core.parameter_values import AUTO, AUTO_SLICE_MS
from runners.core.run_manifest import CoreFacts, IdleMachine, MachineSurvey, PreflightFinding, SpeedReading
from runners.core.units import format_duration
from runners.machine.speed_probe import SpeedProbes
from runners.machine.topology import Core
from runners.measure.doctor import diagnose
from runners.measure.sampling import OtherProcesses, cpu_times


def with_preflight(seen: MachineSurvey, cores: Sequence[Core]) -> MachineSurvey:
    """Return a survey with the cores and the findings of ``./wrkbook doctor``, for a run whose question is the machine."""
    return seen.model_copy(
        update={
            "cores": [CoreFacts(**asdict(core)) for core in cores],
            "preflight": [PreflightFinding(**asdict(finding)) for finding in diagnose(cores=cores).findings],
        }
    )


SURVEY_S = 2.0
STEAL_LIMIT = 0.005
"""A larger share of stolen time calls for time slices; the kernel counts it in steps of 10 ms."""
SPREAD_LIMIT = 0.02
"""So does a larger coefficient of variation of the CPU's speed from one tenth of a second to the next."""
_STEP_S = 0.1


def survey(probes: SpeedProbes, cpus: Collection[int], duration_s: float = SURVEY_S) -> MachineSurvey:
    """Return what is seen of the idle machine in `duration_s`; `probes` are running on `cpus`."""
    others, speed = OtherProcesses(), list[SpeedReading]()
    time.sleep(_STEP_S)  # a probe that was just started has no reading yet
    others.used_s(cpus)
    before, started = cpu_times(), time.monotonic()
    for step in tqdm(range(round(duration_s / _STEP_S)), desc="Watching the idle machine", leave=False):
        start, at_s = started + step * _STEP_S, round(step * _STEP_S, 3)
        time.sleep(max(0.0, start + _STEP_S - time.monotonic()))
        for cpu, seen in probes.between(start, start + _STEP_S).items():
            speed.append(SpeedReading(cpu=cpu, at_s=at_s, mean_hz=seen.mean_hz, wakes_hz=seen.wakes_hz))
    elapsed_s, after = time.monotonic() - started, cpu_times()
    used_s = others.used_s(cpus)
    idle = IdleMachine(
        duration_s=duration_s,
        steal_fraction={cpu: round((after[cpu].steal_s - before[cpu].steal_s) / elapsed_s, 4) for cpu in cpus},
        other_fraction={cpu: round(min(1.0, used_s[cpu] / elapsed_s), 4) for cpu in cpus},
        speed_spread=spreads(speed),
    )
    return MachineSurvey(idle=idle, idle_speed=speed)


def spreads(speed: Sequence[SpeedReading]) -> dict[int, float]:
    """Return CPU → coefficient of variation of the probe's speed; CPUs with fewer than two readings are missing."""
    found: dict[int, list[float]] = defaultdict(list)
    for reading in speed:
        found[reading.cpu].append(reading.mean_hz)
    return {cpu: round(stdev(rates) / fmean(rates), 4) for cpu, rates in found.items() if len(rates) > 1}


def chosen_slices(requested: str, seen: IdleMachine) -> tuple[float, str]:
    """Return the length of a time slice in seconds (0: windows in one piece) by the parameter ``slices``, and why that was chosen."""
    if requested != AUTO:
        return int(requested) / 1000, "as the parameter slices says"
    steal, spread = (max(shares.values(), default=0.0) for shares in (seen.steal_fraction, seen.speed_spread))
    facts = (
        f"in {format_duration(seen.duration_s)} of the idle machine {steal:.1%} of a CPU's time was stolen (limit {STEAL_LIMIT:.1%}), "
        f"and the speed of a CPU varied by {spread:.1%} (limit {SPREAD_LIMIT:.0%})"
    )
    if steal > STEAL_LIMIT or spread > SPREAD_LIMIT:
        return AUTO_SLICE_MS / 1000, f"the machine is noisy: {facts}"
    return 0.0, f"the machine is quiet: {facts}"
