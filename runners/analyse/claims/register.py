"""The register of published claims, each a hypothesis over our cells: ``data/raw/published/claims.toml``.

Held against a published figure is what is like it here: the same load generator, the nearest load.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from runners.analyse.published import Written, published_workloads, read_toml
from runners.core.errors import did_you_mean
from runners.core.project import PUBLISHED
from runners.core.records import PERCENTILES, percentile_column

# Metrics of claims: columns of the cells, and those that experiments add.
METRICS = (
    "throughput_rps",
    *(percentile_column(at) for at in PERCENTILES),
    *("mean_s", "stddev_s", "max_s", "tm99_s"),
    *("cpu_per_request_s", "rss_peak_bytes", "threads_count", "errors_count", "build_s"),
)
# wrk corrects latencies before it prints them.
_CORRECTED = {"wrk": ("p50_s", "p75_s", "p90_s", "p99_s", "mean_s", "stddev_s", "max_s")}
# Tolerance of the measured level: a machine that cannot keep 20,000 connections open measures 19,900.
_NEAR = 0.05


class CellName(NamedTuple):
    """One of our cells, or one of a published table's."""

    system: str
    workload: str

    def __str__(self) -> str:
        return f"{self.system} at {self.workload}"


class Claim(Written):
    """One published statement; the head of ``claims.toml`` explains the kinds.

    `quote` has … where words are left out; `within_ratio` is the largest ratio that a word for "equal" allows; `untestable` says
    why nothing here can decide it. Reports and tests refer to the `id`.
    """

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    source: str = Field(min_length=1)
    place: str = Field(min_length=1)
    quote: str = Field(min_length=1, max_length=200)
    kind: Literal["ratio", "order", "least", "most", "absolute", "word"]
    experiment: str = Field(pattern=r"^\d\d-[a-z0-9-]+$")
    metric: str = ""
    systems: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    within_ratio: float | None = Field(default=None, gt=1)
    untestable: str = ""
    note: str = ""

    @model_validator(mode="after")
    def _is_a_hypothesis(self) -> Claim:
        if self.kind != "word" and self.within_ratio is not None:
            raise ValueError("within_ratio is for words")
        if not (self.systems or self.workloads or self.metric):
            if not self.untestable:
                raise ValueError("a claim without systems, workloads and metric must say why it is untestable")
            return self
        if self.metric not in METRICS:
            raise ValueError(f"metric {self.metric!r}: {did_you_mean(self.metric, METRICS)}")
        counts = {len(self.systems), len(self.workloads)}
        longest = max(counts)
        if not counts <= {1, longest}:
            raise ValueError("systems and workloads must be one for all cells, or one for each")
        least, most = {"absolute": (1, 1), "ratio": (2, 2), "word": (2, 2)}.get(self.kind, (2, math.inf))
        if not least <= longest <= most or len(set(self.cells)) < longest:
            raise ValueError(f"{longest} cells: not what a claim of kind {self.kind} is about, or one twice")
        return self

    @property
    def cells(self) -> tuple[CellName, ...]:
        """Return the cells that it is about, in its order."""
        count = max(len(self.systems), len(self.workloads))
        systems, workloads = (names * count if len(names) == 1 else names for names in (self.systems, self.workloads))
        return tuple(map(CellName, systems, workloads))

    @property
    def pairs(self) -> tuple[tuple[CellName, CellName], ...]:
        """Return the pairs that the claim compares, the cell with less of the metric first; a ratio's pair in its own order."""
        first, others = self.cells[:1], self.cells[1:]
        if self.kind == "least":
            return tuple(itertools.product(first, others))
        if self.kind == "most":
            return tuple(itertools.product(others, first))
        return tuple(itertools.pairwise(self.cells))


class _ClaimRegister(Written):
    claim: tuple[Claim, ...]

    @model_validator(mode="after")
    def _ids_are_unique(self) -> _ClaimRegister:
        twice = [name for name, count in Counter(claim.id for claim in self.claim).items() if count > 1]
        if twice:
            raise ValueError(f"id {twice[0]!r} appears twice")
        return self


def load_claims(path: Path = PUBLISHED / "claims.toml") -> tuple[Claim, ...]:
    """Return the register; errors as of :func:`runners.analyse.published.read_toml`."""
    return read_toml(path, _ClaimRegister).claim


def published_amounts(claim: Claim, figures: pd.DataFrame) -> tuple[float, ...]:
    """Return the published value of the metric for each cell of a claim; NaN where the source gives no number."""
    if claim.metric not in figures:
        return (math.nan,) * len(claim.cells)
    rows = figures[figures["source"] == claim.source].set_index(["system", "workload"])[claim.metric]
    return tuple(float(rows.get(cell, math.nan)) for cell in claim.cells)


def published_value(claim: Claim, figures: pd.DataFrame) -> float:
    """Return the published ratio or absolute of a claim; for a word, second cell ÷ first; NaN for claims about an order."""
    match claim.kind, published_amounts(claim, figures):
        case "absolute", (amount,):
            return amount
        case "ratio", (first, second):
            return over(first, second)
        case "word", (first, second):
            return over(second, first)
    return math.nan


def over(a: float, b: float) -> float:
    """Return a ÷ b for amounts of which none is negative: 0 ÷ 0 is 1, anything else ÷ 0 is infinite."""
    if b == 0:
        return 1.0 if a == 0 else math.inf
    return a / b


def like_column(metric: str, generator: str) -> str:
    """Return the column that holds a metric as `generator` prints it: ``corrected_p99_s`` for wrk's p99."""
    return f"corrected_{metric}" if metric in _CORRECTED.get(generator, ()) else metric


def like_workload(workload: str, generator: str, cells: pd.DataFrame) -> str:
    """Return the label of the workload as `generator` measured it (``text@autocannon``), else that of the nearest level."""
    own = cells.loc[(cells["base_workload"] == workload) & (cells["shape"] == generator), "workload"]
    return str(next(iter(own), nearest_workload(workload, cells)))


def nearest_workload(workload: str, cells: pd.DataFrame) -> str:
    """Return the measured workload at the nearest level within 5 %, for example ``json10@19900`` for ``json10@20000``.

    The label itself where it was measured, has no level, or none is near.
    """
    published = published_workloads().get(workload)
    if published is None or published.connections is None or workload in set(cells["workload"]):
        return workload
    levels = cells[cells["workload_name"] == published.name].dropna(subset=["shape_connections_count"])
    factors = levels["shape_connections_count"].astype(float) / published.connections
    near = factors[(factors - 1).abs() <= _NEAR]
    return str(levels.loc[np.log(near).abs().idxmin(), "workload"]) if len(near) else workload
