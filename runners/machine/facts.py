"""Facts of the machine and of the project for a report, and findings of the preflight about one subject each."""

from __future__ import annotations

import os
import platform
import re
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil

from runners.core.project import OTHER_SERVERS, PROJECT, SERVERS
from runners.machine.topology import Topology

Level = Literal["good", "advice", "problem"]

CPU_FOLDER = Path("sys/devices/system/cpu")
_ROOT = Path("/")
_CPU = _ROOT / CPU_FOLDER


def machine_facts(topology: Topology) -> dict[str, Any]:
    """Return the facts of this computer, named as in ``summary.json``, without what identifies its owner."""
    cores = topology.cores
    return {
        "cpu": _cpu_model(),
        "cores_count": len(cores),
        "cpus_count": len(topology.cpus),
        "efficient_cores_count": sum(core.kind > 0 for core in cores),
        "numa_nodes_count": len({core.node for core in cores}),
        "memory_bytes": psutil.virtual_memory().total,
        "virtual_machine": hypervisor(),
        "kernel": platform.release(),
        "system": _os_release(),
        "architecture": platform.machine(),
        "governor": text_of(_CPU / "cpu0/cpufreq/scaling_governor") or "not exposed",
        "turbo": turbo(),
        "smt": text_of(_CPU / "smt/control") or "not exposed",
        "clock_source": text_of(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        "transparent_huge_pages": _chosen(text_of(Path("/sys/kernel/mm/transparent_hugepage/enabled"))),
        "open_files_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "mitigations": _mitigations(),
    }


def project_facts() -> dict[str, str]:
    """Return the git commit of the project, whether files outside ``data`` differ from it, and that of servers from elsewhere."""
    commit = _git("rev-parse", "HEAD")
    if not commit:
        return {"git_commit": "not a git checkout"}
    others = {"servers_commit": _git("-C", str(SERVERS), "rev-parse", "HEAD")} if OTHER_SERVERS in os.environ else {}
    return others | {
        "git_commit": commit,
        "git_state": "modified" if _git("status", "--porcelain", "--", ".", ":!data") else "clean",
    }


def hypervisor(root: Path = _ROOT) -> str:
    """Return whether the CPU reports a hypervisor: ``no``, ``yes``, or ``yes (its maker)``."""
    if "hypervisor" not in text_of(root / "proc/cpuinfo").split():
        return "no"
    vendor = text_of(root / "sys/devices/virtual/dmi/id/sys_vendor")
    return f"yes ({vendor})" if vendor else "yes"


def turbo(root: Path = _ROOT) -> str:
    """Return whether the clock may rise above its nominal frequency: ``on``, ``off`` or ``not exposed``."""
    for name, states in (
        ("intel_pstate/no_turbo", {"0": "on", "1": "off"}),
        ("cpufreq/boost", {"1": "on", "0": "off"}),
    ):
        if state := states.get(text_of(root / CPU_FOLDER / name)):
            return state
    return "not exposed"


def raise_open_files_limit() -> int:
    """Raise the soft limit of open files to the hard one, for this process and its children, and return it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.lower().startswith(("model name", "cpu model")):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _os_release() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return "unknown"


def _mitigations() -> dict[str, str]:
    return {path.name: text_of(path) for path in sorted((_CPU / "vulnerabilities").glob("*"))}


def _chosen(text: str) -> str:
    return text[text.find("[") + 1 : text.find("]")] if "[" in text else text


def _git(*arguments: str) -> str:
    try:
        command = ["git", "-C", str(PROJECT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


@dataclass(frozen=True)
class PreflightItem:
    """One subject of the preflight.

    Attributes
    ----------
    name : str
        The subject.
    level : Level
        ``good``: nothing to do; ``advice``: wrkbook measures, but less well; ``problem``: it cannot measure at all.
    detail : str
        What was found.
    remedy : str
        What to do about it, as a command where there is one; empty when there is nothing to do.
    """

    name: str
    level: Level
    detail: str
    remedy: str = ""


def not_exposed(name: str, detail: str = "") -> PreflightItem:
    """Return the finding for a fact that this machine does not expose."""
    return PreflightItem(name, "good", f"not exposed: {detail}" if detail else "not exposed by this machine")


def text_of(path: Path) -> str:
    """Return the stripped text of a file of ``/proc`` or ``/sys``; empty when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, ValueError):
        return ""


def numbers_in(text: str) -> list[int]:
    """Return the words of a text as whole numbers; empty when a word is not a number that the kernel writes."""
    words = text.split()
    return [int(word) for word in words] if all(re.fullmatch(r"[0-9]{1,20}", word) for word in words) else []
