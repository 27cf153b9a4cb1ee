"""From raw trial records to tidy tables: one row is one window, one histogram bin, or one role's use of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from runners.analyse.checks.conditions import little_ratio
from runners.analyse.checks.trial import search_checks, trial_checks
from runners.analyse.usage import PROBED, seen_by_probes, speed_ratio, window_usage
from runners.core.load import LATE_S, PACED_S, Histogram, LoadResult
from runners.core.parameter_values import objective
from runners.core.records import (
    MEASURED_KINDS,
    PERCENTILES,
    SEARCH_KINDS,
    WARM_UP_KINDS,
    WINDOW,
    Check,
    Row,
    percentile_column,
)
from runners.core.trial_record import TrialRecord, WindowRecord
from runners.generators.registry import GENERATORS
from runners.machine.topology import parse_cpu_list
from runners.stats import histograms

_CELL = ("block", "system", "workload")
_KEYS = ("block", "system", "server", "codec", "variant", "control", "workload", "workload_name")
# Columns of the trials that are read also where there is no trial.
_NEEDED = ("base_workload", "window", "void", "warmup", "throughput_rps", *PROBED, "kind")
_PRINTED = (50.0, 75.0, 90.0, 99.0)
CORRECTED = tuple(f"corrected_{name}" for name in (*map(percentile_column, _PRINTED), "mean_s", "stddev_s", "max_s"))
"""Service times in seconds as wrk prints them, after its own correction: what published wrk figures can be held against."""


def response_column(percentile: float) -> str:
    """Return the column of a percentile of the response times: 99.9 is ``response_p99_9_s``."""
    return f"response_{percentile_column(percentile)}"


_LATENESS = ("on_time_fraction", "late_p99_s", "late_fraction")
OPEN_LOOP = (*map(response_column, PERCENTILES), *_LATENESS, "achieved_fraction")
"""Columns of a window with scheduled arrivals: percentiles of the response times; the share of the sends at most `PACED_S` late, the
p99 of their lateness, and the share of those later than `LATE_S`; and the share of the arrivals with a correct response."""


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
        (of its load, joined by "; "), `OPEN_LOOP`, `CORRECTED`.
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


def build_tables(records: Iterable[TrialRecord]) -> Tables:
    """Return the tables of all trial records of a run."""
    trials: list[Row] = []
    usage: list[Row] = []
    checks: list[Row] = []
    failures: list[Row] = []
    bins: list[pd.DataFrame] = []
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
        checks += [{**keys, **vars(check)} for check in found]
        for number, (raw, result) in enumerate(results):
            trials.append({**keys, "window": number, "void": void, **_trial_row(record, raw, result)})
            if not void and raw.kind == WINDOW:
                usage += [
                    {**keys, "window": number, **vars(row)} for row in window_usage(record, raw, result.requests_count)
                ]
        if not void and not searched:
            merged = histograms.merge(
                result.response_time or result.service_time for raw, result in windows if raw.slices is None
            )
            counted = {"value_us": np.array(merged.values_us, np.int64), "count": np.array(merged.counts, np.int64)}
            bins.append(pd.DataFrame({name: keys[name] for name in _CELL} | counted))
    windows_table = pd.DataFrame(trials, columns=None if trials else [*_KEYS, *_NEEDED])
    return Tables(
        windows_table.assign(speed_ratio=speed_ratio(windows_table[windows_table["kind"] == WINDOW])),
        pd.concat(bins, ignore_index=True) if bins else pd.DataFrame(columns=[*_CELL, "value_us", "count"]),
        pd.DataFrame(usage),
        pd.DataFrame(checks, columns=[*_KEYS, "name", "ok", "detail", "advice", "void"]),
        pd.DataFrame(failures, columns=[*_KEYS, "base_workload", "stage", "message"]),
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
        yield raw, generator.parse(raw.stdout, raw.load)


@dataclass(frozen=True)
class MeasuredWindow:
    """A window that gives throughput; `void_for` names the checks that make its trial void: none where it counts."""

    block: int
    system: str
    workload: str
    throughput_rps: float
    void_for: tuple[str, ...] = ()
    kind: str = WINDOW


def measured_windows(record: TrialRecord) -> list[MeasuredWindow]:
    """Return each window that gives throughput, as :func:`runners.analyse.comparisons.launch_throughputs` reads it."""
    if record.shape.objectives:
        return []
    windows = [(raw, result) for raw, result in load_results(record) if raw.kind in MEASURED_KINDS]
    void_for = _void_for(trial_checks(record, windows))
    return [
        MeasuredWindow(record.block, record.system, record.workload, result.throughput_rps, void_for)
        for raw, result in windows
        if raw.kind == WINDOW
    ]


def _void_for(checks: Iterable[Check]) -> tuple[str, ...]:
    """Return the names of the checks that make their trial void."""
    return tuple(check.name for check in checks if check.void and not check.ok)


def _trial_row(record: TrialRecord, raw: WindowRecord, result: LoadResult) -> Row:
    load = raw.load
    server, generator = (parse_cpu_list(record.cpus[role]) for role in ("server", "generator"))
    established = [sample.connections_count for sample in raw.samples if sample.connections_count is not None]
    return {
        "kind": raw.kind,
        "warmup": raw.kind in WARM_UP_KINDS,
        "started_at": raw.started_at,
        "operations_count": np.nan if record.operations is None else record.operations,
        "body_bytes": record.body_bytes,
        "generator": record.generator,
        "records_count": np.nan if record.count is None else record.count,
        "apart": set(server).isdisjoint(generator),
        "offered_rps": load.rate_rps or np.nan,
        "requested_connections_count": load.connections,
        "established_count": max(established, default=np.nan),
        "throughput_rps": result.throughput_rps,
        "little_ratio": np.nan if load.rate_rps else little_ratio(result),
        "objectives": "; ".join(record.shape.objectives),
        **_open_loop(result, record.shape.objectives),
        **seen_by_probes(record, raw),
        "goodput_rps": result.goodput_rps,
        "requests_count": result.requests_count,
        "duration_s": result.duration_s,
        "time_slices_count": raw.slices.count if raw.slices else 0,
        "read_bytes": result.read_bytes,
        "connections_count": result.connections_count,
        "ramp_up_s": load.ramp_up_s,
        **{f"errors_{name}": count for name, count in asdict(result.errors).items()},
        "startup_s": record.startup_s,
        "block_s": record.block_s,
        # Memory of the trial's process, where it had one of its own.
        **{
            f"memory_{when}_{name}": getattr(getattr(record, f"memory_{when}"), name, np.nan)
            for when in ("before", "after")
            for name in ("rss_bytes", "pss_bytes", "fds_count")
        },
        "generator_warnings": "; ".join(result.warnings),
        **_corrected(result.corrected or Histogram((), ())),
    }


def _open_loop(result: LoadResult, objectives: Sequence[str]) -> dict[str, float]:
    """Return `OPEN_LOOP` of one window, and the percentiles of its objectives; NaN where arrivals were not scheduled."""
    times, late = result.response_time or Histogram((), ()), result.lateness or Histogram((), ())
    wanted = sorted({*PERCENTILES, *(objective(text).percentile for text in objectives)})
    values = histograms.percentiles(times.values_us, times.counts, wanted) * 1e-6
    found = {response_column(percentile): float(value) for percentile, value in zip(wanted, values, strict=True)}
    scheduled = result.scheduled_count
    return found | {
        "on_time_fraction": 1 - _later(late, PACED_S),
        "late_p99_s": float(histograms.percentiles(late.values_us, late.counts, [99.0])[0]) * 1e-6,
        "late_fraction": _later(late, LATE_S),
        "achieved_fraction": (result.requests_count - result.errors.status_count) / scheduled if scheduled else np.nan,
    }


def _later(late: Histogram, limit_s: float) -> float:
    """Return the share of the sends that were later than a limit; NaN without a send."""
    count = sum(count for value, count in zip(late.values_us, late.counts, strict=True) if value > limit_s * 1e6)
    return count / late.total_count if late.total_count else np.nan


def _corrected(histogram: Histogram) -> dict[str, float]:
    """Return `CORRECTED` of one window; NaN without a sample."""
    values, counts = histogram.values_us, histogram.counts
    statistics = (histograms.mean, histograms.stddev, histograms.maximum)
    known = [*histograms.percentiles(values, counts, _PRINTED), *(each(values, counts) for each in statistics)]
    return {name: value * 1e-6 for name, value in zip(CORRECTED, known, strict=True)}
