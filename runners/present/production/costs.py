"""The cost of what a workload adds to another one: the throughput of the plain one over its own, system by system."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from runners.analyse.results import Results
from runners.core.records import GENERATOR_LIMITED, WINDOW, Interval
from runners.core.units import RATIOS, amount, format_size, quantity
from runners.core.workloads import WORKLOADS
from runners.present.kit.frames import cell_of, measured, ordered, without_control
from runners.present.kit.rows import beside, by_value, drawn, log_axis, name_rows, point
from runners.present.kit.theme import INK, QUIET, Chart, panels, styles, themed
from runners.present.kit.wording import changes
from runners.stats.estimates import interval_columns, interval_in

_COLUMNS = ["adds", "system", *interval_columns("ratio"), "bounded"]


def costs(results: Results) -> pd.DataFrame:
    """Return the cost of each workload that adds something to another one of this run.

    Columns
    -------
    adds (what it adds), system; ratio with its interval: throughput without it over throughput with it, from the same blocks; bounded:
    whether the load generator was the limit of one of the two.
    """
    rows = []
    cells = without_control(measured(results.cells))
    for row in cells.to_dict("records"):
        about, system = WORKLOADS[row["workload_name"]], row["system"]
        plain = cell_of(cells, system, about.plain) if about.plain else None
        if plain is not None:
            ratio = results.paired((system, about.plain), (system, row["workload"])).interval
            bounded = bool({row["bottleneck"], plain["bottleneck"]} & GENERATOR_LIMITED)
            rows.append((about.adds, system, ratio.value, ratio.low, ratio.high, bounded))
    return pd.DataFrame(rows, columns=_COLUMNS)


def sentences(found: pd.DataFrame) -> list[str]:
    """Return a sentence for each addition: by how much throughput falls, at most and at least."""
    return [changes(f"With {adds} throughput", _by_system(rows)) for adds, rows in found.groupby("adds", sort=False)]


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


def _by_system(rows: pd.DataFrame) -> Mapping[str, Interval]:
    return {row["system"]: interval_in(row, "ratio") for row in rows.to_dict("records")}


@themed
def chart(found: pd.DataFrame, cells: pd.DataFrame) -> Chart:
    """Chart the throughput without over that with each addition: a panel an addition, a point a system; log axis."""
    additions = ordered(found["adds"])
    drawing, axes = panels(
        [f"Cost of {adds}" for adds in additions],
        [int((found["adds"] == adds).sum()) for adds in additions],
        title="How many times as many requests are completed without it",
        caption="Points: geometric mean of the ratio per block; whiskers: 95 % interval; log axis. "
        "Hollow: the load generator was the limit of one side.",
        description="Forest plot of throughput without over throughput with an addition: "
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
            point(ax, place, drawn(*estimate), style_of[system], filled=not row["bounded"], system=system, said=said)
            beside(ax, place, said, INK, system)
        name_rows(ax, list(rows["system"]))
        ax.set_xlabel("requests/s without ÷ with")
    return drawing
