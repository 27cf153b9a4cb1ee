"""The known faults of the published set-ups (``data/raw/published/faults.toml``), and what each changes.

A fault is shown by two cells that were measured in the same blocks: one has it, the other does the same without it. Their
paired ratio is its effect; whoever compares a system that has the fault with one that has not, has that factor in the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from runners.analyse.cell_ratios import cell_ratio
from runners.analyse.claims import CellName, Claim, published_value
from runners.analyse.estimates import as_columns
from runners.analyse.published import read_toml
from runners.analyse.results import Results
from runners.analyse.verdicts import bound, verdict
from runners.folders import PUBLISHED
from runners.records import Workload

_STRICT = ConfigDict(extra="forbid", frozen=True)
_PARTS = ("", "_low", "_high")
_RATIO = ("ratio", "ratio_low", "ratio_high")
# As published.
_BATCH_SIZES = (1, 10)


class FaultyCell(BaseModel):
    """A cell of ours: a system that is asked for a batch of so many operations."""

    model_config = _STRICT
    system: str
    workload: str
    operations: int = Field(ge=1)

    @property
    def name(self) -> CellName:
        """As the cells of a run name it."""
        return CellName(self.system, Workload(self.workload, operations=self.operations).label)


class Fault(BaseModel):
    """One fault; `having` and `without` are the cells that show it, `unmeasured` says why there are none.

    `experiments` are those whose claims an unmeasured fault touches.
    """

    model_config = _STRICT
    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    source: str
    title: str = Field(min_length=1, max_length=40)
    what: str
    having: FaultyCell | None = Field(default=None, alias="with")
    without: FaultyCell | None = None
    unmeasured: str = ""
    experiments: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_shown_or_says_why_not(self) -> Fault:
        if (self.having is None) != (self.without is None) or (self.having is None) != bool(self.unmeasured):
            raise ValueError("a fault has two cells, with and without it, or says why it is unmeasured")
        return self

    @property
    def cells(self) -> tuple[FaultyCell, ...]:
        """Both cells, or none."""
        return () if self.having is None or self.without is None else (self.having, self.without)


class _Register(BaseModel):
    model_config = _STRICT
    fault: tuple[Fault, ...]


def load_faults(path: Path = PUBLISHED / "faults.toml") -> tuple[Fault, ...]:
    """The register.

    Raises
    ------
    WrkbookError
        When it is no TOML, or a fault is not as it must be; names the file, the fault by its number from 0, and the field.
    """
    return read_toml(path, lambda found: _Register(**found)).fault


def effects(faults: Iterable[Fault], run: Results) -> pd.DataFrame:
    """Return the throughput with each fault over that without it, paired within the blocks of the run that measured both.

    Returns
    -------
    pandas.DataFrame
        id, source, title, what, having, without, ratio, ratio_low, ratio_high, having_bound, without_bound (whether the generator limited
        that cell), verdict (of the cell with the fault, read off the interval; exploratory, as nothing is corrected for the number
        of faults), why (there is no ratio, or it is a bound).
    """
    columns = [
        "id",
        "source",
        "title",
        "what",
        "having",
        "without",
        *_RATIO,
        "having_bound",
        "without_bound",
        "verdict",
        "why",
    ]
    return pd.DataFrame([_effect(fault, run) for fault in faults], columns=columns)


def _effect(fault: Fault, run: Results) -> dict[str, object]:
    row: dict[str, object] = {"verdict": "not comparable", "why": fault.unmeasured, **dict.fromkeys(_RATIO, math.nan)}
    row |= {name: getattr(fault, name) for name in ("id", "source", "title", "what")}
    row |= {"having": "", "without": "", "having_bound": False, "without_bound": False}
    if not fault.cells:
        return row
    having, without = (cell.name for cell in fault.cells)
    row |= {"having": str(having), "without": str(without)}
    if reasons := [f"{cell}: {why}" for cell in (having, without) if (why := _unsound(run, cell))]:
        return row | {"why": "; ".join(reasons)}
    found = cell_ratio(run, "throughput_rps", having, without)
    if math.isnan(found.interval.value):
        return row | {"why": "no block has sound trials of both"}
    limited = [str(cell) for cell, is_bound in zip((having, without), found.bound, strict=True) if is_bound]
    row |= as_columns(found.interval, "ratio")
    row |= {"having_bound": found.bound[0], "without_bound": found.bound[1]}
    row |= {"verdict": verdict(found.interval, found.floor, bound(*found.bound))}
    return row | {"why": f"the load generator was the limit of {' and '.join(limited)}" if limited else ""}


def touching(faults: Iterable[Fault], claim: Claim) -> list[Fault]:
    """Return the faults of a claim's source that touch its cells.

    A fault of a handler touches its system at any batch size; one of the load touches every system at that load.
    """
    return [fault for fault in faults if fault.source == claim.source and _touches(fault, claim)]


def _touches(fault: Fault, claim: Claim) -> bool:
    if fault.having is None or fault.without is None:
        return claim.experiment in fault.experiments
    without = fault.without
    if fault.having.system == without.system:
        return without.name.workload in claim.workloads
    sizes = {Workload(without.workload, operations=size).label for size in _BATCH_SIZES}
    return any(cell.system == without.system and cell.workload in sizes for cell in claim.cells)


def explained(claims: Iterable[Claim], figures: pd.DataFrame, faults: Sequence[Fault], run: Results) -> pd.DataFrame:
    """What published ratios of throughputs become with the faults and without them, on one machine and in the same blocks.

    Returns
    -------
    pandas.DataFrame
        id, first, second, workload, published; equal and faulty, each a ratio with _low and _high: of claims that compare two systems of
        which at least one has a faulty stand-in.
    """
    stand_ins: dict[CellName, CellName] = {}
    for fault in faults:
        if fault.having and fault.without and fault.having.system != fault.without.system:
            stand_ins.setdefault(fault.without.name, fault.having.name)
    rows = []
    for claim in claims:
        faulty = [stand_ins.get(cell, cell) for cell in claim.cells]
        asked = claim.kind == "ratio" and claim.metric == "throughput_rps" and faulty != list(claim.cells)
        if not asked or any(_unsound(run, cell) for cell in (*claim.cells, *faulty)):
            continue
        row: dict[str, object] = {"id": claim.id, "workload": claim.cells[0].workload}
        row |= {"first": claim.cells[0].system, "second": claim.cells[1].system}
        row |= {"published": published_value(claim, figures)}
        ratios = {"equal": run.paired(*claim.cells), "faulty": run.paired(*faulty)}
        # Where no block has sound trials of both there is no ratio.
        if not any(math.isnan(found["ratio"]) for found in ratios.values()):
            rows.append(row | {f"{name}{part}": ratios[name][f"ratio{part}"] for name in ratios for part in _PARTS})
    columns = ["id", "first", "second", "workload", "published"]
    return pd.DataFrame(rows, columns=[*columns, *(f"{name}{part}" for name in ("equal", "faulty") for part in _PARTS)])


def _unsound(run: Results, cell: CellName) -> str:
    found = run.cells[(run.cells["system"] == cell.system) & (run.cells["workload"] == cell.workload)]
    if found.empty:
        return "not measured"
    return "" if found["status"].iloc[0] == "ok" else str(found["status"].iloc[0])
