"""Tables of growth with CPUs: throughput, speed-up, efficiency, the law, and the CPU time of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from runners.analyse.fixed_rates import base_titles
from runners.analyse.results import Results
from runners.analyse.scaling import Scaling
from runners.core.records import CONTROL, Interval
from runners.core.units import PERCENT, RATES, RATIOS, TIMES, amount, quantity_parts
from runners.present.kit.decision import estimate_cell, without_number
from runners.present.kit.markup import Fragment, Group, TableCell, joined, table
from runners.present.throughput.tables import launches

_SIGNS = {"at least": "≥ ", "at most": "≤ ", "unknown": "? "}


def growth(results: Results, scaling: Scaling) -> Fragment:
    """Return the table of throughput, speed-up and efficiency, a line for each number of CPUs; and that of the law, where there is one."""
    heads = [
        ("system", "n: launches used/made"),
        ("CPUs", "of the server"),
        ("threads", "of the server"),
        ("throughput", "requests/s, 95 % interval"),
        ("speed-up", "over the fewest CPUs"),
        ("efficiency", "of ideal growth"),
        ("busy", "server CPUs, median (range)"),
    ]
    shown = table("Growth with server CPUs", heads, _groups(results, scaling.growth, _grown))
    return joined(shown, _laws(results, scaling)) if scaling.laws else shown


def costs(results: Results, scaling: Scaling) -> Fragment:
    """Return the table of the CPU time of a request, a line for each number of CPUs."""
    heads = [
        ("system", "n: launches used/made"),
        ("CPUs", "of the server"),
        ("offered", "requests/s"),
        ("CPU", "per request, 95 % interval"),
        ("user, kernel", "per request"),
        ("of the fewest CPUs'", "paired by block"),
    ]
    return table("CPU time of a request at equal rates", heads, _groups(results, scaling.costs, _cost))


def _groups(results: Results, frame: pd.DataFrame, line: Any) -> list[Group]:  # noqa: ANN401  (a function of a row)
    titles = base_titles(results.manifest)
    return [
        Group(titles[str(base)], [line(row) for row in rows.to_dict("records")])
        for base, rows in frame.groupby("base_workload", sort=False)
    ]


def _head(row: Mapping[str, Any]) -> list[TableCell]:
    is_control = row["system"] == CONTROL
    name = TableCell(row["system"], launches(row) + (", control" if is_control else ""), "muted" if is_control else "")
    return [name, TableCell(f"{row['cpus_count']:.0f}", "shared" if row.get("shared") else "")]


def _grown(row: Mapping[str, Any]) -> list[TableCell]:
    if row["status"] != "ok":
        return [
            *_head(row),
            TableCell("–"),
            without_number(row["status"]),
            TableCell("–"),
            TableCell("–"),
            TableCell("–"),
        ]
    sign = _SIGNS.get(row["bound"], "")
    return [
        *_head(row),
        TableCell(f"{row['threads_count']:.0f}"),
        estimate_cell(row, "throughput_rps", RATES, "≥ " if row["limited"] else ""),
        estimate_cell(row, "speedup_ratio", RATIOS, sign),
        estimate_cell(row, "efficiency_ratio", PERCENT, sign),
        _busy(row),
    ]


def _busy(row: Mapping[str, Any]) -> TableCell:
    """Return the busy share of the median server CPU, and the range of all of them: three numbers, however many there are."""
    least, middle, most = (amount(row[f"busy_{name}_fraction"], PERCENT) for name in ("least", "median", "most"))
    return TableCell(middle, f"{least} to {most}" if row["cpus_count"] > 1 and middle != "–" else "")


def _cost(row: Mapping[str, Any]) -> list[TableCell]:
    offered = TableCell(f"{row['offered_rps']:,.0f}")
    if row["status"] != "ok":
        return [*_head(row), offered, without_number(row["status"]), TableCell("–"), TableCell("–")]
    split = f"{amount(row['cpu_user_per_request_s'], TIMES)}, {amount(row['cpu_system_per_request_s'], TIMES)}"
    return [
        *_head(row),
        offered,
        estimate_cell(row, "cpu_per_request_s", TIMES),
        TableCell(split),
        estimate_cell(row, "cost_ratio", RATIOS),
    ]


def _laws(results: Results, scaling: Scaling) -> Fragment:
    heads = [
        ("system", ""),
        ("one CPU", "requests/s"),
        ("contention σ", "serial share"),
        ("coherency κ", "for each pair of CPUs"),
        ("misfit", "at most"),
        ("peak", "CPUs"),
    ]
    titles = base_titles(results.manifest)
    groups = []
    for base in dict.fromkeys(name for name, _ in scaling.laws):
        lines = []
        for system, law in ((system, law) for (name, system), law in scaling.laws.items() if name == base):
            peak = f"{law.peak:.0f}" if law.peak < 1e4 else "none"
            parts = [_parts(law.rate_rps, RATES), _parts(law.contention, PERCENT), _parts(law.coherency, PERCENT)]
            lines.append(
                [
                    TableCell(system),
                    *parts,
                    TableCell(amount(law.misfit_ratio, PERCENT)),
                    TableCell(peak, _by(scaling, law.peak)),
                ]
            )
        groups.append(Group(titles[base], lines))
    return table("The Universal Scalability Law of each system", heads, groups)


def _by(scaling: Scaling, peak: float) -> str:
    return "extrapolated" if scaling.counts[-1] < peak < float("inf") else ""


def _parts(interval: Interval, scale: Any) -> TableCell:  # noqa: ANN401  (a Scale)
    return TableCell(*quantity_parts(interval.value, interval.low, interval.high, scale))
