"""The cost of what a workload adds to another one: CPU time per request, system by system."""

from __future__ import annotations

import pandas as pd

from runners.analyse.comparisons import compare_sides, of_cell
from runners.analyse.results import Results
from runners.analyse.usage import cpu_per_request
from runners.core.records import WINDOW
from runners.core.units import RATIOS, amount, format_size, quantity
from runners.core.workloads import WORKLOADS
from runners.present.kit.frames import cell_of, measured, ordered, without_control
from runners.present.kit.rows import beside, by_value, drawn, log_axis, name_rows, point
from runners.present.kit.theme import INK, QUIET, Chart, panels, styles, themed
from runners.present.kit.wording import factor, sentence
from runners.stats.estimates import interval_columns

_COLUMNS = ["adds", "system", *interval_columns("ratio")]


def costs(results: Results) -> pd.DataFrame:
    """Return the cost of each workload that adds something to another one of this run.

    Columns
    -------
    adds (what it adds), system; ratio with its interval: CPU time per request with it over that without it, by blocks that have both.
    The server's CPU time, and not the throughput: of a new connection the load generator has more work than the server.
    """
    spent, rows = cpu_per_request(results.usage), []
    cells = without_control(measured(results.cells))
    for row in cells.to_dict("records"):
        about, system = WORKLOADS[row["workload_name"]], row["system"]
        if about.plain and cell_of(cells, system, about.plain) is not None:
            sides = (of_cell(spent, system, workload) for workload in (row["workload"], about.plain))
            ratio = compare_sides(*sides).interval
            rows.append((about.adds, system, ratio.value, ratio.low, ratio.high))
    return pd.DataFrame(rows, columns=_COLUMNS).dropna(subset="ratio")


def sentences(found: pd.DataFrame) -> list[str]:
    """Return a sentence for each addition: how much more CPU time a request needs, at least and at most."""
    return [_needs(str(adds), rows) for adds, rows in found.groupby("adds", sort=False)]


def _needs(adds: str, rows: pd.DataFrame) -> str:
    order = by_value(rows, "ratio", largest_first=False).to_dict("records")
    least, most = (
        (factor(row["ratio"], row["ratio_low"], row["ratio_high"]), row["system"]) for row in (order[0], order[-1])
    )
    first = f"{adds[0].upper()}{adds[1:]} multiplies CPU time by {least[0]} with {least[1]}"
    return sentence(first, f", and by {most[0]} with {most[1]}" if len(order) > 1 else "")


def sizes(results: Results) -> str:
    """Return a sentence about the sizes of responses with an addition: libraries may differ at equal settings."""
    trials = results.trials
    rows = trials[
        trials["workload_name"].isin(
            [name for name, about in WORKLOADS.items() if about.response.get("coding") == "gzip"]
        )
    ]
    rows = without_control(rows[rows["kind"] == WINDOW])
    each = (rows.groupby("system")["read_bytes"].sum() / rows.groupby("system")["requests_count"].sum()).dropna()
    if len(each) < 2:
        return ""
    ends = [f"{format_size(each[name])} ({name})" for name in (each.idxmin(), each.idxmax())]
    return f"A compressed response has {ends[0]} to {ends[1]}: libraries differ at the same level."


@themed
def chart(found: pd.DataFrame, cells: pd.DataFrame) -> Chart:
    """Chart the CPU time per request with over that without each addition: a panel an addition, a point a system; log axis."""
    additions = ordered(found["adds"])
    drawing, axes = panels(
        [f"Cost of {adds}" for adds in additions],
        [int((found["adds"] == adds).sum()) for adds in additions],
        title="How many times as much CPU time a request needs with it",
        caption="Points: geometric mean of the ratio per block; whiskers: 95 % interval; log axis.",
        description="Forest plot of the CPU time per request with over that without an addition: "
        + "; ".join(f"{row.system} {amount(row.ratio, RATIOS)} ({row.adds})" for row in found.itertuples()),
        row_in=0.34,
    )
    style_of = styles(cells)
    for ax, adds in zip(axes, additions, strict=True):
        rows = by_value(found[found["adds"] == adds], "ratio", largest_first=False)
        ax.axvline(1.0, color=QUIET, linewidth=1.0)
        log_axis(ax, [1.0, *rows[interval_columns("ratio")].to_numpy(float).flat], [1.0, *rows["ratio"]])
        for place, row in enumerate(rows.to_dict("records")):
            estimate, system = (row["ratio"], row["ratio_low"], row["ratio_high"]), row["system"]
            said = quantity(*estimate, RATIOS)
            point(ax, place, drawn(*estimate), style_of[system], filled=True, system=system, said=said)
            beside(ax, place, said, INK, system)
        name_rows(ax, list(rows["system"]))
        ax.set_xlabel("CPU time per request, with ÷ without")
    return drawing
