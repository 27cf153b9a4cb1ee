"""Machines of many kinds, each as hwloc would describe it in XML, from public facts about their processors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, groupby


@dataclass(frozen=True)
class Place:
    """A core of a described machine: its CPUs, where it is, and its kind by name."""

    cpus: tuple[int, ...]
    kind: str = ""
    package: int = 0
    node: int = 0
    l3: int | None = 0


def grid(packages=1, nodes=1, caches=1, cores=1, threads=1, *, siblings_adjacent=False):
    """Return equal cores: `nodes` in each package, `caches` in each node, `cores` in each cache (0 caches: no L3 there)."""
    total = packages * nodes * max(caches, 1) * cores
    found, l3s = [], count()
    for node in range(packages * nodes):
        for _ in range(max(caches, 1)):
            l3 = next(l3s) if caches else None
            for _ in range(cores):
                place = len(found)
                step = 1 if siblings_adjacent else total
                first = place * threads if siblings_adjacent else place
                cpus = tuple(first + thread * step for thread in range(threads))
                found.append(Place(cpus, package=node // nodes, node=node, l3=l3))
    return found


def hybrid(*groups):
    """Return cores of one package from groups of (kind, cores, threads, L3), with CPUs numbered in this order."""
    found, numbers = [], count()
    for kind, cores, threads, l3 in groups:
        found += [Place(tuple(next(numbers) for _ in range(threads)), kind, l3=l3) for _ in range(cores)]
    return found


def xml(
    cores: Sequence[Place],
    kinds: Sequence[tuple[str, dict[str, str], int | None]] = (),
    offline: Iterable[int] = (),
    refused: Iterable[int] = (),
    memory: Sequence[tuple[int, Iterable[int]]] = (),
) -> str:
    """Return the XML of a machine.

    `kinds` are (name, facts, forced efficiency; None: none), `offline` and `refused` are CPUs, `memory` are further NUMA nodes with CPUs.
    """
    gone = set(offline)
    every = [cpu for core in cores for cpu in core.cpus]
    online = [cpu for cpu in every if cpu not in gone]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE topology SYSTEM "hwloc2.dtd">',
        '<topology version="2.0">',
        f'<object type="Machine" os_index="0" cpuset="{bits(online)}" complete_cpuset="{bits(every)}" '
        f'allowed_cpuset="{bits(set(online) - set(refused))}">',
    ]
    lines += [_opened("NUMANode", number, cpus) + "</object>" for number, cpus in memory]
    for package, in_package in groupby(cores, lambda core: core.package):
        of_package = list(in_package)
        lines.append(_opened("Package", package, _cpus(of_package, gone)))
        for node, in_node in groupby(of_package, lambda core: core.node):
            of_node = list(in_node)
            lines.append(_opened("Group", None, _cpus(of_node, gone)))
            lines.append(_opened("NUMANode", node, _cpus(of_node, gone)) + "</object>")
            for l3, in_cache in groupby(of_node, lambda core: core.l3):
                of_cache = list(in_cache)
                lines += [] if l3 is None else [_opened("L3Cache", None, _cpus(of_cache, gone))]
                for number, core in enumerate(of_cache):
                    if here := [cpu for cpu in core.cpus if cpu not in gone]:
                        lines.append(_opened("Core", number, here))
                        lines += [_opened("PU", cpu, [cpu]) + "</object>" for cpu in here]
                        lines.append("</object>")
                lines += [] if l3 is None else ["</object>"]
            lines.append("</object>")
        lines.append("</object>")
    lines.append("</object>")
    for name, facts, efficiency in kinds:
        own = bits(cpu for core in cores if core.kind == name for cpu in core.cpus if cpu not in gone)
        forced = "" if efficiency is None else f' forced_efficiency="{efficiency}"'
        infos = "".join(f'<info name="{fact}" value="{value}"/>' for fact, value in facts.items())
        lines.append(f'<cpukind cpuset="{own}"{forced}>{infos}</cpukind>')
    return "\n".join([*lines, "</topology>"])


def bits(cpus: Iterable[int]) -> str:
    """Return a CPU set as hwloc writes it: words of 32 bits, the most significant first."""
    whole = sum(1 << cpu for cpu in set(cpus))
    words = [whole >> 32 * place & 0xFFFFFFFF for place in range(max(1, (whole.bit_length() + 31) // 32))]
    return ",".join(f"0x{word:08x}" for word in reversed(words))


def _cpus(cores, gone):
    return [cpu for core in cores for cpu in core.cpus if cpu not in gone]


def _opened(kind, number, cpus):
    index = "" if number is None else f' os_index="{number}"'
    return f'<object type="{kind}"{index} cpuset="{bits(cpus)}">'


INTEL = [("P", {"CoreType": "IntelCore", "FrequencyMaxMHz": "5000"}, None), ("E", {"CoreType": "IntelAtom"}, None)]
# The processor itself ranks them (CPUID leaves 1A and 80000026), from 0 on.
LOW_POWER = [
    ("L", {"CoreType": "IntelLowPower"}, 0),
    ("E", {"CoreType": "IntelAtom"}, 1),
    ("P", {"CoreType": "IntelCore"}, 2),
]
STRIX = [("5c", {"CoreType": "AMDEfficiency"}, 0), ("5", {"CoreType": "AMDPerformance"}, 1)]
STRIX_OLD_KERNEL = [("5", {"FrequencyMaxMHz": "5157"}, None), ("5c", {"FrequencyMaxMHz": "3300"}, None)]
SPARK = [("725", {"LinuxCapacity": "718"}, 718), ("925", {"LinuxCapacity": "1024"}, 1024)]
PHONE = [("little", {}, 250), ("middle", {}, 800), ("prime", {}, 1024)]
FAVOURED = [("a", {"FrequencyMaxMHz": "5000"}, None), ("b", {"FrequencyMaxMHz": "5200"}, None)]

# name → XML, and the CPUs of servers, load generator and notebook.
MACHINES = {
    "two CPUs": (xml(grid(cores=2)), "0", "1", "1"),
    "two SMT siblings": (xml(grid(threads=2)), "0", "1", "1"),
    "four SMT siblings": (xml(grid(threads=4)), "0-1", "2-3", "2-3"),
    "three CPUs": (xml(grid(cores=3)), "0", "1", "2"),
    "four CPUs": (xml(grid(cores=4)), "0", "1-2", "3"),
    "Raspberry Pi: four CPUs without L3": (xml(grid(caches=0, cores=4)), "0", "1-2", "3"),
    "eight CPUs": (xml(grid(cores=8)), "0-2", "3-6", "7"),
    "two cores with SMT": (xml(grid(cores=2, threads=2)), "0,2", "1,3", "1,3"),
    "four cores with SMT": (xml(grid(cores=4, threads=2)), "0,4", "1-2,5-6", "3,7"),
    "virtual machine, each CPU a socket": (
        xml([Place((cpu,), package=cpu, l3=cpu) for cpu in range(8)]),
        "0-2",
        "4-7",
        "3",
    ),
    "i9-12900HK: 6 P-cores with SMT, 8 E-cores": (
        xml(hybrid(("P", 6, 2, 0), ("E", 8, 1, 0)), INTEL),
        *("0-11", "12-18", "19"),
    ),
    "i9-13900K: 8 P-cores with SMT, 16 E-cores": (
        xml(hybrid(("P", 8, 2, 0), ("E", 16, 1, 0)), INTEL),
        *("0-15", "16-30", "31"),
    ),
    "i5-12450H: 4 P-cores with SMT, 4 E-cores": (
        xml(hybrid(("P", 4, 2, 0), ("E", 4, 1, 0)), INTEL),
        *("0-5", "6-10", "11"),
    ),
    "Meteor Lake: 6 P, 8 E, 2 low-power cores outside the L3": (
        xml(hybrid(("P", 6, 2, 0), ("E", 8, 1, 0), ("L", 2, 1, None)), LOW_POWER),
        *("0-11", "12-19", "20-21"),
    ),
    "Lunar Lake: 4 P-cores, 4 E-cores outside the L3": (
        xml(hybrid(("P", 4, 1, 0), ("E", 4, 1, None)), INTEL),
        *("0-2", "3-6", "7"),
    ),
    "favoured cores are no kind of their own": (
        xml(hybrid(("a", 6, 1, 0), ("b", 2, 1, 0)), FAVOURED),
        *("0-2", "3-6", "7"),
    ),
    "Ryzen AI 9 HX 370: 4 Zen 5, 8 Zen 5c": (
        xml(hybrid(("5", 4, 2, 0), ("5c", 8, 2, 1)), STRIX),
        *("0-7", "8-21", "22-23"),
    ),
    "Ryzen AI 9 HX 370, kinds by frequency": (
        xml(hybrid(("5", 4, 2, 0), ("5c", 8, 2, 1)), STRIX_OLD_KERNEL),
        *("0-7", "8-21", "22-23"),
    ),
    "GB10: two clusters of 5 Cortex-A725 and 5 Cortex-X925": (
        xml(hybrid(("725", 5, 1, 0), ("925", 5, 1, 0), ("725", 5, 1, 1), ("925", 5, 1, 1)), SPARK),
        *("5-9", "15-19", "0-4,10-14"),
    ),
    "ARM phone: 4 little, 3 middle, 1 prime": (
        xml(hybrid(("little", 4, 1, 0), ("middle", 3, 1, 0), ("prime", 1, 1, 0)), PHONE),
        *("7", "4-6", "0-3"),
    ),
    "Ryzen 9 7950X: two L3 caches": (
        xml(grid(caches=2, cores=8, threads=2)),
        *("0-6,16-22", "8-15,24-31", "7,23"),
    ),
    "three L3 caches": (xml(grid(caches=3, cores=4)), "0-3", "4-10", "11"),
    "EPYC, NPS1, 8 L3 caches": (
        xml(grid(caches=8, cores=8, threads=2)),
        *("0-30,64-94", "32-63,96-127", "31,95"),
    ),
    "EPYC, NPS4, 8 L3 caches": (
        xml(grid(nodes=4, caches=2, cores=8, threads=2)),
        *("0-7,64-71", "8-15,72-79", "16-63,80-127"),
    ),
    "two EPYC with 256 CPUs": (
        xml(grid(packages=2, caches=8, cores=8, threads=2)),
        *("0-31,128-159", "32-63,160-191", "64-127,192-255"),
    ),
    "two Xeon": (
        xml(grid(packages=2, cores=20, threads=2)),
        *("0-9,40-49", "10-19,50-59", "20-39,60-79"),
    ),
    "Xeon Max: HBM is a NUMA node too": (
        xml(grid(packages=1, nodes=2, cores=8), memory=[(2, range(8)), (3, range(8, 16)), (4, range(16))]),
        *("0-3", "4-7", "8-15"),
    ),
    "Ampere Altra: 80 cores": (xml(grid(cores=80)), "0-38", "39-78", "79"),
    "Power 9 with SMT-4": (
        xml(grid(packages=2, caches=0, cores=4, threads=4, siblings_adjacent=True)),
        *("0-7", "8-15", "16-31"),
    ),
    "Xeon Phi: 64 cores with SMT-4, without L3": (
        xml(grid(caches=0, cores=64, threads=4)),
        *("0-30,64-94,128-158,192-222", "31-62,95-126,159-190,223-254", "63,127,191,255"),
    ),
    "container with 3 of 64 CPUs": (
        xml(grid(packages=2, cores=32), refused=set(range(64)) - {5, 6, 40}),
        *("5", "6", "40"),
    ),
    "container with CPUs of three NUMA nodes": (
        xml(grid(packages=4, cores=4), refused=set(range(16)) - {1, 6, 11}),
        *("1", "6", "11"),
    ),
    "container with one sibling of each core": (
        xml(grid(cores=4, threads=2), refused={4, 5, 6, 7}),
        *("0", "1-2", "3"),
    ),
    "offline CPU 0": (xml(grid(cores=4, threads=2), offline={0}), "1,5", "2-3,6-7", "4"),
    "a package offline": (xml(grid(packages=2, cores=4), offline=range(4)), "4", "5-6", "7"),
}
