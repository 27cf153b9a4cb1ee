"""Two runs of one experiment: the differences of their manifests, and the comparison cell by cell.

The differences are those that a comparison is about, and those that forbid it. The comparison tells what a change did to each system, and
what the machine did to all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from runners.analyse.comparisons import compare_sides
from runners.analyse.pooled import RATIO
from runners.analyse.results import Results, analyse
from runners.core.errors import WrkbookError
from runners.core.parameters import LIMITS
from runners.core.records import CONTROL, LOWER_BOUND_LIMITS, SMOKE_PROFILE, Interval, Row
from runners.core.run_manifest import RunManifest
from runners.stats.estimates import as_columns, compare_unpaired, geometric_mean_interval, interval_in, ratio_of
from runners.stats.verdicts import bound, verdict
from runners.store.ledger import Run

ABSENT = "absent"
# Versions of servers and of the project are what changes. Python's packages measure nothing, and the image's key covers
# the packages of all servers, also of one that takes no part.
_CHANGEABLE = ("components", "flags", "builds", "git_commit", "git_state", "python", "image.key")

BASELINE = "run A"
_ABOUT = ("system", "server", "codec", "variant", "workload", "workload_title", "operations_count")


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


@dataclass(frozen=True)
class CommonFactor:
    """The geometric mean, least and greatest of the cells' ratios B/A; NaN without a cell.

    `unchanged` says whether these are the cells of unchanged servers only; otherwise there is none, and these are all.
    """

    value: float
    low: float
    high: float
    cells_count: int
    unchanged: bool


@dataclass(frozen=True)
class BeforeAfter:
    """Two analysed runs of one experiment: `a` before the change, `b` after it."""

    a: Results
    b: Results

    @property
    def same_run(self) -> bool:
        """Return whether a run is compared with itself."""
        return self.a.run == self.b.run

    @property
    def profile(self) -> str:
        """Return the profile of the run that was measured least: a smoke run makes the comparison one."""
        profiles = (self.a.profile, self.b.profile)
        return next((each for each in profiles if each == SMOKE_PROFILE), profiles[1])

    @cached_property
    def differences(self) -> list[Difference]:
        """Return the differences between the manifests of both runs."""
        return differences(self.a.manifest, self.b.manifest)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Return one row for each system × workload that has a number in both runs.

        Columns
        -------
        system, server, codec, variant, workload, workload_title, operations_count; unchanged (the build is the same in both runs);
        bottleneck (of run B); a_rps and b_rps with _low_ and _high_; ratio (b over a), p99_ratio and cpu_ratio with _low and _high; bound,
        verdict (of b against a; empty for the control, which repeats another cell), status (ok).
        """
        after = _measured(self.b)
        pairs = [(cell, after[place]) for place, cell in _measured(self.a).items() if place in after]
        return pd.DataFrame([self._cell(*pair) for pair in pairs])

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Return the cells as comparisons of run B (``system_a``, named as the system) with run A (``system_b``)."""
        family = self.cells["system"].map(lambda system: "control" if system == CONTROL else "leader")
        found = self.cells[["workload", "system", *RATIO, "bound", "verdict"]].rename(columns={"system": "system_a"})
        return found.assign(system_b=BASELINE, family=family)

    @cached_property
    def unmatched(self) -> list[str]:
        """Return the cells with a number in one of the runs only, in words."""
        before, after = _measured(self.a), _measured(self.b)
        return [
            f"{system} on {workload} (only in run {results.run.run_id})"
            for results, own, other in ((self.a, before, after), (self.b, after, before))
            for system, workload in own
            if (system, workload) not in other and system != CONTROL
        ]

    @cached_property
    def noise_floor_ratio(self) -> dict[str, float]:
        """Return workload → the larger of both runs' noise floors: 1.013 is 1.3 %."""
        a, b = self.a.noise_floor_ratio, self.b.noise_floor_ratio
        return {name: max(floor[name] for floor in (a, b) if name in floor) for name in a | b}

    @cached_property
    def common(self) -> CommonFactor:
        """Return the common factor of unchanged servers; of all cells where every server was changed."""
        rows = self.cells[self.cells["system"] != CONTROL]
        alike = rows[rows["unchanged"].astype(bool)]
        ratios = (rows if alike.empty else alike)["ratio"].to_numpy(float)
        if not len(ratios):
            return CommonFactor(math.nan, math.nan, math.nan, 0, False)
        value = float(np.exp(np.log(ratios).mean()))
        return CommonFactor(value, float(ratios.min()), float(ratios.max()), len(ratios), not alike.empty)

    def _cell(self, before: pd.Series, after: pd.Series) -> Row:
        sides = [results.session.launches(before["system"], before["workload"]) for results in (self.a, self.b)]
        # A run and itself: every launch is its own pair, and nothing can differ.
        ratio = compare_sides(*sides) if self.same_run else compare_unpaired(*(side.to_numpy() for side in sides[::-1]))
        limits = bound(after["bottleneck"] in LOWER_BOUND_LIMITS, before["bottleneck"] in LOWER_BOUND_LIMITS)
        floor = self.noise_floor_ratio.get(before["workload"], math.nan) - 1
        row: Row = {name: before[name] for name in _ABOUT} | {
            "unchanged": self.same_run
            or self.a.manifest.systems[before["system"]].build in unchanged_servers(self.a.manifest, self.b.manifest),
            "bottleneck": after["bottleneck"],
            "status": "ok",
            "bound": limits,
            "verdict": "" if before["system"] == CONTROL else verdict(ratio.interval, floor, limits),
        }
        for name, side in zip("ab", sides, strict=True):
            row |= as_columns(geometric_mean_interval(side.to_numpy()), name, "_rps")
        row |= as_columns(ratio.interval, "ratio")
        for name, stem in (("p99_ratio", "p99"), ("cpu_ratio", "cpu_per_request")):
            amounts = (interval_in(cell, stem, "_s") for cell in (after, before))
            row |= as_columns(Interval(1.0, 1.0, 1.0) if self.same_run else ratio_of(*amounts), name)
        return row


def compare_runs(a: Run, b: Run, *, anyway: bool = False) -> BeforeAfter:
    """Compare two runs from their raw records alone.

    Raises
    ------
    WrkbookError
        When the runs were not measured alike (unless `anyway`), a record is damaged, or no cell has a number in both.
    """
    check_comparable(a, b, anyway=anyway)
    before = analyse(a)
    found = BeforeAfter(before, before if a == b else analyse(b))
    if found.cells.empty:
        raise WrkbookError(
            f"{a.experiment}: no system has a number on the same workload in both {a.run_id} and {b.run_id}",
            "compare runs that share systems and workloads: ./wrkbook list",
        )
    return found


def _measured(results: Results) -> dict[tuple[str, str], pd.Series]:
    """Return (system, workload) → cell, for those that have a number."""
    rows = results.cells[results.cells["status"] == "ok"]
    return {(row["system"], row["workload"]): row for _, row in rows.iterrows()}
