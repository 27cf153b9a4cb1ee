"""Types of ``summary.json``: of a run, and of two runs compared. An experiment's own summary may hold more."""

from __future__ import annotations

import json
from typing import Any, TypedDict, TypeGuard

from runners.core.records import COMPARISON_SCHEMA, SUMMARY_SCHEMA

JsonRow = dict[str, Any]
"""A cell, a check or a share: its columns are those of the table that it is from."""


class Quantity(TypedDict):
    """A value with its 95 % interval; what is missing is null."""

    value: float | None
    low: float | None
    high: float | None


class PairSummary(TypedDict):
    """Two systems compared on a workload: over all sessions, the mean over them, and this session's own."""

    workload: str
    system_a: str
    system_b: str
    ratio: Quantity
    own_ratio: Quantity
    mean_ratio: Quantity
    between_ratio: float | None
    sessions_count: int
    blocks_count: int
    own_blocks_count: int
    family: str
    bound: str
    verdict: str


class RunSummary(TypedDict):
    """The summary of a run."""

    schema: str
    experiment: str
    run_id: str
    profile: str
    parameters: dict[str, Any]
    machine: dict[str, Any]
    versions: dict[str, Any]
    started_at: str
    finished_at: str | None
    blocks_count: int
    measured_s: float
    precision_reached_ratio: float | None
    cells: list[JsonRow]
    comparisons: list[PairSummary]
    sessions: list[JsonRow]
    shares: list[JsonRow]
    noise_floor: dict[str, float]
    checks: list[JsonRow]
    headline: str
    conclusions: list[str]


class ComparisonSummary(TypedDict):
    """The summary of two runs of one experiment."""

    schema: str
    experiment: str
    run_a: str
    run_b: str
    profile_a: str
    profile_b: str
    started_at_a: str
    started_at_b: str
    machine_a: dict[str, Any]
    machine_b: dict[str, Any]
    differences: list[JsonRow]
    cells: list[JsonRow]
    unmatched: list[str]
    common_factor: JsonRow
    noise_floor: dict[str, float]
    headline: str
    conclusions: list[str]


def run_summary(text: bytes) -> RunSummary | None:
    """Return the summary of a run; None for a text that is not one of this schema."""
    found = _object(text)
    return found if _is_run(found) else None


def comparison_summary(text: bytes) -> ComparisonSummary | None:
    """Return the summary of two compared runs; None for a text that is not one of this schema."""
    found = _object(text)
    return found if _is_comparison(found) else None


def _is_run(found: JsonRow) -> TypeGuard[RunSummary]:
    return found.get("schema") == SUMMARY_SCHEMA and RunSummary.__required_keys__ <= found.keys()


def _is_comparison(found: JsonRow) -> TypeGuard[ComparisonSummary]:
    return found.get("schema") == COMPARISON_SCHEMA and ComparisonSummary.__required_keys__ <= found.keys()


def _object(text: bytes) -> JsonRow:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
