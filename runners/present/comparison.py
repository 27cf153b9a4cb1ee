"""Comparison of two runs: its table, and its conclusions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from runners.analyse.run_comparison import BeforeAfter, Difference
from runners.core.records import CONTROL
from runners.core.units import RATES, RATIOS, amount, listing, plus_minus, quantity, quantity_parts, system_title
from runners.present.kit.frames import (
    RUNS_BAND,
    SMALLEST_BAND_RATIO,
    band_ratio,
    ordered,
    without_control,
    workload_title,
)
from runners.present.kit.markup import Cell, Fragment, Group, table
from runners.present.narrative import Headline, Narrative
from runners.present.throughput import tables
from runners.present.throughput.sentences import LIMIT

SMOKE = "At least one of both is a smoke run (profile quick): the comparison shows that everything works and is no evidence."


_VERDICTS = tables.VERDICTS | {"not ranked": ("– not ranked", "name")}
# Of the throughputs A and B, and of B ÷ A, by the bound of the ratio: where the load generator was the limit, as the runs' own reports say.
_AT_LEAST = {"": ("", ""), "at most": ("≥ ", ""), "at least": ("", "≥ "), "unknown": ("≥ ", "≥ ")}
_SIDES = {"": "", "at most": "≤ ", "at least": "≥ ", "unknown": ""}


def what_changed(differences: Sequence[Difference]) -> Fragment:
    """Everything that the records of both runs state differently; what should have been the same comes first."""
    groups = [
        Group(title, [[Cell(each.field), Cell(each.a, kind="long"), Cell(each.b, kind="long")] for each in rows])
        for title, rows in (
            ("Not measured alike", [each for each in differences if not each.allowed]),
            ("What was changed", [each for each in differences if each.allowed]),
        )
        if rows
    ]
    nothing = [Group("", [[Cell("nothing that the records hold"), Cell("–"), Cell("–")]])]
    return table("What differs between the two runs", [("fact", ""), ("A", ""), ("B", "")], groups or nothing)


def compared(found: BeforeAfter) -> Fragment:
    """Every cell that both runs have: rates, ratios and verdict."""
    heads = [
        ("system", ""),
        ("A", "requests/s, 95 % interval"),
        ("B", "requests/s, 95 % interval"),
        ("B ÷ A", "throughput, 95 % interval"),
        ("B is", "by this interval"),
        ("p99, B ÷ A", "service time, 95 % interval"),
        ("CPU, B ÷ A", "per request, 95 % interval"),
    ]
    groups = []
    for workload in ordered(found.cells["workload"]):
        rows = found.cells[found.cells["workload"] == workload].to_dict("records")
        groups.append(Group(workload_title(found.cells, workload), [_row(row) for row in rows]))
    return table("Throughput, service time and cost of both runs", heads, groups)


def _row(row: Mapping[str, object]) -> list[Cell]:
    verdict = _said(str(row["verdict"]))
    words, kind = _VERDICTS.get(verdict, (verdict, ""))
    muted, (limited_a, limited_b) = row["system"] == CONTROL, _AT_LEAST[str(row["bound"])]
    note = "A/A control" if muted else "server unchanged" if row["unchanged"] else ""
    return [
        Cell(str(row["system"]), note, "muted" if muted else ""),
        tables.estimate(row, "a_rps", RATES, limited_a),
        tables.estimate(row, "b_rps", RATES, limited_b),
        _ratio(row, "ratio", _SIDES[str(row["bound"])]),
        Cell(words, kind="muted name" if muted else kind),
        _ratio(row, "p99_ratio"),
        _ratio(row, "cpu_ratio"),
    ]


def _ratio(row: Mapping[str, object], name: str, side: str = "") -> Cell:
    value, low, high = (float(str(row[f"{name}{part}"])) for part in ("", "_low", "_high"))
    if pd.isna(value):
        return Cell("–", "not estimable", "muted")
    text, interval = quantity_parts(value, low, high, RATIOS)
    return Cell(side + text, interval)


def _said(verdict: str) -> str:
    """Return the word for a verdict: what cannot be compared is not ranked."""
    return "not ranked" if verdict == "not comparable" else verdict


def conclusions(found: BeforeAfter) -> Narrative:
    """All conclusions: each workload, what the cells share, what is missing, and what was not measured alike."""
    said = [_smoke(found)]
    for workload in ordered(found.cells["workload"]):
        said += [_workload(found, workload), _cost(found, workload)]
    said += [_common(found), _noise(found), _unmatched(found), _changed(found), _unlike(found)]
    return Narrative(sentence for sentence in said if sentence)


def abstract(found: BeforeAfter) -> Narrative:
    """The sentences that matter most."""
    said = [_smoke(found), str(headline(found)), _common(found), _unlike(found)]
    return Narrative(sentence for sentence in said if sentence)


def headline(found: BeforeAfter) -> Headline:
    """The clearest change, or that there is none."""
    rows = without_control(found.cells)
    decided = rows[rows["verdict"].isin(["faster", "slower"])]
    if found.same_run:
        return Headline("Both are the same run: nothing can differ.")
    if decided.empty:
        verdicts = [f"{_count(rows, verdict)} {_said(verdict)}" for verdict in ordered(rows["verdict"].sort_values())]
        return Headline(f"No cell became faster or slower: {listing(verdicts)}.")
    least = pd.concat([decided["ratio_low"], 1 / decided["ratio_high"]], axis=1).max(axis=1)
    row = decided.iloc[int(least.to_numpy().argmax())]
    ratio = quantity(row["ratio"], row["ratio_low"], row["ratio_high"], RATIOS)
    return Headline(
        f"{_count(rows, 'faster')} of {len(rows)} cells became faster and {_count(rows, 'slower')} slower; "
        f"the clearest is {row['system']} on {workload_title(found.cells, row['workload'])}: {ratio} of run A's throughput."
    )


def _count(rows: pd.DataFrame, verdict: str) -> int:
    return int((rows["verdict"] == verdict).sum())


def _smoke(found: BeforeAfter) -> str:
    return SMOKE if "quick" in (found.a.profile, found.b.profile) else ""


def _workload(found: BeforeAfter, workload: str) -> str:
    """All cells of one workload: ratios and verdicts."""
    rows = without_control(found.cells[found.cells["workload"] == workload]).to_dict("records")
    parts = [
        f"{row['system']} {quantity(row['ratio'], row['ratio_low'], row['ratio_high'], RATIOS)}, "
        + (f"not ranked: {LIMIT}" if row["verdict"] == "not comparable" else row["verdict"])
        for row in rows
    ]
    if not parts:
        return ""
    text = f"{workload_title(found.cells, workload)}, throughput of B to A: {'; '.join(parts)}."
    return f"{text} The noise band of {RUNS_BAND} is {plus_minus(band_ratio(found.noise_floor_ratio, workload))}."


def _cost(found: BeforeAfter, workload: str) -> str:
    """Return the sentence about the tail and the cost where the throughput changed."""
    rows = without_control(found.cells[found.cells["workload"] == workload])
    parts = [
        f"of {row['system']} the 99th percentile of the service time is {amount(row['p99_ratio'], RATIOS)} and "
        f"the CPU time per request {amount(row['cpu_ratio'], RATIOS)} what it was"
        for row in rows[rows["verdict"].isin(["faster", "slower"])].to_dict("records")
    ]
    return f"{workload_title(found.cells, workload)}: {'; '.join(parts)}." if parts else ""


def _common(found: BeforeAfter) -> str:
    """Return the sentence about the common factor of all cells, which tells the machine from the change."""
    common = found.common
    if not common.cells_count or found.same_run:
        return ""
    count = f"{common.cells_count} cell{'' if common.cells_count == 1 else 's'}"
    low, high = amount(common.low, RATIOS), amount(common.high, RATIOS)
    mean = f"the geometric mean {amount(common.value, RATIOS)} (single cells: {low} to {high})"
    if common.unchanged:
        moved = not 1 / SMALLEST_BAND_RATIO <= common.value <= SMALLEST_BAND_RATIO
        machine = "no server's change made that but the machine, between the runs, and it is part of every ratio"
        quiet = "the machine itself hardly differed between the runs"
        text = f"The ratios of the {count} whose server is the same in both runs have {mean}"
        return f"{text}: {machine if moved else quiet}."
    text = f"No server is known to be the same in both runs; the ratios of all {count} have {mean}."
    if common.cells_count > 1 and (common.low > SMALLEST_BAND_RATIO or common.high < 1 / SMALLEST_BAND_RATIO):
        text += " All moved in one direction, which a faster or slower machine explains as well as the change."
    return f"{text} To tell the change from what the machine did, measure a server that was not changed, too."


def _noise(found: BeforeAfter) -> str:
    parts = [
        f"{plus_minus(band_ratio(found.noise_floor_ratio, workload))} ({workload_title(found.cells, workload)})"
        for workload in ordered(found.cells["workload"])
        if workload in found.noise_floor_ratio
    ]
    return (
        f"The noise band of {RUNS_BAND}, within which nothing is called a difference: {listing(parts)}."
        if parts
        else ""
    )


def _unmatched(found: BeforeAfter) -> str:
    return f"Not compared: {'; '.join(found.unmatched)}." if found.unmatched else ""


def _changed(found: BeforeAfter) -> str:
    names = [each.field for each in found.differences if each.allowed]
    return f"The records name as changed: {listing(names)}." if names else ""


def _unlike(found: BeforeAfter) -> str:
    parts = [f"{each.field} ({each.a} in A, {each.b} in B)" for each in found.differences if not each.allowed]
    return (
        f"The runs were not measured alike, and any difference may come from that: {'; '.join(parts)}." if parts else ""
    )


def comparison_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """Return the cells of a comparison's ``summary.json`` as the rows of a table for a terminal; the first names the columns."""
    lines = [["workload", "system", "A", "B", "B ÷ A", "B is"]]
    for cell in summary["cells"]:
        rates = (
            limited + amount(cell[f"throughput_{side}_rps"]["value"], RATES)
            for side, limited in zip("ab", _AT_LEAST[cell["bound"]], strict=True)
        )
        value, low, high = (math.nan if part is None else part for part in cell["ratio"].values())
        ratio = _SIDES[cell["bound"]] + quantity(value, low, high, RATIOS)
        verdict = (
            f"(A/A control: {cell['server']} launched twice)" if cell["system"] == CONTROL else _said(cell["verdict"])
        )
        lines.append([cell["workload"], system_title(cell["system"]), *rates, ratio, verdict])
    return lines
