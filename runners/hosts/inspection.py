"""The inspection of one machine: what must be the same on all hosts, and what must be there."""

from __future__ import annotations

import hashlib
import hmac
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.machine.facts import PreflightItem, machine_facts, project_facts, text_of
from runners.machine.pinning import plan_with_backend
from runners.machine.topology import Topology, format_cpu_list, parse_cpu_list
from runners.measure.conformance import full_image
from runners.measure.machine_survey import diagnose
from runners.measure.this_machine import this_topology
from runners.systems.catalogue import Catalogue

SETTINGS = (
    "net.core.somaxconn",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
)
"""Settings of the kernel that change what a connection costs."""
_PACKAGES = ("distributed", "numpy", "pandas", "pydantic")
_KERNEL = Path("/proc/sys")


@dataclass(frozen=True)
class Inspection:
    """One machine as it was inspected.

    Attributes
    ----------
    fingerprint : str
        Twelve digits that stand for the machine, and from which nothing about it can be read.
    commit, state : str
        The commit of wrkbook, and whether files differ from it.
    versions : dict[str, str]
        Python and packages on which the hosts must agree.
    image : dict[str, str]
        The key of the image, and a digest of the versions in it.
    kernel : str
        Release of the kernel.
    cpu : str
        Model of the CPU.
    settings : dict[str, str]
        Setting of the kernel → value, where the kernel has it.
    missing : str
        CPUs of the inventory that the machine does not have; empty: none.
    plan : dict[str, str]
        Role → list of CPUs; empty where there are too few.
    findings : tuple[PreflightItem, ...]
        The findings of ``./wrkbook doctor``.
    """

    fingerprint: str
    commit: str
    state: str
    versions: dict[str, str]
    image: dict[str, str]
    kernel: str
    cpu: str
    settings: dict[str, str]
    missing: str
    plan: dict[str, str]
    findings: tuple[PreflightItem, ...]


def inspect(roles: Sequence[str], cpus: str = "", housekeeping: str = "") -> Inspection:
    """Make the image where it is missing, and inspect this machine; the arguments are those of the inventory.

    Raises
    ------
    WrkbookError
        When the image cannot be made, or the topology cannot be read.
    """
    image = full_image(Catalogue())
    image.ensure()
    facts, project = machine_facts(this_topology()), project_facts()
    usable = set(os.sched_getaffinity(0))
    wanted = set(parse_cpu_list(cpus)) if cpus else usable
    wanted |= set(parse_cpu_list(housekeeping)) if housekeeping else set()
    planned = plan_roles(this_topology(), roles, cpus, housekeeping)
    packages = "\n".join(f"{name} {found}" for name, found in sorted(image.versions.items()))
    return Inspection(
        fingerprint=fingerprint(),
        commit=project["git_commit"],
        state=project.get("git_state", "not known"),
        versions={"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        image={"key": image.key, "packages": hashlib.sha256(packages.encode()).hexdigest()[:12]},
        kernel=facts["kernel"],
        cpu=facts["cpu"],
        settings=kernel_settings(),
        missing=format_cpu_list(wanted - usable),
        plan={role: format_cpu_list(own) for role, own in planned.items()},
        # Its plan for one machine is not that of a host.
        findings=tuple(found for found in diagnose(affinity=usable).findings if found.name != "CPUs"),
    )


def kernel_settings(root: Path = _KERNEL) -> dict[str, str]:
    """Return setting → value, for those of `SETTINGS` that this kernel has."""
    found = {name: " ".join(text_of(root / name.replace(".", "/")).split()) for name in SETTINGS}
    return {name: value for name, value in found.items() if value}


def version_here() -> tuple[str, str]:
    """Return the commit of wrkbook on this machine, and the version of Python."""
    return project_facts()["git_commit"], platform.python_version()


def ensure_same_version(name: str, found: tuple[str, str]) -> None:
    """Ensure that a host has the controller's version of wrkbook and Python.

    Raises
    ------
    WrkbookError
        When it has another one.
    """
    for what, there, here, remedy in zip(
        ("wrkbook", "Python"), found, version_here(), ("git fetch && git checkout {}", "./wrkbook list"), strict=True
    ):
        if there != here:
            raise WrkbookError(
                f"the host {name} has {what} {there[:12]}, this machine {here[:12]}", f"there: {remedy.format(here)}"
            )


def fingerprint() -> str:
    """Return twelve digits for this machine: its id, hashed with a name of the application, as machine-id(5) requires."""
    identity = text_of(Path("/etc/machine-id")) or platform.node()
    return hmac.new(identity.encode(), b"wrkbook", hashlib.sha256).hexdigest()[:12]


def plan_roles(
    topology: Topology, roles: Sequence[str], cpus: str = "", housekeeping: str = ""
) -> dict[str, tuple[int, ...]]:
    """Plan the CPUs of one host; empty where it has too few.

    A role that is alone on its host gets all cores but the last, which is for wrkbook, or all where that has CPUs of its own. Several
    roles share a host as they share a single machine. `cpus` and `housekeeping` are those of the inventory.
    """
    usable, roles = os.sched_getaffinity(0), ["server", "generator", "backend"] if "all" in roles else roles
    own = set(parse_cpu_list(housekeeping)) & usable if housekeeping else set[int]()
    granted = set(parse_cpu_list(cpus)) & usable if cpus else usable - own
    cores = topology.usable(granted) if granted else []
    if len(cores) < 2 - bool(own):
        return {}
    if len(roles) == 1:
        kept = cores if own else cores[:-1]
        rest = tuple(sorted(own)) or cores[-1].cpus
        return {roles[0]: tuple(sorted(cpu for core in kept for cpu in core.cpus)), "housekeeping": rest}
    if len(cores) < 2:
        return {}
    plan = plan_with_backend(cores)
    found = {role: found for role, found in plan.roles.items() if role in (*roles, "housekeeping")}
    return found | ({"housekeeping": tuple(sorted(own))} if own else {})
