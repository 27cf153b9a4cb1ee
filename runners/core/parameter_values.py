"""Checks of single values of parameters: time slices, objectives, workloads, shares and rates."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from runners.core.errors import WrkbookError, did_you_mean
from runners.core.objectives import objectives
from runners.core.workloads import WORKLOADS

AUTO = "auto"
AUTO_SLICE_MS = 100
_MOST_SLICE_MS = 1000

Share = Annotated[float, Field(gt=0, le=100)]
Rate = Annotated[float, Field(gt=0, le=1e7)]


def slices_text(value: object) -> str:
    """Return the parameter ``slices`` as text, whether it was given as text or as a whole number."""
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if text == AUTO:
        return text
    if not (text.isascii() and text.isdigit() and int(text) <= _MOST_SLICE_MS):
        raise ValueError(f"must be {AUTO}, or whole milliseconds from 0 (windows in one piece) to {_MOST_SLICE_MS}")
    return str(int(text))


def stated_objectives(texts: list[str]) -> list[str]:
    """Return objectives in their one form."""
    try:
        return [found.text for found in objectives(texts)]
    except WrkbookError as error:
        raise ValueError(f"{error.problem}; {error.remedy}") from error


def known_workloads(names: list[str]) -> list[str]:
    """Return names of workloads that the contract has."""
    for name in names:
        if name not in WORKLOADS:
            raise ValueError(f"there is no workload named {name!r}; {did_you_mean(name, list(WORKLOADS))}")
    return names
