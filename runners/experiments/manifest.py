"""The manifest of a run: its plan, its machine and its versions, written before it measures."""

from __future__ import annotations

from datetime import UTC, datetime

from runners.core.errors import WrkbookError
from runners.core.parameters import LIMITS, Parameters
from runners.core.run_manifest import MachineSurvey, RunManifest, SliceChoice, WindowPlan
from runners.core.workloads import WORKLOADS
from runners.machine.facts import machine_facts, project_facts
from runners.measure.conformance import relay_notes
from runners.measure.connection_limits import in_words
from runners.measure.machine_survey import chosen_slices, with_preflight
from runners.measure.run_plan import RunPlan
from runners.store.ledger import Run
from runners.systems.backend import backend_facts
from runners.systems.build import Artifact
from runners.systems.image import Image
from runners.systems.versions import component_versions


def manifest_of(
    plan: RunPlan, image: Image, artifacts: dict[str, Artifact], nonconforming: dict[str, str], seen: MachineSurvey
) -> RunManifest:
    """Return the manifest of a run; `seen` is the machine just before measuring.

    The choice between time slices and windows in one piece is made here, once for a run.
    """
    design, profile = plan.design, plan.profile
    slice_s, reason = chosen_slices(plan.parameters.slices, seen.idle)
    control = next((system for system in design.systems if system.control), None)
    original = next((system for system in design.systems if control and control.repeats(system)), None)
    return RunManifest(
        started_at=datetime.now(UTC).isoformat(),
        profile=plan.parameters.profile,
        parameters=plan.parameters.model_dump(exclude={"run_id"}),
        windows=WindowPlan(
            warmup_s=profile.warmup_s,
            window_s=profile.window_s,
            windows_count=profile.windows_count,
            slice_s=slice_s,
        ),
        slices=SliceChoice(requested=plan.parameters.slices, slice_s=slice_s, reason=reason),
        pinning=plan.pinning.as_dict(),
        backends={
            server.name: backend_facts(server, plan.pinning.server).model_copy(update={"statements": _statements(plan)})
            for server in plan.backends
        },
        machine=machine_facts(),
        versions=component_versions([artifact.server for artifact in artifacts.values()], image)
        | {"builds": {name: artifact.key for name, artifact in artifacts.items()}}
        | project_facts(),
        cells=[(cell.system.name, cell.workload.label) for cell in design.cells],
        systems={system.name: system for system in design.systems},
        workloads={cell.workload.label: cell.workload for cell in design.cells},
        compared=[workload.label for workload in design.compared],
        floor=design.floor,
        nonconforming=nonconforming,
        notes={server.name: relay_notes(artifacts[server.name]) for server in plan.servers},
        left_out=in_words(plan.left_out),
        control_of=original.name if original else None,
        about_machine=with_preflight(seen, plan.cores) if plan.idle_s > 0 else seen,
    )


def _statements(plan: RunPlan) -> dict[str, str]:
    """Return the SQL statements by workload."""
    names = {workload.name for workload in plan.design.compared}
    return {name: WORKLOADS[name].statement for name in WORKLOADS if name in names and WORKLOADS[name].statement}


def idle_other(run: Run) -> dict[int, float]:
    """CPU → share of its time that other processes used on the idle machine; nothing before the run has begun."""
    about = run.read().about_machine if run.exists else None
    return about.idle.other_fraction if about else {}


def check_same(run: Run, parameters: Parameters) -> None:
    """Refuse to go on with a run that was started with other parameters.

    Raises
    ------
    WrkbookError
        Naming each difference.
    """
    before, now = run.read().parameters, parameters.model_dump(exclude={"run_id"})
    differing = [name for name in now if name not in LIMITS and before.get(name, now[name]) != now[name]]
    if differing:
        told = "; ".join(f"{name} was {before.get(name)!r}, is {now[name]!r}" for name in differing)
        raise WrkbookError(
            f"run {run.run_id} was started with other parameters: {told}", "use the same, or another run-id"
        )
