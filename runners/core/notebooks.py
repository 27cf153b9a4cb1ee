"""The notebooks of the workbook: their names, the parameters that each declares, and whether they may measure."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from runners.core.errors import WrkbookError
from runners.core.folders import COMPARING, NOTEBOOKS

WITHOUT_MEASURING = "WRKBOOK_WITHOUT_MEASURING"
"""Environment variable that makes a notebook show the recorded data without measuring."""


def experiments() -> list[str]:
    """Return the names of the notebooks that measure, without their suffix."""
    return sorted(path.stem for path in NOTEBOOKS.glob("[0-9]*.ipynb") if path.stem != COMPARING)


def find_experiment(name: str) -> str:
    """Return the experiment called `name`, also given as its number (``02``) or the path of its file.

    Raises
    ------
    WrkbookError
        When there is none, or more than one.
    """
    wanted = Path(name).name.removesuffix(".ipynb")
    if wanted in (COMPARING, COMPARING.split("-")[0]):
        raise WrkbookError(f"notebook {COMPARING} measures nothing: it needs two runs", "./wrkbook compare RUN_A RUN_B")
    found = [known for known in experiments() if known == wanted or known.split("-")[0] == wanted]
    if len(found) != 1:
        raise WrkbookError(f"there is no notebook named {name!r}", f"there are: {', '.join(experiments())}")
    return found[0]


@cache
def declared_parameters(name: str) -> dict[str, Any]:
    """Return the parameters that a notebook declares in its cell tagged ``parameters``, with their defaults, in that order.

    Raises
    ------
    WrkbookError
        When there is no such notebook, or its cell holds anything but assignments of constants.
    """
    path = NOTEBOOKS / f"{name}.ipynb"
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        cell = next(cell for cell in cells if "parameters" in cell["metadata"].get("tags", []))
        return {name: ast.literal_eval(value) for name, value in assigned("".join(cell["source"]))}
    except (OSError, ValueError, LookupError, StopIteration, SyntaxError) as error:
        raise WrkbookError(
            f"the parameters of notebook {name} cannot be read from {path}: {error}",
            "its cell tagged parameters holds lines such as: connections = 80",
        ) from error


def assigned(source: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield each (name, expression) that Python source assigns, one a line: papermill knows no other parameters."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
