"""The report of the machine: whether it is fit to measure, what disturbs it, and what the load generators can drive."""

from __future__ import annotations

from typing import Any

import pandas as pd

from runners.analyse.load_generators import CEILING_OF, driven
from runners.analyse.results import Results
from runners.core.records import LOWER_BOUND_LIMITS
from runners.core.units import PERCENT, RATES, TIMES, amount, quantity
from runners.machine.topology import format_cpu_list
from runners.present import how_sure as certainty, load_generators, machine
from runners.present.kit.decision import note
from runners.present.kit.frames import measured, without_control
from runners.present.kit.markup import Fragment, joined
from runners.present.kit.theme import Chart

how_sure = certainty.how_sure
_GOOD = "good"


def answer(results: Results) -> str:
    """Return the rate up to which servers can be compared here, and how many findings need a change."""
    seen = results.manifest.about_machine
    findings = seen.preflight if seen else []
    bad = sum(finding.level != _GOOD for finding in findings)
    rest = f"; {bad} of {len(findings)} preflight findings need a change" if findings else ""
    row = _ceiling(results)
    if row is None:
        return f"The load generator's ceiling on this machine is not known{rest}."
    rate = quantity(row["throughput_rps"], row["throughput_low_rps"], row["throughput_high_rps"], RATES)
    limited = row["bottleneck"] in LOWER_BOUND_LIMITS
    return f"On this machine the load generator drives {'at most' if limited else 'at least'} {rate}, with {row['system']}{rest}."


def _ceiling(results: Results) -> dict[str, Any] | None:
    """Return the cell with the highest throughput in the run's own load: a server that does next to nothing."""
    rows = without_control(measured(results.cells))
    rows = rows[rows["shape"] == ""]
    return None if rows.empty else rows.loc[rows["throughput_rps"].idxmax()].to_dict()


def decision_table(results: Results) -> Fragment:
    """Return the preflight's findings that need a change."""
    seen = results.manifest.about_machine
    findings = [finding for finding in (seen.preflight if seen else []) if finding.level != _GOOD]
    good = len(seen.preflight) - len(findings) if seen else 0
    return joined(machine.preflight(findings), note(f"{good} findings are good; all stand in the details."))


def message(results: Results) -> str:
    """Return how steady the slowest CPU is while nothing runs."""
    samples = results.idle_speed
    if samples.empty:
        return "No probe saw the idle machine"
    shares = {cpu: rows["mean_hz"] / rows["mean_hz"].quantile(0.98) for cpu, rows in samples.groupby("cpu")}
    cpu = min(shares, key=lambda name: float(shares[name].mean()))
    return f"Idle, the least steady CPU ({cpu}) runs at {amount(float(shares[cpu].mean()), PERCENT)} of its best speed"


def main_chart(results: Results) -> Chart:
    """Return the chart of the idle CPUs' speed."""
    return machine.idle_speed(results.idle_speed)


def ceilings(results: Results) -> list[str]:
    """Return sentences on the limit of the ceiling, and on the load generators against the fixed response."""
    row, found = _ceiling(results), []
    if row is not None and row["bottleneck"] not in LOWER_BOUND_LIMITS:
        busy = amount(float(row["generator_busy_fraction"]), PERCENT)
        found.append(f"The load generator used {busy} of its CPUs for that: {row['system']} was the limit.")
    rows = driven(results.cells)
    if len(rows) > 1:
        rows = rows.sort_values("throughput_rps", ascending=False)
        (most, high), *_, (least, low) = zip(rows["generator"], rows["throughput_rps"], strict=True)
        first = f"With the fixed response of {CEILING_OF} {most} drives most, {amount(high, RATES)}"
        found.append(f"{first}, and {least} least, {amount(low, RATES)}.")
    return found


def placement(results: Results) -> list[str]:
    """Return the sentence about how many CPUs servers and load generator have, and which CPUs have several roles."""
    seen, roles = results.manifest.about_machine, results.cpus
    if seen is None:
        return []
    every = [cpu for cpus in roles.values() for cpu in cpus]
    total, shared = sum(len(core.cpus) for core in seen.cores), {cpu for cpu in every if every.count(cpu) > 1}
    several = f"; CPU {format_cpu_list(shared)} {'has' if len(shared) == 1 else 'have'} several roles" if shared else ""
    counts = [len(roles.get(role, ())) for role in ("server", "generator")]
    return [f"Of {total} CPUs servers have {counts[0]} and the load generator {counts[1]}{several}."]


def driven_cells(results: Results) -> pd.DataFrame:
    """Return the cells in which a load generator drives a server as fast as it can: those without a known delay or a rate."""
    cells = results.cells
    cells = cells[cells["offered_rps"].isna()] if "offered_rps" in cells else cells
    delayed = machine.delayed(results)["workload"]
    return cells[~cells["workload"].isin(delayed)]


def times(results: Results) -> list[str]:
    """Return sentences on schedules, on known response times, and on known delays."""
    return [*load_generators.sentences(results), *_delays(results)]


def _delays(results: Results) -> list[str]:
    # No median is known where the connections were busy for too small a part of the window (LEAST_LITTLE).
    rows = machine.delayed(results).dropna(subset=["p50_s"])
    if rows.empty:
        return []
    off = rows["p50_s"] - rows["nominal_s"]
    worst = rows.loc[off.abs().idxmax()]
    return [
        f"Medians of known delays are off by {amount(off.min(), TIMES)} to {amount(off.max(), TIMES)}, most for {worst['system']} at "
        f"{amount(worst['nominal_s'], TIMES)}."
    ]


def conclusions(results: Results) -> list[str]:
    """Return the sentences of all further questions."""
    return [*placement(results), *ceilings(results), *times(results)]
