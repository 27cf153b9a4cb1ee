"""Check what a run was given before its notebook starts: the command line reports an error at once, not after the kernel and the lock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runners.core.errors import WrkbookError, did_you_mean
from runners.core.parameters import Parameters, check_parameters
from runners.experiments.manifest import check_same
from runners.machine.facts import raise_open_files_limit
from runners.machine.pinning import plan_with_backend
from runners.machine.topology import read_cores
from runners.measure.connection_limits import clamped
from runners.measure.run_plan import USABLE_CPUS
from runners.store.ledger import Run, check_run_id
from runners.systems.catalogue import Catalogue
from runners.systems.ports import client_ports


def check_run(notebook: str, values: Mapping[str, Any]) -> Parameters:
    """Return the parameters of a run of `notebook`.

    What depends on the notebook's own workloads is checked by the notebook, before it measures.

    Raises
    ------
    WrkbookError
        For an unknown or wrong parameter, an unknown system, connections beyond the limits of this machine, CPU sets that overlap or do
        not exist, and a run-id that is none or was begun with other parameters.
    """
    parameters = check_parameters(values, notebook)
    _ = parameters.effective_profile
    known = [system.name for server in Catalogue().servers.values() for system in server.every_system]
    for name in parameters.systems:
        if name not in known:
            raise WrkbookError(f"parameter systems: there is no system named {name!r}", did_you_mean(name, known))
    clamped(parameters, raise_open_files_limit(), client_ports().count)
    given = (parameters.server_cpus, parameters.generator_cpus, parameters.backend_cpus)
    plan_with_backend(read_cores(USABLE_CPUS), *given)
    if parameters.run_id:
        run = Run(notebook, check_run_id(parameters.run_id))
        if run.exists:
            check_same(run, parameters)
    return parameters
