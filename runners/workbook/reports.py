"""The HTML reports of ``data/processed`` and the index over all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runners.core.project import COMPARING, PROCESSED
from runners.core.records import COMPARISON_SCHEMA
from runners.core.units import format_duration
from runners.present.html import IndexEntry, write_figures, write_index, write_report
from runners.store.runs import read_summary


def write_run_report(folder: Path, summary: dict[str, Any]) -> Path:
    """Write ``report.html`` of one processed run, and its charts into ``figures/``, from its executed notebook."""
    write_figures(folder / "notebook.ipynb", folder / "figures")
    facts = {
        "run": summary["run_id"],
        "date": summary["started_at"][:16].replace("T", " ") + " UTC",
        "profile": summary["profile"],
        "measured": f"{summary['blocks_count']} blocks, {format_duration(summary['measured_s'])}",
        "machine": f"{summary['machine']['cpu']}, {summary['machine']['cpus_count']} CPUs",
        "kernel": summary["machine"]["kernel"],
    }
    links = {"all runs": "../../index.html", "notebook": "notebook.ipynb", "summary.json": "summary.json"}
    return write_report(
        folder / "notebook.ipynb",
        folder / "report.html",
        title=_title(summary["experiment"]),
        facts=facts,
        links=links,
    )


def write_comparison_report(folder: Path, summary: dict[str, Any]) -> Path:
    """Write ``report.html`` of two compared runs from its executed notebook."""
    dates = [summary[f"started_at_{side}"][:16].replace("T", " ") for side in "ab"]
    facts = {
        "A, before": f"{summary['run_a']}, {dates[0]} UTC, profile {summary['profile_a']}",
        "B, after": f"{summary['run_b']}, {dates[1]} UTC, profile {summary['profile_b']}",
        "machine": f"{summary['machine_b']['cpu']}",
    }
    reports = {
        f"run {side.upper()}": f"../../../{summary['experiment']}/{summary[f'run_{side}']}/report.html" for side in "ab"
    }
    there = {name: target for name, target in reports.items() if (folder / target).exists()}
    own = {"all runs": "../../../index.html", "notebook": "notebook.ipynb", "summary.json": "summary.json"}
    return write_report(
        folder / "notebook.ipynb",
        folder / "report.html",
        title=f"{_title(summary['experiment'])}: two runs compared",
        headline=summary["headline"],
        facts=facts,
        links=own | there,
    )


def refresh_index(base: Path = PROCESSED) -> Path:
    """Write ``index.html`` over all processed runs and comparisons."""
    entries = _comparisons(base)
    for folder in sorted(path.parent for path in base.glob("*/*/report.html")):
        summary = read_summary(folder)
        if summary is None:
            continue
        place = folder.relative_to(base)
        entries.append(
            IndexEntry(
                experiment=summary["experiment"],
                title=_title(summary["experiment"]),
                run_id=summary["run_id"],
                date=summary["started_at"],
                profile=summary["profile"],
                machine=summary["machine"]["cpu"],
                headline=summary["headline"],
                links=_links(place),
            )
        )
    return write_index(entries, base / "index.html")


def _comparisons(base: Path) -> list[IndexEntry]:
    entries = []
    for folder in sorted(path.parent for path in (base / COMPARING).glob("*/*/report.html")):
        summary = read_summary(folder, COMPARISON_SCHEMA)
        if summary is not None:
            entries.append(
                IndexEntry(
                    experiment=COMPARING,
                    title="Two runs compared",
                    run_id=f"{summary['experiment']}: {summary['run_a']} → {summary['run_b']}",
                    date=max(summary["started_at_a"], summary["started_at_b"]),
                    profile=summary["profile_b"],
                    machine=summary["machine_b"]["cpu"],
                    headline=summary["headline"],
                    links=_links(folder.relative_to(base)),
                )
            )
    return entries


def _links(place: Path) -> dict[str, str]:
    names = {"report": "report.html", "notebook": "notebook.ipynb", "summary": "summary.json"}
    return {name: f"{place}/{file}" for name, file in names.items()}


def _title(experiment: str) -> str:
    """``02-json-decode`` is "02 JSON decode"; the report's own heading comes from its notebook."""
    number, _, words = experiment.partition("-")
    return f"{number} {words.replace('-', ' ').replace('json', 'JSON')}"
