"""The charts of an executed notebook: made small, and written as files for slides and other documents."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from PIL import Image

_COLOURS = 256


def write_figures(notebook_path: Path, folder: Path) -> list[Path]:
    """Write each chart of an executed notebook as ``figure-NN.png``, in its order, into `folder`; earlier ones are removed.

    Charts have few colours: with a palette they look the same, here and in the notebook, and take a third of the space.
    """
    notebook = nbformat.read(notebook_path, as_version=4)  # type: ignore[no-untyped-call]
    for data in _charts(notebook):
        data["image/png"] = base64.b64encode(_with_palette(base64.b64decode(data["image/png"]))).decode()
    partial = notebook_path.with_name(f".{notebook_path.name}.partial")
    nbformat.write(notebook, partial)  # type: ignore[no-untyped-call]
    partial.rename(notebook_path)
    charts = [base64.b64decode(data["image/png"]) for data in _charts(notebook)]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("figure-*.png"):
        old.unlink()
    paths = [folder / f"figure-{number:02d}.png" for number in range(1, len(charts) + 1)]
    for path, chart in zip(paths, charts, strict=True):
        path.write_bytes(chart)
    return paths


def _charts(notebook: nbformat.NotebookNode) -> Iterator[dict[str, Any]]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return (output["data"] for output in outputs if "image/png" in output.get("data", {}))


def _with_palette(png: bytes) -> bytes:
    image = Image.open(io.BytesIO(png))
    if image.mode == "P":
        return png
    small, out = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE), io.BytesIO()
    small.save(out, "PNG", optimize=True, dpi=image.info.get("dpi"))
    return min(png, out.getvalue(), key=len)
