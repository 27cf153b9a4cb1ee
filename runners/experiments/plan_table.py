"""The plan that a notebook shows before it measures: cells, load, CPUs, and how long that takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runners.contract.requests import contract_request
from runners.core.parameter_values import AUTO
from runners.core.units import format_duration
from runners.measure.connection_limits import in_words
from runners.measure.design import Cell
from runners.measure.machine_survey import SPREAD_LIMIT, STEAL_LIMIT
from runners.measure.run import block_seconds
from runners.measure.run_plan import RunPlan
from runners.present.kit import markup
from runners.present.kit.markup import Fragment, Group, table


def planned(plan: RunPlan) -> Fragment:
    """Return the plan of the experiment as a table."""
    profile, per_block_s = (
        plan.profile,
        block_seconds(plan.design, plan.profile, plan.parameters.connections),
    )
    most = max(profile.sure_blocks * per_block_s, min(profile.budget_minutes * 60, profile.max_blocks * per_block_s))
    facts = {
        "run": f"{plan.run.run_id}, profile {plan.parameters.profile} ({profile.description})",
        "block": f"{'each cell on a process of its own' if plan.design.fresh else 'every system launched once, all alive'}; "
        f"{len(plan.design.cells)} cells, each a warm-up of {profile.warmup_s:g} s "
        + (f"({profile.priming_s:g} s of full load before a system's first) " if profile.priming_s else "")
        + f"and {profile.windows_count} × {profile.window_s:g} s {_how(plan)}: about {format_duration(per_block_s)}",
        "blocks": f"{profile.min_blocks} to {profile.max_blocks}, until every ratio is known to ±{plan.parameters.precision:.1%}, "
        f"for at most {format_duration(most)}",
        "time slices": _why_slices(plan),
        "load": f"{' and '.join(generator.name for generator in plan.generators)}, {_connections(plan)} connections, "
        f"{plan.threads} thread(s), closed loop where the plan says no rate",
        "CPUs": ", ".join(f"{role} {cpus}" for role, cpus in plan.pinning.as_dict().items()),
    } | ({"left out": " ".join(in_words(plan.left_out))} if plan.left_out else {})
    return plan_table([(cell.workload.label, cell.system.name, _path(plan, cell)) for cell in plan.design.cells], facts)


def _how(plan: RunPlan) -> str:
    """Say how the windows of a block follow one another, and why."""
    slice_s = 0.0 if plan.design.fresh else plan.profile.slice_s
    if not slice_s or not any(generator.clock for generator in plan.generators):
        return "in one piece, in shuffled order"
    slices = (
        f"in time slices of {slice_s * 1000:g} ms, and one window in one piece for percentiles; "
        "delays, databases and fixed rates in one piece, in shuffled order"
    )
    undecided = plan.parameters.slices == AUTO and not plan.run.exists
    return f"in one piece on a quiet machine; on a noisy one {slices}" if undecided else slices


def _why_slices(plan: RunPlan) -> str:
    """Say why windows are measured in time slices or in one piece."""
    if plan.run.exists:
        decided = plan.run.read().slices
        return decided.reason if decided else "not recorded"
    if plan.parameters.slices == AUTO:
        noisy = f"more than {STEAL_LIMIT:.1%} of a CPU's time is stolen, or its speed varies by more than {SPREAD_LIMIT:.0%}"
        return f"decided just before measuring: time slices where {noisy}"
    return "as the parameter slices says"


def _connections(plan: RunPlan) -> str:
    counts = [cell.workload.shape.connections or plan.parameters.connections for cell in plan.design.cells]
    return ", ".join(map(str, sorted(set(counts))))


def _path(plan: RunPlan, cell: Cell) -> str:
    service = plan.catalogue.server(cell.system.server).service(cell.workload.name, cell.system.codec)
    assert service is not None, "the design holds only what is served"
    return contract_request(service.path, cell.workload, plan.parameters.body_style, plan.parameters.seed).path


def plan_table(cells: Sequence[tuple[str, str, str]], facts: Mapping[str, str]) -> Fragment:
    """The design as a table.

    Parameters
    ----------
    cells : (workload, system, path) of each cell
    facts : what holds for all of them, by name
    """
    groups = [
        Group("Every cell", [[markup.Cell(name), markup.Cell(text, kind="long")] for name, text in facts.items()])
    ]
    for workload in dict.fromkeys(cell[0] for cell in cells):
        rows = [
            [markup.Cell(system), markup.Cell(path, kind="long")] for label, system, path in cells if label == workload
        ]
        groups.append(Group(workload, rows))
    return table("Plan", [("system", ""), ("request", "")], groups)
