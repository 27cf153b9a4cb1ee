"""The topology of the usable CPUs, and the pinning plan.

The topology: cores, SMT siblings, kinds of cores, NUMA nodes. The plan: CPU sets of servers, load generator, backend, and the rest.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from runners.core.errors import WrkbookError

SYSFS = Path("/sys/devices")


@dataclass(frozen=True, order=True)
class Core:
    """One physical core.

    Attributes
    ----------
    cpus : its logical CPUs (two with SMT)
    node : NUMA node
    efficient : an E-core of a hybrid CPU
    """

    cpus: tuple[int, ...]
    node: int = 0
    efficient: bool = False


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Return CPU numbers from the kernel's notation, sorted: ``0-2,8`` is 0, 1, 2, 8.

    Raises
    ------
    ValueError
        When the text is not such a list.
    """
    found: set[int] = set()
    for part in text.strip().split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise ValueError(f"not a list of CPUs: {text!r} (expected for example 0-3,8)")
        found.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Return the kernel's notation for a set of CPUs: 0, 1, 2, 8 is ``0-2,8``."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def read_cores(allowed: Iterable[int] | None = None, sysfs: Path = SYSFS) -> list[Core]:
    """Return the physical cores among the CPUs that this process may use."""
    usable = set(os.sched_getaffinity(0) if allowed is None else allowed)
    efficient = set(_list_in(sysfs / "cpu_atom/cpus"))
    cores: dict[tuple[int, ...], Core] = {}
    for cpu in sorted(usable):
        folder = sysfs / f"system/cpu/cpu{cpu}"
        siblings = set(_list_in(folder / "topology/thread_siblings_list")) | {cpu}
        cpus = tuple(sorted(siblings & usable))
        nodes = [int(path.name.removeprefix("node")) for path in folder.glob("node[0-9]*")]
        cores[cpus] = Core(cpus, min(nodes, default=0), cpu in efficient)
    return sorted(cores.values())


def check_cpus(name: str, text: str, usable: set[int]) -> tuple[int, ...]:
    """Parse the CPU list of the parameter `name` and check it against the usable CPUs.

    Raises
    ------
    WrkbookError
        When it is no such list, or names a CPU that is not usable.
    """
    try:
        cpus = parse_cpu_list(text)
    except ValueError as error:
        raise WrkbookError(f"parameter {name}: {error}") from error
    if missing := sorted(set(cpus) - usable):
        raise WrkbookError(
            f"parameter {name}: CPU {format_cpu_list(missing)} does not exist here or may not be used",
            f"usable CPUs: {format_cpu_list(usable)}",
        )
    return cpus


def _list_in(path: Path) -> tuple[int, ...]:
    text = _text(path)
    return parse_cpu_list(text) if text else ()


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class PinningPlan:
    """CPU sets by role. `housekeeping` is for the notebook and its sampling; with two CPUs it shares the generator's.

    `backend` is empty where nothing runs behind the servers.
    """

    server: tuple[int, ...]
    generator: tuple[int, ...]
    housekeeping: tuple[int, ...]
    backend: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, str]:
        """Return each role's CPUs in the kernel's notation."""
        roles = {"server": self.server, "generator": self.generator, "housekeeping": self.housekeeping}
        roles |= {"backend": self.backend} if self.backend else {}
        return {role: format_cpu_list(cpus) for role, cpus in roles.items()}

    @property
    def measured(self) -> tuple[int, ...]:
        """Return the CPUs of all roles that take part in a window, each once."""
        return tuple(sorted({*self.server, *self.generator, *self.backend}))


def plan_with_backend(
    cores: list[Core], server_cpus: str = "", generator_cpus: str = "", backend_cpus: str = ""
) -> PinningPlan:
    """Plan the CPU sets as :func:`plan_pinning` does, with CPUs for the backend.

    From four cores of the quickest kind on, a quarter is the backend's own; with fewer it shares those of the generator. CPUs that
    the user gave may be the generator's as well, but not the servers'.

    Raises
    ------
    WrkbookError
        As :func:`plan_pinning`, and when the backend's set overlaps the servers'.
    """
    backend: tuple[int, ...] = ()
    if backend_cpus:
        backend = check_cpus("backend_cpus", backend_cpus, {cpu for core in cores for cpu in core.cpus})
    elif not (server_cpus or generator_cpus) and len(quick := _servable(cores)) >= 4:
        backend = _cpus(quick[-(len(quick) // 4) :])
    others = [core for core in cores if not set(core.cpus) & set(backend)]
    apart = len(others) > 1 and not (server_cpus or generator_cpus)
    plan = plan_pinning(others if apart else cores, server_cpus, generator_cpus)
    if shared := set(backend) & set(plan.server):
        raise WrkbookError(
            f"the backend and the servers overlap on CPU {format_cpu_list(shared)}",
            "give backend_cpus and server_cpus CPUs that differ, or leave both empty to have them planned",
        )
    housekeeping = tuple(cpu for cpu in plan.housekeeping if cpu not in backend) or plan.generator
    return replace(plan, backend=backend or plan.generator, housekeeping=housekeeping)


def plan_pinning(cores: list[Core], server_cpus: str = "", generator_cpus: str = "") -> PinningPlan:
    """Plan the CPU sets from the topology; a set that the user gave is taken as it is.

    SMT siblings stay in one role: two roles on one core would share its execution units. Servers get cores of one
    kind (P-cores of a hybrid CPU) on one NUMA node, and the generator stays there too. From three cores on, one is left
    to the notebook and the system. The generator gets at least as many cores as the servers, so that it is not the limit.

    Raises
    ------
    WrkbookError
        When there is one CPU only, or a given set overlaps the other or names CPUs that are not there.
    """
    usable = {cpu for core in cores for cpu in core.cpus}
    server = check_cpus("server_cpus", server_cpus, usable) if server_cpus else ()
    generator = check_cpus("generator_cpus", generator_cpus, usable) if generator_cpus else ()
    if shared := set(server) & set(generator):
        raise WrkbookError(
            f"parameters server_cpus and generator_cpus overlap on CPU {format_cpu_list(shared)}",
            "give each its own CPUs, or leave both empty to have them planned",
        )
    left = [core for core in cores if not set(core.cpus) & {*server, *generator}]
    if not server and not generator:
        server, generator = _split(left)
    elif not server:
        server = _cpus(_servable(left)[: max(1, len(_servable(left)) // 2)])
    elif not generator:
        generator = _cpus(left[: max(1, len(left) - 1)] if len(left) > 2 else left)
    if not server or not generator:
        raise WrkbookError(
            f"{len(usable)} usable CPU(s) leave none for the {'generator' if server else 'server'}",
            "wrkbook needs at least two CPUs: one for the server, one for the load generator",
        )
    rest = usable - set(server) - set(generator)
    return PinningPlan(server, generator, tuple(sorted(rest)) or generator)


def _split(cores: list[Core]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if len(cores) == 1 and len(cores[0].cpus) > 1:
        # Two SMT siblings are all that there is: better than nothing, and the report says so.
        return cores[0].cpus[:1], cores[0].cpus[1:]
    if len(cores) < 2:
        return (), ()
    quick = _servable(cores)
    spare = [core for core in cores if core not in quick and core.node == quick[0].node]
    if len(quick) + len(spare) > 2 and len(quick) + len(spare) == len(cores):
        # The last efficient core, else the last core, keeps the notebook; with two cores there is none to spare, and
        # where there is another NUMA node the notebook has that.
        (spare or quick).pop()
    servers = quick[: max(1, len(quick) // 2)]
    return _cpus(servers), _cpus([core for core in quick if core not in servers] + spare)


def _servable(cores: list[Core]) -> list[Core]:
    """Return the cores of the quickest kind on the NUMA node that has most of them."""
    quick = [core for core in cores if not core.efficient] or cores
    if not quick:
        return []
    node = max(sorted(Counter(core.node for core in quick).items()), key=lambda item: item[1])[0]
    return [core for core in quick if core.node == node]


def _cpus(cores: list[Core]) -> tuple[int, ...]:
    return tuple(sorted(cpu for core in cores for cpu in core.cpus))
