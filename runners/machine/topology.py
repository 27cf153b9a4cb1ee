"""The topology of a machine, read from hwloc's XML: packages, NUMA nodes, L3 caches, cores, SMT siblings, kinds of cores.

hwloc (https://www.open-mpi.org/projects/hwloc/) knows the hardware; ``lstopo-no-graphics --of xml`` writes what it found. Versions 1 to 3
of the format differ in names and in nesting, and agree in what is read here: the CPU sets of objects.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple
from xml.etree import ElementTree

from runners.core.errors import WrkbookError

LSTOPO = ("lstopo-no-graphics", "--of", "xml", "--no-io", "--disallowed")
"""The command that writes the XML: with CPUs that are not allowed, without devices and their addresses."""
LSTOPO_PACKAGE = "hwloc-nox"
"""The Debian package that has it."""

# Kinds of the same part whose speeds differ by less are one kind, as hwloc itself decides: favoured cores of Intel and AMD.
_SAME_SPEED = 0.9
_CORE_TYPES = {"IntelLowPower": 1, "IntelAtom": 2, "IntelCore": 3, "AMDEfficiency": 1, "AMDPerformance": 2}
_CPU_SET = re.compile(r"(0x[0-9a-f]{0,8}|)(,(0x[0-9a-f]{0,8}|))*")
_WORD_BITS = 32


@dataclass(frozen=True)
class Core:
    """One physical core.

    Attributes
    ----------
    cpus : tuple[int, ...]
        Its logical CPUs, ascending (two or more with SMT).
    node : int
        Number of its NUMA node.
    package : int
        Place of its package.
    l3 : int | None
        Place of its L3 cache; None without one.
    kind : int
        Rank of its kind of core; 0 is the fastest.
    """

    cpus: tuple[int, ...]
    node: int = 0
    package: int = 0
    l3: int | None = None
    kind: int = 0


@dataclass(frozen=True)
class Topology:
    """A machine.

    Attributes
    ----------
    cores : tuple[Core, ...]
        All cores with a CPU that is online, by their first CPU.
    kinds : tuple[str, ...]
        A description of each kind of core, the fastest first; empty where hwloc knows none.
    allowed : frozenset[int]
        The CPUs that control groups allow.
    offline : tuple[int, ...]
        The CPUs that the machine has and that are not online.
    """

    cores: tuple[Core, ...]
    kinds: tuple[str, ...]
    allowed: frozenset[int]
    offline: tuple[int, ...] = ()

    @property
    def cpus(self) -> tuple[int, ...]:
        """Return all CPUs that are online."""
        return tuple(sorted(cpu for core in self.cores for cpu in core.cpus))

    def usable(self, affinity: Iterable[int] | None = None) -> list[Core]:
        """Return the cores with those of their CPUs that are allowed and in `affinity` (None: all); cores without any are missing."""
        permitted = self.allowed if affinity is None else self.allowed & set(affinity)
        kept = (replace(core, cpus=tuple(cpu for cpu in core.cpus if cpu in permitted)) for core in self.cores)
        return [core for core in kept if core.cpus]


@functools.lru_cache(maxsize=1024)
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


def parse_topology(text: str, source: str = "the output of lstopo") -> Topology:
    """Return the machine that hwloc's XML describes.

    Raises
    ------
    WrkbookError
        When the text is not XML, declares entities, or is not hwloc's: it names the `source`.
    """
    try:
        return _topology(text)
    except (ValueError, ElementTree.ParseError) as error:
        remedy = f"write the topology of a machine with: {' '.join(LSTOPO)} FILE.xml"
        raise WrkbookError(f"{source} is not a topology of hwloc: {error}", remedy) from error


class _Object(NamedTuple):
    """An object of the XML: its number, and its CPUs as bits."""

    number: int
    cpus: int


def _topology(text: str) -> Topology:
    if "<!ENTITY" in text:
        # hwloc declares none; nested ones fill the memory.
        raise ValueError("it declares XML entities")
    root = ElementTree.fromstring(text)  # noqa: S314 - without entities there is nothing to expand
    machine = root.find("object")
    if root.tag != "topology" or machine is None:
        raise ValueError(f"its first element is <{root.tag}>, without a machine")
    pus = _objects(root, "PU")
    online = _union(pus) & _cpus(machine, "online_cpuset", -1)
    if not online:
        raise ValueError("it has no CPU")
    # A PU below no core is a core: virtual machines need not tell of cores.
    cores = _objects(root, "Core")
    in_cores = _union(cores)
    cores += [pu for pu in pus if not pu.cpus & in_cores]
    nodes, packages = _objects(root, "NUMANode"), _objects(root, "Package", "Socket")
    caches, kinds = _objects(root, "L3Cache", "Cache"), _kinds(root, online)
    found = [
        Core(
            tuple(_bits(core.cpus & online)),
            _node(nodes, core),
            next((place for place, package in enumerate(packages) if package.cpus & core.cpus), 0),
            next((place for place, cache in enumerate(caches) if cache.cpus & core.cpus), None),
            next((rank for rank, (cpus, _) in enumerate(kinds) if cpus & core.cpus), len(kinds) if kinds else 0),
        )
        for core in cores
        if core.cpus & online
    ]
    allowed = online & _cpus(machine, "allowed_cpuset", -1)
    offline = _cpus(machine, "complete_cpuset", 0) & ~online
    names = tuple(name for _, name in kinds)
    return Topology(
        tuple(sorted(found, key=lambda core: core.cpus)), names, frozenset(_bits(allowed)), tuple(_bits(offline))
    )


def _objects(root: ElementTree.Element, *types: str) -> list[_Object]:
    """Return the objects of some types that have CPUs, by their first one; caches are of the third level."""
    found = []
    for element in root.iter("object"):
        if element.get("type") in types and (element.get("type") != "Cache" or element.get("depth") == "3"):
            cpus = _cpus(element, "cpuset", 0)
            found += [_Object(int(element.get("os_index") or 0), cpus)] if cpus else []
    return sorted(found, key=lambda each: each.cpus & -each.cpus)


def _node(nodes: list[_Object], core: _Object) -> int:
    """Return the nearest NUMA node of a core: memory of other kinds (HBM, CXL) is a node with as many CPUs or more."""
    near = [(node.cpus.bit_count(), node.number) for node in nodes if node.cpus & core.cpus]
    return min(near)[1] if near else 0


def _kinds(root: ElementTree.Element, online: int) -> list[tuple[int, str]]:
    """Return the CPUs and the description of each kind of core, the fastest first.

    They are ranked as hwloc ranks them: by the efficiency that the kernel or the processor tells (capacity on ARM), else by type and
    highest frequency. What cannot be ranked is ordered by its number of CPUs.
    """
    told = [(element, _cpus(element, "cpuset", 0) & online) for element in root.iter("cpukind")]
    forced = all((element.get("forced_efficiency") or "").isdecimal() for element, _ in told)
    ranked = []
    for element, cpus in told:
        facts = {info.get("name", ""): info.get("value", "") for info in element.iter("info")}
        kind, capacity = facts.get("CoreType", ""), _number(facts.get("LinuxCapacity"))
        frequency = _number(facts.get("FrequencyMaxMHz")) or _number(facts.get("FrequencyBaseMHz"))
        efficiency = _number(element.get("forced_efficiency"))
        rank = (efficiency, 0) if forced else (_CORE_TYPES.get(kind, 0), frequency)
        parts = [kind, f"capacity {capacity}" if capacity else "", f"up to {frequency} MHz" if frequency else ""]
        name = ", ".join(part for part in parts if part) or "of a kind without a name"
        ranked.append(
            (rank, cpus.bit_count(), cpus, name, (kind, facts.get("CPUPart", "")), capacity if forced else frequency)
        )
    merged: list[tuple[int, str, tuple[str, str], int]] = []
    for _, _, cpus, name, part, speed in sorted((each for each in ranked if each[2]), reverse=True):
        last = merged[-1] if merged else None
        if last and last[2] == part and 0 < _SAME_SPEED * last[3] <= speed:
            merged[-1] = (last[0] | cpus, *last[1:])
        else:
            merged.append((cpus, name, part, speed))
    return [(cpus, name) for cpus, name, _, _ in merged]


def _cpus(element: ElementTree.Element, name: str, missing: int) -> int:
    """Return a CPU set of hwloc as bits: words of 32 bits, the most significant first; an empty word is 0."""
    text = element.get(name)
    if text is None:
        return missing
    if not _CPU_SET.fullmatch(text):
        raise ValueError(f"{name} is {text!r}")
    bits = 0
    for word in text.split(","):
        bits = bits << _WORD_BITS | int(word.removeprefix("0x") or "0", 16)
    return bits


def _union(objects: Iterable[_Object]) -> int:
    bits = 0
    for each in objects:
        bits |= each.cpus
    return bits


def _bits(cpus: int) -> Iterator[int]:
    while cpus:
        lowest = cpus & -cpus
        yield lowest.bit_length() - 1
        cpus ^= lowest


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0
