"""Tables and sentences about the load generators: what they can drive, how they keep a schedule, and whether their times are right."""

from __future__ import annotations

import pandas as pd

from runners.analyse.load_generators import CEILING_OF, driven as driven_cells, paced, truth as known_times
from runners.analyse.results import Results
from runners.core.thresholds import LATE_S, PACED_S
from runners.core.units import PERCENT, RATES, TIMES, amount, listing, quantity_parts
from runners.present.kit.markup import Cell, Fragment, Group, table
from runners.present.narrative import Narrative

_ONE_ONLY = Narrative(["This run measured no load generator against a server whose response times are known."]).fragment


def driven(results: Results) -> Fragment:
    """Return the table of what each load generator drives a fixed response to, and of how it keeps a schedule."""
    pacing = paced(results.cells, results.trials).set_index("generator")
    rows = []
    for row in driven_cells(results.cells).to_dict("records"):
        rate, interval = quantity_parts(
            row["throughput_rps"], row["throughput_low_rps"], row["throughput_high_rps"], RATES
        )
        cells = [Cell(row["generator"], kind="name"), Cell(rate, interval)]
        cells.append(Cell(amount(row["generator_busy_fraction"], PERCENT)))
        rows.append([*cells, *_pacing(pacing.loc[row["generator"]] if row["generator"] in pacing.index else None)])
    heads = [("load generator", ""), ("drives", "95 % interval"), ("its CPUs", "busy"), ("at a rate of", "")]
    heads += [(f"≤ {amount(PACED_S, TIMES)} late", "share of the sends"), ("99 % of sends", "late by at most")]
    heads += [(f"> {amount(LATE_S, TIMES)} late", "")]
    return table(f"Load generators against {CEILING_OF}", heads, [Group("", rows)])


def _pacing(row: pd.Series | None) -> list[Cell]:
    if row is None:
        return [Cell("has no schedule", kind="muted"), *[Cell("–", kind="muted")] * 3]
    late = [Cell(amount(row["on_time_fraction"], PERCENT)), Cell(amount(row["late_p99_s"], TIMES))]
    return [Cell(amount(row["offered_rps"], RATES)), *late, Cell(amount(row["late_fraction"], PERCENT))]


def truth(results: Results) -> Fragment:
    """Return the table of known response times and those that each load generator measured; words where a run has none."""
    found = known_times(results.cells)
    if found.empty:
        return _ONE_ONLY
    rows = [
        [
            Cell(row["system"], kind="name"),
            Cell(row["generator"], "open loop" if row["open_loop"] else "closed loop", "words"),
            Cell(f"p{row['percentile']:g}"),
            Cell(amount(row["known_s"], TIMES)),
            *_measured(row["measured_s"], row["known_s"]),
        ]
        for row in found.sort_values(["system", "generator", "percentile"]).to_dict("records")
    ]
    heads = [("server", ""), ("load generator", ""), ("", ""), ("known", ""), ("measured", ""), ("off by", "")]
    return table("Response times that are known by calculation", heads, [Group("", rows)])


def _measured(measured_s: float, known_s: float) -> list[Cell]:
    if pd.isna(measured_s):
        return [Cell("not known", kind="muted"), Cell("–", kind="muted")]
    return [Cell(amount(measured_s, TIMES)), Cell(f"{measured_s / known_s - 1:+.1%}")]


def sentences(results: Results) -> list[str]:
    """Return sentences on what each load generator can drive, on its schedule, and on known response times."""
    found = [_driven(results), *_paced(results), _truth(results)]
    return [text for text in found if text]


def _driven(results: Results) -> str:
    rows = driven_cells(results.cells)
    if len(rows) < 2:
        return ""
    each = [f"{row['generator']} {amount(row['throughput_rps'], RATES)}" for row in rows.to_dict("records")]
    return f"Against {CEILING_OF} the load generators drive: {listing(each)}."


def _paced(results: Results) -> list[str]:
    return [
        f"At {amount(row['offered_rps'], RATES)}, {row['generator']} sends {amount(row['on_time_fraction'], PERCENT)} of the "
        f"requests at most {amount(PACED_S, TIMES)} late, and 99 % at most {amount(row['late_p99_s'], TIMES)}."
        for row in paced(results.cells, results.trials).to_dict("records")
    ]


def _truth(results: Results) -> str:
    found = known_times(results.cells).dropna()
    stalled = found[found["system"] == "calibration+stalled"]
    parts = []
    for (generator, open_loop), rows in stalled.groupby(["generator", "open_loop"]):
        worst = rows.loc[rows["off_ratio"].abs().idxmax()]
        loop = "open loop" if open_loop else "closed loop"
        parts.append(f"{generator} ({loop}) is off by at most {worst['off_ratio']:+.1%} (p{worst['percentile']:g})")
    return f"Against a server that stops for 100 ms every second, {listing(parts)}." if parts else ""
