"""The table of all published claims, one fold for each source, with boxes that hide verdicts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from runners.analyse.judgements import VERDICTS
from runners.present.frames import ordered
from runners.present.markup import Cell, Fragment, Group, filtered, folded, joined, row_kind, table
from runners.present.verdicts import WORDS, Findings
from runners.present.wording import RATES, RATIOS, TIMES, amount, quantity
from runners.units import format_size

_KINDS = {"reproduced": "good", "direction only": "half", "refuted": "bad", "inconclusive": "warn"}
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
_HEADS = [
    ("no.", ""),
    ("what is published", ""),
    ("as a hypothesis", ""),
    ("published", ""),
    ("here", "95 % interval"),
    ("verdict", ""),
]


def claims(findings: Findings) -> Fragment:
    """Every claim: its source and words, what it means for our cells, the published value, ours, and the verdict with its reason."""
    parts = []
    for source in ordered(findings.claims["source"]):
        rows = findings.claims[findings.claims["source"] == source]
        found = rows["verdict"].value_counts()
        summary = ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found.get(verdict))
        groups = [
            Group(
                _group(experiment, part),
                [_row(number + 1, row) for number, row in zip(part.index, part.to_dict("records"), strict=True)],
            )
            for experiment, part in rows.groupby("experiment", sort=False)
        ]
        title = f"{source}: {len(rows)} claims ({summary})"
        parts.append(folded(title, table(findings.titles.get(source, source), _HEADS, groups)))
    return filtered("Show:", [WORDS[verdict] for verdict in VERDICTS], joined(*parts))


def _group(experiment: str, rows: pd.DataFrame) -> str:
    run_id, profile = rows["run_id"].iloc[0], rows["profile"].iloc[0]
    return f"{experiment}, run {run_id} ({profile})" if run_id else f"{experiment}, no run"


def _row(number: int, row: Mapping[str, Any]) -> list[Cell]:
    verdict = str(row["verdict"])
    smoke = "smoke run, no evidence; " if row["profile"] == "quick" and verdict != "not testable" else ""
    return [
        Cell(str(number), kind=row_kind(VERDICTS.index(row["verdict"]))),
        Cell(f"“{row['quote']}”", str(row["place"]), "words"),
        Cell(statement(row), str(row["note"]), "words"),
        Cell(_published(row), kind="published amounts"),
        _ours(row),
        Cell(WORDS[verdict], f"{smoke}{row['why']}", _KINDS.get(verdict, "") + " words"),
    ]


def statement(row: Mapping[str, Any]) -> str:
    """What a claim says of our cells, for example ``p99: a < b at decode-1``."""
    if not row["cells"]:
        return "–"
    metric = metric_words(str(row["metric"]))
    if len(row["cells"]) == 1:
        return f"{metric}: {' at '.join(row['cells'][0])}"
    systems, workloads = ([cell[part] for cell in row["cells"]] for part in (0, 1))
    same = {"system": len(set(systems)) == 1, "workload": len(set(workloads)) == 1}
    names = workloads if same["system"] else systems if same["workload"] else [f"{s} at {w}" for s, w in row["cells"]]
    between = " ÷ " if row["kind"] == "ratio" else " < "
    if row["kind"] == "word" and pd.notna(row["within_ratio"]):
        between = " ≈ "
    where = f" of {systems[0]}" if same["system"] else f" at {workloads[0]}" if same["workload"] else ""
    return f"{metric}: {between.join(names)}{where}{_size(row)}"


def metric_words(metric: str) -> str:
    """A metric's name as people say it: ``p99_9_s`` is "p99.9"."""
    found = re.fullmatch(r"p(\d+(?:_\d+)?)_s", metric)
    return f"p{found[1].replace('_', '.')}" if found else _METRICS.get(metric, metric)


def _size(row: Mapping[str, Any]) -> str:
    if pd.notna(row["within_ratio"]):
        return f", within a factor of {row['within_ratio']:g}"
    parts = [
        f"{words} {row[name]:g} times"
        for name, words in (("at_least_ratio", "at least"), ("at_most_ratio", "at most"))
        if pd.notna(row[name])
    ]
    return f", {' and '.join(parts)}" if parts else ""


def _published(row: Mapping[str, Any]) -> str:
    if row["kind"] == "order" and any(not math.isnan(value) for value in row["published_amounts"]):
        return _amounts(row, row["published_amounts"])
    if math.isnan(row["published"]):
        return "in words"
    return _amount(row, row["published"])


def _ours(row: Mapping[str, Any]) -> Cell:
    if row["kind"] == "order" and any(not math.isnan(value) for value in row["amounts"]):
        return Cell(_amounts(row, row["amounts"]), kind="amounts")
    value, low, high = row["ours"], row["ours_low"], row["ours_high"]
    if math.isnan(value):
        return Cell("–")
    if row["kind"] == "absolute":
        return Cell(_amount(row, value))
    text, _, interval = quantity(value, low, high, RATIOS).removesuffix(")").partition(" (")
    return Cell(text, interval)


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
