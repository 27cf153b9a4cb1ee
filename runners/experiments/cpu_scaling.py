"""09-cpu-scaling: throughput on 1, 2, 4 … server CPUs, and the CPU time of a request on each at an equal rate."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from runners.core.parameters import Profile, check_parameters, from_notebook
from runners.experiments.experiment import Experiment
from runners.measure.load_levels import LoadLevels

NAME = "09-cpu-scaling"
PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "quick": Profile(0.1, 0.3, 1, 1, 1, 60, "a smoke run: 1 block of 0.3 s windows"),
        "standard": Profile(0.3, 1.0, 1, 6, 60, 8, "blocks of 1 s windows until the budget is used up"),
        "publication": Profile(
            2.0, 15.0, 1, 20, 100, 600, "15 s windows as the published benchmarks, at least 20 blocks"
        ),
    }
)


def cpu_scaling(namespace: Mapping[str, Any]) -> Experiment:
    """Return the experiment of the notebook whose ``globals()`` are `namespace`.

    Raises
    ------
    WrkbookError
        For an unknown or wrong parameter, and where CPUs are missing.
    """
    parameters = check_parameters(from_notebook(namespace), NAME)
    shares = tuple(share / 100 for share in parameters.shares)
    return Experiment(
        NAME,
        namespace,
        workloads=parameters.workloads,
        load_levels=LoadLevels(of_slowest=shares, rates_rps=tuple(parameters.rates), beside=True),
        profiles=PROFILES,
        same_servers=True,
        by_cpus=True,
    )
