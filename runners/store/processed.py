"""The folders of ``data/processed``, and the summaries in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runners.core.folders import COMPARING, PROCESSED
from runners.core.records import SUMMARY_SCHEMA
from runners.store.ledger import Run


def processed_folder(run: Run, base: Path = PROCESSED) -> Path:
    """Return ``data/processed/<experiment>/<run_id>``."""
    return base / run.experiment / run.run_id


def comparison_folder(a: Run, b: Run, base: Path = PROCESSED) -> Path:
    """Return ``data/processed/90-compare-runs/<A>--<B>/<experiment>``: one id may name runs of several experiments."""
    return base / COMPARING / f"{a.run_id}--{b.run_id}" / a.experiment


def read_summary(folder: Path, schema: str = SUMMARY_SCHEMA) -> dict[str, Any] | None:
    """Return the ``summary.json`` of a run or a comparison; None without one of this schema."""
    try:
        found: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if found.get("schema") == schema else None
