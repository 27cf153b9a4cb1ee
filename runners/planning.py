"""The plan that a notebook shows before it measures: cells, load, CPUs, and how long that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runners.contract.requests import contract_request
from runners.measure.design import Cell
from runners.measure.idle_survey import SPREAD_LIMIT, STEAL_LIMIT
from runners.measure.levels import in_words
from runners.measure.run import block_seconds
from runners.parameters import AUTO
from runners.present.markup import Fragment
from runners.present.plan import plan
from runners.units import format_duration

if TYPE_CHECKING:
    from runners.experiment import Experiment


def planned(experiment: Experiment) -> Fragment:
    """What the experiment is going to do, as a table."""
    profile, per_block_s = (
        experiment.profile,
        block_seconds(experiment.design, experiment.profile, experiment.parameters.connections),
    )
    most = max(profile.sure_blocks * per_block_s, min(profile.budget_minutes * 60, profile.max_blocks * per_block_s))
    facts = {
        "run": f"{experiment.run.run_id}, profile {experiment.parameters.profile} ({profile.description})",
        "block": f"{'each cell on a process of its own' if experiment.design.fresh else 'every system launched once, all alive'}; "
        f"{len(experiment.design.cells)} cells, each a warm-up of {profile.warmup_s:g} s "
        + (f"({profile.priming_s:g} s of full load before a system's first) " if profile.priming_s else "")
        + f"and {profile.windows_count} × {profile.window_s:g} s {_how(experiment)}: about {format_duration(per_block_s)}",
        "blocks": f"{profile.min_blocks} to {profile.max_blocks}, until every ratio is known to ±{experiment.parameters.precision:.1%}, "
        f"for at most {format_duration(most)}",
        "time slices": _why_slices(experiment),
        "load": f"{' and '.join(generator.name for generator in experiment.generators)}, {_connections(experiment)} connections, "
        f"{experiment.threads} thread(s), closed loop where the plan says no rate",
        "CPUs": ", ".join(f"{role} {cpus}" for role, cpus in experiment.pinning.as_dict().items()),
    } | ({"left out": " ".join(in_words(experiment.left_out))} if experiment.left_out else {})
    return plan(
        [(cell.workload.label, cell.system.name, _path(experiment, cell)) for cell in experiment.design.cells], facts
    )


def _how(experiment: Experiment) -> str:
    """Say how the windows of a block follow one another, and why."""
    turn_s = 0.0 if experiment.design.fresh else experiment.profile.turn_s
    if not turn_s or not any(generator.clock for generator in experiment.generators):
        return "in one piece, in shuffled order"
    slices = (
        f"in time slices of {turn_s * 1000:g} ms, and one window in one piece for percentiles; "
        "delays, databases and fixed rates in one piece, in shuffled order"
    )
    undecided = experiment.parameters.slices == AUTO and not experiment.run.exists
    return f"in one piece on a quiet machine; on a noisy one {slices}" if undecided else slices


def _why_slices(experiment: Experiment) -> str:
    """Say why windows are measured in time slices or in one piece."""
    if experiment.run.exists:
        decided: dict[str, Any] = experiment.run.read().get("slices", {})
        return str(decided.get("reason", "not recorded"))
    if experiment.parameters.slices == AUTO:
        noisy = f"more than {STEAL_LIMIT:.1%} of a CPU's time is stolen, or its speed varies by more than {SPREAD_LIMIT:.0%}"
        return f"decided just before measuring: time slices where {noisy}"
    return "as the parameter slices says"


def _connections(experiment: Experiment) -> str:
    counts = [cell.workload.shape.connections or experiment.parameters.connections for cell in experiment.design.cells]
    return ", ".join(map(str, sorted(set(counts))))


def _path(experiment: Experiment, cell: Cell) -> str:
    service = experiment.catalogue.server(cell.system.server).service(cell.workload.name, cell.system.codec)
    assert service is not None, "the design holds only what is served"
    return contract_request(
        service.path, cell.workload, experiment.parameters.body_style, experiment.parameters.seed
    ).path
