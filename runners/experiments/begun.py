"""The parameters of a run as its record holds them: a run goes on only with the same, and hosts go with some only."""

from __future__ import annotations

from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.parameter_values import decided_by_machine, slice_length_s
from runners.core.parameters import LIMITS, Parameters
from runners.core.run_manifest import Facts
from runners.store.ledger import Run


def recorded(parameters: Parameters) -> Facts:
    """Return the parameters as the manifest holds them: of the inventory of hosts, its name alone."""
    return parameters.model_dump(exclude={"run_id"}) | {"hosts": Path(parameters.hosts).name}


def check_hosts_file(parameters: Parameters) -> None:
    """Refuse what does not go with hosts.

    Raises
    ------
    WrkbookError
        When the inventory is not there, or CPUs or time slices are given beside it.
    """
    if not parameters.hosts:
        return
    if not Path(parameters.hosts).is_file():
        raise WrkbookError(f"parameter hosts: there is no file {parameters.hosts}", "docs/hosts.md shows an inventory")
    if parameters.server_cpus or parameters.generator_cpus or parameters.backend_cpus:
        raise WrkbookError(
            "CPUs of a role and hosts are given", "the inventory says which CPUs of a host are used: cpus"
        )
    if not decided_by_machine(parameters.slices) and slice_length_s(parameters.slices):
        raise WrkbookError("time slices and hosts are given", "time slices work within one machine only: slices 0")


def check_same(run: Run, parameters: Parameters) -> None:
    """Refuse to go on with a run that was started with other parameters.

    Raises
    ------
    WrkbookError
        Naming each difference.
    """
    before, now = run.read().parameters, recorded(parameters)
    differing = [name for name in now if name not in LIMITS and before.get(name, now[name]) != now[name]]
    if differing:
        told = "; ".join(f"{name} was {before.get(name)!r}, is {now[name]!r}" for name in differing)
        raise WrkbookError(
            f"run {run.run_id} was started with other parameters: {told}", "use the same, or another run-id"
        )
