"""The CPUs of a run's roles: as recorded, as its hosts have them, or as planned from this machine's topology."""

from __future__ import annotations

from collections.abc import Callable, Collection

from runners.core.parameters import Parameters
from runners.machine.pinning import plan_pinning, plan_with_backend
from runners.machine.pinning_plan import PinningPlan
from runners.measure.this_machine import usable_cores
from runners.store.ledger import Run


def pinning_of(
    run: Run,
    given: Parameters,
    usable: Collection[int],
    elsewhere: Callable[[str, bool], PinningPlan] | None,
    *,
    behind: bool,
) -> PinningPlan:
    """Return the CPUs of all roles; `behind` says whether a backend has some, `elsewhere` finds those of an inventory's hosts.

    Raises
    ------
    WrkbookError
        For CPU sets that overlap or do not exist, and when a host cannot be reached.
    """
    if run.exists:
        known = run.read()
        return PinningPlan.recorded(known.pinning, known.pinning_threats)
    if given.hosts and elsewhere is not None:
        return elsewhere(given.hosts, behind)
    cores = usable_cores(usable)
    if behind:
        return plan_with_backend(cores, given.server_cpus, given.generator_cpus, given.backend_cpus)
    return plan_pinning(cores, given.server_cpus, given.generator_cpus)
