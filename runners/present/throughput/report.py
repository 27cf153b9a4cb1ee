"""The report of an experiment about throughput: its answer, decision table, main chart, and the sentences of its further questions."""

from __future__ import annotations

import pandas as pd

from runners.analyse.carried import carried
from runners.analyse.results import Results
from runners.core.units import RATES, TIMES, listing, quantity
from runners.machine.topology import parse_cpu_list
from runners.present import how_sure as certainty
from runners.present.kit.decision import (
    Column,
    behind,
    capacities,
    decision_table as table_of,
    estimates,
    launches,
    limits,
    sizes,
    without_capacities,
)
from runners.present.kit.frames import (
    cell_of,
    is_client_bound,
    leaders,
    measured,
    ordered,
    without_control,
    workload_title,
)
from runners.present.kit.markup import Fragment, joined
from runners.present.kit.ranking import Ranking, rate
from runners.present.kit.theme import Chart
from runners.present.kit.wording import MOST_CONCLUSIONS, few
from runners.present.throughput import charts, revision, tuning
from runners.present.throughput.workloads import (
    LIMIT,
    compared_workloads,
    cost_words,
    leads,
    main_workload,
    share_of_gap,
    title,
)

how_sure = certainty.how_sure
_MOST_OTHERS = 3
_MOST_OF_IT = 0.5
_PAIR = 2


def answer(results: Results) -> str:
    """Return who is fastest, by how much, compared with whom, and how sure; of two revisions, what is decided."""
    if changed := revision.answer(results):
        return changed
    found = Ranking.of(results, main_workload(results))
    if not found.names:
        return "No system has a number that can be ranked."
    leader, workload, cpus = found.leader, title(results, found.workload), _on_cpus(results)
    if len(found.names) == 1:
        return f"{leader} serves {rate(results, leader, found.workload, RATES)} at {workload}{cpus}; nothing else was measured."
    if not found.behind:
        lead = found.ratio(found.names[1])
        first_two = "both" if len(found.not_behind) == _PAIR else "the first two"
        why = f"{leader} {lead.briefly(found.names[1])}" if lead else f"{LIMIT} of {first_two}"
        names = found.not_behind if len(found.not_behind) == _PAIR else [leader, f"{len(found.not_behind) - 1} more"]
        return f"{listing(names)} are not told apart at {workload}: {why}."
    following, last = found.behind[0], found.behind[-1]
    shown = dict.fromkeys([following, last] if len(found.not_behind) == 1 else [following])
    by = [(lead.bound, lead.briefly(name)) for name in shown if (lead := found.ratio(name))]
    words = listing([text for _, text in by])
    if len(found.not_behind) == 1:
        return f"{leader} is fastest at {workload}{'' if any(bound for bound, _ in by) else cpus}: {words}."
    return f"{leader} leads at {workload}, not told apart from {few(found.not_behind[1:])}: {words}."


def _on_cpus(results: Results) -> str:
    count = len(parse_cpu_list(results.manifest.pinning.get("server", "")))
    return f" on {'one CPU' if count == 1 else f'{count} CPUs'}" if count else ""


def message(results: Results) -> str:
    """Return at which of the compared workloads the leader leads or ties; of two revisions, which they are."""
    if before := results.manifest.earlier_revision:
        return f"Requests per second now, and at revision {before}"
    leader = Ranking.of(results, main_workload(results)).leader
    alone: list[str] = []
    tied: list[str] = []
    for name in compared_workloads(results):
        found = Ranking.of(results, name)
        if leader and found.leader == leader and len(found.names) > 1:
            (alone if len(found.not_behind) == 1 else tied).append(title(results, name))
    parts = [f"{does} {_at(names)}" for does, names in (("leads", alone), ("ties", tied)) if names]
    return f"Requests per second: {leader} {' and '.join(parts)}" if parts else "Requests per second"


def _at(names: list[str]) -> str:
    """Name one or two workloads, and count more of them."""
    return f"at {listing(names)}" if len(names) < 3 else f"in {len(names)} workloads"


def main_chart(results: Results) -> Chart:
    """Return the chart of throughputs."""
    return charts.throughput(results.cells)


def decision_table(results: Results) -> Fragment:
    """Return the table of what to choose: a row a system, for the main workload, with throughputs of the others of its kind."""
    workload = main_workload(results)
    found = Ranking.of(results, workload)
    cells = results.cells
    rows = without_control(cells[cells["workload"] == workload])
    beside = [name for name in compared_workloads(results) if name != workload]
    capacity = capacities(carried(results), workload)
    columns = [
        _throughputs("throughput", "requests/s, 95 % interval", rows),
        behind(found),
        *(
            _throughputs(workload_title(cells, each), "requests/s", cells[cells["workload"] == each])
            for each in beside[:1]
        ),
        *([capacity] if capacity else []),
        estimates("CPU", "per request", _with_number(rows), "cpu_per_request_s", TIMES),
        sizes("memory", "peak", _with_number(rows), "rss_peak_bytes"),
        launches(rows),
        limits(_with_number(rows), results.manifest.backends),
    ]
    values = dict(zip(rows["system"], rows["throughput_rps"].astype(float), strict=True))
    subject = "Both builds" if results.manifest.earlier_revision else "What to choose"
    title = f"{subject}: {workload_title(cells, workload)}" if workload else subject
    tied = found.not_behind if len(found.names) > 1 else ()
    rows_of_systems = table_of(title, values, columns, tied, notes=[without_capacities(capacity)])
    return joined(revision.comparison(results), rows_of_systems)


def _throughputs(head: str, unit: str, rows: pd.DataFrame) -> Column:
    return estimates(head, unit, _with_number(rows), "throughput_rps", RATES, at_least=True)


def _with_number(rows: pd.DataFrame) -> pd.DataFrame:
    return without_control(measured(rows))


def elsewhere(results: Results) -> list[str]:
    """Return a sentence for each other compared workload: who leads there, and by how much."""
    found = []
    for workload in [name for name in compared_workloads(results) if name != main_workload(results)][:_MOST_OTHERS]:
        family = Ranking.of(results, workload)
        if len(family.names) > 1:
            found.append(f"At {title(results, workload)}, {leads(family, family.names[1])}.")
    return found


def within_servers(results: Results) -> list[str]:
    """Return a sentence about the best and the slowest way to decode of the server that is not the leader's and differs most."""
    workload = main_workload(results)
    family = Ranking.of(results, workload)
    server_of = dict(zip(results.cells["system"], results.cells["server"], strict=True))
    pairs = []
    for server in ordered(server_of[name] for name in family.names):
        names = [name for name in family.names if server_of[name] == server]
        ratio = family.pair(names[0], names[-1]) if len(names) > 1 and family.leader not in names else None
        pairs += [(server, names, ratio)] if ratio and ratio.is_above_one else []
    if not pairs:
        return []
    server, names, ratio = max(pairs, key=lambda pair: pair[2].value)
    found = f"{ratio.than(names[-1])} at {title(results, workload)}"
    return [f"With {server}, {names[0]} serves {found}, this pair alone."]


def floor(results: Results) -> list[str]:
    """Return the sentence about the servers without decoding: how much of the gap is the framework's."""
    names = [name for name in compared_workloads(results) if name in set(results.shares["workload"])]
    if not names:
        return []
    floors = Ranking.of(
        results, str(results.shares.loc[results.shares["workload"] == names[0], "floor_workload"].iloc[0])
    )
    family = Ranking.of(results, names[0])
    if len(floors.names) < 2 or len(family.names) < 2:
        return []
    first, last = floors.names[0], floors.names[-1]
    rates = [rate(results, name, floors.workload, RATES, interval=False) for name in (first, last)]
    serve = f"{first} serves {rates[0]} and {last} {rates[1]}"
    share = share_of_gap(results, family, floors)
    # Where the load was the limit of the slower floor, the gap between the floors may be smaller.
    if share is None or share <= _MOST_OF_IT or is_client_bound(results.cells, last, floors.workload):
        return [f"Without decoding, {serve}."]
    return [f"Most of the gap at small requests is the framework: without decoding, {serve}."]


def cost(results: Results) -> list[str]:
    """Return the sentence about what decoding costs, as a share of the throughput without it."""
    workload = main_workload(results)
    shares = without_control(results.shares)
    rows = shares[(shares["workload"] == workload) & shares["share_ratio"].notna()].sort_values(
        "share_ratio", kind="stable"
    )
    ends = [rows.iloc[-1], rows.iloc[0]] if len(rows) > 1 else [row for _, row in rows.iterrows()]
    parts = [f"{row['system']} {words}" for row in ends if (words := cost_words(results.cells, row))]
    return [f"Of the throughput, {title(results, workload)} costs {listing(parts)}."] if parts else []


def cpu(results: Results) -> list[str]:
    """Return the sentence about the CPU time of a request: the least and the most."""
    workload = main_workload(results)
    rows = _with_number(results.cells[results.cells["workload"] == workload])
    rows = rows[rows["cpu_per_request_s"].notna()].sort_values("cpu_per_request_s", kind="stable")
    ends = ordered([rows["system"].iloc[0], rows["system"].iloc[-1]]) if len(rows) else []
    parts = [f"{name} {_cpu(rows.set_index('system').loc[name])}" for name in ends]
    return [f"Server CPU per request at {title(results, workload)}: {listing(parts)}."] if parts else []


def _cpu(row: pd.Series) -> str:
    return quantity(row["cpu_per_request_s"], row["cpu_per_request_low_s"], row["cpu_per_request_high_s"], TIMES)


def published(results: Results) -> list[str]:
    """Return the sentence about the direction of published ratios; the machine that was published is another one."""
    same = decided = 0
    for workload in compared_workloads(results):
        for _, row in leaders(results.comparisons, workload).iterrows():
            for _, rows in results.published.groupby("source"):
                a, b = (cell_of(rows, row[side], workload) for side in ("system_a", "system_b"))
                if a is not None and b is not None and row["verdict"] in ("slower", "faster"):
                    decided += 1
                    same += (row["verdict"] == "faster") == (a["throughput_rps"] > b["throughput_rps"])
    if not decided:
        return []
    compared = f"{same} of {decided} ratios to the leader that are decided here have the same direction"
    if decided == 1:
        compared = f"the one ratio to the leader that is decided here has {'the same' if same else 'another'} direction"
    return [f"Published on another machine: {compared}."]


def conclusions(results: Results) -> list[str]:
    """Return the sentences of all further questions, in the order of the report."""
    found = [
        *elsewhere(results),
        *within_servers(results),
        *tuning.sentences(results),
        *published(results),
        *floor(results),
        *cost(results),
        *cpu(results),
    ]
    return found[:MOST_CONCLUSIONS]
