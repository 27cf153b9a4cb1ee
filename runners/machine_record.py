"""What a run records of the machine before it measures: what the machine does while idle, its topology, and the preflight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from runners.doctor import examine
from runners.machine.topology import Core
from runners.measure.idle_survey import IdleSurvey


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
        start, and the probe's ``mean_hz`` and ``wakes_hz``, see :mod:`runners.measure.speed_probe`). Of a machine that is examined
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
