"""The mix of endpoints: who serves it best, and how many requests each endpoint got."""

from __future__ import annotations

from runners.analyse.results import Results
from runners.core.records import WINDOW
from runners.core.units import listing
from runners.core.workloads import WORKLOADS
from runners.present.kit.frames import measured, ordered, without_control
from runners.present.kit.markup import Fragment, Group, TableCell, table
from runners.present.kit.ranking import Ranking, lead


def labels(results: Results) -> list[str]:
    """Return the workloads of the run that are mixes."""
    return [label for label, workload in results.workloads.items() if WORKLOADS[workload.name].mix]


def sentences(results: Results) -> list[str]:
    """Return a sentence for each mix: its leader, and by how much it leads."""
    found = [(label, Ranking.of(results, label)) for label in labels(results)]
    return [lead(results, each, WORKLOADS[results.workloads[label].name].title) for label, each in found if each.names]


def parts_in_words(results: Results) -> list[str]:
    """Return a sentence for each mix: its parts, and what is not known of them."""
    found = []
    for label in labels(results):
        about = WORKLOADS[results.workloads[label].name]
        parts = listing([f"{part.weight / about.round_count:.0%} {part.workload.base_label}" for part in about.mix])
        found.append(f"The mix is {parts.replace('%', ' %')}, in the same shuffled sequence for all systems.")
    return found


def requests_by_endpoint(results: Results) -> Fragment:
    """Return the table of requests by endpoint: the share that the mix requires, and those that were sent to each system."""
    cells, groups, systems = without_control(measured(results.cells)), list[Group](), list[str]()
    for label in labels(results):
        about = WORKLOADS[results.workloads[label].name]
        systems = ordered(cells[cells["workload"] == label]["system"])
        windows = results.trials[(results.trials["workload"] == label) & (results.trials["kind"] == WINDOW)]
        names = [part.workload.name for part in about.mix]
        sums = windows.groupby("system")[[f"sent_{name}_count" for name in names]].sum()
        rows = []
        for part in about.mix:
            counts = [int(sums.at[system, f"sent_{part.workload.name}_count"]) for system in systems]
            totals = [max(1, int(sums.loc[system].sum())) for system in systems]
            sent = [
                TableCell(f"{count:,}", f"{count / total:.1%}") for count, total in zip(counts, totals, strict=True)
            ]
            rows.append(
                [TableCell(part.workload.base_label), TableCell(f"{part.weight / about.round_count:.0%}"), *sent]
            )
        groups.append(Group(about.title, rows))
    heads = [("endpoint", ""), ("share", "of the contract"), *((system, "requests sent") for system in systems)]
    return table("Requests by endpoint, all windows together", heads, groups)
