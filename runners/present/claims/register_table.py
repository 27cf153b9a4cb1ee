"""The tables of published claims: statements by source, what differs where one is not reproduced, restatements, and absolutes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from runners.analyse.claims.judgements import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED, SIZE_OFF, UNDECIDED, VERDICTS
from runners.analyse.claims.review import ReviewedClaims
from runners.core.units import RATES, RATIOS, TIMES, amount, format_size, quantity_parts
from runners.present.claims.tables import statements
from runners.present.kit.frames import ordered
from runners.present.kit.markup import Fragment, Group, TableCell, filtered, folded, joined, row_kind, table

_KINDS: dict[str, str] = {REPRODUCED: "good", SIZE_OFF: "half", NOT_REPRODUCED: "bad", UNDECIDED: "warn"}
_METRICS = {
    "throughput_rps": "throughput",
    "capacity_rps": "capacity",
    "mean_s": "mean service time",
    "stddev_s": "standard deviation of the service time",
    "max_s": "longest service time",
    "tm99_s": "trimmed mean (tm99) of the service time",
    "cpu_per_request_s": "CPU time per request",
    "rss_peak_bytes": "peak memory",
    "threads_count": "threads",
    "errors_count": "errors",
    "build_s": "build time",
}
_HEADS = [("no.", ""), ("what is published", ""), ("as a hypothesis", ""), ("published", ""), ("here", "95 % interval")]
_ORDERS = ("order", "least", "most")
_BETWEEN = {"ratio": " ÷ ", "order": " < ", "word": " < ", "least": " < ", "most": " > "}


def claims(reviewed: ReviewedClaims) -> Fragment:
    """Every counted statement: its words, what it means for our cells, the published and the measured value, the verdict and its reason."""
    parts = []
    known = statements(reviewed)
    for source in ordered(known["source"]):
        rows = known[known["source"] == source]
        groups = [
            Group(_group(experiment, part), [[*_row(number, row), _verdict(row)] for number, row in _numbered(part)])
            for experiment, part in rows.groupby("experiment", sort=False)
        ]
        heads = [*_HEADS, ("verdict", "after Holm's correction")]
        parts.append(
            folded(f"{source}: {len(rows)} statements", table(reviewed.titles.get(source, source), heads, groups))
        )
    return filtered("Show:", VERDICTS, joined(*parts))


def not_reproduced(reviewed: ReviewedClaims) -> Fragment:
    """Return a table of the differences from the published measurement, for each statement that is not reproduced here."""
    rows = reviewed.claims[reviewed.claims["verdict"] == NOT_REPRODUCED]
    heads = [
        *_HEADS[:1],
        *_HEADS[2:],
        ("CPU", "published; here"),
        ("versions", "published; here"),
        ("known flaws", "of the published set-up"),
    ]
    lines = [
        [*_row(number, row)[:1], *_row(number, row)[2:], _both(row, "cpu"), _both(row, "versions"),
         TableCell(str(row["flaws"]) or "none that touches its cells", kind="words")]
        for number, row in _numbered(rows)
    ] or [[TableCell("none"), *[TableCell("–")] * (len(heads) - 1)]]  # fmt: skip
    return table("What differs where a statement is not reproduced here", heads, [Group("", lines)])


def restatements(reviewed: ReviewedClaims) -> Fragment:
    """The claims that follow from statements, and from which."""
    numbers = {name: str(number) for number, name in enumerate(reviewed.claims["id"], start=1)}
    rows = reviewed.claims[reviewed.claims["standing"] == "restatement"]
    lines = [
        [*_row(number, row), TableCell(", ".join(numbers[name] for name in row["follows"]))]
        for number, row in _numbered(rows)
    ]
    heads = [*_HEADS, ("follows from", "no.")]
    return folded(f"{len(rows)} restatements, not counted", table("Restatements", heads, [Group("", lines)]))


def absolutes(reviewed: ReviewedClaims) -> Fragment:
    """The absolute numbers of other machines beside those measured here."""
    rows = reviewed.claims[reviewed.claims["standing"] == "absolute"]
    lines = [[*_row(number, row), TableCell(str(row["why"]), kind="words")] for number, row in _numbered(rows)]
    heads = [*_HEADS, ("remarks", "")]
    return folded(f"{len(rows)} absolute numbers, not judged", table("Absolute numbers", heads, [Group("", lines)]))


def _numbered(rows: pd.DataFrame) -> list[tuple[int, Mapping[str, Any]]]:
    """The rows with their numbers in the register, from 1."""
    return [(place + 1, row) for place, row in zip(rows.index, rows.to_dict("records"), strict=True)]


def _both(row: Mapping[str, Any], name: str) -> TableCell:
    return TableCell(str(row[f"published_{name}"]), f"here: {row[name]}", "words")


def _group(experiment: str, rows: pd.DataFrame) -> str:
    run_id, profile = rows["run_id"].iloc[0], rows["profile"].iloc[0]
    return f"{experiment}, run {run_id} ({profile})" if run_id else f"{experiment}, no run"


def _row(number: int, row: Mapping[str, Any]) -> list[TableCell]:
    kind = row_kind(VERDICTS.index(row["verdict"])) if row["verdict"] else ""
    return [
        TableCell(str(number), kind=kind),
        TableCell(f"“{row['quote']}”", str(row["place"]), "words"),
        TableCell(statement(row), str(row["note"]), "words"),
        TableCell(_published(row), kind="published amounts"),
        _measured_cell(row),
    ]


def _verdict(row: Mapping[str, Any]) -> TableCell:
    verdict = str(row["verdict"])
    smoke = "smoke run, no evidence; " if row["profile"] == "quick" and verdict != NOT_TESTABLE else ""
    return TableCell(verdict, f"{smoke}{row['why']}", _KINDS.get(verdict, "") + " words")


def statement(row: Mapping[str, Any]) -> str:
    """Return a claim as a statement about cells, for example ``p99: a < b at decode-1``."""
    return f"{metric_words(str(row['metric']))}: {compared(row)}" if row["cells"] else "–"


def compared(row: Mapping[str, Any]) -> str:
    """Return the cells of a claim, and how it compares them, for example ``a < b at decode-1``."""
    if len(row["cells"]) == 1:
        return " at ".join(row["cells"][0])
    systems, workloads = ([cell[part] for cell in row["cells"]] for part in (0, 1))
    same = {"system": len(set(systems)) == 1, "workload": len(set(workloads)) == 1}
    names = workloads if same["system"] else systems if same["workload"] else [f"{s} at {w}" for s, w in row["cells"]]
    where = f" of {systems[0]}" if same["system"] else f" at {workloads[0]}" if same["workload"] else ""
    if pd.notna(row["within_ratio"]):
        return f"{' ≈ '.join(names)}{where}, within a factor of {row['within_ratio']:g}"
    between = _BETWEEN[row["kind"]]
    said = f"{names[0]}{between}{', '.join(names[1:])}" if row["kind"] in ("least", "most") else between.join(names)
    return f"{said}{where}"


def metric_words(metric: str) -> str:
    """A metric's name as people say it: ``p99_9_s`` is "p99.9"."""
    found = re.fullmatch(r"p(\d+(?:_\d+)?)_s", metric)
    return f"p{found[1].replace('_', '.')}" if found else _METRICS.get(metric, metric)


def _published(row: Mapping[str, Any]) -> str:
    if row["kind"] in _ORDERS and any(not math.isnan(value) for value in row["published_amounts"]):
        return _amounts(row, row["published_amounts"])
    if math.isnan(row["published"]):
        return "in words"
    return _amount(row, row["published"])


def _measured_cell(row: Mapping[str, Any]) -> TableCell:
    if row["kind"] in _ORDERS and any(not math.isnan(value) for value in row["amounts"]):
        return TableCell(_amounts(row, row["amounts"]), kind="amounts")
    value, low, high = row["measured"], row["measured_low"], row["measured_high"]
    if math.isnan(value):
        return TableCell("–")
    if row["kind"] == "absolute":
        return TableCell(_amount(row, value))
    text, interval = quantity_parts(value, low, high, RATIOS)
    return TableCell(text, interval)


def _amounts(row: Mapping[str, Any], amounts: Sequence[float]) -> str:
    # A number and its unit stay together where the line breaks.
    return " · ".join(_of(str(row["metric"]), value).replace(" ", "\N{NO-BREAK SPACE}") for value in amounts)


def _amount(row: Mapping[str, Any], value: float) -> str:
    return _of(str(row["metric"]), value) if row["kind"] == "absolute" else amount(value, RATIOS)


def _of(metric: str, value: float) -> str:
    if math.isnan(value):
        return "–"
    if metric.endswith("_rps"):
        return amount(value, RATES)
    if metric.endswith("_bytes"):
        return format_size(value)
    return amount(value, TIMES) if metric.endswith("_s") else f"{value:g}"
