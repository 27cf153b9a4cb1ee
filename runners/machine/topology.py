"""The topology of the usable CPUs: cores, SMT siblings, kinds of cores, NUMA nodes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
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
