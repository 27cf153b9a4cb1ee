"""The report of two compared runs: what changed, beyond the noise, and what the machine may have done."""

from __future__ import annotations

import pandas as pd

from runners.analyse.run_comparison import BeforeAfter
from runners.core.units import RATIOS, amount, format_half_width, percent_more, shortlist, times
from runners.present import comparison
from runners.present.kit.frames import SMALLEST_BAND_RATIO, without_control, workload_title
from runners.present.kit.markup import Fragment
from runners.present.kit.theme import Chart
from runners.present.throughput import charts

_NEAR = 1.05


def answer(found: BeforeAfter) -> str:
    """Return how many cells became faster or slower, and the clearest change."""
    rows = without_control(found.cells)
    if found.same_run:
        return "Both are the same run: nothing can differ."
    decided = rows[rows["verdict"].isin(["faster", "slower"])]
    if decided.empty:
        return f"None of the {len(rows)} cells became faster or slower beyond the noise of both runs."
    least = pd.concat([decided["ratio_low"], 1 / decided["ratio_high"]], axis=1).max(axis=1)
    row = decided.iloc[int(least.to_numpy().argmax())]
    faster, slower = (int((rows["verdict"] == verdict).sum()) for verdict in ("faster", "slower"))
    counts = f"Of {len(rows)} cells {faster} became faster and {slower} slower"
    return f"{counts}; clearest: {row['system']} on {workload_title(found.cells, row['workload'])}, {_change(row)}."


def _change(row: pd.Series) -> str:
    value, low, high = (float(row[name]) for name in ("ratio", "ratio_low", "ratio_high"))
    slower = value < 1
    ends = (1 / value, 1 / high, 1 / low) if slower else (value, low, high)
    text, interval = percent_more(*ends) if ends[0] < _NEAR else times(*ends)
    return f"{text} {'slower' if slower else 'faster'}{f' ({interval})' if interval else ''}"


def decision_table(found: BeforeAfter) -> Fragment:
    """Return the table of all cells of both runs."""
    return comparison.compared(found)


def message(found: BeforeAfter) -> str:
    """Return what the main chart shows."""
    return f"Throughput of {len(without_control(found.cells))} cells in run B, compared with run A"


def main_chart(found: BeforeAfter) -> Chart:
    """Return the chart of the ratios B to A."""
    return charts.ratios(found.comparisons, found.cells, found.noise_floor_ratio, paired=False)


def how_sure(found: BeforeAfter) -> list[str]:
    """Return sentences about the intervals, the noise of both runs, and n."""
    floors = [ratio - 1 for ratio in found.noise_floor_ratio.values()]
    band = max([SMALLEST_BAND_RATIO - 1, *floors])
    noise = (
        f"The noise band of both runs is {format_half_width(band)} or less."
        if floors
        else "The noise of both runs is unknown."
    )
    return [
        "Intervals are 95 % over the launches of both runs, which share no block; they hold no change of the machine between the runs.",
        noise,
        f"n: {found.a.blocks_count} blocks in run A, {found.b.blocks_count} in run B.",
    ]


def shared(found: BeforeAfter) -> list[str]:
    """Return the sentence about the common factor of all cells, which tells the machine from the change."""
    common = found.common
    if not common.cells_count or found.same_run:
        return []
    if not common.unchanged:
        return ["No server is known to be the same in both runs: measure one that was not changed, too."]
    moved = not 1 / SMALLEST_BAND_RATIO <= common.value <= SMALLEST_BAND_RATIO
    value = amount(max(common.value, 1 / common.value), RATIOS)
    way = "faster" if common.value > 1 else "slower"
    if moved:
        return [f"Unchanged servers became {value} {way}: the machine changed between the runs, in every ratio."]
    return [f"Unchanged servers hardly differ ({value}, {common.cells_count} cells): the machine stayed the same."]


def cost(found: BeforeAfter) -> list[str]:
    """Return the sentence about the CPU time per request of the cells that changed."""
    rows = without_control(found.cells)
    rows = rows[rows["verdict"].isin(["faster", "slower"]) & rows["cpu_ratio"].notna()]
    if rows.empty:
        return []
    more, less = int((rows["cpu_ratio"] > 1).sum()), int((rows["cpu_ratio"] < 1).sum())
    return [f"Of the cells that changed, {less} need less CPU time per request and {more} more."]


def limits_of_runs(found: BeforeAfter) -> list[str]:
    """Return what the comparison does not say, the most important first."""
    unlike = [each.field for each in found.differences if not each.allowed]
    changed = [each.field for each in found.differences if each.allowed]
    return [
        *(
            [f"The runs were not measured alike, any difference may come from that: {shortlist(unlike)}."]
            if unlike
            else []
        ),
        *([f"Not compared: {len(found.unmatched)} cells have a number in one run only."] if found.unmatched else []),
        "Between two runs no pairing cancels what the machine did: another load, temperature or restart is in every ratio.",
        "A server with the same build may still feel a changed one that shares its machine.",
        *([f"The records name {len(changed)} changes: {shortlist(changed)}."] if changed else []),
    ]


def conclusions(found: BeforeAfter) -> list[str]:
    """Return the sentences of all further questions."""
    return [*shared(found), *cost(found)]
