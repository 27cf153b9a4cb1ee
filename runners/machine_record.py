"""What a run records of the machine before anything is measured on it: topology, preflight, and its speed while idle."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tqdm import tqdm

from runners.doctor import examine
from runners.machine.pinning import PinningPlan
from runners.machine.topology import Core
from runners.measure.speed_probe import SpeedProbes

_STEP_S = 0.1


def about_machine(cores: Sequence[Core], plan: PinningPlan, idle_s: float) -> dict[str, Any]:
    """Look at the idle machine for `idle_s`.

    Returns
    -------
    dict
        ``cores`` (each with its cpus, NUMA node, and whether it is an efficient one), ``preflight`` (the findings of
        ``./wrkbook doctor``) and ``idle_speed`` (for each measured CPU and tenth of a second: ``at_s`` from the start, and the
        probe's ``mean_hz`` and ``wakes_hz``, see :mod:`runners.measure.speed_probe`).
    """
    return {
        "cores": [asdict(core) for core in cores],
        "preflight": [asdict(finding) for finding in examine(cores=cores).findings],
        "idle_speed": idle_speed(list(plan.measured), idle_s),
    }


def idle_speed(cpus: Sequence[int], idle_s: float) -> list[dict[str, float]]:
    """What probes on `cpus` see while nothing else of ours runs."""
    found = []
    with SpeedProbes(cpus) as probes:
        time.sleep(_STEP_S)
        started = time.monotonic()
        steps = round(idle_s / _STEP_S)
        for step in tqdm(range(steps), desc="Watching the idle machine", file=sys.stderr, leave=False):
            start = started + step * _STEP_S
            time.sleep(max(0.0, start + _STEP_S - time.monotonic()))
            for cpu, seen in probes.between(start, start + _STEP_S).items():
                about = {"cpu": int(cpu), "at_s": round(step * _STEP_S, 3)}
                found.append(about | {"mean_hz": seen["mean_hz"], "wakes_hz": seen["wakes_hz"]})
    return found
