"""The cells of a run: every quantity of one system × one workload, estimated over its launches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from runners import histograms
from runners.analyse.checks import bottleneck
from runners.analyse.estimates import geometric_mean_interval, percentile_intervals
from runners.analyse.tables import Tables
from runners.records import PERCENTILES, Histogram, Interval, percentile_column

_US = 1e-6
# Up to p99.99, evenly on the logarithm of the tail, as the curves are drawn.
_CURVE = tuple(round(100 * (1 - tail), 4) for tail in np.geomspace(0.5, 0.0001, 60))
_CURVE_COLUMNS = ["system", "workload", "percentile", "value_s", "estimable"]


def build_cells(
    tables: Tables, planned: Iterable[tuple[str, str]], nonconforming: dict[str, str], seed: int
) -> pd.DataFrame:
    """One row for each planned (system, workload), also for those that failed.

    Columns
    -------
    system, server, codec, workload, operations_count, body_bytes; throughput_rps with _low_ and _high_, unadjusted_rps, speed_ratio,
    presence_ratio, goodput_rps; p50_s … p99_99_s
    with _low_ and _high_, max_s, mean_s, stddev_s, tm99_s; cpu_per_request_s with its interval and split; rss_peak_bytes,
    threads_count, context_switches_per_request_ratio; errors_count, bottleneck, trials_count, warnings, status.
    """
    rows = [_cell(tables, system, workload, seed) for system, workload in planned]
    for row in rows:
        if row["server"] in nonconforming:
            row["status"] = f"failed: {nonconforming[row['server']]}"
    return pd.DataFrame(rows)


def build_curves(tables: Tables, cells: pd.DataFrame) -> pd.DataFrame:
    """Percentile curves of the merged service times: system, workload, percentile, value_s, estimable."""
    frames = []
    for system, workload in cells.loc[cells["status"] == "ok", ["system", "workload"]].itertuples(index=False):
        merged = histograms.merge(launch_histograms(tables, system, workload))
        values_s = histograms.percentiles(merged.values_us, merged.counts, _CURVE) * _US
        estimable = [histograms.estimable(merged.total_count, percentile) for percentile in _CURVE]
        columns = [[system] * len(_CURVE), [workload] * len(_CURVE), _CURVE, values_s, estimable]
        frames.append(pd.DataFrame(dict(zip(_CURVE_COLUMNS, columns, strict=True))))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=_CURVE_COLUMNS)


def windows_by_block(tables: Tables, system: str, workload: str) -> dict[int, list[float]]:
    """Adjusted throughputs of the sound windows of a cell: block → requests per second of each."""
    trials = tables.trials
    rows = trials[
        (trials["system"] == system)
        & (trials["workload"] == workload)
        & ~trials["warmup"].astype(bool)
        & ~trials["void"].astype(bool)
    ]
    return {int(block): group["adjusted_rps"].tolist() for block, group in rows.groupby("block")}


def launch_histograms(tables: Tables, system: str, workload: str) -> list[Histogram]:
    """The service times of a cell's sound trials, one histogram for each launch."""
    latency = tables.latency
    rows = latency[(latency["system"] == system) & (latency["workload"] == workload)]
    return [Histogram(tuple(group["value_us"]), tuple(group["count"])) for _, group in rows.groupby("block")]


def _cell(tables: Tables, system: str, workload: str, seed: int) -> dict[str, Any]:
    blocks = windows_by_block(tables, system, workload)
    failures = tables.failures[(tables.failures["system"] == system) & (tables.failures["workload"] == workload)]
    server, _, codec = system.partition("+")
    row: dict[str, Any] = {"system": system, "server": server, "codec": codec or None, "workload": workload}
    row |= {"trials_count": len(blocks), "warnings": _warnings(tables, system, workload), "status": "ok"}
    rows = _of(tables.trials, system, workload)
    if not rows.empty:
        row |= {name: rows[name].iloc[0] for name in ("server", "codec", "operations_count", "body_bytes")}
    if not failures.empty:
        row["warnings"].append(
            f"failed in {len(failures)} of {len(failures) + rows['block'].nunique()} blocks: {failures['message'].iloc[0]}"
        )
    if not blocks:
        why = (
            failures["message"].iloc[0]
            if not failures.empty
            else "all trials are void"
            if not rows.empty
            else "not measured"
        )
        return {**row, "status": f"failed: {why}", "errors_count": 0}
    return (
        row
        | _throughput(rows, blocks, seed)
        | _latency(tables, system, workload, seed)
        | _cost(tables, system, workload, seed)
    )


def _throughput(rows: pd.DataFrame, blocks: dict[int, list[float]], seed: int) -> dict[str, Any]:
    sound = rows[~rows["warmup"].astype(bool) & ~rows["void"].astype(bool)]
    estimate = geometric_mean_interval(list(blocks.values()), seed=seed)
    errors = [name for name in sound.columns if name.startswith("errors_")]
    return {
        "throughput_rps": estimate.value,
        "throughput_low_rps": estimate.low,
        "throughput_high_rps": estimate.high,
        "unadjusted_rps": geometric_mean_interval(_unadjusted(sound), seed=seed, resamples=1).value,
        "speed_ratio": float(sound["speed_ratio"].mean()),
        "presence_ratio": float(sound["presence_ratio"].mean()),
        "goodput_rps": estimate.value * float(sound["goodput_rps"].sum() / sound["throughput_rps"].sum()),
        "requests_count": int(sound["requests_count"].sum()),
        "errors_count": int(sound[errors].to_numpy().sum()),
    }


def _unadjusted(sound: pd.DataFrame) -> list[list[float]]:
    return [group["throughput_rps"].tolist() for _, group in sound.groupby("block")]


def _latency(tables: Tables, system: str, workload: str, seed: int) -> dict[str, float]:
    launches = launch_histograms(tables, system, workload)
    merged = histograms.merge(launches)
    found: dict[str, float] = {}
    for percentile, interval in percentile_intervals(launches, PERCENTILES, seed=seed).items():
        name = percentile_column(percentile)
        found |= {
            name: interval.value,
            name.replace("_s", "_low_s"): interval.low,
            name.replace("_s", "_high_s"): interval.high,
        }
    values, counts = merged.values_us, merged.counts
    return found | {
        "max_s": histograms.maximum(values, counts) * _US,
        "mean_s": histograms.mean(values, counts) * _US,
        "stddev_s": histograms.stddev(values, counts) * _US,
        "tm99_s": histograms.trimmed_mean(values, counts) * _US,
    }


def _cost(tables: Tables, system: str, workload: str, seed: int) -> dict[str, Any]:
    usage = _of(tables.usage, system, workload)
    server, generator = usage[usage["role"] == "server"], usage[usage["role"] == "generator"]
    per_launch = server.groupby("block")["cpu_per_request_s"].apply(list)
    costs = [launch for launch in per_launch if min(launch) > 0]
    cpu = geometric_mean_interval(costs, seed=seed) if costs else Interval(np.nan, np.nan, np.nan)
    user = float(server["user_fraction"].mean())
    requests_rps = float(_of(tables.trials, system, workload)["throughput_rps"].mean())
    return {
        "cpu_per_request_s": cpu.value,
        "cpu_per_request_low_s": cpu.low,
        "cpu_per_request_high_s": cpu.high,
        "cpu_user_per_request_s": cpu.value * user,
        "cpu_system_per_request_s": cpu.value * (1 - user),
        "rss_peak_bytes": int(server["rss_peak_bytes"].max()),
        "threads_count": int(server["threads_count"].max()),
        "context_switches_per_request_ratio": float(server["context_switches_rps"].mean()) / requests_rps,
        "server_busy_fraction": float(server["busy_fraction"].median()),
        "generator_busy_fraction": float(generator["busy_fraction"].median()),
        "bottleneck": bottleneck(float(server["busy_fraction"].median()), float(generator["busy_fraction"].median())),
    }


def _warnings(tables: Tables, system: str, workload: str) -> list[str]:
    checks = _of(tables.checks, system, workload)
    found = []
    for name, group in checks[~checks["ok"].astype(bool)].groupby("name", sort=False):
        total = (checks["name"] == name).sum()
        found.append(f"{name}: {group['detail'].iloc[0]} ({len(group)} of {total} trials)")
    return found


def _of(table: pd.DataFrame, system: str, workload: str) -> pd.DataFrame:
    if table.empty:
        return table
    return table[(table["system"] == system) & (table["workload"] == workload)]
