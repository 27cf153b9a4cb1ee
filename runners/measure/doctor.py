"""The preflight of ``./wrkbook doctor``: the machine, its speed at this moment, and whether sandboxes can be made."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runners.core.errors import WrkbookError
from runners.core.folders import RAW, cache_folder
from runners.machine import processor
from runners.machine.pinning import PinningPlan, plan_pinning
from runners.machine.preflight import Finding, measured_cpus, preflight
from runners.machine.resources import disk
from runners.machine.speed_probe import SpeedProbes
from runners.machine.topology import Core, read_cores
from runners.measure.conformance import full_image
from runners.systems import host
from runners.systems.catalogue import Catalogue
from runners.systems.sockets import FIRST_PORT

_MARKS = {"good": "✓", "advice": "!", "problem": "✗"}
# A block launches each system once; there are not as many.
_SERVER_PORTS = range(FIRST_PORT, FIRST_PORT + 50)
_GIB = 2**30
# The image with all builds takes 3 GiB; half of that again while it is being made.
_IMAGE_LEAST_BYTES, _IMAGE_WANTED_BYTES = int(4.5 * _GIB), 8 * _GIB
_BUILDS_LEAST_BYTES, _BUILDS_WANTED_BYTES = _GIB // 4, _GIB
_FIRST_SAMPLE_TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Diagnosis:
    """The findings and the pinning plan; no plan where there are too few CPUs."""

    findings: list[Finding]
    plan: PinningPlan | None

    @property
    def problems(self) -> list[Finding]:
        """Return the findings that prevent measuring."""
        return [finding for finding in self.findings if finding.level == "problem"]

    def as_dict(self) -> dict[str, Any]:
        """Return ``can_measure``, ``findings``, and ``cpus`` (role → CPUs in the kernel's notation, or null), for programs."""
        return {
            "can_measure": not self.problems,
            "findings": [asdict(finding) for finding in self.findings],
            "cpus": self.plan.as_dict() if self.plan else None,
        }

    def as_text(self) -> str:
        """Return a line for each finding with its remedy below it, and the plan, for people."""
        lines = []
        for finding in self.findings:
            lines.append(f"{_MARKS[finding.level]} {finding.name}: {finding.detail}")
            lines += [f"    → {finding.remedy}"] if finding.remedy else []
        if self.plan:
            roles = ", ".join(f"{role} {cpus}" for role, cpus in self.plan.as_dict().items())
            lines += ["", f"CPUs as planned: {roles}"]
        return "\n".join(lines)


def diagnose(interval_s: float = 1.0, cores: Sequence[Core] = ()) -> Diagnosis:
    """Inspect this machine for `interval_s`, without changing anything on it.

    `cores` are those that wrkbook may use; none: those that this process may use now.
    """
    cores = list(cores) or read_cores()
    try:
        plan = plan_pinning(cores)
    except WrkbookError:
        plan = None  # the finding on the CPUs says why
    return Diagnosis([*_machine(cores, interval_s), *_sandbox_and_image()], plan)


def _machine(cores: Sequence[Core], interval_s: float) -> list[Finding]:
    """The preflight, and how fast the measured CPUs were meanwhile."""
    measured = measured_cpus(cores)
    with SpeedProbes(measured) as probes:
        deadline = time.monotonic() + _FIRST_SAMPLE_TIMEOUT_S
        while len(probes.shares(0.0, deadline)) < len(measured) and time.monotonic() < deadline:
            time.sleep(0.02)  # their start is load that is not to be found
        start_s = time.monotonic()
        findings = preflight(cores, RAW, _SERVER_PORTS, interval_s=interval_s)
        return [*findings, processor.speed(probes.shares(start_s, time.monotonic()))]


def _sandbox_and_image() -> list[Finding]:
    """Return findings about the sandbox and the disk space for the image."""
    try:
        ready, cache = full_image(Catalogue()).ready, cache_folder()
    except OSError as error:
        remedy = "set XDG_CACHE_HOME to a folder that you may write"
        return [sandbox(image_ready=False), Finding("disk for the image", "problem", str(error), remedy)]
    least, wanted = (_BUILDS_LEAST_BYTES, _BUILDS_WANTED_BYTES) if ready else (_IMAGE_LEAST_BYTES, _IMAGE_WANTED_BYTES)
    return [sandbox(image_ready=ready), disk("disk for the image", cache, least, wanted)]


def sandbox(*, image_ready: bool) -> Finding:
    """Return the finding about sandboxes and, if it is not made yet, the image; nothing is installed."""
    try:
        if missing := host.missing_packages():
            command = " ".join(host.install_command(missing))
            detail = f"not tried: {', '.join(missing)} missing; the first run installs what is missing"
            return Finding("sandbox", "advice", detail, f"or now: {command}")
        host.check_sandbox()
        if not image_ready:
            host.ensure_unshare()
    except WrkbookError as error:
        return Finding("sandbox", "problem", error.problem, error.remedy)
    return Finding("sandbox", "good", "can be made")
