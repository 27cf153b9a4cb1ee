"""08-latency-under-load: response times at shares of capacity, the largest rate under each objective, and a server that stalls."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from runners.core.parameter_values import objectives
from runners.core.parameters import Parameters, Profile, check_parameters, from_notebook
from runners.core.records import LoadProfile, System, Workload
from runners.core.workloads import PING
from runners.experiments.experiment import Experiment
from runners.generators.paceload import Paceload
from runners.measure.design import Cell
from runners.measure.load_levels import LoadLevels

NAME = "08-latency-under-load"
OPEN = LoadProfile("open", Paceload.name, connections=400, rate_rps=1000.0, window_s=1.0)
CLOSED = LoadProfile("closed", "wrk", window_s=1.0)
"""The loads on a server that stops for 100 ms every second: a window of a whole second holds one stop."""
STALLING = System("calibration", "stalled")
PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "quick": Profile(0.0, 0.3, 1, 2, 2, 60, "a smoke run: 2 blocks of 0.3 s windows", 0.5),
        "standard": Profile(0.0, 0.4, 1, 3, 60, 7.5, "blocks of 0.4 s windows until the budget is used up", 1.0),
        "publication": Profile(0.0, 10.0, 1, 10, 100, 600, "10 s windows, at least 10 blocks", 2.0),
    }
)


def latency_under_load(namespace: Mapping[str, Any]) -> Experiment:
    """Return the experiment of the notebook whose ``globals()`` are `namespace`.

    Raises
    ------
    WrkbookError
        For an unknown or wrong parameter.
    """
    parameters = check_parameters(from_notebook(namespace), NAME)
    return Experiment(
        NAME,
        namespace,
        workloads=parameters.workloads,
        load_levels=levels(parameters),
        also=[Cell(STALLING, Workload(PING, shape=shape)) for shape in (OPEN, CLOSED)],
        profiles=PROFILES,
        same_servers=True,
    )


def levels(parameters: Parameters) -> LoadLevels:
    """Return the rates and objectives that the parameters state."""
    shares = tuple(share / 100 for share in parameters.shares)
    return LoadLevels(shares, shares, tuple(parameters.rates), tuple(objectives(parameters.objectives)))
