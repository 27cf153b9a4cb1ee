"""The report about connections: its answer, decision table, main chart, and the sentences of its further questions."""

from __future__ import annotations

from runners.analyse.results import Results
from runners.analyse.usage import levels, memory_per_connection
from runners.core.units import SIZES
from runners.present import how_sure as certainty
from runners.present.connections import charts, sentences
from runners.present.kit.decision import BELOW, Column, by_workload, decision_table as table_of, estimate_cell
from runners.present.kit.frames import measured, ordered, without_control
from runners.present.kit.markup import Fragment
from runners.present.kit.theme import Chart

answer = sentences.answer
conclusions = sentences.conclusions
how_sure = certainty.how_sure
_HALF = 0.5


def decision_table(results: Results) -> Fragment:
    """Return the table of what to choose: a row a system, a column a number of connections, and what one more costs."""
    rows = levels(without_control(results.cells)).drop_duplicates("workload")
    heads = {
        str(workload): (str(name), f"{count:,} connections")
        for name in ordered(rows["name"])
        for workload, count in sorted(
            rows.loc[rows["name"] == name, ["workload", "connections"]].itertuples(index=False), key=lambda row: row[1]
        )
    }
    values, found, tied = by_workload(results, heads)
    return table_of(
        "What to choose: requests per second",
        values,
        [*found, *_memory(results)],
        tied,
        notes=[f"{BELOW} Rows: by the number of columns led or tied for."],
    )


def _memory(results: Results) -> list[Column]:
    """Return the column of what one more connection costs in the first workload; none where it had one number of connections only."""
    name, _ = sentences.main_counts(results)
    rows = memory_per_connection(results.usage)
    cells = {
        str(row["system"]): estimate_cell(row, "per_connection_bytes", SIZES)
        for row in rows[rows["name"] == name].to_dict("records")
    }
    return [Column("memory", f"of one more connection, {name}", cells)] if cells else []


def message(results: Results) -> str:
    """Return the title of the main chart: how many systems keep half of their throughput at the most connections."""
    rows = levels(without_control(measured(results.cells)))
    if rows.empty:
        return "Requests per second"
    own = rows[rows["name"] == rows["name"].iloc[0]]
    rates = own.pivot_table(index="system", columns="connections", values="throughput_rps").dropna()
    if rates.shape[1] < 2 or rates.empty:
        return "Requests per second"
    kept = int((rates[rates.columns[-1]] >= _HALF * rates.max(axis=1)).sum())
    return f"At {rates.columns[-1]:,} connections {kept} of {len(rates)} systems keep half of their highest throughput"


def main_chart(results: Results) -> Chart:
    """Return the chart of throughput against connections."""
    return charts.throughput(results)
