"""The register of published claims, each a hypothesis over our cells: ``data/raw/published/claims.toml``."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from runners.analyse.published import read_toml
from runners.errors import did_you_mean
from runners.folders import PUBLISHED
from runners.records import PERCENTILES, percentile_column

Kind = Literal["ratio", "order", "least", "most", "absolute", "word"]
# What a claim may be about: columns of the cells, and what experiments add to them.
METRICS = (
    "throughput_rps",
    *(percentile_column(at) for at in PERCENTILES),
    *("mean_s", "stddev_s", "max_s", "tm99_s"),
    *("cpu_per_request_s", "rss_peak_bytes", "threads_count", "errors_count", "build_s"),
)
_MANY = (2, math.inf)
_CELLS = {"ratio": (2, 2), "order": _MANY, "least": _MANY, "most": _MANY, "absolute": (1, 1), "word": (2, 2)}


class CellName(NamedTuple):
    """One of our cells, or one of a published table's."""

    system: str
    workload: str

    def __str__(self) -> str:
        return f"{self.system} at {self.workload}"


class Claim(BaseModel):
    """One published statement.

    Attributes
    ----------
    id : stable; reports and tests refer to it
    source, place, quote : who says it, where, and in which words (… where words are left out)
    kind : see the head of ``claims.toml``
    experiment, metric, systems, workloads : the hypothesis
    within_ratio : the largest ratio that a word for "equal" allows
    untestable : why nothing here can decide it
    note : what a reader should know of it
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    source: str = Field(min_length=1)
    place: str = Field(min_length=1)
    quote: str = Field(min_length=1, max_length=200)
    kind: Kind
    experiment: str = Field(pattern=r"^\d\d-[a-z0-9-]+$")
    metric: str = ""
    systems: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    within_ratio: float | None = Field(default=None, gt=1)
    untestable: str = ""
    note: str = ""

    @model_validator(mode="after")
    def _is_a_hypothesis(self) -> Claim:
        if not self.systems and not self.workloads and not self.metric:
            if not self.untestable:
                raise ValueError("a claim without systems, workloads and metric must say why it is untestable")
            return self
        if self.metric not in METRICS:
            raise ValueError(f"metric {self.metric!r}: {did_you_mean(self.metric, METRICS)}")
        longest = max(len(self.systems), len(self.workloads))
        if not {len(self.systems), len(self.workloads)} <= {1, longest}:
            raise ValueError("systems and workloads must be one for all cells, or one for each")
        least, most = _CELLS[self.kind]
        if not least <= longest <= most or len(set(self.cells)) < longest:
            raise ValueError(f"{longest} cells: not what a claim of kind {self.kind} is about, or one twice")
        return self

    @model_validator(mode="after")
    def _reads_words_alone(self) -> Claim:
        if self.kind != "word" and self.within_ratio is not None:
            raise ValueError("within_ratio is for words")
        return self

    @property
    def cells(self) -> tuple[CellName, ...]:
        """The cells that it is about, in its order."""
        count = max(len(self.systems), len(self.workloads))
        systems, workloads = (names * count if len(names) == 1 else names for names in (self.systems, self.workloads))
        return tuple(CellName(*pair) for pair in zip(systems, workloads, strict=True))

    @property
    def pairs(self) -> tuple[tuple[CellName, CellName], ...]:
        """The pairs that the claim compares, the cell with less of the metric first; a ratio's pair in its own order."""
        if self.kind == "least":
            return tuple((self.cells[0], other) for other in self.cells[1:])
        if self.kind == "most":
            return tuple((other, self.cells[0]) for other in self.cells[1:])
        return tuple(itertools.pairwise(self.cells))


class _Register(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    claim: tuple[Claim, ...]

    @model_validator(mode="after")
    def _ids_are_unique(self) -> _Register:
        twice = [name for name, count in Counter(claim.id for claim in self.claim).items() if count > 1]
        if twice:
            raise ValueError(f"id {twice[0]!r} appears twice")
        return self


def load_claims(path: Path = PUBLISHED / "claims.toml") -> tuple[Claim, ...]:
    """The register.

    Raises
    ------
    WrkbookError
        When it is no TOML, or a claim is not as it must be; names the file, the claim by its number from 0, and the field.
    """
    return read_toml(path, lambda found: _Register(**found)).claim


def published_amounts(claim: Claim, figures: pd.DataFrame) -> tuple[float, ...]:
    """Return what the source published of the metric for each cell of a claim; NaN where it gives no number."""
    if claim.metric not in figures:
        return tuple(math.nan for _ in claim.cells)
    rows = figures[figures["source"] == claim.source].set_index(["system", "workload"])[claim.metric]
    return tuple(float(rows.get(cell, math.nan)) for cell in claim.cells)


def published_value(claim: Claim, figures: pd.DataFrame) -> float:
    """Return the published ratio or absolute of a claim; for a word, second cell ÷ first; NaN for claims about an order."""
    amounts = published_amounts(claim, figures)
    if claim.kind == "absolute" and amounts:
        return amounts[0]
    if claim.kind not in ("ratio", "word") or len(amounts) != 2:
        return math.nan
    first, second = amounts if claim.kind == "ratio" else reversed(amounts)
    return over(first, second)


def over(a: float, b: float) -> float:
    """Return a ÷ b for amounts of which none is negative: 0 ÷ 0 is 1, anything else ÷ 0 is infinite."""
    if b == 0:
        return 1.0 if a == 0 else math.inf
    return a / b
