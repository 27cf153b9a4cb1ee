"""The HTML reports of ``data/processed``, the history of each experiment, and the index over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from runners.analyse.standings import answer, ratios_to_leader, standings
from runners.core.project import COMPARING, PROCESSED
from runners.core.summaries import ComparisonSummary, RunSummary
from runners.core.units import RATIOS, amount, format_duration, system_title
from runners.present.html import write_figures, write_report
from runners.present.overview import HistoryRun, IndexEntry, write_history, write_index
from runners.store.ledger import REFERENCE
from runners.store.runs import read_comparison, read_summary

HISTORY = "history.html"
_ACRONYMS = {"json", "sql", "tcp", "cpu"}
_OWN_FILES = {"notebook": "notebook.ipynb", "summary.json": "summary.json"}


def write_run_report(folder: Path, summary: RunSummary) -> Path:
    """Write ``report.html`` of one processed run, and its charts into ``figures/``, from its executed notebook."""
    write_figures(folder / "notebook.ipynb", folder / "figures")
    facts = {
        "run": summary["run_id"],
        "date": summary["started_at"][:16].replace("T", " ") + " UTC",
        "profile": summary["profile"],
        "measured": _measured(summary),
        "machine": f"{summary['machine']['cpu']}, {summary['machine']['cpus_count']} CPUs",
        "kernel": summary["machine"]["kernel"],
    }
    around = {"all experiments": "../../index.html", "all runs": f"../{HISTORY}"} | _OWN_FILES
    # A clone holds no page over all runs, and no executed notebook.
    links = {"summary.json": "summary.json"} if summary["run_id"] == REFERENCE else around
    return write_report(
        folder / "notebook.ipynb",
        folder / "report.html",
        title=_title(summary["experiment"]),
        facts=facts,
        links=links,
    )


def _measured(summary: RunSummary) -> str:
    """Return how much was measured: in the run itself, and in how many other sessions that its numbers are of, too."""
    own = f"{summary['blocks_count']} blocks, {format_duration(summary['measured_s'])}"
    known: Mapping[str, Any] = summary  # that of 08 has capacities, too
    rows = [*summary["cells"], *summary["comparisons"], *known.get("capacities", [])]
    others = max((row["sessions_count"] for row in rows), default=1) - 1
    return f"{own}, and {others} more session{'s' if others > 1 else ''}" if others > 0 else own


def write_comparison_report(folder: Path, summary: ComparisonSummary) -> Path:
    """Write ``report.html`` of two compared runs from its executed notebook."""
    dates = [started_at[:16].replace("T", " ") for started_at in (summary["started_at_a"], summary["started_at_b"])]
    facts = {
        "A, before": f"{summary['run_a']}, {dates[0]} UTC, profile {summary['profile_a']}",
        "B, after": f"{summary['run_b']}, {dates[1]} UTC, profile {summary['profile_b']}",
        "machine": f"{summary['machine_b']['cpu']}",
    }
    sides = {"run A": summary["run_a"], "run B": summary["run_b"]}
    reports = {name: f"../../../{summary['experiment']}/{run_id}/report.html" for name, run_id in sides.items()}
    there = {name: target for name, target in reports.items() if (folder / target).exists()}
    own = {"all experiments": "../../../index.html"} | _OWN_FILES
    return write_report(
        folder / "notebook.ipynb",
        folder / "report.html",
        title=f"{_title(summary['experiment'])}: two runs compared",
        headline=summary["headline"],
        facts=facts,
        links=own | there,
    )


def refresh_index(base: Path = PROCESSED) -> Path:
    """Write ``index.html`` over all processed runs and comparisons, and the history of each experiment beside its runs."""
    known: dict[str, list[tuple[Path, RunSummary]]] = {}
    for folder in sorted(path.parent for path in base.glob("*/*/report.html")):
        if summary := read_summary(folder):
            known.setdefault(summary["experiment"], []).append((folder, summary))
    entries = []
    for experiment, found in known.items():
        found.sort(key=lambda each: (each[1]["started_at"], each[1]["run_id"]))
        history = base / experiment / HISTORY
        title = f"{_title(experiment)}: all runs"
        write_history([_history_run(folder, summary) for folder, summary in found], history, title=title)
        entries.append(_entry(base, found))
    return write_index(entries, base / "index.html", _comparisons(base))


def _entry(base: Path, found: Sequence[tuple[Path, RunSummary]]) -> IndexEntry:
    """Return the row of an experiment; `found` are its runs, oldest first."""
    folder, summary = found[-1]
    count = len(found)
    links = {
        f"{count} run{'' if count == 1 else 's'}": folder.parent / HISTORY,
        "summary.json": folder / "summary.json",
    }
    leads, text = _leads([each for _, each in found])
    return IndexEntry(
        experiment=summary["experiment"],
        title=_title(summary["experiment"]),
        run_id=summary["run_id"],
        date=summary["started_at"],
        profile=summary["profile"],
        machine=summary["machine"]["cpu"],
        headline=answer(summary),
        report=str((folder / "report.html").relative_to(base)),
        links=_existing(base, links | {"notebook": folder / "notebook.ipynb"}),
        leads=leads,
        lead_text=text,
        runs_count=count,
    )


def _leads(summaries: Sequence[RunSummary]) -> tuple[list[float], str]:
    """Return the lead of each run, oldest first, in the workload that most runs share, and what the newest lead is."""
    by_run = [
        {each.workload: each for each in standings(summary, own=True) if each.bound != "unknown"}
        for summary in summaries
    ]
    if not by_run[-1]:
        return [], ""
    runs_count = {workload: sum(workload in found for found in by_run) for workload in by_run[-1]}
    newest = max(by_run[-1].values(), key=lambda each: (runs_count[each.workload], each.lead.value))
    leads = [found[newest.workload].lead.value for found in by_run if newest.workload in found]
    least = "≥ " if newest.bound == "at least" else ""
    following = system_title(newest.following)
    return leads, f"{newest.workload}: {newest.leader} {least}{amount(newest.lead.value, RATIOS)} {following}"


def _history_run(folder: Path, summary: RunSummary) -> HistoryRun:
    return HistoryRun(
        run_id=summary["run_id"],
        date=summary["started_at"],
        profile=summary["profile"],
        machine=summary["machine"]["cpu"],
        answer=answer(summary),
        ratios=ratios_to_leader(summary, own=True),
        systems=pd.DataFrame(summary["cells"], columns=["system", "server", "codec"]).drop_duplicates(),
        report=f"{folder.name}/report.html",
    )


def _comparisons(base: Path) -> list[IndexEntry]:
    entries = []
    for folder in sorted(path.parent for path in (base / COMPARING).glob("*/*/report.html")):
        summary = read_comparison(folder)
        if summary is not None:
            links = {name: folder / file for name, file in _OWN_FILES.items()}
            entries.append(
                IndexEntry(
                    experiment=COMPARING,
                    title="Two runs compared",
                    run_id=f"{summary['experiment']}: {summary['run_a']} → {summary['run_b']}",
                    date=max(summary["started_at_a"], summary["started_at_b"]),
                    profile=summary["profile_b"],
                    machine=summary["machine_b"]["cpu"],
                    headline=summary["headline"],
                    links=_existing(base, {"report": folder / "report.html"} | links),
                )
            )
    return entries


def _existing(base: Path, files: Mapping[str, Path]) -> dict[str, str]:
    """Return the paths from `base` of the files that are there."""
    return {name: str(path.relative_to(base)) for name, path in files.items() if path.exists()}


def _title(experiment: str) -> str:
    """``02-json-decode`` is "02 JSON decode"; the report's own heading comes from its notebook."""
    return " ".join(word.upper() if word in _ACRONYMS else word for word in experiment.split("-"))
