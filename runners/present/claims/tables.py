"""Published claims in tables: which runs decide, verdicts by source, ranks compared, and the flaws of the set-ups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from runners.analyse.claims.judgements import VERDICTS
from runners.analyse.claims.review import ReviewedClaims
from runners.analyse.claims.run_selection import SelectedRun
from runners.core.units import RATIOS, amount, quantity_parts
from runners.present.kit.frames import ordered
from runners.present.kit.markup import Fragment, Group, TableCell, joined, table


def selected_runs(found: Sequence[SelectedRun]) -> Fragment:
    """The run that decides about the claims of each experiment: its date, profile and machine."""
    heads = [
        ("experiment", ""),
        ("run", ""),
        ("date", "UTC"),
        ("profile", ""),
        ("blocks", ""),
        ("sessions", ""),
        ("machine", ""),
        ("remarks", ""),
    ]
    return table("The runs that decide", heads, [Group("", [_deciding(each) for each in found])])


def _deciding(each: SelectedRun) -> list[TableCell]:
    if each.results is None:
        return [
            TableCell(each.experiment),
            TableCell("none", kind="bad"),
            *[TableCell("–")] * 5,
            TableCell(each.why, kind="words"),
        ]
    results = each.results
    smoke = "a smoke run: no evidence" if each.is_smoke else ""
    return [
        TableCell(each.experiment),
        TableCell(each.run_id, kind="name"),
        TableCell(results.manifest.started_at[:16].replace("T", " "), kind="name"),
        TableCell(results.profile, kind="warn" if each.is_smoke else "name"),
        TableCell(str(results.blocks_count)),
        TableCell(str(len(results.others) + 1)),
        TableCell(str(results.machine.get("cpu", "–")), kind="words"),
        TableCell("; ".join(filter(None, [smoke, f"passed over: {each.why}" if each.why else ""])), kind="words"),
    ]


def plan(found: Sequence[SelectedRun], measuring: Sequence[Fragment]) -> Fragment:
    """Return the selected runs and the plan of what is measured besides."""
    return joined(selected_runs(found), *measuring)


def counts(reviewed: ReviewedClaims) -> Fragment:
    """Return the table of statements by source and verdict, with the claims that are not counted."""
    claims = reviewed.claims
    heads = [
        ("source", ""),
        *((verdict, "") for verdict in VERDICTS),
        ("all", "statements"),
        ("restatements", "not counted"),
    ]
    heads += [("absolutes", "not counted")]
    lines = []
    for source in [*ordered(claims["source"]), ""]:
        rows = claims[claims["source"] == source] if source else claims
        numbers = [int((rows["verdict"] == verdict).sum()) for verdict in VERDICTS]
        numbers += [int((rows["standing"] == standing).sum()) for standing in ("statement", "restatement", "absolute")]
        name = TableCell(source, reviewed.titles.get(source, "")) if source else TableCell("all sources")
        lines.append([name, *(TableCell(str(number) if number else "–") for number in numbers)])
    return table("Verdicts by source", heads, [Group("", lines)])


def rank_agreement(reviewed: ReviewedClaims) -> Fragment:
    """Kendall's tau between published and measured ranks."""
    heads = [("experiment", ""), ("by", ""), ("tau", "1: the same order"), ("p", "not corrected"), ("cells", "of both")]
    lines = [
        [
            TableCell(row["experiment"]),
            TableCell(row["metric"].rpartition("_")[0], kind="name"),
            TableCell(tau(row["tau"])),
            TableCell(f"{row['p_value']:.2g}"),
            TableCell(str(row["cells_count"])),
        ]
        for row in reviewed.rank_agreement.to_dict("records")
    ] or [[TableCell("no experiment has two published cells and a run"), *[TableCell("–")] * 4]]
    return table("Ranks compared: Kendall's tau between published and measured ranks", heads, [Group("", lines)])


def flaws(reviewed: ReviewedClaims) -> Fragment:
    """Every known flaw of the published set-ups with what it changes, and the published ratios with and without them."""
    heads = [
        ("flaw", ""),
        ("what it is", ""),
        ("effect", "throughput, with ÷ without it"),
        ("so it is", "exploratory"),
    ]
    heads += [("how it was seen", "")]
    groups = [
        Group(str(source), [_flaw(row) for row in rows.to_dict("records")])
        for source, rows in reviewed.effects.groupby("source", sort=False)
    ]
    first = table("Known flaws of the published set-ups", heads, groups)
    if reviewed.explained.empty:
        return first
    heads = [
        ("first ÷ second", "throughput"),
        ("workload", ""),
        ("published", "another machine"),
        ("equal work", "here, 95 % interval"),
    ]
    heads += [("with the flaws", "here, 95 % interval")]
    lines = [
        [
            TableCell(f"{row['first']} ÷ {row['second']}"),
            TableCell(row["workload"], kind="name"),
            TableCell(amount(row["published"], RATIOS)),
            ratio_cell(row, "equal"),
            ratio_cell(row, "flawed"),
        ]
        for row in reviewed.explained.to_dict("records")
    ]
    return joined(
        first, table("Published ratios, on equal work and with the published flaws", heads, [Group("", lines)])
    )


def _flaw(row: Mapping[str, Any]) -> list[TableCell]:
    kinds = {"faster": "half", "slower": "half", "undecided": "warn"}
    measured = not math.isnan(row["ratio"])
    how = f"{row['having']} ÷ {row['without']}" if row["having"] else "not measured"
    return [
        TableCell(row["title"]),
        TableCell(str(row["what"]), kind="words"),
        ratio_cell(row, "ratio"),
        TableCell(row["verdict"] if measured else "–", kind=kinds.get(row["verdict"], "name") if measured else "name"),
        TableCell(how, row["why"], "words"),
    ]


def ratio_cell(row: Mapping[str, Any], name: str) -> TableCell:
    """A ratio with its interval under it, from the columns ``name``, ``name_low`` and ``name_high``."""
    if math.isnan(row[name]):
        return TableCell("–")
    return TableCell(*quantity_parts(row[name], row[f"{name}_low"], row[f"{name}_high"], RATIOS))


def tau(value: float) -> str:
    """Kendall's tau as text."""
    return "–" if math.isnan(value) else f"{value:.2f}"


def statements(reviewed: ReviewedClaims) -> pd.DataFrame:
    """The claims that are counted: independent ones that have a verdict, also where it is that nothing here can test them."""
    return reviewed.claims[reviewed.claims["standing"] == "statement"]
