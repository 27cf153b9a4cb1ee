"""The HTML reports of ``data/processed`` and the index over all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runners.folders import PROCESSED
from runners.present.index import IndexEntry, write_index
from runners.present.report import write_report
from runners.summaries import read_summary
from runners.units import format_duration


def write_run_report(folder: Path, summary: dict[str, Any]) -> Path:
    """Write ``report.html`` of one processed run from its executed notebook."""
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
        headline=summary["headline"],
        facts=facts,
        links=links,
    )


def refresh_index(base: Path = PROCESSED) -> Path:
    """Write ``index.html`` over all processed runs."""
    entries = []
    for folder in sorted(path.parent for path in base.glob("*/*/report.html")):
        summary = read_summary(folder)
        if summary is None:
            continue
        place = folder.relative_to(base)
        entries.append(
            IndexEntry(
                experiment=summary["experiment"],
                run_id=summary["run_id"],
                date=summary["started_at"],
                profile=summary["profile"],
                machine=summary["machine"]["cpu"],
                headline=summary["headline"],
                links={
                    "report": f"{place}/report.html",
                    "notebook": f"{place}/notebook.ipynb",
                    "summary": f"{place}/summary.json",
                },
            )
        )
    return write_index(entries, base / "index.html")


def _title(experiment: str) -> str:
    """``02-json-decode`` is "02 JSON decode"; the report's own heading comes from its notebook."""
    number, _, words = experiment.partition("-")
    return f"{number} {words.replace('-', ' ').replace('json', 'JSON')}"
