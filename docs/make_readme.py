"""Write the README's part about the reference run from its ``summary.json``: the answer of 02, and its decision table.

Run it after the reference was measured or its report was made again: ``.venv/bin/python docs/make_readme.py``.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runners.analyse.standings import answer, interval_of, ratios_to_leader
from runners.core.project import PROJECT
from runners.core.records import CONTROL
from runners.core.units import RATES, RATIOS, TIMES, amount, format_size, quantity
from runners.stats.pooling import LEAST_SESSIONS

README = PROJECT / "README.md"
SUMMARY = PROJECT / "data/processed/02-json-decode/reference/summary.json"
BEGIN, END = "<!-- docs/make_readme.py writes from here -->\n", "<!-- to here -->\n"
_TIED = ("undecided", "equivalent", "not comparable")


def part(summary: dict[str, Any]) -> str:
    """Return the Markdown between the marks: answer, table, and where it was measured."""
    machine, workload = summary["machine"], _decided(summary)
    heads = ["system", "requests/s", "of the leader", "CPU per request", "peak memory", "n", "limit"]
    lines = [
        f"**{answer(summary)}**\n",
        f"| {' | '.join(heads)} |",
        f"|{' --- |' * len(heads)}",
        *(f"| {' | '.join(row)} |" for row in rows(summary, workload)),
        "",
        f"Workload `{workload}`, {interval_kind(summary, workload)} in parentheses, profile {summary['profile']}, {measured_in(summary)}. "
        f"The machine: {machine['cpu']}, {machine['cpus_count']} CPUs{', virtual' if machine['virtual_machine'] == 'yes' else ''}. "
        "Your machine will give other numbers.",
    ]
    return "\n".join(lines) + "\n"


def interval_kind(summary: dict[str, Any], workload: str) -> str:
    """Return what the intervals of a workload's ratios are."""
    rows = [row for row in summary["comparisons"] if (row["workload"], row["family"]) == (workload, "leader")]
    pooled = min(row["sessions_count"] for row in rows) >= LEAST_SESSIONS
    return "95 % prediction intervals of one further session" if pooled else "95 % intervals of this session"


def measured_in(summary: dict[str, Any]) -> str:
    """Return when a run was measured, in how many sessions and blocks; all sessions of the reference have as many blocks."""
    count, started = len(summary["sessions"]), min(each["started_at"] for each in summary["sessions"])
    blocks = f"{summary['blocks_count']} block{'s' if summary['blocks_count'] > 1 else ''}"
    return f"{count} sessions of {blocks} on {started[:10]}" if count > 1 else f"{blocks} on {started[:10]}"


def _decided(summary: dict[str, Any]) -> str:
    """Return the compared workload with the most operations in a request."""
    compared = {ratio.workload for ratio in ratios_to_leader(summary)}
    cells = [cell for cell in summary["cells"] if cell["workload"] in compared]
    return str(max(cells, key=lambda cell: cell["operations_count"] or 0)["workload"])


def rows(summary: dict[str, Any], workload: str) -> list[list[str]]:
    """Return the cells of the table: each system that has a number, the fastest first."""
    ratios = {ratio.system: ratio for ratio in ratios_to_leader(summary) if ratio.workload == workload}
    verdicts = {
        row["system_a"]: row["verdict"]
        for row in summary["comparisons"]
        if row["workload"] == workload and row["family"] == "leader"
    }
    cells = [
        cell
        for cell in summary["cells"]
        if cell["workload"] == workload and cell["status"] == "ok" and cell["system"] != CONTROL
    ]
    found = []
    for cell in sorted(cells, key=lambda cell: -cell["throughput_rps"]["value"]):
        throughput, cpu = (interval_of(cell[name]) for name in ("throughput_rps", "cpu_per_request_s"))
        ratio = ratios.get(cell["system"])
        tied = ratio is not None and verdicts[cell["system"]] in _TIED
        place = (
            "leader"
            if ratio is None
            else quantity(ratio.interval.value, ratio.interval.low, ratio.interval.high, RATIOS)
        )
        found.append(
            [
                f"`{cell['system']}`",
                quantity(throughput.value, throughput.low, throughput.high, RATES).replace(" requests/s", ""),
                f"{place}, tied" if tied else place,
                amount(cpu.value, TIMES),
                format_size(cell["rss_peak_bytes"] or math.nan),
                f"{cell['launches_count']}/{cell['launches_made_count']}",
                cell["bottleneck"],
            ]
        )
    return found


def written(readme: str, summary: dict[str, Any]) -> str:
    """Return the text of the README with the part between the marks made again."""
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda _: BEGIN + part(summary) + END, readme)


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8"), json.loads(SUMMARY.read_text())), encoding="utf-8")
