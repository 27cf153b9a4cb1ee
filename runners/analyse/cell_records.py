"""The records of each cell in the tables of a run, which are divided once: ten thousand trials have millions of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from runners.analyse.tables import Tables
from runners.core.histogram import Histogram


@dataclass(frozen=True)
class CellRecords:
    """The rows of one cell in each table; `histograms`: of each launch."""

    trials: pd.DataFrame
    failures: pd.DataFrame
    checks: pd.DataFrame
    usage: pd.DataFrame
    histograms: list[Histogram]


def records_by_cell(tables: Tables) -> Callable[[str, str], CellRecords]:
    """Return a function that returns the records of one system and workload; the tables are divided once."""
    trials, failures, checks, usage = map(_divided, (tables.trials, tables.failures, tables.checks, tables.usage))

    def records(system: str, workload: str) -> CellRecords:
        cell = system, workload
        own = trials(cell), failures(cell), checks(cell), usage(cell)
        return CellRecords(*own, [*tables.launches.get(cell, {}).values()])

    return records


def _divided(table: pd.DataFrame) -> Callable[[tuple[str, str]], pd.DataFrame]:
    known = dict(iter(table.groupby(["system", "workload"], sort=False))) if len(table) else {}
    return lambda cell: known.get(cell, table.iloc[:0])
