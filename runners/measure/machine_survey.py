"""A survey of the idle machine before a run: speed, steal, other load, topology, and preflight."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from tqdm import tqdm

from runners.core.parameters import AUTO, AUTO_SLICE_MS
from runners.core.units import format_duration
from runners.machine.speed_probe import SpeedProbes
from runners.machine.topology import Core
from runners.measure.doctor import examine
from runners.measure.sampling import OtherProcesses, cpu_times


def about_machine(cores: Sequence[Core], seen: IdleSurvey, *, examined: bool) -> dict[str, Any]:
    """Return what is recorded of the machine.

    Parameters
    ----------
    seen : the machine just before measuring
    examined : whether the machine is part of the experiment's question: its cores and the preflight are recorded too

    Returns
    -------
    dict
        ``idle`` (:meth:`IdleSurvey.as_dict`) and ``idle_speed`` (for each measured CPU and tenth of a second: ``at_s`` from the
        start, and the probe's ``mean_hz`` and ``wakes_hz``, see :mod:`runners.machine.speed_probe`). Of a machine that is examined
        also ``cores`` (each with its cpus, NUMA node, and whether it is an efficient one) and ``preflight`` (the findings of
        ``./wrkbook doctor``).
    """
    idle = {"idle": seen.as_dict(), "idle_speed": seen.speed}
    if not examined:
        return idle
    return idle | {
        "cores": [asdict(core) for core in cores],
        "preflight": [asdict(finding) for finding in examine(cores=cores).findings],
    }


SURVEY_S = 2.0
STEAL_LIMIT = 0.005
"""A larger share of stolen time calls for time slices; the kernel counts it in steps of 10 ms."""
SPREAD_LIMIT = 0.02
"""So does a larger coefficient of variation of the CPU's speed from one tenth of a second to the next."""
_STEP_S = 0.1


@dataclass(frozen=True)
class IdleSurvey:
    """A survey of the idle machine.

    Attributes
    ----------
    duration_s : for how long
    steal_fraction : CPU → share of its time that the hypervisor gave to others
    other_fraction : CPU → share of its time that other processes used at most
    speed_spread : CPU → coefficient of variation of the probe's speed over tenths of a second; without a probe: missing
    speed : CPU and tenth of a second → ``at_s`` from the start, the probe's ``mean_hz`` and ``wakes_hz``
    """

    duration_s: float
    steal_fraction: dict[str, float]
    other_fraction: dict[str, float]
    speed_spread: dict[str, float]
    speed: list[dict[str, float]]

    def as_dict(self) -> dict[str, Any]:
        """Return all but the speed, for ``about_machine`` in ``run.json``."""
        return {name: value for name, value in vars(self).items() if name != "speed"}


def survey(probes: SpeedProbes, cpus: Collection[int], duration_s: float = SURVEY_S) -> IdleSurvey:
    """Watch the idle machine for `duration_s`; `probes` are running on `cpus`."""
    names, others = [str(cpu) for cpu in cpus], OtherProcesses()
    time.sleep(_STEP_S)  # a probe that was just started has no reading yet
    others.used_s(names)
    before, started = cpu_times(), time.monotonic()
    speed: list[dict[str, float]] = []
    for step in tqdm(range(round(duration_s / _STEP_S)), desc="Watching the idle machine", leave=False):
        start, at_s = started + step * _STEP_S, round(step * _STEP_S, 3)
        time.sleep(max(0.0, start + _STEP_S - time.monotonic()))
        for cpu, seen in probes.between(start, start + _STEP_S).items():
            speed.append({"cpu": int(cpu), "at_s": at_s, "mean_hz": seen["mean_hz"], "wakes_hz": seen["wakes_hz"]})
    elapsed_s, after = time.monotonic() - started, cpu_times()
    used_s = others.used_s(names)
    return IdleSurvey(
        duration_s,
        {cpu: round((after[cpu]["steal_s"] - before[cpu]["steal_s"]) / elapsed_s, 4) for cpu in names},
        {cpu: round(min(1.0, used_s[cpu] / elapsed_s), 4) for cpu in names},
        spreads(speed),
        speed,
    )


def spreads(speed: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return CPU → coefficient of variation of the probe's speed; CPUs with fewer than two readings are missing."""
    found: dict[str, list[float]] = defaultdict(list)
    for reading in speed:
        found[str(reading["cpu"])].append(reading["mean_hz"])
    return {cpu: round(stdev(rates) / fmean(rates), 4) for cpu, rates in found.items() if len(rates) > 1}


def chosen_slices(asked: str, seen: IdleSurvey) -> tuple[float, str]:
    """Return the length of a time slice in seconds (0: windows in one piece) by the parameter ``slices``, and why that was chosen."""
    if asked != AUTO:
        return int(asked) / 1000, "as the parameter slices says"
    steal, spread = (max(shares.values(), default=0.0) for shares in (seen.steal_fraction, seen.speed_spread))
    facts = (
        f"in {format_duration(seen.duration_s)} of the idle machine {steal:.1%} of a CPU's time was stolen (limit {STEAL_LIMIT:.1%}), "
        f"and the speed of a CPU varied by {spread:.1%} (limit {SPREAD_LIMIT:.0%})"
    )
    if steal > STEAL_LIMIT or spread > SPREAD_LIMIT:
        return AUTO_SLICE_MS / 1000, f"the machine is noisy: {facts}"
    return 0.0, f"the machine is quiet: {facts}"
