"""Provenance: what a reviewer must know about the computer and the state of the project that measured."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
from pathlib import Path
from typing import Any

import psutil

from runners.folders import PROJECT
from runners.machine.topology import read_cores

_CPU = Path("/sys/devices/system/cpu")


def machine_facts() -> dict[str, Any]:
    """Facts of this computer, named as in ``summary.json``. Nothing that identifies its owner."""
    cores = read_cores(_all_cpus())
    return {
        "cpu": _cpu_model(),
        "cores_count": len(cores),
        "cpus_count": sum(len(core.cpus) for core in cores),
        "efficient_cores_count": sum(core.efficient for core in cores),
        "numa_nodes_count": len({core.node for core in cores}),
        "memory_bytes": psutil.virtual_memory().total,
        "virtual_machine": _hypervisor(),
        "kernel": platform.release(),
        "system": _os_release(),
        "architecture": platform.machine(),
        "governor": _read(_CPU / "cpu0/cpufreq/scaling_governor") or "not exposed",
        "turbo": _turbo(),
        "smt": _read(_CPU / "smt/control") or "not exposed",
        "clock_source": _read(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        "transparent_huge_pages": _chosen(_read(Path("/sys/kernel/mm/transparent_hugepage/enabled"))),
        "open_files_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "mitigations": _mitigations(),
    }


def project_facts() -> dict[str, str]:
    """The git commit of the project and whether its files differ from it."""
    commit = _git("rev-parse", "HEAD")
    if not commit:
        return {"git_commit": "not a git checkout"}
    return {"git_commit": commit, "git_state": "modified" if _git("status", "--porcelain") else "clean"}


def raise_open_files_limit() -> int:
    """Raise the soft limit of open files to the hard one, for this process and all that it starts; returns it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def _all_cpus() -> set[int]:
    return set(range(os.cpu_count() or 1))


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.lower().startswith(("model name", "cpu model")):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _hypervisor() -> str:
    if "hypervisor" not in Path("/proc/cpuinfo").read_text():
        return "no"
    vendor = _read(Path("/sys/devices/virtual/dmi/id/sys_vendor"))
    return f"yes ({vendor})" if vendor else "yes"


def _os_release() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return "unknown"


def _turbo() -> str:
    if no_turbo := _read(_CPU / "intel_pstate/no_turbo"):
        return "off" if no_turbo == "1" else "on"
    if boost := _read(_CPU / "cpufreq/boost"):
        return "on" if boost == "1" else "off"
    return "not exposed"


def _mitigations() -> dict[str, str]:
    return {path.name: _read(path) for path in sorted((_CPU / "vulnerabilities").glob("*"))}


def _chosen(text: str) -> str:
    return text[text.find("[") + 1 : text.find("]")] if "[" in text else text


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _git(*arguments: str) -> str:
    try:
        command = ["git", "-C", str(PROJECT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
