"""08-latency-under-load: response times at shares of capacity, the largest rate under each objective, and a server that stalls."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from runners.core.errors import WrkbookError, did_you_mean
from runners.core.objectives import objectives
from runners.core.parameters import Parameters, Profile, check_parameters, from_notebook
from runners.core.records import LoadProfile, System, Workload
from runners.core.workloads import PING, WORKLOADS
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
        "quick": Profile(0.0, 0.4, 1, 2, 2, 60, "a smoke run: 2 blocks of 0.4 s windows", 0.5),
        "standard": Profile(0.0, 0.5, 1, 3, 60, 8, "blocks of 0.5 s windows until the budget is used up", 1.0),
        "publication": Profile(0.0, 10.0, 1, 10, 100, 600, "10 s windows, at least 10 blocks", 2.0),
    }
)


def latency_under_load(namespace: Mapping[str, Any]) -> Experiment:
    """Return the experiment of the notebook whose ``globals()`` are `namespace`.

    Raises
    ------
    WrkbookError
        For an unknown or wrong parameter, an objective that is none, or a share that is not above 0 and at most 100.
    """
    parameters = check_parameters(from_notebook(namespace), NAME)
    return Experiment(
        NAME,
        namespace,
        workloads=checked_workloads(parameters),
        load_levels=levels(parameters),
        also=[Cell(STALLING, Workload(PING, shape=shape)) for shape in (OPEN, CLOSED)],
        profiles=PROFILES,
    )


def levels(parameters: Parameters) -> LoadLevels:
    """Return the rates and objectives that the parameters state.

    Raises
    ------
    WrkbookError
        For an objective that is none, or a share that is not above 0 and at most 100.
    """
    shares = tuple(share / 100 for share in parameters.shares)
    if wrong := [share for share in parameters.shares if not 0 < share <= 100]:
        raise WrkbookError(
            f"parameter shares: {wrong[0]:g} is not above 0 and at most 100", "give percentages: 10,50,90"
        )
    if wrong := [rate for rate in parameters.rates if rate <= 0]:
        raise WrkbookError(f"parameter rates: {wrong[0]:g} is not above 0", "give requests per second: 1000,20000")
    return LoadLevels(shares, shares, tuple(parameters.rates), tuple(objectives(parameters.objectives)))


def checked_workloads(parameters: Parameters) -> list[str]:
    """Return the workloads to compare.

    Raises
    ------
    WrkbookError
        For one that the contract does not have.
    """
    for name in parameters.workloads:
        if name not in WORKLOADS:
            raise WrkbookError(
                f"parameter workloads: there is no workload named {name!r}", did_you_mean(name, list(WORKLOADS))
            )
    return list(parameters.workloads)
