"""The page over all runs: each experiment with its newest run, the older ones folded away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from runners.present.report import relative_link, render


@dataclass(frozen=True)
class IndexEntry:
    """One run on the index page.

    Attributes
    ----------
    experiment : what it belongs to; experiments are in the order of these names
    title : of the experiment, for people
    date : when it started, ISO 8601: the newest run is on top
    headline : its most important sentence
    links : name → path relative to the index page, for example report and notebook
    """

    experiment: str
    title: str
    run_id: str
    date: str
    profile: str
    machine: str
    headline: str
    links: Mapping[str, str] = field(default_factory=dict)


def write_index(entries: Sequence[IndexEntry], html_path: Path, *, title: str = "wrkbook: all experiments") -> Path:
    """Write the page that lists every run.

    Raises
    ------
    ValueError
        When a link is not a relative path.
    """
    newest_first = sorted(entries, key=lambda entry: (entry.date, entry.run_id), reverse=True)
    in_order = groupby(sorted(newest_first, key=lambda entry: entry.experiment), key=lambda entry: entry.experiment)
    experiments = [[_shown(entry) for entry in runs] for _, runs in in_order]
    page = render("index.html.j2", title=title, kind="index", experiments=experiments, runs_count=len(entries))
    html_path.write_text(page, encoding="utf-8")
    return html_path


def _shown(entry: IndexEntry) -> dict[str, object]:
    links = [(name, relative_link(target)) for name, target in entry.links.items()]
    return {**vars(entry), "links": links, "when": _when(entry.date)}


def _when(date: str) -> str:
    """``3 Feb 2026, 04:05 UTC``; a date that is none stays as it is."""
    try:
        moment = datetime.fromisoformat(date).astimezone(UTC)
    except ValueError:
        return date
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"
