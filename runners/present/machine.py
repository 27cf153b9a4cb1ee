"""Charts, tables and sentences about the machine itself: its CPUs, its quiet, and what can be measured on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

import pandas as pd
from matplotlib.ticker import FuncFormatter, MaxNLocator

from runners.analyse.results import Results
from runners.core.run_manifest import CoreFacts, MachineSurvey, PreflightFinding
from runners.core.units import PERCENT, TIMES, amount, listing, quantity_parts
from runners.machine.topology import format_cpu_list
from runners.present.kit.frames import measured, without_control
from runners.present.kit.markup import Box, Fragment, Frame, Group, TableCell, map_of, table
from runners.present.kit.theme import HUES, QUIET, Chart, mixed, panels, themed

ROLE_COLORS = {"server": HUES[0], "generator": HUES[1], "backend": HUES[3], "housekeeping": HUES[2]}
ROLE_NAMES = {"server": "servers", "generator": "load generator", "backend": "backend", "housekeeping": "notebook"}
_PALE = 0.5
_DENSE_CPUS = 64
_MARKS = {"good": ("✓ good", "good"), "advice": ("▲ advice", "warn"), "problem": ("✕ problem", "bad")}


def topology(about: MachineSurvey, pinning: Mapping[str, Sequence[int]]) -> Fragment:
    """Return a map of the machine: packages and NUMA nodes, L3 caches, cores, and their CPUs, coloured by role."""
    roles = {role: set(pinning[role]) for role in ROLE_COLORS if pinning.get(role)}
    cores = sorted(about.cores, key=lambda core: (core.package, core.node, core.l3 is None, core.l3 or 0, core.cpus))
    several = len({core.package for core in cores}) > 1
    cpus_count = sum(len(core.cpus) for core in cores)
    kind = "wb-dense" if cpus_count > _DENSE_CPUS else ""
    frames = [
        Frame(
            f"Package {package}, NUMA node {node}" if several else f"NUMA node {node}",
            _caches(list(group), roles),
            kind,
        )
        for (package, node), group in groupby(cores, key=lambda core: (core.package, core.node))
    ]
    names = {role: f"{ROLE_NAMES[role]}: {_cpus(cpus)}" for role, cpus in roles.items()}
    legend = [(Box("", [role_color(role)]), name) for role, name in names.items()]
    unused = {cpu for core in cores for cpu in core.cpus}.difference(*roles.values())
    legend += [(Box(""), f"may not be used: {_cpus(unused)}")] if unused else []
    legend += [(Box("×"), f"offline: {_cpus(about.offline_cpus)}")] if about.offline_cpus else []
    legend += [
        (Box(_mark(kind)), f"a core of a slower kind{f': {name}' if name else ''}")
        for kind in sorted({core.kind for core in cores} - {0})
        for name in ["".join(about.kinds[kind : kind + 1])]
    ]
    counts = f"{len(cores)} cores with {cpus_count} CPUs"
    return map_of(frames, legend, "; ".join([counts, *(text for _, text in legend)]))


def _caches(cores: Sequence[CoreFacts], roles: Mapping[str, set[int]]) -> list[Frame]:
    """Return a frame for each L3 cache with its cores, and one for the cores without any."""
    return [
        Frame(
            "" if l3 is None else f"L3 cache {l3}",
            [
                Frame(
                    _mark(core.kind),
                    [_cpu(cpu, roles) for cpu in core.cpus],
                    "wb-core wb-slower" if core.kind else "wb-core",
                )
                for core in group
            ],
            "wb-cache",
        )
        for l3, group in groupby(cores, key=lambda core: core.l3)
    ]


def _cpu(cpu: int, roles: Mapping[str, set[int]]) -> Box:
    own = [role for role, cpus in roles.items() if cpu in cpus]
    words = listing([ROLE_NAMES[role] for role in own]) if own else "may not be used"
    return Box(str(cpu), [role_color(role) for role in own], f"CPU {cpu}: {words}")


def _cpus(cpus: Collection[int]) -> str:
    return f"CPU{'' if len(cpus) == 1 else 's'} {format_cpu_list(cpus)}"


def role_color(role: str) -> str:
    """Return the colour of a role in maps."""
    return mixed(ROLE_COLORS[role], _PALE)


def _mark(kind: int) -> str:
    """Return how cores of a kind are marked: not at all for the fastest, then E, E2, E3."""
    return f"E{kind if kind > 1 else ''}" if kind else ""


@themed
def idle_speed(samples: pd.DataFrame) -> Chart:
    """Speed of each measured CPU over time, while nothing of wrkbook runs: the share of the best that was seen there."""
    cpus = sorted(samples["cpu"].unique()) if len(samples) else []
    chart, axes = panels(
        [f"CPU {cpu}" for cpu in cpus],
        [3] * len(cpus),
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
        ax.set_yticks([0, 50, 100])
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f} %"))
        ax.set_xlabel("s")
    return chart


def preflight(findings: Sequence[PreflightFinding]) -> Fragment:
    """Return the table of the preflight's findings with their remedies; good findings come last."""
    order = list(_MARKS)
    rows = sorted(findings, key=lambda finding: -order.index(finding.level))
    lines = [
        [
            TableCell(finding.name, kind="name"),
            TableCell(*_marked(finding.level)),
            TableCell(finding.detail, kind="words"),
            TableCell(finding.remedy, kind="words"),
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
                TableCell(row["system"], kind="name"),
                TableCell(amount(nominal, TIMES)),
                TableCell(text, interval),
                TableCell(amount(row["p50_s"] - nominal, TIMES)),
                TableCell(f"{row['p50_s'] / nominal - 1:+.1%}" if row["p50_s"] > 0 else "–"),
                TableCell(amount(row["p99_s"], TIMES)),
                TableCell(
                    f"{row['throughput_rps'] * row['mean_s'] / row['connections'] / (1 - nominal / row['window_s']):.1%}"
                ),
            ]
        )
    heads = [("system", ""), ("delay", ""), ("median", "95 % interval"), ("off by", ""), ("", "of the delay")]
    return table(
        "Known delays", [*heads, ("p99", ""), ("Little's law", "rate × mean, after the first delay")], [Group("", rows)]
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
