"""The charts of an executed notebook as files, for slides and other documents."""

from __future__ import annotations

import base64
from pathlib import Path

import nbformat


def write_figures(notebook_path: Path, folder: Path) -> list[Path]:
    """Write each chart of an executed notebook as ``figure-NN.png``, in its order, into `folder`; earlier ones are removed."""
    notebook = nbformat.read(notebook_path, as_version=4)  # type: ignore[no-untyped-call]
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    charts = [base64.b64decode(data["image/png"]) for data in shown if "image/png" in data]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("figure-*.png"):
        old.unlink()
    paths = [folder / f"figure-{number:02d}.png" for number in range(1, len(charts) + 1)]
    for path, chart in zip(paths, charts, strict=True):
        path.write_bytes(chart)
    return paths
