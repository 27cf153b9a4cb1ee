"""The page over all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runners.present.report import relative_link, render


@dataclass(frozen=True)
class IndexEntry:
    """One run on the index page.

    Attributes
    ----------
    date : when it started, ISO 8601: newest first is sorted by it
    headline : its most important sentence
    links : name → path relative to the index page, for example report and notebook
    """

    experiment: str
    run_id: str
    date: str
    profile: str
    machine: str
    headline: str
    links: Mapping[str, str] = field(default_factory=dict)


def write_index(entries: Sequence[IndexEntry], html_path: Path, *, title: str = "All runs") -> Path:
    """Write the page that lists every run, newest first.

    Raises
    ------
    ValueError
        When a link is not a relative path.
    """
    shown = [
        {**vars(entry), "links": [(name, relative_link(target)) for name, target in entry.links.items()]}
        for entry in sorted(entries, key=lambda entry: (entry.date, entry.run_id), reverse=True)
    ]
    html_path.write_text(render("index.html.j2", title=title, kind="index", entries=shown), encoding="utf-8")
    return html_path
