"""Single values of parameters: objectives such as ``p99 <= 5 ms``, time slices, workloads, shares and rates."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from runners.core.errors import WrkbookError, did_you_mean
from runners.core.workloads import WORKLOADS

_FORM = re.compile(
    r"\s*p(?P<percentile>\d{1,2}(?:\.\d{1,3})?)\s*(?:<=|≤|<)\s*(?P<limit>\d+(?:\.\d+)?)\s*(?P<unit>µs|us|ms|s)\s*"
)
_UNITS = {"µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_REMEDY = 'write a percentile and a limit in µs, ms or s, for example "p99 <= 5 ms"'

AUTO = "auto"
ALL = "all"
"""The value of the parameter `systems` that also takes the rows which no run measures by default."""
_AUTO_SLICE_MS = 100
_MOST_SLICE_MS = 1000
_THREADS = re.compile(r"(?P<factor>[1-9][0-9]?)x|(?P<number>[1-9][0-9]{0,3})")

Percentage = Annotated[float, Field(gt=0, le=100)]
Rate = Annotated[float, Field(gt=0, le=1e7)]


@dataclass(frozen=True)
class Objective:
    """A limit of one percentile of the response times.

    Attributes
    ----------
    text : str
        As it was given, in one form: ``p99 <= 5 ms``.
    percentile : float
        From 0 to 100, both excluded.
    limit_s : float
        The largest response time at this percentile that meets the objective.
    """

    text: str
    percentile: float
    limit_s: float

    @property
    def title(self) -> str:
        """Return it for charts and sentences: ``p99 ≤ 5 ms``."""
        return self.text.replace("<=", "≤")

    def met(self, response_s: float) -> bool:
        """Return whether a response time at the percentile is within the limit; NaN is not."""
        return response_s <= self.limit_s


def objective(text: str) -> Objective:
    """Return the objective that a text states.

    Raises
    ------
    WrkbookError
        When the text states none.
    """
    found = _FORM.fullmatch(text)
    percentile = float(found["percentile"]) if found else 0.0
    limit_s = float(found["limit"]) * _UNITS[found["unit"]] if found else 0.0
    if not found or percentile <= 0 or limit_s <= 0:
        raise WrkbookError(f"{text!r} is no objective", _REMEDY)
    unit = found["unit"].replace("us", "µs")
    return Objective(f"p{percentile:g} <= {float(found['limit']):g} {unit}", percentile, limit_s)


def objectives(texts: Sequence[str]) -> list[Objective]:
    """Return the objectives that some texts state, in their order.

    Raises
    ------
    WrkbookError
        When a text states none, or two state the same.
    """
    found = [objective(text) for text in texts]
    if len(set(found)) != len(found):
        raise WrkbookError("an objective is given twice", "name each once")
    return found


def slices_text(value: object) -> str:
    """Return the parameter ``slices`` as text, whether it was given as text or as a whole number."""
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if text == AUTO:
        return text
    number = text.removeprefix(f"{AUTO}-")
    least = 0 if number == text else 1
    if not (number.isascii() and number.isdigit() and least <= int(number) <= _MOST_SLICE_MS):
        whole = f"whole milliseconds from 0 (windows in one piece) to {_MOST_SLICE_MS}"
        raise ValueError(f"must be {AUTO}, or {whole}, or both: {AUTO}-20 is 20 on a noisy machine")
    return f"{text.removesuffix(number)}{int(number)}"


def decided_by_machine(slices: str) -> bool:
    """Return whether the idle machine decides, by this value of the parameter ``slices``, if there are time slices."""
    return slices.startswith(AUTO)


def slice_length_s(slices: str) -> float:
    """Return the length of a time slice by the parameter ``slices``, where there are any; 0: windows in one piece."""
    return int(slices.removeprefix(AUTO).removeprefix("-") or _AUTO_SLICE_MS) / 1000


def threads_text(value: object) -> str:
    """Return the parameter ``server_threads`` as text, whether it was given as text or as a whole number."""
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not _THREADS.fullmatch(text):
        raise ValueError("must be a multiple of the CPUs from 1x to 99x, or a number of threads from 1 to 9999")
    return text


def threads_on(text: str, cpus_count: int) -> int:
    """Return with how many threads a server is started on so many CPUs: ``2x`` on 4 is 8, ``16`` is 16."""
    found = _THREADS.fullmatch(text)
    assert found is not None, "it was checked by threads_text"
    return int(found["factor"]) * cpus_count if found["factor"] else int(found["number"])


def problems_of_sizes(name: str, sizes: Sequence[int], most: int) -> list[str]:
    """Return what is wrong with a list of numbers: one that is out of bounds, or given twice."""
    problems = [f"parameter {name}: {size} is not from 1 to {most}" for size in sizes if not 1 <= size <= most]
    return [*problems, f"parameter {name}: a value is given twice"] if len(set(sizes)) != len(sizes) else problems


def unknown(name: str, known: Iterable[str]) -> str:
    """Return the problem of an unknown parameter, with the nearest known one."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"unknown parameter {name}" + (f" (did you mean {close[0]}?)" if close else "")


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
