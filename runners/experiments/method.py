"""The method of an experiment in sentences, generated from its plan."""

from __future__ import annotations

from runners.core.parameter_values import decided_by_machine
from runners.measure.run_plan import RunPlan
from runners.present.kit.wording import Narrative
from runners.stats.verdicts import SMALLEST_BAND


def method(plan: RunPlan) -> Narrative:
    """Return how this plan measures and decides; what does not apply to it is left out."""
    found = [
        _block(plan),
        *_windows(plan),
        "Ratios are taken within a block, so that what the machine does to a block cancels out.",
        *_control(plan),
        "Each system is compared with the leader of its workload. These 95 % intervals hold together: Student's t over launches, with "
        "Bonferroni's correction over all pairs. A verdict is read off the interval. Other pairs are exploratory.",
        "From three sessions on, all compatible runs of this machine are pooled. An interval is then that of one further session, for each "
        "ratio by itself, and verdicts are read off it.",
        *_floor(plan),
        "Throughputs are as measured. A probe beside the server gives the CPUs' speed during each window: a check and a column.",
        "Every trial must prove that it measured what it says. A void trial is left out of every number.",
    ]
    return Narrative(found)


def _block(plan: RunPlan) -> str:
    cpus = plan.pinning.as_dict()
    pinned = f"servers run on CPU {cpus['server']}, the load generator on CPU {cpus['generator']}"
    if plan.design.process_per_cell:
        return f"Each block launches every cell once, in a process of its own; {pinned}."
    return f"Each block launches every system once, all alive at the same time; {pinned}."


def _windows(plan: RunPlan) -> list[str]:
    profile = plan.profile
    found = [
        f"Each cell (system × workload) gets a warm-up of {profile.warmup_s:g} s and {profile.windows_count} windows of "
        f"{profile.window_s:g} s, in shuffled order."
    ]
    sliced = (
        not plan.design.process_per_cell and profile.slice_s and any(generator.clock for generator in plan.generators)
    )
    if not sliced:
        return found
    when = "On a noisy machine" if decided_by_machine(plan.parameters.slices) and not plan.run.exists else "In this run"
    return [
        *found,
        f"{when} the windows of all systems of a workload are open together. One system runs at a time, for a slice of "
        f"{profile.slice_s * 1000:g} ms. All others, and the load generator's clock, are suspended.",
        "Such windows give throughput only; percentiles come from a further window in one piece. Delays, databases and fixed rates are "
        "measured in one piece.",
    ]


def _control(plan: RunPlan) -> list[str]:
    if not any(cell.system.control for cell in plan.design.cells):
        return []
    return [
        "The first system is entered twice, the second time as the control. The interval of its ratio to itself, or "
        f"{SMALLEST_BAND:.0%} where that is more, is the noise band."
    ]


def _floor(plan: RunPlan) -> list[str]:
    floor = plan.design.floor
    return [f"The floor is `{floor}`: the same server reads the same body and does nothing more."] if floor else []
