"""What is known about this machine before anything is measured on it, and what its user can do about it.

Nothing here changes the machine. What it does not tell is no error: it is said, and counts as good.
"""

from __future__ import annotations

import resource
from collections.abc import Sequence
from pathlib import Path

from runners.errors import WrkbookError
from runners.machine import activity, processor, resources
from runners.machine.findings import Finding, Level
from runners.machine.pinning import plan_pinning
from runners.machine.topology import Core

__all__ = ["Finding", "Level", "measured_cpus", "preflight"]

_DATA_LEAST_BYTES = 100 * 2**20
_DATA_WANTED_BYTES = 2**30


def preflight(
    cores: Sequence[Core],
    data_folder: Path,
    server_ports: Sequence[int],
    *,
    root: Path = Path("/"),
    interval_s: float = 1.0,
) -> list[Finding]:
    """Look at everything once, and for `interval_s` at what else happens on the CPUs.

    Parameters
    ----------
    cores : the cores that wrkbook may use
    data_folder : where the records of runs are going to be written
    server_ports : where the servers are going to listen, ascending
    root : the folder that holds ``proc`` and ``sys``
    interval_s : seconds during which load and steal are counted
    """
    measured = measured_cpus(cores)
    before, after = activity.watch(root, interval_s)
    return [
        processor.cpus(cores),
        processor.quota(root),
        processor.numa(cores, measured),
        processor.smt(root, cores),
        processor.governor(root, measured),
        processor.boost(root),
        processor.throttling(root),
        processor.virtual_machine(root),
        activity.steal(before, after, measured),
        activity.other_load(before, after, measured),
        resources.memory(root),
        resources.swap(root),
        resources.open_files(root, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
        resources.ports(root, server_ports),
        resources.waiting_sockets(root),
        resources.server_ports_taken(root, server_ports),
        resources.disk("disk for records", data_folder, _DATA_LEAST_BYTES, _DATA_WANTED_BYTES),
    ]


def measured_cpus(cores: Sequence[Core]) -> tuple[int, ...]:
    """The CPUs that servers and load generator are going to have; all of them where there are too few to plan with."""
    try:
        plan = plan_pinning(list(cores))
    except WrkbookError:
        return tuple(sorted(cpu for core in cores for cpu in core.cpus))
    return tuple(sorted({*plan.server, *plan.generator}))
