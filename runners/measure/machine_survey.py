"""The machine before anything is measured: the preflight of ``./wrkbook doctor``, and the survey before a run.

The preflight inspects the machine, its speed at this moment, and whether sandboxes can be made. The survey adds steal, other load and the
topology.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from runners.core.errors import WrkbookError
from runners.core.parameter_values import decided_by_machine, slice_length_s
from runners.core.project import RAW, cache_folder
from runners.core.run_manifest import CoreFacts, IdleMachine, MachineSurvey, PreflightFinding, SpeedReading
from runners.core.status_line import steps
from runners.core.units import format_duration
from runners.machine import processor
from runners.machine.pinning import plan_pinning
from runners.machine.pinning_plan import PinningPlan
from runners.machine.preflight import PreflightItem, measured_cpus, preflight
from runners.machine.resources import disk
from runners.machine.speed_probe import SpeedProbes
from runners.machine.topology import LSTOPO_PACKAGE, Core
from runners.measure.conformance import image_for
from runners.measure.other_processes import OtherProcesses
from runners.measure.sampling import MOST_PROBES, cpu_times, evenly_spread
from runners.measure.this_machine import plan_lines, this_topology, topology_at_hand
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
_OF_CORES = ("CPUs", "NUMA", "SMT")
_NOT_READ = PreflightItem(
    "CPUs",
    "advice",
    "not planned: hwloc, which reads the topology, is in the image, and that is not made yet",
    f"the first run makes it; or now: apt-get install {LSTOPO_PACKAGE}",
)


@dataclass(frozen=True)
class Diagnosis:
    """The findings and the pinning plan; no plan where there are too few CPUs."""

    findings: list[PreflightItem]
    plan: PinningPlan | None

    @property
    def problems(self) -> list[PreflightItem]:
        """Return the findings that prevent measuring."""
        return [finding for finding in self.findings if finding.level == "problem"]

    def as_dict(self) -> dict[str, Any]:
        """Return ``can_measure``, ``findings``, and ``cpus`` (role → CPUs in the kernel's notation, or null), for programs."""
        return {
            "can_measure": not self.problems,
            "findings": [asdict(finding) for finding in self.findings],
            "cpus": self.plan.as_dict() if self.plan else None,
            "why": dict(self.plan.why) if self.plan else None,
            "threats": list(self.plan.threats) if self.plan else [],
        }

    def as_text(self) -> str:
        """Return a line for each finding with its remedy below it, and the plan, for people."""
        lines = []
        for finding in self.findings:
            lines.append(f"{_MARKS[finding.level]} {finding.name}: {finding.detail}")
            lines += [f"    → {finding.remedy}"] if finding.remedy else []
        if self.plan:
            lines += ["", "CPUs as planned:", *plan_lines(self.plan)]
        return "\n".join(lines)


def ensure_measurable(problems: Sequence[PreflightItem]) -> None:
    """Raise an error that names the problems, with their remedies, where there are any.

    Raises
    ------
    WrkbookError
        When something prevents measuring.
    """
    if problems:
        names, remedies = ((found.name for found in problems), (found.remedy for found in problems))
        raise WrkbookError(f"nothing can be measured here: {', '.join(names)}", "; ".join(remedies))


def diagnose(interval_s: float = 1.0, affinity: Collection[int] = ()) -> Diagnosis:
    """Inspect this machine for `interval_s`, without changing anything on it.

    `affinity` are the CPUs that wrkbook may use; none: those that this process may use now.
    """
    cpus, unread = affinity or os.sched_getaffinity(0), _NOT_READ
    try:
        topology = topology_at_hand()
    except WrkbookError as error:
        topology, unread = None, PreflightItem("CPUs", "problem", error.problem, error.remedy)
    if topology is None:
        # Without siblings, caches and kinds there is no plan; load and speed are those of all CPUs.
        found = _machine([Core((cpu,)) for cpu in sorted(cpus)], interval_s)
        found = [unread, *(finding for finding in found if finding.name not in _OF_CORES)]
        return Diagnosis([*found, *_sandbox_and_image()], None)
    cores = topology.usable(cpus)
    try:
        plan = plan_pinning(cores)
    except WrkbookError:
        plan = None  # the finding on the CPUs says why
    return Diagnosis([*_machine(cores, interval_s), *_sandbox_and_image()], plan)


def _machine(cores: Sequence[Core], interval_s: float) -> list[PreflightItem]:
    """The preflight, and how fast the measured CPUs were meanwhile."""
    measured = evenly_spread(sorted(measured_cpus(cores)), 2 * MOST_PROBES)
    with SpeedProbes(measured) as probes:
        deadline = time.monotonic() + _FIRST_SAMPLE_TIMEOUT_S
        while len(probes.shares(0.0, deadline)) < len(measured) and time.monotonic() < deadline:
            time.sleep(0.02)  # their start is load that is not to be found
        start_s = time.monotonic()
        findings = preflight(cores, RAW, _SERVER_PORTS, interval_s=interval_s)
        return [*findings, processor.speed(probes.shares(start_s, time.monotonic()))]


def _sandbox_and_image() -> list[PreflightItem]:
    """Return findings about the sandbox and the disk space for the image."""
    try:
        ready, cache = image_for(Catalogue()).ready, cache_folder()
    except OSError as error:
        remedy = "set XDG_CACHE_HOME to a folder that you may write"
        return [sandbox(image_ready=False), PreflightItem("disk for the image", "problem", str(error), remedy)]
    least, wanted = (_BUILDS_LEAST_BYTES, _BUILDS_WANTED_BYTES) if ready else (_IMAGE_LEAST_BYTES, _IMAGE_WANTED_BYTES)
    return [sandbox(image_ready=ready), disk("disk for the image", cache, least, wanted)]


def sandbox(*, image_ready: bool) -> PreflightItem:
    """Return the finding about sandboxes and, if it is not made yet, the image; nothing is installed."""
    try:
        if missing := host.missing_packages():
            command = " ".join(host.install_command(missing))
            detail = f"not tried: {', '.join(missing)} missing; the first run installs what is missing"
            return PreflightItem("sandbox", "advice", detail, f"or now: {command}")
        host.check_sandbox()
        if not image_ready:
            host.ensure_unshare()
    except WrkbookError as error:
        return PreflightItem("sandbox", "problem", error.problem, error.remedy)
    return PreflightItem("sandbox", "good", "can be made")


def with_preflight(seen: MachineSurvey, affinity: Collection[int]) -> MachineSurvey:
    """Return a survey with the cores and the findings of ``./wrkbook doctor``, for a run whose question is the machine."""
    topology = this_topology()
    return seen.model_copy(
        update={
            "cores": [CoreFacts(**asdict(core)) for core in topology.cores],
            "kinds": list(topology.kinds),
            "offline_cpus": list(topology.offline),
            "preflight": [PreflightFinding(**asdict(finding)) for finding in diagnose(affinity=affinity).findings],
        }
    )


SURVEY_S = 2.0


STEAL_LIMIT = 0.005
"""A larger share of stolen time calls for time slices; the kernel counts it in steps of 10 ms."""


SPREAD_LIMIT = 0.02
"""So does a larger coefficient of variation of the CPU's speed from one tenth of a second to the next."""


_STEP_S = 0.1


def survey(probes: SpeedProbes, cpus: Collection[int], duration_s: float = SURVEY_S) -> MachineSurvey:
    """Return what is seen of the idle machine in `duration_s`; `probes` are running on `cpus`."""
    others, speed = OtherProcesses(), list[SpeedReading]()
    time.sleep(_STEP_S)  # a probe that was just started has no reading yet
    others.used_s(cpus)
    before, started = cpu_times(), time.monotonic()
    for step in steps(range(round(duration_s / _STEP_S)), "Watching the idle machine"):
        start, at_s = started + step * _STEP_S, round(step * _STEP_S, 3)
        time.sleep(max(0.0, start + _STEP_S - time.monotonic()))
        for cpu, seen in probes.between(start, start + _STEP_S).items():
            speed.append(SpeedReading(cpu=cpu, at_s=at_s, mean_hz=seen.mean_hz, wakes_hz=seen.wakes_hz))
    elapsed_s, after = time.monotonic() - started, cpu_times()
    used_s = others.used_s(cpus)
    idle = IdleMachine(
        duration_s=duration_s,
        steal_fraction={cpu: round((after[cpu].steal_s - before[cpu].steal_s) / elapsed_s, 4) for cpu in cpus},
        other_fraction={cpu: round(min(1.0, used_s[cpu] / elapsed_s), 4) for cpu in cpus},
        speed_spread=spreads(speed),
    )
    return MachineSurvey(idle=idle, idle_speed=speed)


def spreads(speed: Sequence[SpeedReading]) -> dict[int, float]:
    """Return CPU → coefficient of variation of the probe's speed; CPUs with fewer than two readings are missing."""
    found: dict[int, list[float]] = defaultdict(list)
    for reading in speed:
        found[reading.cpu].append(reading.mean_hz)
    return {cpu: round(stdev(rates) / fmean(rates), 4) for cpu, rates in found.items() if len(rates) > 1}


def chosen_slices(requested: str, seen: IdleMachine) -> tuple[float, str]:
    """Return the length of a time slice in seconds (0: windows in one piece) by the parameter ``slices``, and why that was chosen."""
    if not decided_by_machine(requested):
        return slice_length_s(requested), "as the parameter slices says"
    steal, spread = (max(shares.values(), default=0.0) for shares in (seen.steal_fraction, seen.speed_spread))
    facts = (
        f"in {format_duration(seen.duration_s)} of the idle machine {steal:.1%} of a CPU's time was stolen (limit {STEAL_LIMIT:.1%}), "
        f"and the speed of a CPU varied by {spread:.1%} (limit {SPREAD_LIMIT:.0%})"
    )
    if steal > STEAL_LIMIT or spread > SPREAD_LIMIT:
        return slice_length_s(requested), f"the machine is noisy: {facts}"
    return 0.0, f"the machine is quiet: {facts}"
