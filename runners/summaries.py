"""Reading ``data/processed``: where a run's results are, and its summary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runners.folders import PROCESSED
from runners.ledger import Run
from runners.records import SUMMARY_SCHEMA


def processed_folder(run: Run, base: Path = PROCESSED) -> Path:
    """``data/processed/<experiment>/<run_id>``."""
    return base / run.experiment / run.run_id


def read_summary(folder: Path) -> dict[str, Any] | None:
    """A run's ``summary.json``; None when there is none of this schema."""
    try:
        found: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if found.get("schema") == SUMMARY_SCHEMA else None
