"""The limit of each throughput by name, backends included."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from runners.core.run_manifest import BackendFacts
from runners.core.units import listing
from runners.present.kit.frames import cell_of, measured

BACKEND = "backend"
_WORDS = {
    "server": "server",
    "generator": "load generator",
    "both": "server and generator",
    "unsaturated": "nothing was busy",
}


def backend_name(backends: Mapping[str, BackendFacts]) -> str:
    """Return the names of what runs behind the servers."""
    return listing(list(backends)) or "the backend"


def limit(bottleneck: str, backends: Mapping[str, BackendFacts]) -> str:
    """Return in words what limited a cell; the backend by its name."""
    return backend_name(backends) if bottleneck == BACKEND else _WORDS.get(bottleneck, bottleneck)


def limits_of(cells: pd.DataFrame, backends: Mapping[str, BackendFacts]) -> dict[tuple[str, str], str]:
    """Return (system, workload) → what limited it, for all cells that have a number."""
    return {(row.system, row.workload): limit(row.bottleneck, backends) for row in measured(cells).itertuples()}


def backend_limited(cells: pd.DataFrame, workload: str, *systems: str) -> list[str]:
    """Return those of the systems whose throughput is that of the backend."""
    rows = [(system, cell_of(cells, system, workload)) for system in systems]
    return [system for system, row in rows if row is not None and row["bottleneck"] == BACKEND]


def without_backend_verdicts(
    comparisons: pd.DataFrame, cells: pd.DataFrame, backends: Mapping[str, BackendFacts]
) -> pd.DataFrame:
    """Return the comparisons with "limit: …" in the place of each verdict on a cell whose throughput is the backend's.

    The verdict is true of the throughputs and says nothing about the systems: it is shown as neither.
    """
    said = f"limit: {backend_name(backends)}"
    verdicts = [
        said
        if row["verdict"] and backend_limited(cells, row["workload"], row["system_a"], row["system_b"])
        else row["verdict"]
        for row in comparisons.to_dict("records")
    ]
    return comparisons.assign(verdict=verdicts)
