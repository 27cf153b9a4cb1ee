"""Differences between the manifests of two runs: those that a comparison is about, and those that forbid it.

A ratio of two runs means a server's change only where everything else was the same. As pyperf refuses to compare
results whose metadata disagree, runs of different machines, kernels, tools or parameters are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runners.core.errors import WrkbookError
from runners.core.parameters import LIMITS
from runners.core.run_manifest import RunManifest
from runners.store.ledger import Run

ABSENT = "absent"
# Versions of servers and of the project are what changes. Python's packages measure nothing, and the image's key covers
# the packages of all servers, also of one that takes no part.
_CHANGEABLE = ("components", "flags", "builds", "git_commit", "git_state", "python", "image.key")


@dataclass(frozen=True)
class Difference:
    """A fact (dotted name in ``run.json``) that two records state differently, and what each says; ``absent``: nothing.

    `allowed` says whether it may be what was changed; otherwise the two runs were not measured alike.
    """

    field: str
    a: str
    b: str
    allowed: bool

    def __str__(self) -> str:
        return f"{self.field} ({self.a} in A, {self.b} in B)"


def differences(a: RunManifest, b: RunManifest) -> list[Difference]:
    """Return how two ``run.json`` differ, but for ids, dates, cells, and the limits at which measuring stops."""
    parts = ("machine", "pinning", "versions", "parameters")
    before, after = (dict(fact for part in parts for fact in _leaves(getattr(run, part), part)) for run in (a, b))
    changeable = tuple(f"versions.{name}." for name in _CHANGEABLE)
    return [
        Difference(name, str(before.get(name, ABSENT)), str(after.get(name, ABSENT)), f"{name}.".startswith(changeable))
        for name in before | after
        if name.removeprefix("parameters.") not in LIMITS and before.get(name) != after.get(name)
    ]


def refused(a: Run, b: Run) -> list[Difference]:
    """Return the differences for which two runs of one experiment are not compared unless told to.

    Raises
    ------
    WrkbookError
        When they are of different experiments, whatever was told.
    """
    if a.experiment != b.experiment:
        raise WrkbookError(
            f"run {a.run_id} is of {a.experiment}, run {b.run_id} of {b.experiment}: their numbers mean different things",
            "compare two runs of the same experiment",
        )
    return [difference for difference in differences(a.read(), b.read()) if not difference.allowed]


def check_comparable(a: Run, b: Run, *, anyway: bool = False) -> None:
    """Refuse two runs that were not measured alike, unless `anyway`; and always those of different experiments.

    Raises
    ------
    WrkbookError
        Naming each field that differs, with both values.
    """
    found = "; ".join(map(str, refused(a, b)))
    if found and not anyway:
        raise WrkbookError(
            f"{a.experiment}: runs {a.run_id} (A) and {b.run_id} (B) were not measured alike: {found}",
            "measure B again as A was measured, or compare them nevertheless: --anyway",
        )


def unchanged_servers(a: RunManifest, b: RunManifest) -> set[str]:
    """Return the servers that both runs launched from the same build."""
    builds = [run.versions.get("builds", {}) for run in (a, b)]
    return {name for name, key in builds[0].items() if builds[1].get(name) == key}


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  (whatever JSON holds)
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(part, f"{name}.{key}")
    else:
        yield name, value
