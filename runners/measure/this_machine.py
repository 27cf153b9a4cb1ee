"""The topology of this machine, from hwloc's lstopo in the image or on the host, and plans for recorded machines."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from runners.core.errors import WrkbookError
from runners.machine.facts import PreflightItem
from runners.machine.pinning import plan_pinning, plan_with_backend
from runners.machine.pinning_plan import PinningPlan
from runners.machine.topology import LSTOPO, LSTOPO_PACKAGE, Core, Topology, format_cpu_list, parse_topology
from runners.measure.conformance import image_for
from runners.systems.catalogue import Catalogue
from runners.systems.image import Image
from runners.systems.sandbox import Sandbox

_TIMEOUT_S = 60.0
_SYS = "/sys"


def usable_cores(affinity: Iterable[int] | None = None) -> list[Core]:
    """Return the cores of this machine with the CPUs that control groups allow and that are in `affinity`.

    Without one, that is the affinity of this process at this moment.

    Raises
    ------
    WrkbookError
        As :func:`this_topology`.
    """
    return this_topology().usable(os.sched_getaffinity(0) if affinity is None else affinity)


def cores_at_hand(affinity: Iterable[int]) -> list[Core]:
    """Return the cores as :func:`usable_cores`, without making anything; where nothing reads the topology, one for each CPU.

    Raises
    ------
    WrkbookError
        When lstopo fails.
    """
    topology = topology_at_hand()
    return topology.usable(affinity) if topology else [Core((cpu,)) for cpu in sorted(affinity)]


def plan_here() -> PinningPlan:
    """Return the plan for the CPUs that this process may use now, with a backend.

    Raises
    ------
    WrkbookError
        As :func:`this_topology`, and when there is one CPU only.
    """
    return plan_with_backend(usable_cores())


@cache
def this_topology() -> Topology:
    """Return the topology of this machine, read once in a process; the image is made where no lstopo is at hand.

    Raises
    ------
    WrkbookError
        When the image cannot be made, or lstopo fails.
    """
    return parse_topology(_printed(command_at_hand() or _in_image(ensured=True)))


def topology_at_hand() -> Topology | None:
    """Return the topology of this machine without making anything; None where lstopo is neither in an image nor on the host.

    Raises
    ------
    WrkbookError
        When lstopo fails.
    """
    return this_topology() if command_at_hand() else None


def command_at_hand() -> list[str]:
    """Return the command that prints the topology, without making anything; empty where there is none."""
    if _image().ready and shutil.which("bwrap"):
        return _in_image(ensured=False)
    return list(LSTOPO) if shutil.which(LSTOPO[0]) else []


@dataclass(frozen=True)
class RecordedMachine:
    """A machine that hwloc has recorded, and the plans for it: without and with a backend behind the servers."""

    topology: Topology
    plan: PinningPlan
    with_backend: PinningPlan
    problems: tuple[PreflightItem, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the machine, the plans, and the roles of each CPU, for programs."""
        topology = self.topology
        return {
            "cores": [asdict(core) for core in topology.cores],
            "kinds": list(topology.kinds),
            "offline": format_cpu_list(topology.offline),
            "not_allowed": format_cpu_list(set(topology.cpus) - topology.allowed),
            **_planned(self.plan),
            "roles": {
                cpu: [role for role, cpus in self.plan.roles.items() if cpu in cpus] for cpu in sorted(topology.allowed)
            },
            "with_backend": _planned(self.with_backend),
        }

    def as_text(self) -> str:
        """Return the machine and the plans as lines, for people."""
        cores, topology = self.topology.cores, self.topology
        parts = {
            "package": len({core.package for core in cores}),
            "NUMA node": len({core.node for core in cores}),
            "L3 cache": len({core.l3 for core in cores} - {None}),
        }
        counts = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in parts.items())
        lines = [f"{len(cores)} cores with {len(topology.cpus)} CPUs: {counts}"]
        for rank, name in enumerate(topology.kinds if len(topology.kinds) > 1 else ()):
            own = format_cpu_list(cpu for core in cores if core.kind == rank for cpu in core.cpus)
            lines.append(f"kind {rank + 1} of {len(topology.kinds)}: CPU {own}, {name}")
        lines += [f"offline: CPU {format_cpu_list(topology.offline)}"] if topology.offline else []
        refused = set(topology.cpus) - topology.allowed
        lines += [f"not allowed: CPU {format_cpu_list(refused)}"] if refused else []
        lines += ["", "CPUs as planned:", *plan_lines(self.plan)]
        return "\n".join([*lines, "", "With a backend behind the servers:", *plan_lines(self.with_backend)])


def plan_recorded(file: Path) -> RecordedMachine:
    """Return the plan for a machine whose topology is in a file.

    Raises
    ------
    WrkbookError
        When the file cannot be read or is not hwloc's XML, or the machine has too few CPUs.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise WrkbookError(f"{file} cannot be read: {error}", "name a file that lstopo has written as XML") from error
    topology = parse_topology(text, str(file))
    cores = topology.usable()
    return RecordedMachine(topology, plan_pinning(cores), plan_with_backend(cores))


def plan_lines(plan: PinningPlan) -> list[str]:
    """Return a line for each role, with its CPUs and why it has them, and one for each threat."""
    width = max(len(text) for text in plan.as_dict().values())
    lines = [f"  {role:12}  {cpus:{width}}  {plan.why.get(role, '')}" for role, cpus in plan.as_dict().items()]
    return [*(line.rstrip() for line in lines), *(f"  ! {threat}" for threat in plan.threats)]


def _planned(plan: PinningPlan) -> dict[str, Any]:
    return {"cpus": plan.as_dict(), "why": dict(plan.why), "threats": list(plan.threats)}


def _in_image(*, ensured: bool) -> list[str]:
    image = _image()
    if ensured:
        image.ensure()
    return Sandbox(image, read_only={_SYS: Path(_SYS)}).command(LSTOPO)


def _image() -> Image:
    return image_for(Catalogue())


def _printed(command: list[str]) -> str:
    """Return what lstopo printed.

    Raises
    ------
    WrkbookError
        When it cannot be started, ends with an error, or does not end.
    """
    remedy = f"try it: apt-get install {LSTOPO_PACKAGE} && {' '.join(LSTOPO)}"
    try:
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WrkbookError(f"hwloc cannot read the topology of this machine: {error}", remedy) from error
    if outcome.returncode != 0:
        said = outcome.stderr.strip()[-500:] or f"exit status {outcome.returncode}"
        raise WrkbookError(f"hwloc cannot read the topology of this machine: {said}", remedy)
    return outcome.stdout
