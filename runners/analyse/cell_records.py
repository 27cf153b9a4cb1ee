"""The records of each cell in the tables of a run: sums, means and medians, each made of a whole table at once.

One cell after the other, with two dozen of such calls for each, takes more than twice as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from runners.analyse.comparisons import Place, launch_cpu_times, values_by_cell
from runners.analyse.tables import Tables
from runners.analyse.window_columns import CORRECTED
from runners.core.histogram import Histogram
from runners.core.records import WINDOW, Row
from runners.core.sample import ROLES, Role

Numbers = Mapping[str, float]
"""Column → one number made of it."""

_CELL = ["system", "workload"]
_LAUNCH = [*_CELL, "block"]
_DESCRIBING = ["operations_count", "records_count", "body_bytes", "generator", "offered_rps"]
# Column → how the rows of a cell become one number; a name that ends with "_" stands for all that begin with it.
_OF_WINDOWS = dict.fromkeys(("requests_count", "goodput_rps", "throughput_rps", "errors_"), "sum")
_OF_WINDOWS |= {"speed_ratio": "mean", "achieved_fraction": "mean", "offered_rps": "median"}
_OF_SOUND = {"throughput_rps": "mean", "apart": "all", "requested_connections_count": "max"}
_OF_SOUND |= dict.fromkeys(
    ("established_count", "duration_s", "ramp_up_s", "network_busy_fraction", "memory_"), "median"
)
_OF_SERVER = {"user_fraction": "mean", "context_switches_rps": "mean"}
_OF_SERVER |= dict.fromkeys(("rss_peak_bytes", "threads_count", "pss_bytes", "fds_count"), "max")
_OF_ROLE = {"busy_fraction": "median", "used_fraction": "median", "cpu_per_request_sampled_s": "mean"}


@dataclass(frozen=True)
class CellRecords:
    """The records of one cell; a number that nobody measured is NaN.

    Attributes
    ----------
    launches_made_count : int
        Number of blocks that have the cell, whatever became of it.
    described : Row
        What its last window says of its body, its load generator and its rate; empty where it has none.
    failed_checks : pd.DataFrame
        Rows of the table of checks.
    checks_count : Mapping[str, int]
        Name of a check that failed → number of trials that had it.
    failures : list[str]
        The messages of trials that failed.
    all_windows : Numbers
        Of all its windows that are no warm-ups, void or not: how much of the offered load they completed.
    windows : Numbers
        Of its sound windows that give throughput: sums of requests, errors and rates, means and medians of other columns.
    sound : Numbers
        Of all its sound windows but warm-ups.
    server : Numbers
        Of the server's use of the machine, in its sound windows that give throughput.
    of_role : Mapping[Role, Numbers]
        Of the use of each role's CPUs, in the same windows.
    cpu_times, peaks : NDArray[np.float64]
        The server's CPU time per request in seconds, and its peak memory in bytes, of each launch.
    corrected : NDArray[np.float64]
        A row for each launch: the median of each of `CORRECTED` over its windows in one piece.
    little_ratio : float
        Median over these windows.
    histograms : list[Histogram]
        One of each launch that has such windows.
    """

    launches_made_count: int
    described: Row
    failed_checks: pd.DataFrame
    checks_count: Mapping[str, int]
    failures: list[str]
    all_windows: Numbers
    windows: Numbers
    sound: Numbers
    server: Numbers
    of_role: Mapping[Role, Numbers]
    cpu_times: NDArray[np.float64]
    peaks: NDArray[np.float64]
    corrected: NDArray[np.float64]
    little_ratio: float
    histograms: list[Histogram]


def records_by_cell(tables: Tables) -> Callable[[Place], CellRecords]:
    """Return a function that returns the records of one cell."""
    trials, usage, checks, failures = tables.trials, tables.usage, tables.checks, tables.failures
    sound = trials[~trials["warmup"].astype(bool) & ~trials["void"].astype(bool)]
    in_one_piece = sound[sound["time_slices_count"] == 0] if len(sound) else sound
    roles = {role: usage[usage["role"] == role] for role in ROLES}
    server = roles["server"]
    failed = checks[~checks["ok"].astype(bool)]

    made = pd.concat([trials[_LAUNCH], failures[_LAUNCH]]).drop_duplicates().groupby(_CELL).size()
    described = (
        trials.drop_duplicates(_CELL, keep="last").set_index(_CELL).reindex(columns=_DESCRIBING).to_dict("index")
    )
    failed_of = dict(iter(failed.groupby(_CELL)))
    counted = checks[checks["name"].isin(failed["name"])].groupby([*_CELL, "name"]).size()
    messages = failures.groupby(_CELL)["message"].agg(list)
    measured = trials[(trials["kind"] == WINDOW) & ~trials["warmup"].astype(bool)]
    all_windows = _of_cells(measured, {"achieved_fraction": "mean"})
    windows, of_sound = _of_cells(sound[sound["kind"] == WINDOW], _OF_WINDOWS), _of_cells(sound, _OF_SOUND)
    of_server = _of_cells(server, _OF_SERVER)
    of_roles = {role: _of_cells(rows, _OF_ROLE) for role, rows in roles.items()}
    cpu_times = values_by_cell(launch_cpu_times(server))
    peaks = values_by_cell(server.groupby(_LAUNCH)["rss_peak_bytes"].max())
    one_piece = _of_cells(in_one_piece, {"little_ratio": "median"})
    corrected = values_by_cell(in_one_piece.groupby(_LAUNCH)[list(CORRECTED)].median()) if len(in_one_piece) else {}
    none = np.empty(0)

    def records(cell: Place) -> CellRecords:
        return CellRecords(
            launches_made_count=int(made.get(cell, 0)),
            described=described.get(cell, {}),
            failed_checks=failed_of.get(cell, failed.iloc[:0]),
            checks_count=counted[cell].to_dict() if cell in failed_of else {},
            failures=messages.get(cell, []),
            all_windows=all_windows(cell),
            windows=windows(cell),
            sound=of_sound(cell),
            server=of_server(cell),
            of_role={role: of_cells(cell) for role, of_cells in of_roles.items()},
            cpu_times=cpu_times.get(cell, none),
            peaks=peaks.get(cell, none),
            corrected=corrected.get(cell, np.empty((0, len(CORRECTED)))),
            little_ratio=one_piece(cell)["little_ratio"],
            histograms=[*tables.launches.get(cell, {}).values()],
        )

    return records


def _of_cells(table: pd.DataFrame, how: Mapping[str, str]) -> Callable[[Place], Numbers]:
    """Return a function that returns the numbers of one cell, all NaN where the table has no row of it."""
    named = {name: [each for each in table if each.startswith(name)] if name.endswith("_") else [name] for name in how}
    columns = {column: how[name] for name, found in named.items() for column in found}
    known = {column: each for column, each in columns.items() if column in table}
    numbers = table.groupby(_CELL).agg(known).to_dict("index") if len(table) else {}
    missing = dict.fromkeys(columns, math.nan)
    return lambda cell: missing | numbers.get(cell, {})
