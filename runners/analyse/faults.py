"""The known faults of the published set-ups (``data/raw/published/faults.toml``), and what each changes.

A fault is shown by two cells that were measured in the same blocks: one has it, the other does the same without it. Their
paired ratio is its effect; whoever compares a system that has the fault with one that has not, has that factor in the result.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from runners.analyse.claims import CellName, Claim, published_value
from runners.analyse.published import describe
from runners.analyse.results import Results
from runners.analyse.verdicts import holm, verdict
from runners.errors import WrkbookError
from runners.folders import PUBLISHED
from runners.records import Interval, Workload

_STRICT = ConfigDict(extra="forbid", frozen=True)
_PARTS = ("", "_low", "_high")
_RATIO = ("ratio", "ratio_low", "ratio_high", "p_value")


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
    """One fault; `having` and `without` are the cells that show it, `unmeasured` says why there are none."""

    model_config = _STRICT
    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    source: str
    title: str = Field(min_length=1, max_length=40)
    what: str
    having: FaultyCell | None = Field(default=None, alias="with")
    without: FaultyCell | None = None
    unmeasured: str = ""

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
    try:
        return _Register(**tomllib.loads(path.read_text(encoding="utf-8"))).fault
    except tomllib.TOMLDecodeError as error:
        raise WrkbookError(f"{path}: {error}") from error
    except ValidationError as error:
        raise WrkbookError(f"{path}: {describe(error)}") from error


def effects(faults: Iterable[Fault], run: Results) -> pd.DataFrame:
    """The throughput with each fault over that without it, paired within the blocks of the run that measured both.

    Returns
    -------
    pandas.DataFrame
        id, source, title, what, having, without, ratio, ratio_low, ratio_high, p_adjusted (Holm, over the faults), verdict (of the cell
        with the fault), why (there is no ratio, or it is a bound).
    """
    columns = ["id", "source", "title", "what", "having", "without", *_RATIO, "verdict", "why"]
    frame = pd.DataFrame([_effect(fault, run) for fault in faults], columns=columns)
    frame["p_adjusted"] = holm(frame["p_value"].to_numpy(float))
    frame["verdict"] = [_verdict(row, run) for _, row in frame.iterrows()]
    return frame.drop(columns="p_value")


def _effect(fault: Fault, run: Results) -> dict[str, object]:
    row: dict[str, object] = {"why": fault.unmeasured, **dict.fromkeys(_RATIO, math.nan)}
    row |= {name: getattr(fault, name) for name in ("id", "source", "title", "what")}
    if not fault.cells:
        return row | {"having": "", "without": ""}
    having, without = (cell.name for cell in fault.cells)
    row |= {"having": str(having), "without": str(without)}
    if reasons := [f"{cell}: {why}" for cell in (having, without) if (why := _unsound(run, cell))]:
        return row | {"why": "; ".join(reasons)}
    found = run.paired(having, without)
    if math.isnan(found["ratio"]):
        return row | {"why": "no block has sound trials of both"}
    bound = [str(cell) for cell in (having, without) if _client_bound(run, cell)]
    return row | found | {"why": f"the load generator was the limit of {' and '.join(bound)}" if bound else ""}


def _verdict(row: pd.Series, run: Results) -> str:
    if math.isnan(row["ratio"]):
        return "not comparable"
    floors = [floor - 1 for floor in run.noise_floor_ratio.values()]
    bound = [row[side] in row["why"] for side in ("having", "without")]
    return verdict(
        Interval(row["ratio"], row["ratio_low"], row["ratio_high"]),
        max(floors, default=math.nan),
        float(row["p_adjusted"]),
        first_client_bound=bound[0],
        second_client_bound=bound[1],
    )


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


def _client_bound(run: Results, cell: CellName) -> bool:
    found = run.cells[(run.cells["system"] == cell.system) & (run.cells["workload"] == cell.workload)]
    return bool((found["bottleneck"] == "client").any())
