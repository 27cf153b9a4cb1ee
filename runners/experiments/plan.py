"""The plan of a run: checked before its notebook starts, shown before it measures, and kept as the manifest.

The command line says so at once, not after the kernel and the lock. The table shows cells, load, CPUs, and how long that takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from runners.contract.runner import contract_request
from runners.core.errors import WrkbookError, did_you_mean
from runners.core.parameter_values import ALL, decided_by_machine
from runners.core.parameters import Parameters, check_parameters
from runners.core.run_manifest import MachineSurvey, RunManifest, Shade, SliceChoice, WindowPlan
from runners.core.units import format_duration, listing
from runners.core.workloads import WORKLOADS
from runners.experiments.begun import check_hosts_file, check_same, recorded
from runners.experiments.method import method
from runners.machine.facts import machine_facts, project_facts, raise_open_files_limit
from runners.machine.pinning import plan_pinning, plan_with_backend
from runners.measure.conformance import relay_notes
from runners.measure.design import Cell
from runners.measure.load import clamped, in_words
from runners.measure.machine_survey import SPREAD_LIMIT, STEAL_LIMIT, chosen_slices, with_preflight
from runners.measure.run import block_seconds
from runners.measure.run_plan import USABLE_CPUS, RunPlan
from runners.measure.server_cpus import check_shape
from runners.measure.this_machine import cores_at_hand, this_topology
from runners.present.kit import markup
from runners.present.kit.markup import Fragment, Group, joined, table
from runners.store.ledger import Run, check_run_id
from runners.systems.backend import backend_facts
from runners.systems.build import Artifact
from runners.systems.catalogue import Catalogue
from runners.systems.component_versions import component_versions
from runners.systems.host import client_ports
from runners.systems.image import Image


def check_run(notebook: str, values: Mapping[str, Any]) -> Parameters:
    """Return the parameters of a run of `notebook`.

    What depends on the notebook's own workloads is checked by the notebook, before it measures.

    Raises
    ------
    WrkbookError
        For an unknown or wrong parameter, an unknown system, connections beyond the limits of this machine, CPU sets that overlap or do
        not exist, and a run-id that is none or was begun with other parameters.
    """
    parameters = check_parameters(values, notebook)
    _ = parameters.effective_profile
    known = [system.name for server in Catalogue().builds.values() for system in server.every_system]
    Catalogue().check_variants(parameters.variants)
    for name in parameters.systems:
        if name not in known and parameters.systems != [ALL]:
            raise WrkbookError(f"parameter systems: there is no system named {name!r}", did_you_mean(name, known))
    clamped(parameters, raise_open_files_limit(), client_ports().count)
    check_hosts_file(parameters)
    given = (parameters.server_cpus, parameters.generator_cpus, parameters.backend_cpus)
    check_shape(parameters, plan_pinning(cores_at_hand(USABLE_CPUS), *given[:2]))
    if parameters.run_id:
        run = Run(notebook, check_run_id(parameters.run_id))
        if run.exists:
            check_same(run, parameters)
            return parameters
    plan_with_backend(cores_at_hand(USABLE_CPUS), *given)
    return parameters


def planned(plan: RunPlan) -> Fragment:
    """Return the method of the experiment in sentences, and its plan as a table."""
    profile, per_block_s = (
        plan.profile,
        block_seconds(plan.design, plan.profile, plan.connections),
    )
    most = max(profile.sure_blocks * per_block_s, min(profile.budget_minutes * 60, profile.max_blocks * per_block_s))
    facts = {
        "run": f"{plan.run.run_id}, profile {plan.parameters.profile} ({profile.description})",
        "block": f"{'each cell on a process of its own' if plan.design.process_per_cell else 'every system launched once, all alive'}; "
        f"{len(plan.design.cells)} cells, each a warm-up of {profile.warmup_s:g} s "
        + (f"({profile.priming_s:g} s of full load before a system's first) " if profile.priming_s else "")
        + f"and {profile.windows_count} × {profile.window_s:g} s {_how(plan)}: about {format_duration(per_block_s)}",
        "blocks": f"{profile.min_blocks} to {profile.max_blocks}, until {_until(plan)}, for at most {format_duration(most)}",
        "time slices": _why_slices(plan),
        "load": f"{' and '.join(generator.name for generator in plan.generators)}, {_connections(plan)} connections, "
        f"{plan.threads} thread(s), closed loop where the plan says no rate",
        "CPUs": ", ".join(f"{role} {cpus}" for role, cpus in plan.pinning.as_dict().items()) + _steps(plan),
    } | ({"left out": " ".join(in_words(plan.left_out))} if plan.left_out else {})
    # On each number of CPUs the same requests are sent.
    labels = [cell.workload.base_label if plan.steps else cell.workload.label for cell in plan.design.cells]
    rows = [(label, cell.system.name, _path(plan, cell)) for label, cell in zip(labels, plan.design.cells, strict=True)]
    return joined(method(plan).fragment, plan_table(list(dict.fromkeys(rows)), facts))


def _until(plan: RunPlan) -> str:
    """Return what ends the run before its time is over."""
    if plan.threshold:
        return f"a slowdown by {plan.threshold:.1%} is decided for each build"
    return f"every ratio is known to ±{plan.parameters.precision:.1%}"


def _how(plan: RunPlan) -> str:
    """Say how the windows of a block follow one another, and why."""
    slice_s = 0.0 if plan.design.process_per_cell else plan.profile.slice_s
    if not slice_s or not any(generator.clock for generator in plan.generators):
        return "in one piece, in shuffled order"
    slices = (
        f"in time slices of {slice_s * 1000:g} ms, and one window in one piece for percentiles; "
        "delays, databases and fixed rates in one piece, in shuffled order"
    )
    undecided = decided_by_machine(plan.parameters.slices) and not plan.run.exists
    return f"in one piece on a quiet machine; on a noisy one {slices}" if undecided else slices


def _why_slices(plan: RunPlan) -> str:
    """Say why windows are measured in time slices or in one piece."""
    if plan.run.exists:
        decided = plan.run.read().slices
        return decided.reason if decided else "not recorded"
    if decided_by_machine(plan.parameters.slices):
        noisy = f"more than {STEAL_LIMIT:.1%} of a CPU's time is stolen, or its speed varies by more than {SPREAD_LIMIT:.0%}"
        return f"decided just before measuring: time slices where {noisy}"
    return "as the parameter slices says"


def _connections(plan: RunPlan) -> str:
    counts = [cell.workload.shape.connections or plan.connections for cell in plan.design.cells]
    return ", ".join(map(str, sorted(set(counts))))


def _steps(plan: RunPlan) -> str:
    """Say on how many CPUs servers run, where that is compared."""
    if plan.steps is None:
        return ""
    shared = f"; at fixed rates also {_numbers(plan.steps.shared)}, shared with the load generator"
    alone = (
        f"; each server on {_numbers(plan.steps.alone)} of its CPUs, server_threads {plan.parameters.server_threads}"
    )
    return alone + shared * bool(plan.steps.shared)


def _numbers(counts: Sequence[int]) -> str:
    return listing([str(count) for count in counts])


def _path(plan: RunPlan, cell: Cell) -> str:
    service = plan.catalogue.server(cell.system.server).service(cell.workload.name, cell.system.codec)
    assert service is not None, "the design holds only what is served"
    return contract_request(service.path, cell.workload, plan.parameters.body_style, plan.parameters.seed).path


def plan_table(cells: Sequence[tuple[str, str, str]], facts: Mapping[str, str]) -> Fragment:
    """The design as a table.

    Parameters
    ----------
    cells : Sequence[tuple[str, str, str]]
        (workload, system, path) of each cell.
    facts : Mapping[str, str]
        What holds for all of them, by name.
    """
    groups = [
        Group(
            "Every cell",
            [[markup.TableCell(name), markup.TableCell(text, kind="long")] for name, text in facts.items()],
        )
    ]
    for workload in dict.fromkeys(cell[0] for cell in cells):
        rows = [
            [markup.TableCell(system), markup.TableCell(path, kind="long")]
            for label, system, path in cells
            if label == workload
        ]
        groups.append(Group(workload, rows))
    return table("Plan", [("system", ""), ("request", "")], groups)


def manifest_of(
    plan: RunPlan, image: Image, artifacts: dict[str, Artifact], nonconforming: dict[str, str], seen: MachineSurvey
) -> RunManifest:
    """Return the manifest of a run; `seen` is the machine just before measuring.

    The choice between time slices and windows in one piece is made here, once for a run.
    """
    design, profile = plan.design, plan.profile
    slice_s, reason = chosen_slices(plan.parameters.slices, seen.idle)
    if plan.parameters.hosts:
        slice_s, reason = 0.0, "windows in one piece: time slices work within one machine only"
    control = next((system for system in design.systems if system.control), None)
    original = next((system for system in design.systems if control and control.repeats(system)), None)
    return RunManifest(
        started_at=datetime.now(UTC).isoformat(),
        profile=plan.parameters.profile,
        parameters=recorded(plan.parameters),
        windows=WindowPlan(
            warmup_s=profile.warmup_s,
            window_s=profile.window_s,
            windows_count=profile.windows_count,
            slice_s=slice_s,
        ),
        slices=SliceChoice(requested=plan.parameters.slices, slice_s=slice_s, reason=reason),
        pinning=plan.pinning.as_dict(),
        pinning_threats=list(plan.pinning.threats),
        backends={
            server.name: backend_facts(server, plan.pinning.server).model_copy(update={"statements": _statements(plan)})
            for server in plan.backends
        },
        machine=machine_facts(this_topology()),
        versions=component_versions([artifact.server for artifact in artifacts.values()], image)
        | {"builds": {label: artifact.key for label, artifact in artifacts.items()}}
        | {"profiles": {label: artifact.profile for label, artifact in artifacts.items() if artifact.profile}}
        | project_facts(),
        cells=[(cell.system.name, cell.workload.label) for cell in design.cells],
        systems={system.name: system for system in design.systems},
        workloads={cell.workload.label: cell.workload for cell in design.cells},
        shades=_shades(plan),
        compared=[workload.label for workload in design.compared],
        floor=design.floor,
        nonconforming=nonconforming,
        notes={server.label: relay_notes(artifacts[server.label]) for server in plan.servers},
        left_out=in_words(plan.left_out),
        control_of=original.name if original else None,
        about_machine=with_preflight(seen, USABLE_CPUS) if plan.idle_s > 0 else seen,
    )


def _shades(plan: RunPlan) -> dict[str, Shade]:
    """Return the colour of each planned system whose server names a hue; the control has none of its own."""
    systems = {cell.system.name: cell.system for cell in plan.design.cells if not cell.system.control}
    found = {name: plan.catalogue.server(system.build).shade(system) for name, system in systems.items()}
    return {name: shade for name, shade in found.items() if shade}


def _statements(plan: RunPlan) -> dict[str, str]:
    """Return the SQL statements by workload."""
    names = {workload.name for workload in plan.design.compared}
    return {name: WORKLOADS[name].statement for name in WORKLOADS if name in names and WORKLOADS[name].statement}


def idle_other(run: Run) -> dict[int, float]:
    """CPU → share of its time that other processes used on the idle machine; nothing before the run has begun."""
    about = run.read().about_machine if run.exists else None
    return about.idle.other_fraction if about else {}
