"""Known flaws of the published set-ups, what each changes, and how their circumstances differ from the workbook's.

A flaw is shown by two cells that were measured in the same blocks: one has it, the other does the same without it. Their
paired ratio is its effect; whoever compares a system that has the flaw with one that has not, has that factor in the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import compress
from pathlib import Path

import pandas as pd
from pydantic import Field, model_validator

from runners.analyse.claims.ratios import Measured, cell_ratio, row_of
from runners.analyse.claims.register import CellName, Claim, published_value
from runners.analyse.published import Source, Written, read_toml
from runners.analyse.recorded import RunRecord
from runners.core.project import PUBLISHED
from runners.core.records import Workload
from runners.stats.estimates import UNKNOWN, as_columns
from runners.stats.verdicts import bound, verdict

# As published.
_BATCH_SIZES = (1, 10)


class FlawedCell(Written):
    """A cell of the workbook: a system and a batch of so many operations."""

    system: str
    workload: str
    operations: int = Field(ge=1)

    @property
    def name(self) -> CellName:
        """Return the name that the cells of a run use."""
        return CellName(self.system, Workload(self.workload, operations=self.operations).label)


class Flaw(Written):
    """One flaw; `having` and `without` are the cells that show it, `unmeasured` says why there are none.

    `experiments` are those whose claims an unmeasured flaw touches.
    """

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    source: str
    title: str = Field(min_length=1, max_length=40)
    what: str
    having: FlawedCell | None = Field(default=None, alias="with")
    without: FlawedCell | None = None
    unmeasured: str = ""
    experiments: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_shown_or_says_why_not(self) -> Flaw:
        if len({self.having is None, self.without is None, bool(self.unmeasured)}) > 1:
            raise ValueError("a flaw has two cells, with and without it, or says why it is unmeasured")
        return self

    @property
    def cells(self) -> tuple[FlawedCell, ...]:
        """Return both cells, or none."""
        return (self.having, self.without) if self.having and self.without else ()


class _FlawRegister(Written):
    flaw: tuple[Flaw, ...]


def load_flaws(path: Path = PUBLISHED / "flaws.toml") -> tuple[Flaw, ...]:
    """Return the register; errors as of :func:`runners.analyse.published.read_toml`."""
    return read_toml(path, _FlawRegister).flaw


def effects(flaws: Iterable[Flaw], run: Measured) -> pd.DataFrame:
    """Return the throughput with each flaw over that without it, paired within the blocks of the run that measured both.

    Columns: id, source, title, what, having, without, ratio, ratio_low, ratio_high; having_bound and without_bound (whether the generator
    limited that cell); verdict (of the cell with the flaw, read off the interval; exploratory, as nothing is corrected for the number
    of flaws); why (there is no ratio, or it is a bound).
    """
    return pd.DataFrame([_effect(flaw, run) for flaw in flaws])


def _effect(flaw: Flaw, run: Measured) -> dict[str, object]:
    row = flaw.model_dump(include={"id", "source", "title", "what"}) | {"having": "", "without": ""}
    row |= as_columns(UNKNOWN, "ratio") | {"having_bound": False, "without_bound": False}
    row |= {"verdict": "not comparable", "why": flaw.unmeasured}
    if not flaw.cells:
        return row
    having, without = (cell.name for cell in flaw.cells)
    row |= {"having": str(having), "without": str(without)}
    if reasons := [f"{cell}: {why}" for cell in (having, without) if (why := _unsound(run, cell))]:
        return row | {"why": "; ".join(reasons)}
    found = cell_ratio(run, "throughput_rps", having, without)
    if math.isnan(found.interval.value):
        return row | {"why": "no block has sound trials of both"}
    limited = " and ".join(map(str, compress((having, without), found.bound)))
    row |= as_columns(found.interval, "ratio") | dict(zip(("having_bound", "without_bound"), found.bound, strict=True))
    row |= {"verdict": verdict(found.interval, found.floor, bound(*found.bound))}
    return row | {"why": f"the load was the limit of {limited}" if limited else ""}


def touching(flaws: Iterable[Flaw], claim: Claim) -> list[Flaw]:
    """Return the flaws of a claim's source that touch its cells.

    A flaw of a handler touches its system at any batch size; one of the load touches every system at that load.
    """
    return [flaw for flaw in flaws if flaw.source == claim.source and _touches(flaw, claim)]


def _touches(flaw: Flaw, claim: Claim) -> bool:
    if not flaw.cells:
        return claim.experiment in flaw.experiments
    having, without = flaw.cells
    if having.system == without.system:
        return without.name.workload in claim.workloads
    return any(without.model_copy(update={"operations": size}).name in claim.cells for size in _BATCH_SIZES)


def explained(claims: Iterable[Claim], figures: pd.DataFrame, flaws: Sequence[Flaw], run: Measured) -> pd.DataFrame:
    """Return published ratios of throughputs, measured with and without the flaws, on one machine and in the same blocks.

    Columns: id, first, second, workload, published; equal and flawed, each a ratio with _low and _high. Only claims that compare two
    systems of which at least one has a flawed stand-in have a row.
    """
    stand_ins: dict[CellName, CellName] = {}
    for having, without in (flaw.cells for flaw in flaws if flaw.cells):
        if having.system != without.system:
            stand_ins.setdefault(without.name, having.name)
    rows = []
    for claim in claims:
        if claim.kind != "ratio" or claim.metric != "throughput_rps" or stand_ins.keys().isdisjoint(claim.cells):
            continue
        first, second = claim.cells
        with_flaws = [stand_ins.get(cell, cell) for cell in claim.cells]
        if any(_unsound(run, cell) for cell in (*claim.cells, *with_flaws)):
            continue
        about: dict[str, object] = {
            "id": claim.id,
            "first": first.system,
            "second": second.system,
            "workload": first.workload,
        }
        equal, flawed = (cell_ratio(run, "throughput_rps", *cells).interval for cells in (claim.cells, with_flaws))
        # Where no block has sound trials of both there is no ratio.
        if not (math.isnan(equal.value) or math.isnan(flawed.value)):
            ratios = as_columns(equal, "equal") | as_columns(flawed, "flawed")
            rows.append(about | {"published": published_value(claim, figures)} | ratios)
    columns = ["id", "first", "second", "workload", "published"]
    return pd.DataFrame(rows, columns=[*columns, *as_columns(UNKNOWN, "equal"), *as_columns(UNKNOWN, "flawed")])


def _unsound(run: Measured, cell: CellName) -> str:
    row = row_of(run, "throughput_rps", cell)
    status = "not measured" if row.empty else str(row["status"])
    return "" if status == "ok" else status


def circumstances(claim: Claim, source: Source, run: RunRecord | None, flaws: Sequence[Flaw]) -> dict[str, str]:
    """Return published_cpu, cpu, published_versions, versions and flaws (those known that touch its cells), as text for people."""
    return {
        "published_cpu": source.cpu or "not stated",
        "cpu": str(run.machine.get("cpu", "")) if run else "",
        "published_versions": ", ".join(map(" ".join, source.versions.items())) or "not stated",
        "versions": _components(claim, run) if run else "",
        "flaws": "; ".join(flaw.title for flaw in touching(flaws, claim)),
    }


def _components(claim: Claim, run: RunRecord) -> str:
    """Return the versions of the components of the claim's servers: ``Go 1.27, gin v1.12.0``."""
    servers = dict.fromkeys(run.systems[system].server for system in claim.systems if system in run.systems)
    versions: dict[str, dict[str, str]] = run.manifest.versions.get("components", {})
    found = (f"{name} {version}" for server in servers for name, version in versions.get(server, {}).items())
    return ", ".join(dict.fromkeys(found))
