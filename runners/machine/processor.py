"""Preflight checks of the CPUs: number, quota, frequency, SMT, NUMA, hypervisor, and measured speed."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.units import PERCENT, amount
from runners.machine.facts import CPU_FOLDER, PreflightItem, hypervisor, not_exposed, numbers_in, text_of, turbo
from runners.machine.pinning import plan_pinning
from runners.machine.topology import Core, format_cpu_list

# From so many cores on, one thread for each is enough CPUs for every role.
_CORES_WITHOUT_SMT = 4


def cpus(cores: Collection[Core]) -> PreflightItem:
    """Check that every role has CPUs of its own."""
    usable = [cpu for core in cores for cpu in core.cpus]
    try:
        plan = plan_pinning(list(cores))
    except WrkbookError as error:
        remedy = f"{error.remedy}; if taskset or a container withholds CPUs, start wrkbook with more of them"
        return PreflightItem("CPUs", "problem", error.problem, remedy)
    count = f"{len(usable)} usable CPUs on {len(cores)} core{'s' if len(cores) > 1 else ''}"
    if len(cores) == 1:
        detail = f"{count}: the servers and the load generator share the execution units of one core"
    elif set(plan.housekeeping) & set(plan.generator):
        detail = (
            f"{count}: databases, the backends of proxies, and the notebook share CPU "
            f"{format_cpu_list(plan.generator)} with the load generator"
        )
    else:
        return PreflightItem("CPUs", "good", f"{count}: every role has its own")
    return PreflightItem("CPUs", "advice", detail, "compare ratios only, or measure on a machine with at least 4 cores")


def quota(root: Path) -> PreflightItem:
    """Check that no control group (a container's limit) restricts CPU time; both versions of cgroups."""
    shares = [share for folder in _own_groups(root) if (share := _quota_of(folder)) is not None]
    if not shares:
        return PreflightItem("CPU quota", "good", "none to be seen")
    return PreflightItem(
        "CPU quota",
        "advice",
        f"a control group grants {min(shares):g} CPUs' worth of time and stops every process when that is used up",
        "start the container without --cpus and give it whole CPUs instead: docker run --cpuset-cpus 0-3 …; "
        "for a systemd unit: systemctl set-property UNIT CPUQuota=",
    )


def _own_groups(root: Path) -> list[Path]:
    """Return the folders of this process's control groups, and of their parents."""
    found = []
    for line in text_of(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if ".." in path or not (number == "0" or "cpu" in controllers.split(",")):
            continue
        top = root / "sys/fs/cgroup" / ("" if number == "0" else "cpu")
        group = top / path.strip("/")
        found += [group, *(folder for folder in group.parents if folder.is_relative_to(top))]
    return found


def _quota_of(group: Path) -> float | None:
    """Return the CPU time of a group in CPUs; None without a limit."""
    words = (
        text_of(group / "cpu.max") or f"{text_of(group / 'cpu.cfs_quota_us')} {text_of(group / 'cpu.cfs_period_us')}"
    )
    limits = numbers_in(words)
    return limits[0] / limits[1] if len(limits) == 2 and limits[1] else None


def governor(root: Path, measured: Collection[int]) -> PreflightItem:
    """Check that the frequency governor of the measured CPUs is ``performance``."""
    shown = {text_of(root / CPU_FOLDER / f"cpu{cpu}/cpufreq/scaling_governor") for cpu in measured}
    governors = {name for name in shown if re.fullmatch(r"[a-z_]+", name)}
    if not governors:
        return not_exposed("frequency governor")
    if governors == {"performance"}:
        return PreflightItem("frequency governor", "good", "performance")
    files = f"/{CPU_FOLDER}/cpu*/cpufreq/scaling_governor"
    before = min(governors - {"performance"})
    return PreflightItem(
        "frequency governor",
        "advice",
        f"{', '.join(sorted(governors))}: the clock follows the load, late and differently for each server",
        f"echo performance | sudo tee {files}   (undo: echo {before} | sudo tee {files})",
    )


def boost(root: Path) -> PreflightItem:
    """Check that turbo is off: it makes the clock depend on heat and on the number of busy cores."""
    state = turbo(root)
    if state == "not exposed":
        return not_exposed("turbo")
    if state == "off":
        return PreflightItem("turbo", "good", "off")
    intel = CPU_FOLDER / "intel_pstate/no_turbo"
    path, off, on = (intel, 1, 0) if text_of(root / intel) == "0" else (CPU_FOLDER / "cpufreq/boost", 0, 1)
    return PreflightItem(
        "turbo",
        "advice",
        "on: the clock depends on heat and on how many cores are busy",
        f"echo {off} | sudo tee /{path}   (undo: echo {on} | sudo tee /{path})",
    )


def smt(root: Path, cores: Collection[Core]) -> PreflightItem:
    """Check that SMT is off, on machines that have enough cores without it."""
    state = text_of(root / CPU_FOLDER / "smt/control")
    if state in ("off", "forceoff", "notsupported", "notimplemented"):
        return PreflightItem("SMT", "good", "off" if state in ("off", "forceoff") else "not supported")
    if state != "on":
        return not_exposed("SMT")
    if len(cores) < _CORES_WITHOUT_SMT:
        return PreflightItem(
            "SMT", "good", f"on, and needed with {len(cores)} cores; the threads of a core stay in one role"
        )
    path = f"/{CPU_FOLDER}/smt/control"
    return PreflightItem(
        "SMT",
        "advice",
        "on: the threads of a core stay in one role, but what one gets done depends on the other",
        f"for steadier numbers: echo off | sudo tee {path}   (undo: echo on | sudo tee {path})",
    )


def virtual_machine(root: Path) -> PreflightItem:
    """Check that no hypervisor shares the hardware."""
    if not text_of(root / "proc/cpuinfo"):
        return not_exposed("virtual machine")
    state = hypervisor(root)
    if state == "no":
        return PreflightItem("virtual machine", "good", "none to be seen")
    return PreflightItem(
        "virtual machine",
        "advice",
        f"{state}: other machines on the same hardware slow the CPUs at times, and not every hypervisor reports it",
        "measure on hardware of your own, or on an instance with dedicated cores; else with more blocks: --budget 30",
    )


def throttling(root: Path) -> PreflightItem:
    """Check that heat has not lowered the clock since the machine was started."""
    files = sorted((root / CPU_FOLDER).glob("cpu[0-9]*/thermal_throttle/*_throttle_count"))
    # The threads of a core, and the cores of a package, show the same counter: the highest says it once.
    counts = [count for path in files for count in numbers_in(text_of(path))[:1]]
    if not counts:
        return not_exposed("thermal throttling")
    if not max(counts):
        return PreflightItem("thermal throttling", "good", "never since the machine was started")
    return PreflightItem(
        "thermal throttling",
        "advice",
        f"up to {max(counts)} times on one CPU since the machine was started",
        f"cool it and plug it in; see whether the number grows: grep . /{CPU_FOLDER}/cpu*/thermal_throttle/*_count",
    )


def numa(cores: Collection[Core], measured: Collection[int]) -> PreflightItem:
    """Check that servers and load generator are on one NUMA node."""
    nodes = sorted({core.node for core in cores})
    used = sorted({core.node for core in cores if set(core.cpus) & set(measured)})
    if len(nodes) < 2:
        return PreflightItem("NUMA", "good", "one node")
    if len(used) == 1:
        return PreflightItem("NUMA", "good", f"{len(nodes)} nodes; servers and load generator stay on node {used[0]}")
    return PreflightItem(
        "NUMA",
        "advice",
        f"servers and load generator are on the nodes {', '.join(map(str, used))}: their traffic crosses between them",
        "give both CPUs of one node (lscpu shows them): ./wrkbook run -p server_cpus 0-3 -p generator_cpus 4-7",
    )


def speed(shares: dict[int, float], least: float = 0.9) -> PreflightItem:
    """Check the measured speed of the CPUs.

    Parameters
    ----------
    shares : dict
        CPU → its median speed as a share of its best; empty when nothing could be timed.
    least : float
        Smallest share without advice.
    """
    if not shares:
        return not_exposed("speed of the CPUs", "no probe gave a sample")
    parts = ", ".join(f"CPU {cpu}: {amount(share, PERCENT)}" for cpu, share in sorted(shares.items()))
    detail = f"{parts} of its best speed"
    if min(shares.values()) >= least:
        return PreflightItem("speed of the CPUs", "good", detail)
    return PreflightItem(
        "speed of the CPUs",
        "advice",
        f"{detail}: something that no counter shows slows it, such as another machine on the same core or a changing clock",
        "try again at a quieter time, or measure more blocks: --budget 30",
    )
