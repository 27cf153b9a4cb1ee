"""Charts, tables and sentences about the machine itself: its CPUs, its quiet, and what can be measured on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter

from runners.analyse.results import Results
from runners.core.records import GENERATOR_LIMITED
from runners.core.run_manifest import CoreFacts, PreflightFinding
from runners.core.units import PERCENT, RATES, TIMES, amount, listing, quantity, quantity_parts
from runners.present.kit.frames import measured, without_control
from runners.present.kit.markup import Cell, Fragment, Group, table
from runners.present.kit.theme import HUES, INK, QUIET, RULE, Chart, mixed, panels, themed

_ROLES = {"server": HUES[0], "generator": HUES[1], "housekeeping": HUES[2]}
_CORES_IN_A_ROW = 8
_SLOW = 0.9
_MARKS = {"good": ("✓ good", "good"), "advice": ("▲ advice", "warn"), "problem": ("✕ problem", "bad")}


@themed
def topology(cores: Sequence[CoreFacts], pinning: Mapping[str, Sequence[int]]) -> Chart:
    """Every core that wrkbook may use as a box with its CPUs, coloured by the role that each CPU has."""
    numa_node = attrgetter("node")
    by_node = {node: list(group) for node, group in groupby(sorted(cores, key=numa_node), numa_node)}
    chart, axes = panels(
        [f"NUMA node {node}" for node in by_node],
        [2 * math.ceil(len(group) / _CORES_IN_A_ROW) for group in by_node.values()],
        title="The CPUs, and who runs where",
        caption="A box is a core, a cell in it one of its CPUs (hardware threads). Roles that share a CPU share its cell. "
        "E: an efficient core of a hybrid CPU.",
        description=f"{len(cores)} cores with {sum(len(core.cpus) for core in cores)} CPUs; "
        + "; ".join(f"{role}: CPU {', '.join(map(str, cpus))}" for role, cpus in pinning.items()),
        row_in=0.45,
        handles=[Patch(color=color, label=role) for role, color in _ROLES.items()],
    )
    for ax, group in zip(axes, by_node.values(), strict=True):
        for place, core in enumerate(group):
            _core(ax, place % _CORES_IN_A_ROW, 2 * (place // _CORES_IN_A_ROW), core, pinning)
        ax.set_xlim(-0.1, max(4, min(len(group), _CORES_IN_A_ROW)))
        ax.set_axis_off()
    return chart


def _core(ax: Axes, x: int, y: int, core: CoreFacts, pinning: Mapping[str, Sequence[int]]) -> None:
    cpus = list(core.cpus)
    height = 1.5 / len(cpus)
    for place, cpu in enumerate(cpus):
        roles = [role for role in _ROLES if cpu in pinning.get(role, ())]
        top = y - 0.4 + place * height
        for part, role in enumerate(roles):
            width = 0.84 / len(roles)
            color = mixed(_ROLES[role], 0.45)
            ax.add_patch(Rectangle((x + part * width, top), width, height, color=color, linewidth=0))
        ax.add_patch(Rectangle((x, top), 0.84, height, fill=False, edgecolor=QUIET if roles else RULE))
        name = f"CPU {cpu}" + (" E" if core.efficient else "")
        ax.text(x + 0.42, top + height / 2, name, ha="center", va="center", fontsize=8.5, color=INK if roles else QUIET)


@themed
def idle_speed(samples: pd.DataFrame) -> Chart:
    """Speed of each measured CPU over time, while nothing of wrkbook runs: the share of the best that was seen there."""
    cpus = sorted(samples["cpu"].unique()) if len(samples) else []
    chart, axes = panels(
        [f"CPU {cpu}" for cpu in cpus],
        [6] * len(cpus),
        title="How steady is the idle machine?",
        caption="Speed of the same small piece of work, in tenths of a second, as a share of the best seen on that CPU.",
        description="; ".join(
            f"CPU {cpu}: mean {amount(speed.mean(), PERCENT)}, least {amount(speed.min(), PERCENT)}"
            for cpu, speed in _speeds(samples).items()
        ),
    )
    for ax, (cpu, speed) in zip(axes, _speeds(samples).items(), strict=True):
        rows = samples[samples["cpu"] == cpu]
        ax.axhline(100, color=QUIET, linewidth=0.8)
        ax.plot(rows["at_s"], 100 * speed, color=HUES[0], linewidth=1.2)
        ax.set_ylim(0, 110)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f} %"))
        ax.set_xlabel("s")
    return chart


def preflight(findings: Sequence[PreflightFinding]) -> Fragment:
    """Return the table of the preflight's findings with their remedies; good findings come last."""
    order = list(_MARKS)
    rows = sorted(findings, key=lambda finding: -order.index(finding.level))
    lines = [
        [
            Cell(finding.name, kind="name"),
            Cell(*_marked(finding.level)),
            Cell(finding.detail, kind="words"),
            Cell(finding.remedy, kind="words"),
        ]
        for finding in rows
    ]
    return table("Preflight", [("subject", ""), ("level", ""), ("found", ""), ("what to do", "")], [Group("", lines)])


def _marked(level: str) -> tuple[str, str, str]:
    text, kind = _MARKS[level]
    return text, "", kind


def delays(results: Results) -> Fragment:
    """Return the table of known delays and their measured percentiles."""
    rows = []
    for row in delayed(results).to_dict("records"):
        nominal = row["nominal_s"]
        text, interval = quantity_parts(row["p50_s"], row["p50_low_s"], row["p50_high_s"], TIMES)
        rows.append(
            [
                Cell(row["system"], kind="name"),
                Cell(amount(nominal, TIMES)),
                Cell(text, interval),
                Cell(amount(row["p50_s"] - nominal, TIMES)),
                Cell(f"{row['p50_s'] / nominal - 1:+.1%}"),
                Cell(amount(row["p99_s"], TIMES)),
                Cell(
                    f"{row['throughput_rps'] * row['mean_s'] / row['connections'] / (1 - nominal / row['window_s']):.1%}"
                ),
            ]
        )
    heads = [("system", ""), ("delay", ""), ("median", "95 % interval"), ("off by", ""), ("", "of the delay")]
    return table(
        "Known delays", [*heads, ("p99", ""), ("Little's law", "rate × mean, after the first delay")], [Group("", rows)]
    )


def sentences(results: Results, idle: pd.DataFrame, ceiling_of: str) -> list[str]:
    """Return sentences about the machine: its quiet, the load generator's ceiling, and the accuracy of its clock."""
    found = [_ceiling(results, ceiling_of), _truth(results), _quiet(idle)]
    return [text for text in found if text]


def _quiet(samples: pd.DataFrame) -> str:
    parts = [
        f"CPU {cpu} at {amount(speed.mean(), PERCENT)} of its best speed, below {_SLOW:.0%} for "
        f"{amount(float((speed < _SLOW).mean()), PERCENT)} of the time"
        for cpu, speed in _speeds(samples).items()
    ]
    return f"Idle, the machine ran {listing(parts)}." if parts else ""


def _ceiling(results: Results, system: str) -> str:
    """Return the sentence about the load generator's ceiling, against a server that does next to nothing."""
    rows = without_control(measured(results.cells))
    rows = rows[(rows["system"] == system) & ~rows["workload"].str.contains("@")]
    if rows.empty:
        return ""
    row = rows.loc[rows["throughput_rps"].idxmax()]
    rate = quantity(row["throughput_rps"], row["throughput_low_rps"], row["throughput_high_rps"], RATES)
    if row["bottleneck"] in GENERATOR_LIMITED:
        return f"The load generator's ceiling here is {rate} of {row['workload']}: what comes near it says little of a server."
    busy = f"{amount(row['generator_busy_fraction'], PERCENT)} of its CPUs' time"
    limit = {
        "server": f"the fixed response of {system} was the limit",
        "unsaturated": f"neither it nor {system} was busy all the time",
    }
    return (
        f"The load generator's ceiling here is not below {rate} of {row['workload']}, at which it used {busy}: "
        f"{limit.get(row['bottleneck'], 'something else was the limit')}."
    )


def _truth(results: Results) -> str:
    rows = delayed(results)
    if rows.empty:
        return ""
    off = rows["p50_s"] - rows["nominal_s"]
    worst = rows.loc[off.abs().idxmax()]
    return (
        f"Known delays of {listing([amount(value, TIMES) for value in sorted(rows['nominal_s'].unique())])} come out of the "
        f"histograms as medians that are off by {amount(off.min(), TIMES)} to {amount(off.max(), TIMES)}, most for "
        f"{worst['system']} at {amount(worst['nominal_s'], TIMES)}; the servers' own timers and work are part of that."
    )


def delayed(results: Results) -> pd.DataFrame:
    """Return the cells with a known delay, with that delay, their connections and the length of their windows."""
    rows = without_control(measured(results.cells)).copy()
    nominal = rows["workload"].str.extract(r"^ping-delay-(\d+)ms$")[0].astype(float) / 1000
    rows = rows.assign(nominal_s=nominal)[nominal.notna()]
    if rows.empty:
        return rows
    trials = results.trials[~results.trials["warmup"].astype(bool)].groupby(["system", "workload"])
    connections, window_s = trials["connections_count"].median(), trials["duration_s"].median()
    keys = list(zip(rows["system"], rows["workload"], strict=True))
    return rows.assign(
        connections=[float(connections[key]) for key in keys], window_s=[float(window_s[key]) for key in keys]
    )


def _speeds(samples: pd.DataFrame) -> dict[int, pd.Series]:
    """CPU → its speed over time as a share of the best seen there."""
    if samples.empty:
        return {}
    return {int(cpu): rows["mean_hz"] / rows["mean_hz"].quantile(0.98) for cpu, rows in samples.groupby("cpu")}
