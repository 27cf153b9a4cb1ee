"""From raw trial records to tidy tables: one row is one window, one histogram bin, or one role's use of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from runners import histograms
from runners.analyse.checks import little_ratio, trial_checks
from runners.analyse.usage import seen_by_probes, speed_ratio, window_usage
from runners.generators.registry import GENERATORS
from runners.machine.topology import parse_cpu_list
from runners.records import (
    MEASURED_KINDS,
    WARM_UP_KINDS,
    WINDOW,
    Check,
    Histogram,
    Load,
    LoadResult,
    percentile_column,
)

_KEYS = ("block", "system", "server", "codec", "placebo", "workload", "workload_name")
_PRINTED = (50.0, 75.0, 90.0, 99.0)
CORRECTED = (
    *(f"corrected_{percentile_column(at)}" for at in _PRINTED),
    *(f"corrected_{of}_s" for of in ("mean", "stddev", "max")),
)
"""Service times in seconds as wrk prints them, after its own correction: what published wrk figures can be held against."""
_NEEDED = (
    "void",
    "warmup",
    "throughput_rps",
    "probe_mean_hz",
    "probe_p90_hz",
    "probe_wakes_hz",
    "kind",
    "speed_ratio",
)


@dataclass(frozen=True)
class Tables:
    """What ``data/processed`` holds of a run.

    Attributes
    ----------
    trials : a row per window: block, window (0 is the warm-up), system …, kind (priming, warmup, window or percentiles), warmup (whether it
        is one of the first two), throughput_rps (a throughput of the system only where kind is window), little_ratio (throughput × mean
        service time / connections; NaN in an open loop), turns_count (time slices; 0: in one piece), speed_ratio (of the server's CPUs, see
        :func:`runners.analyse.usage.speed_ratio`), requests_count, errors, void; `CORRECTED`, as the load generator printed it
    latency : a row per bin of a trial's raw service-time histogram, of its windows in one piece: block, system, workload, value_us,
        count
    usage : a row per window of a sound trial whose kind is window, and role (server, generator, backend): CPU, memory, threads,
        context switches
    checks : a row per trial and check: block, system, workload, name, ok, void, detail, advice
    failures : a row per trial that failed: block, system, workload, stage, message
    """

    trials: pd.DataFrame
    latency: pd.DataFrame
    usage: pd.DataFrame
    checks: pd.DataFrame
    failures: pd.DataFrame


def build_tables(records: Iterable[dict[str, Any]]) -> Tables:
    """The tables of all trial records of a run."""
    trials: list[dict[str, Any]] = []
    usage: list[dict[str, Any]] = []
    checks: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    bins: list[pd.DataFrame] = []
    for record in records:
        keys = {name: record[name] for name in _KEYS}
        if record["failure"]:
            failures.append({**keys, **record["failure"]})
            continue
        results = list(load_results(record))
        windows = [(raw, result) for raw, result in results if raw["kind"] in MEASURED_KINDS]
        found = trial_checks(record, windows)
        void = bool(_void_for(found))
        checks += [{**keys, **check.as_dict()} for check in found]
        for number, (raw, result) in enumerate(results):
            trials.append({**keys, "window": number, "void": void, **_trial_row(record, raw, result)})
            if not void and raw["kind"] == WINDOW:
                usage += [{**keys, "window": number, **row} for row in window_usage(record, raw, result.requests_count)]
        if not void:
            bins.append(
                _bins(keys, histograms.merge(result.service_time for raw, result in windows if not raw.get("turns")))
            )
    return Tables(
        _with_speed(pd.DataFrame(trials, columns=None if trials else [*_KEYS, "window", *_NEEDED])),
        pd.concat(bins, ignore_index=True)
        if bins
        else pd.DataFrame(columns=["block", "system", "workload", "value_us", "count"]),
        pd.DataFrame(usage),
        pd.DataFrame(checks, columns=[*_KEYS, "name", "ok", "detail", "advice", "void"]),
        pd.DataFrame(failures, columns=[*_KEYS, "stage", "message"]),
    )


def load_results(record: dict[str, Any]) -> Iterator[tuple[dict[str, Any], LoadResult]]:
    """Each raw window of a record with what its load generator's parser makes of it.

    Raises
    ------
    GeneratorError
        When the parser refuses what the generator printed.
    """
    generator = GENERATORS[record["generator"]]
    for raw in record["windows"]:
        yield raw, generator.parse(raw["stdout"], Load(**raw["load"]))


def measured_windows(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each window of a record that gives throughput, as :func:`runners.analyse.comparisons.launch_throughputs` wants it.

    ``void_for`` has the names of the checks that make its trial void: none where it counts.
    """
    windows = [(raw, result) for raw, result in load_results(record) if raw["kind"] in MEASURED_KINDS]
    keys = {name: record[name] for name in ("block", "system", "workload")}
    keys["void_for"] = _void_for(trial_checks(record, windows))
    return [
        {**keys, "kind": raw["kind"], "throughput_rps": result.throughput_rps}
        for raw, result in windows
        if raw["kind"] == WINDOW
    ]


def _void_for(checks: Iterable[Check]) -> tuple[str, ...]:
    """The names of those that make their trial void."""
    return tuple(check.name for check in checks if check.void and not check.ok)


def _with_speed(trials: pd.DataFrame) -> pd.DataFrame:
    return trials.assign(speed_ratio=speed_ratio(trials[trials["kind"] == WINDOW]))


def _trial_row(record: dict[str, Any], raw: dict[str, Any], result: LoadResult) -> dict[str, Any]:
    errors = result.errors
    return {
        "kind": raw["kind"],
        "warmup": raw["kind"] in WARM_UP_KINDS,
        "started_at": raw["started_at"],
        "operations_count": np.nan if record["operations"] is None else record["operations"],
        "body_bytes": record["body_bytes"],
        "generator": record["generator"],
        "records_count": np.nan if record.get("count") is None else record["count"],
        "apart": not set(parse_cpu_list(record["cpus"]["server"])) & set(parse_cpu_list(record["cpus"]["generator"])),
        "offered_rps": raw["load"].get("rate_rps") or np.nan,
        "asked_connections_count": raw["load"]["connections"],
        "established_count": max(
            (sample["connections_count"] for sample in raw["samples"] if "connections_count" in sample), default=np.nan
        ),
        "throughput_rps": result.throughput_rps,
        "little_ratio": np.nan if raw["load"].get("rate_rps") else little_ratio(result),
        **seen_by_probes(record, raw),
        "goodput_rps": result.goodput_rps,
        "requests_count": result.requests_count,
        "duration_s": result.duration_s,
        "turns_count": (raw.get("turns") or {}).get("count", 0),
        "read_bytes": result.read_bytes,
        "connections_count": result.connections_count,
        "opening_s": raw["load"].get("opening_s", 0.0),
        "errors_connect_count": errors.connect_count,
        "errors_read_count": errors.read_count,
        "errors_write_count": errors.write_count,
        "errors_timeout_count": errors.timeout_count,
        "errors_status_count": errors.status_count,
        "startup_s": record["startup_s"],
        "block_s": record["block_s"],
        **_own_memory(record),
        "generator_warnings": "; ".join(result.warnings),
        **_corrected(result),
    }


def _corrected(result: LoadResult) -> dict[str, float]:
    """Return `CORRECTED` of one window; NaN where the load generator corrects nothing."""
    found = result.corrected
    if found is None or not found.total_count:
        return dict.fromkeys(CORRECTED, np.nan)
    values, counts = found.values_us, found.counts
    known = [
        *histograms.percentiles(values, counts, _PRINTED),
        histograms.mean(values, counts),
        histograms.stddev(values, counts),
        histograms.maximum(values, counts),
    ]
    return {name: value * 1e-6 for name, value in zip(CORRECTED, known, strict=True)}


def _own_memory(record: dict[str, Any]) -> dict[str, float]:
    """What the trial's process held before and after its windows, where it had one of its own."""
    return {
        f"memory_{when}_{name}": record.get(f"memory_{when}", {}).get(name, np.nan)
        for when in ("before", "after")
        for name in ("rss_bytes", "pss_bytes", "fds_count")
    }


def _bins(keys: dict[str, Any], histogram: Histogram) -> pd.DataFrame:
    named = {name: keys[name] for name in ("block", "system", "workload")}
    return pd.DataFrame(
        {
            **named,
            "value_us": np.array(histogram.values_us, dtype=np.int64),
            "count": np.array(histogram.counts, dtype=np.int64),
        }
    )
