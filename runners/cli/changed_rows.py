"""The rows that a comparison of two revisions measures: those that differ."""

from __future__ import annotations

import ast
import json

from runners.core.project import NOTEBOOKS
from runners.systems import revisions
from runners.systems.build import sources
from runners.systems.catalogue import Catalogue


def workloads_of(experiment: str) -> list[str]:
    """Return the workloads that a notebook names in its call of ``Experiment``."""
    cells = json.loads((NOTEBOOKS / f"{experiment}.ipynb").read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for text in (text for text in texts if "workloads=" in text):
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        for keyword in (keyword for call in calls for keyword in call.keywords):
            if keyword.arg == "workloads":
                return list(ast.literal_eval(keyword.value))
    return []


def changed_rows(experiment: str, commit: str, catalogue: Catalogue) -> list[str]:
    """Return the rows of a notebook to measure: those of each server that differs from a commit, itself or in its shared code.

    They are its default rows, or all of its rows where it has no default one.
    """
    changed = revisions.changed_servers(commit)
    names = workloads_of(experiment)
    default = [row for name in names for row in catalogue.systems(name, default_only=True)]
    with_default = {row.server for row in default}
    others = [row for name in names for row in catalogue.systems(name) if row.server not in with_default]
    return list(
        dict.fromkeys(
            row.name
            for row in [*default, *others]
            if row.server in changed
            or ("shared" in changed and "/shared" in sources(catalogue.server(row.server).folder))
        )
    )


def servers_left_out(experiment: str, commit: str, catalogue: Catalogue) -> list[str]:
    """Return the servers that differ from a commit, but have no row in the notebook."""
    measured = {row.server for name in workloads_of(experiment) for row in catalogue.systems(name)}
    return sorted(revisions.changed_servers(commit) & catalogue.servers.keys() - measured)
