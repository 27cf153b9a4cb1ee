"""From raw trial records to tidy tables: one row is one window, one histogram bin, or one role's use of the machine."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from runners.analyse.checks.trial import search_checks, trial_checks
from runners.analyse.usage import PROBED, RoleUsage, speed_ratio, window_usage
from runners.analyse.window_columns import trial_row
from runners.core.histogram import Histogram
from runners.core.load import LoadResult
from runners.core.records import MEASURED_KINDS, SEARCH_KINDS, WINDOW, Check, Row
from runners.core.trial_record import TrialRecord, WindowRecord
from runners.generators.registry import GENERATORS
from runners.generators.reports import result_of
from runners.stats import histograms

_Bins = tuple[NDArray[np.signedinteger], NDArray[np.signedinteger]]
_CELL = ("block", "system", "workload")
_KEYS = ("block", "system", "server", "codec", "variant", "control", "workload", "workload_name")
# Columns that are read also where there is no trial, and no use of the machine.
_NEEDED = ("base_workload", "window", "void", "warmup", "throughput_rps", *PROBED, "kind")
_OF_ROLES = ("shape_connections_count", "base_workload", "window", *(each.name for each in fields(RoleUsage)))


@dataclass(frozen=True)
class Tables:
    """The tables of a run in ``data/processed``.

    Attributes
    ----------
    trials : pd.DataFrame
        A row per window: block, window (0 is the warm-up), system …, kind (priming, warmup, window or percentiles), warmup (whether it is
        one of the first two), throughput_rps (a throughput of the system only where kind is window), little_ratio (throughput × mean
        service time / connections; NaN in an open loop), time_slices_count (time slices; 0: in one piece), speed_ratio (see
        :func:`runners.analyse.usage.speed_ratio`), requests_count, errors, void; base_workload (its label without the load), objectives
        (of its load, joined by "; "), sent_ENDPOINT_count (of a mix), `OPEN_LOOP`, `CORRECTED`.
    latency : pd.DataFrame
        A row per bin of a sound trial's histogram, of its windows in one piece; of response times where it knows them, else of service
        times: block, system, workload, value_us, count.
    usage : pd.DataFrame
        A row per window of a sound trial whose kind is window, and role: CPU, memory, threads, context switches.
    checks : pd.DataFrame
        A row per trial and check: block, system, workload, name, ok, void, detail, advice.
    failures : pd.DataFrame
        A row per trial that failed: block, system, workload, stage, message.
    """

    trials: pd.DataFrame
    latency: pd.DataFrame
    usage: pd.DataFrame
    checks: pd.DataFrame
    failures: pd.DataFrame

    @cached_property
    def launches(self) -> dict[tuple[str, str], dict[int, Histogram]]:
        """Return (system, workload) → block → the histogram in `latency`, of each cell that has one; views of that table."""
        columns = [self.latency[name] for name in _CELL]
        values = [column.cat.codes if column.dtype == "category" else column for column in columns]
        # The bins of a trial stand together: a trial begins where one of its keys changes.
        begins = np.ones(len(self.latency), dtype=bool)
        begins[1:] = np.any([(each.to_numpy()[1:] != each.to_numpy()[:-1]) for each in values], axis=0)
        starts = np.flatnonzero(begins)
        bins = (np.split(self.latency[name].to_numpy(np.int64), starts[1:]) for name in ("value_us", "count"))
        found = dict[tuple[str, str], dict[int, Histogram]]()
        # Not strict: numpy makes one part of nothing.
        trials = zip(*(column.iloc[starts] for column in columns), strict=True)
        for (block, system, workload), histogram in zip(trials, map(Histogram, *bins), strict=False):
            found.setdefault((system, workload), {})[int(block)] = histogram
        return found


@dataclass
class Rows:
    """Rows by column: a dict for each row repeats its names, and ten thousand trials have two hundred thousand rows."""

    count: int = 0
    columns: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Rows:
        """Return rows by column; what one of them does not have is NaN."""
        found = cls()
        # Most rows have the columns of the one before: theirs are joined at once.
        for names, alike in itertools.groupby(rows, key=tuple):
            columns = list(zip(*(row.values() for row in alike), strict=True))
            found.extend(cls(len(columns[0]), dict(zip(names, map(list, columns), strict=True))))
        return found

    def extend(self, more: Rows) -> None:
        """Add rows; columns that one side does not have are NaN there."""
        for name, values in more.columns.items():
            self._column(name).extend(values)
        self.count += more.count

    def frame(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the table of all rows, or of these columns of it."""
        return pd.DataFrame({name: self._column(name) for name in self.columns}, columns=names)

    def _column(self, name: str) -> list[Any]:
        """Return a column with a value for each row so far."""
        column = self.columns.setdefault(name, [])
        column += itertools.repeat(np.nan, self.count - len(column))
        return column


@dataclass
class Parts:
    """The rows of some trials on their way into tables; `bins` has (block, system, workload) and the two columns of bins."""

    trials: Rows = field(default_factory=Rows)
    usage: Rows = field(default_factory=Rows)
    checks: Rows = field(default_factory=Rows)
    failures: Rows = field(default_factory=Rows)
    bins: list[tuple[tuple[int, str, str], _Bins]] = field(default_factory=list)

    def extend(self, more: Parts) -> None:
        """Add the rows of further trials."""
        for each in fields(Parts):
            getattr(self, each.name).extend(getattr(more, each.name))


def build_tables(records: Iterable[TrialRecord]) -> Tables:
    """Return the tables of all trial records of a run."""
    return join_parts([parse_trials(records)])


def parse_trials(records: Iterable[TrialRecord]) -> Parts:
    """Return the rows of some trial records."""
    trials, usage, checks, failures = list[Row](), list[Row](), list[Row](), list[Row]()
    bins = []
    for record in records:
        connections = record.shape.connections
        keys: Row = {name: getattr(record, name) for name in _KEYS}
        keys["shape_connections_count"] = np.nan if connections is None else connections
        keys["base_workload"] = record.base_workload
        if record.failure:
            failures.append({**keys, **record.failure.model_dump()})
            continue
        results = list(load_results(record))
        searched = bool(record.shape.objectives)
        kinds = SEARCH_KINDS if searched else MEASURED_KINDS
        windows = [(raw, result) for raw, result in results if raw.kind in kinds]
        found = search_checks(record, windows) if searched else trial_checks(record, windows)
        void = bool(_void_for(found))
        for check in found:
            checks.append({**keys, **vars(check)})
        for number, (raw, result) in enumerate(results):
            trials.append({**keys, "window": number, "void": void, **trial_row(record, raw, result)})
            if not void and raw.kind == WINDOW:
                for row in window_usage(record, raw, result.requests_count):
                    usage.append({**keys, "window": number, **vars(row)})
        if not void and not searched:
            merged = histograms.merge(
                result.response_time or result.service_time for raw, result in windows if raw.slices is None
            )
            # As small as they fit on their way between processes: millions of bins.
            values, counts = (each.astype(np.min_scalar_type(-1 - int(each.max(initial=0)))) for each in merged.arrays)
            bins.append(((record.block, record.system, record.workload), (values, counts)))
    return Parts(Rows.of(trials), Rows.of(usage), Rows.of(checks), Rows.of(failures), bins)


def join_parts(parts: Iterable[Parts]) -> Tables:
    """Return the tables of parsed trials, in their order."""
    found = Parts()
    for part in parts:
        found.extend(part)
    windows_table = found.trials.frame(None if found.trials.count else [*_KEYS, *_NEEDED])
    return Tables(
        windows_table.assign(speed_ratio=speed_ratio(windows_table[windows_table["kind"] == WINDOW])),
        _bins_table(found.bins),
        found.usage.frame(None if found.usage.count else [*_KEYS, *_OF_ROLES]),
        found.checks.frame([*_KEYS, "name", "ok", "detail", "advice", "void"]),
        found.failures.frame([*_KEYS, "base_workload", "stage", "message"]),
    )


def _bins_table(
    bins: Sequence[tuple[tuple[int, str, str], _Bins]],
) -> pd.DataFrame:
    if not bins:
        return pd.DataFrame(columns=[*_CELL, "value_us", "count"])
    lengths = [len(values) for _, (values, _) in bins]
    blocks, systems, workloads = zip(*(cell for cell, _ in bins), strict=True)
    return pd.DataFrame(
        {
            "block": np.repeat(np.array(blocks, np.int64), lengths),
            # Categories: ten thousand trials have millions of bins.
            "system": pd.Categorical(systems).repeat(lengths),
            "workload": pd.Categorical(workloads).repeat(lengths),
            "value_us": np.concatenate([values for _, (values, _) in bins], dtype=np.int64),
            "count": np.concatenate([counts for _, (_, counts) in bins], dtype=np.int64),
        },
        copy=False,
    )


def load_results(record: TrialRecord) -> Iterator[tuple[WindowRecord, LoadResult]]:
    """Yield each window of a record with what its load generator's parser makes of it.

    Raises
    ------
    GeneratorError
        When the parser refuses what the generator printed.
    """
    generator = GENERATORS[record.generator]
    for raw in record.windows:
        yield raw, result_of(generator, raw)


@dataclass(frozen=True)
class MeasuredWindow:
    """A window that gives throughput and the server's CPU time; `void_for` names the checks that make its trial void."""

    block: int
    system: str
    workload: str
    throughput_rps: float
    void_for: tuple[str, ...] = ()
    cpu_per_request_s: float = math.nan
    kind: str = WINDOW


def measured_windows(record: TrialRecord) -> list[MeasuredWindow]:
    """Return each window that gives throughput, as :func:`runners.analyse.comparisons.launch_throughputs` reads it."""
    if record.shape.objectives:
        return []
    windows = [(raw, result) for raw, result in load_results(record) if raw.kind in MEASURED_KINDS]
    void_for = _void_for(trial_checks(record, windows))
    cell = (record.block, record.system, record.workload)
    return [
        MeasuredWindow(*cell, found.throughput_rps, void_for, raw.server_cpu_s / (found.requests_count or math.nan))
        for raw, found in windows
        if raw.kind == WINDOW
    ]


def _void_for(checks: Iterable[Check]) -> tuple[str, ...]:
    """Return the names of the checks that make their trial void."""
    return tuple(check.name for check in checks if check.void and not check.ok)
