"""The notebooks of the workbook: their names, and whether they may measure."""

from __future__ import annotations

from pathlib import Path

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
