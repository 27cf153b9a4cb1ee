"""The change between two git revisions whose builds were measured in the same blocks: the answer, and a row for each cell."""

from __future__ import annotations

from runners.analyse.results import Results
from runners.analyse.revision_changes import THROUGHPUT, Change, changes, why_undecided
from runners.core.records import Decision, Interval
from runners.core.units import RATIOS, amount, quantity, quantity_parts
from runners.present.kit.decision import note
from runners.present.kit.frames import workload_title
from runners.present.kit.markup import Fragment, Group, TableCell, joined, table
from runners.present.throughput.workloads import LIMIT, title
from runners.stats.verdicts import PRECISION_OF_THRESHOLD, decision_of, regression

_SAID: dict[Decision, str] = {
    "regression": "Regression since revision",
    "no regression": "No regression since revision",
    "undecided": "Undecided whether there is a regression since revision",
}
_HEADS = [
    ("system", ""),
    ("requests/s", "after ÷ before"),
    ("CPU per request", "after ÷ before"),
    ("memory", "after ÷ before"),
    ("n", "blocks"),
    ("decision", ""),
]


def threshold(results: Results) -> float:
    """Return the slowdown that this run was to decide."""
    return float(results.parameters["precision"]) / PRECISION_OF_THRESHOLD


def answer(results: Results) -> str:
    """Return what is decided since the earlier revision, and a ratio that shows it by itself; empty where no revision is compared.

    Throughput comes before CPU time. Of several cells, a regression is named with the one that is slower most clearly, all else with the
    one that may be slowest.
    """
    found = changes(results)
    if not found:
        return ""
    slowdown = threshold(results)
    decision = decision_of([each.decision(slowdown) for each in found])
    rates = [(each, *rate) for each in found for rate in each.rates.items()]
    shown = [rate for rate in rates if regression([rate[2]], rate[0].control, slowdown) == decision]
    end = "high" if decision == "regression" else "low"
    change, unit, ratio = min(shown, key=lambda rate: (rate[1] != THROUGHPUT, getattr(rate[2], end)))
    serves = f"{change.system} serves {quantity(ratio.value, ratio.low, ratio.high, RATIOS)} as many {unit}"
    return f"{_SAID[decision]} {results.manifest.earlier_revision}: at {title(results, change.workload)}, {serves}."


def comparison(results: Results) -> Fragment:
    """Return the table of all changes, and which row is the earlier build; empty where no revision is compared."""
    found = changes(results)
    if not found:
        return Fragment("", "")
    groups = [
        Group(
            workload_title(results.cells, workload),
            [_row(results, each) for each in found if each.workload == workload],
        )
        for workload in dict.fromkeys(each.workload for each in found)
    ]
    name, size = results.manifest.earlier_revision, f"{threshold(results):.1%}".replace("%", " %")
    told = f"A name that ends in +{name} is the build of that earlier git revision. The threshold is {size}, the border half of it."
    why = why_undecided(found, threshold(results))
    return joined(table("What changed: both builds, paired in blocks", _HEADS, groups), note(f"{told} {why}".rstrip()))


def _row(results: Results, change: Change) -> list[TableCell]:
    decided = change.decision(threshold(results))
    kind = {"regression": "bad", "undecided": "muted"}.get(decided, "name")
    return [
        TableCell(change.system),
        TableCell(LIMIT, kind="muted") if change.is_bound else _ratio(change.throughput),
        _ratio(change.cpu),
        TableCell(amount(change.memory_ratio, RATIOS)),
        TableCell(f"{change.blocks_count}"),
        TableCell(decided, kind=kind),
    ]


def _ratio(found: Interval) -> TableCell:
    return TableCell(*quantity_parts(found.value, found.low, found.high, RATIOS))
