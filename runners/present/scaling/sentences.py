"""Conclusions about growth with CPUs: who grows most, what a request costs on more CPUs, and what a larger machine would show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from runners.analyse.fixed_rates import base_titles
from runners.analyse.results import Results
from runners.analyse.scaling import Scaling
from runners.core.units import PERCENT, RATES, RATIOS, quantity, shortlist
from runners.present.kit.frames import ordered, without_control
from runners.present.kit.ranking import Ranking, lead
from runners.present.kit.wording import sentence
from runners.stats.scalability import LEAST_COUNTS, Scalability, cpu_counts

_NEEDED = next(most for most in range(1, 1000) if len(cpu_counts(most)) >= LEAST_COUNTS)
"""Server CPUs from which on there are enough counts for the Universal Scalability Law."""


def answer(results: Results, scaling: Scaling) -> str:
    """Return the answer: the growth of the first workload, or its throughputs where there is one number of CPUs."""
    bases = ordered(scaling.growth["base_workload"])
    return grown(results, scaling, bases[0]) if bases else "No system has a number on any number of CPUs."


def others(results: Results, scaling: Scaling) -> list[str]:
    """Return the growth of the other workloads."""
    return [grown(results, scaling, base) for base in ordered(scaling.growth["base_workload"])[1:]]


def costs(results: Results, scaling: Scaling) -> list[str]:
    """Return the sentences about the CPU time of a request, one for each workload."""
    return _known(dearer(results, scaling, base) for base in ordered(scaling.costs["base_workload"]))


def reasons(results: Results, scaling: Scaling) -> list[str]:
    """Return what keeps the systems from growing, and what a larger machine would show."""
    laws = _known(explained(results, scaling, base) for base in ordered(scaling.growth["base_workload"]))
    return [*laws[:1], *_known([larger_machine(scaling)])]


def _known(found: Iterable[str]) -> list[str]:
    return [text for text in found if text]


def grown(results: Results, scaling: Scaling, base: str) -> str:
    """Return the sentence about the most and the least growth of a workload; of one number of CPUs, about the throughputs."""
    rows = without_control(scaling.growth)
    rows = rows[(rows["base_workload"] == base) & (rows["status"] == "ok")]
    title = base_titles(results.manifest)[base]
    if rows.empty:
        return f"{title}: no system has a throughput."
    if rows["cpus_count"].nunique() < 2:
        return _at_one_count(results, rows, title)
    known = rows[rows["cpus_count"] == rows["cpus_count"].max()].sort_values(
        "speedup_ratio", ascending=False, kind="stable"
    )
    best, *rest = [row for _, row in (known if len(known) < 2 else known.iloc[[0, -1]]).iterrows()]
    fewest, most = int(rows["cpus_count"].min()), int(rows["cpus_count"].max())
    first = f"{title} on {_cpus(most)}: {best['system']} serves {_speedup(best)} its throughput on {fewest}"
    clauses = [f"; {row['system']} {_speedup(row)}" for row in rest]
    return sentence(first, *clauses, f"; ideal is {best['ideal_ratio']:.3g} ×")


def _speedup(row: Mapping[str, Any]) -> str:
    said = quantity(row["speedup_ratio"], row["speedup_low_ratio"], row["speedup_high_ratio"], RATIOS)
    bound = {"unknown": "by an unknown bound of "}.get(row["bound"], f"{row['bound']} " if row["bound"] else "")
    return f"{bound}{said}"


def _at_one_count(results: Results, rows: pd.DataFrame, title: str) -> str:
    where = f"{title} on {_cpus(int(rows['cpus_count'].iloc[0]))}"
    found = Ranking.of(results, str(rows["workload"].iloc[0]))
    if len(found.names) > 1:
        return lead(results, found, where)
    rows = rows.sort_values("throughput_rps", ascending=False, kind="stable")
    first, *rest = [f"{row['system']} serves {{}}, {_rate(row)}" for _, row in rows.iterrows()]
    return sentence(f"{where}: {first.format('most')}", *(f"; {each.format('least')}" for each in rest[-1:]))


def _rate(row: Mapping[str, Any]) -> str:
    least = "at least " if row["limited"] else ""
    return least + quantity(row["throughput_rps"], row["throughput_low_rps"], row["throughput_high_rps"], RATES)


def _cpus(count: int) -> str:
    return f"{count} CPU{'' if count == 1 else 's'}"


def dearer(results: Results, scaling: Scaling, base: str) -> str:
    """Return the sentence about the CPU time of a request on most CPUs against the fewest, at the same rate."""
    rows = without_control(scaling.costs)
    rows = rows[(rows["base_workload"] == base) & rows["cost_ratio"].notna()]
    if rows.empty or rows["cpus_count"].nunique() < 2:
        return ""
    rate = rows["offered_rps"].min()
    rows = rows[rows["offered_rps"] == rate]
    fewest, most = int(rows["cpus_count"].min()), int(rows["cpus_count"].max())
    rows = rows[rows["cpus_count"] == most].sort_values("cost_ratio", kind="stable")
    ends = [row for _, row in (rows if len(rows) < 2 else rows.iloc[[0, -1]]).iterrows()]
    best, *rest = [f"{_cost(row)} with {row['system']}" for row in ends]
    where = f"{most} shared CPUs" if rows["shared"].any() else _cpus(most)
    said = f"{base_titles(results.manifest)[base]}: a request costs on {where} {best}"
    said = said.replace(" with ", f" the CPU time of {_cpus(fewest)} with ", 1)
    return sentence(said, *(f", {each}" for each in rest))


def _cost(row: Mapping[str, Any]) -> str:
    return quantity(row["cost_ratio"], row["cost_low_ratio"], row["cost_high_ratio"], RATIOS)


def explained(results: Results, scaling: Scaling, base: str) -> str:
    """Return the sentence about contention and coherency of the systems of a workload, by the Universal Scalability Law."""
    laws = {system: law for (name, system), law in scaling.laws.items() if name == base}
    if not laws:
        return ""
    names = sorted(laws, key=lambda name: laws[name].contention.value)
    first, *rest = [f"{_contention(laws[name])} with {name}" for name in dict.fromkeys([names[0], names[-1]])]
    return sentence(f"{base_titles(results.manifest)[base]}: contention is {first}", *(f", {each}" for each in rest))


def _contention(law: Scalability) -> str:
    return quantity(law.contention.value, law.contention.low, law.contention.high, PERCENT)


def larger_machine(scaling: Scaling) -> str:
    """Return the sentence about what more server CPUs would add; empty where all is there."""
    count = scaling.server_cpus_count
    if len(scaling.counts) >= LEAST_COUNTS:
        return ""
    if count >= _NEEDED:
        return f"The Universal Scalability Law needs {LEAST_COUNTS} numbers of CPUs, and {len(scaling.counts)} were measured."
    law = f"{_NEEDED} the fit of the Universal Scalability Law"
    if count > 1:
        return f"A machine with more server CPUs would add from {law}."
    return f"Servers have 1 CPU here: 2 would add speed-up and efficiency, {law}."


def limited(results: Results, scaling: Scaling) -> list[str]:
    """Return a sentence for each workload on the numbers of CPUs from which on the load was the limit."""
    rows = without_control(scaling.growth)
    rows = rows[rows["limited"].astype(bool)]
    titles, found = base_titles(results.manifest), []
    for base, own in rows.groupby("base_workload", sort=False):
        firsts = own.groupby("system", sort=False)["cpus_count"].min()
        parts = [f"{system} from {_cpus(int(count))} on" for system, count in firsts.items()]
        found.append(f"{titles[str(base)]}: the load was the limit of {shortlist(parts)}.")
    return found


def limits(results: Results, scaling: Scaling) -> list[str]:
    """Return the threats to validity that come from the numbers of CPUs."""
    windows = results.trials[~results.trials["warmup"].astype(bool) & results.trials["offered_rps"].isna()]
    said = [
        "The clock of a CPU may fall as more CPUs work, and later CPUs may share a core or a cache: growth holds all of that."
    ]
    threads = scaling.growth["threads_count"].max()
    if len(windows) and threads > 0:
        connections = int(windows["requested_connections_count"].max())
        said.append(
            f"The closed loop has {connections} connections on any number of CPUs: {connections / threads:.3g} for each server "
            f"thread at the most, {int(threads)}."
        )
    return said


def summary(scaling: Scaling) -> dict[str, Any]:
    """Return what ``summary.json`` holds besides: growth, costs and laws."""
    laws = [
        {"base_workload": base, "system": system, "misfit_ratio": law.misfit_ratio, "peak_cpus_count": law.peak}
        | {name: vars(getattr(law, name)) for name in ("rate_rps", "contention", "coherency")}
        for (base, system), law in scaling.laws.items()
    ]
    growth = {"throughput_rps": "throughput_{}_rps"}
    growth |= {name: name.replace("_ratio", "_{}_ratio") for name in ("speedup_ratio", "efficiency_ratio")}
    costs = {"cpu_per_request_s": "cpu_per_request_{}_s", "cost_ratio": "cost_{}_ratio"}
    return {"growth": _records(scaling.growth, growth), "costs": _records(scaling.costs, costs), "laws": laws}


def _records(frame: pd.DataFrame, intervals: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return rows as plain objects; quantities with an interval are ``{value, low, high}``."""
    ends = {text.format(end) for text in intervals.values() for end in ("low", "high")}
    return [
        {name: value for name, value in row.items() if name not in ends}
        | {
            name: {"value": row[name], "low": row[text.format("low")], "high": row[text.format("high")]}
            for name, text in intervals.items()
        }
        for row in frame.to_dict("records")
    ]
