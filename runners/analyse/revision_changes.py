"""Effects of a change of the sources: the build of the working tree over that of another revision, in the same blocks."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from runners.analyse.comparisons import compare_sides, of_cell
from runners.analyse.results import Results
from runners.analyse.usage import cpu_per_request
from runners.core.records import CONTROL, GENERATOR_LIMITED, Interval, System
from runners.stats.estimates import UNKNOWN

Decision = Literal["no regression", "regression", "undecided"]


@dataclass(frozen=True)
class Change:
    """One cell before and after: each ratio is after ÷ before, by blocks that have both.

    Attributes
    ----------
    throughput, cpu : Interval
        Ratio of requests per second, and of the server's CPU time per request; NaN where it is not known.
    memory_ratio : float
        Ratio of the peaks of resident memory.
    is_bound : bool
        Whether the load generator was the limit of one side: the CPU time decides alone.
    control : Interval
        Throughput of one build that is launched twice in the same blocks, over itself.
    size_ratio : float
        Ratio of what the builds leave on the disk.
    """

    system: str
    workload: str
    throughput: Interval
    cpu: Interval
    memory_ratio: float
    blocks_count: int
    is_bound: bool
    control: Interval = UNKNOWN
    size_ratio: float = math.nan

    def decision(self, threshold: float) -> Decision:
        """Return what is decided about a slowdown by `threshold`.

        The border lies at half of it, so that both a slowdown by the whole threshold and none at all can be decided. Throughput and
        CPU time each decide; one regression is enough. Where even the control lies beyond that border, above or below 1, nothing is
        decided: the machine then shows changes where there are none.
        """
        border = 1 - threshold / 2
        if self.control.high < border or self.control.low > 1 / border:
            return "undecided"
        sides = [] if self.is_bound else [(self.throughput.low, self.throughput.high)]
        sides.append((1 / self.cpu.high, 1 / self.cpu.low))
        if any(high < border for _, high in sides):
            return "regression"
        return "no regression" if all(low > border for low, _ in sides) else "undecided"

    def as_dict(self, threshold: float) -> dict[str, object]:
        """Return the fields for ``--json``; null where a number is not known."""
        fields = asdict(self) | {"decision": self.decision(threshold)}
        return {name: _known(value) for name, value in fields.items()}


def changes(results: Results, before: str) -> list[Change]:
    """Return the change of each cell that was measured at both revisions; `before` is the name of the other build."""
    spent = cpu_per_request(results.usage)
    cells = results.cells[results.cells["status"] == "ok"].set_index(["system", "workload"])
    found = []
    for system in results.manifest.systems.values():
        earlier = System(system.server, system.codec, before)
        if system.control or system.variant:
            continue
        for workload in dict.fromkeys(cells.index.get_level_values("workload")):
            now, then = (system.name, workload), (earlier.name, workload)
            if now not in cells.index or then not in cells.index:
                continue
            rates = compare_sides(of_cell(results.throughputs, *now), of_cell(results.throughputs, *then))
            cpu = compare_sides(of_cell(spent, *now), of_cell(spent, *then)).interval
            memory = float(cells.at[now, "rss_peak_bytes"] / cells.at[then, "rss_peak_bytes"])
            bound = bool({cells.at[now, "bottleneck"], cells.at[then, "bottleneck"]} & GENERATOR_LIMITED)
            sides = (of_cell(results.throughputs, name, workload) for name in (CONTROL, results.baseline))
            control = compare_sides(*sides).interval
            found.append(Change(system.name, workload, rates.interval, cpu, memory, rates.blocks_count, bound, control))
    return found


def _known(value: Any) -> Any:  # noqa: ANN401  (of whatever kind a field is)
    if isinstance(value, dict):
        return {name: _known(each) for name, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
