"""From raw trial records to tidy tables: one row is one window, one histogram bin, or one role's use of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from runners import histograms
from runners.analyse.checks import trial_checks
from runners.analyse.little import little_ratio
from runners.analyse.speed import FOUND, seen_by_probes, with_speed
from runners.analyse.usage import window_usage
from runners.generators.registry import GENERATORS
from runners.machine.topology import parse_cpu_list
from runners.records import MEASURED_KINDS, WARM_UP_KINDS, WINDOW, Check, Histogram, Load, LoadResult

_KEYS = ("block", "system", "server", "codec", "placebo", "workload", "workload_name")
_NEEDED = (
    "void",
    "kind",
    "warmup",
    "throughput_rps",
    "probe_mean_hz",
    "probe_p90_hz",
    "probe_wakes_hz",
    "probe_bursts",
    "round",
)


@dataclass(frozen=True)
class Tables:
    """What ``data/processed`` holds of a run.

    Attributes
    ----------
    trials : a row per window: block, window (0 is the warm-up), system …, kind (priming, warmup, window or percentiles), warmup
        (whether it is one of the first two), throughput_rps as measured (a throughput only where kind is window), little_ratio
        (throughput × mean service time / connections; NaN in an open loop), turns_count (time slices; 0: in one piece), round (the
        windows of a block that shared their time slices), probe_bursts (the histogram of the probe's rates), adjusted_rps,
        weight_ratio, speed_ratio, peak_ratio, presence_ratio and own_turns_ratio (see :mod:`runners.analyse.speed`; NaN but for
        windows that count), requests_count, errors, void
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
        _adjusted(pd.DataFrame(trials, columns=None if trials else [*_KEYS, "window", *_NEEDED])),
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
    """Return each window of a record that gives throughput, as :func:`runners.analyse.speed.with_speed` wants it.

    ``void_for`` has the names of the checks that make its trial void: none where it counts.
    """
    windows = [(raw, result) for raw, result in load_results(record) if raw["kind"] in MEASURED_KINDS]
    keys = {name: record[name] for name in ("block", "system", "workload")}
    keys["void_for"] = _void_for(trial_checks(record, windows))
    return [
        {**keys, "throughput_rps": result.throughput_rps, **seen_by_probes(record, raw)}
        for raw, result in windows
        if raw["kind"] == WINDOW
    ]


def _void_for(checks: Iterable[Check]) -> tuple[str, ...]:
    """The names of those that make their trial void."""
    return tuple(check.name for check in checks if check.void and not check.ok)


def _adjusted(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials, with speed and adjusted throughput where a window counts."""
    sound = (trials["kind"] == WINDOW) & ~trials["void"].astype(bool)
    adjusted = with_speed(trials[sound])[FOUND]
    return trials.join(adjusted)


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
    }


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
