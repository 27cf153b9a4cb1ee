"""The cells of a run: every quantity of one system × one workload, estimated over its launches."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from runners.analyse.cell_records import CellRecords, Numbers, records_by_cell
from runners.analyse.checks.conditions import LITTLE_TOLERANCE
from runners.analyse.checks.trial import bottleneck
from runners.analyse.comparisons import values_by_cell
from runners.analyse.tables import Tables
from runners.analyse.window_columns import CORRECTED
from runners.core.records import PERCENTILES, Interval, Row, System, Workload, percentile_column
from runners.core.sample import ROLES
from runners.stats import histograms
from runners.stats.estimates import (
    UNKNOWN,
    around,
    as_columns,
    geometric_mean_interval,
    mean_interval,
    percentile_intervals,
)

LEAST_LITTLE = 1 - LITTLE_TOLERANCE
"""Share of the connections that throughput × mean service time must explain: below it requests waited inside the load
generator, and percentiles of service times say nothing of the system."""

_US = 1e-6
_SHAPE = {
    "connections_count": "connections",
    "server_cpus_count": "server_cpus_count",
    "server_threads_count": "server_threads_count",
}
# There also where nothing was planned, or nothing measured.
_ALWAYS = ["system", "server", "codec", "variant", "workload", "operations_count", "throughput_rps"]
_ALWAYS += ["bottleneck", "errors_count", "status"]
# Up to p99.99, evenly on the logarithm of the tail, as the curves are drawn.
_CURVE = tuple(round(100 * (1 - tail), 4) for tail in np.geomspace(0.5, 0.0001, 60))
_STATISTICS = {"mean_s": histograms.mean, "stddev_s": histograms.stddev, "tm99_s": histograms.trimmed_mean}


def build_cells(
    tables: Tables, throughputs: pd.Series, planned: Iterable[tuple[System, Workload]], nonconforming: dict[str, str]
) -> pd.DataFrame:
    """Return one row for each planned (system, workload), also for those that failed, from the launches' `throughputs`.

    Columns
    -------
    system, server, codec, variant, `workload_columns`, operations_count, body_bytes; launches_count (valid ones) of launches_made_count;
    throughput_rps with _low_ and _high_, speed_ratio, goodput_rps; p50_s … p99_99_s with _low_ and _high_, max_s, tm99_s
    (NaN where little_ratio is below `LEAST_LITTLE`), mean_s, stddev_s; corrected_p50_s … corrected_max_s with _low_ and
    _high_, as the load generator prints them after its own correction; cpu_per_request_s with its interval and split;
    rss_peak_bytes, pss_bytes, fds_count, established_count (connections, by the kernel's table), threads_count,
    context_switches_per_request_ratio; generator_cpu_per_request_s and backend_cpu_per_request_s (sampled; NaN without a
    backend); offered_rps and achieved_fraction (NaN in a closed loop; of the void trials where a cell has no others);
    server_busy_fraction, server_used_fraction (its own part of that) and
    those of generator and backend; errors_count, bottleneck, remarks (names of failed checks), warnings (with what was found), status.
    """
    rows, of_cells = [], records_by_cell(tables)
    launches = values_by_cell(throughputs)
    for system, workload in planned:
        place = (system.name, workload.label)
        row = _cell(of_cells(place), launches.get(place, np.empty(0)), system, workload)
        if system.build in nonconforming:
            row["status"] = f"failed: {nonconforming[system.build]}"
        rows.append(row)
    frame = pd.DataFrame(rows)
    return frame.reindex(columns=list(dict.fromkeys([*frame.columns, *_ALWAYS])))


def build_curves(tables: Tables, cells: pd.DataFrame) -> pd.DataFrame:
    """Return percentile curves of the merged service times: system, workload, percentile, value_s, estimable."""
    rows = []
    shown = cells[(cells["status"] == "ok") & cells["p50_s"].notna()] if "p50_s" in cells else cells.iloc[:0]
    for system, workload in shown[["system", "workload"]].itertuples(index=False):
        merged = histograms.merge(tables.launches.get((system, workload), {}).values())
        total, values_s = merged.total_count, histograms.percentiles(*merged.arrays, _CURVE) * _US
        for percentile, value_s in zip(_CURVE, values_s, strict=True):
            rows.append((system, workload, percentile, value_s, histograms.estimable(total, percentile)))
    return pd.DataFrame(rows, columns=["system", "workload", "percentile", "value_s", "estimable"])


def workload_columns(workload: Workload) -> Row:
    """Return the columns that describe a workload: its label, and what the label stands for."""
    return {
        "workload": workload.label,
        "workload_name": workload.name,
        "workload_title": workload_title(workload),
        "base_workload": workload.base_label,
        "shape": workload.shape.name,
        **{f"shape_{name}": _or_nan(getattr(workload.shape, field)) for name, field in _SHAPE.items()},
    }


def workload_title(workload: Workload) -> str:
    """Return a workload in words: ``decode, 10 operations``, ``sql2, 20 records, autocannon``."""
    words = [workload.name if workload.delay_ms is None else f"{workload.name}-{workload.delay_ms}ms"]
    for size, unit in ((workload.operations, "operation"), (workload.count, "record")):
        words += [] if size is None else [f"{size} {unit}{'' if size == 1 else 's'}"]
    shape, cpus = workload.shape, workload.shape.server_cpus_count
    if shape.connections and shape.name == str(shape.connections):
        words.append(f"{shape.connections:,} connection{'' if shape.connections == 1 else 's'}")
    elif shape.name:
        words.append(shape.name)
    return ", ".join([*words, *([] if cpus is None else [f"{cpus} CPU{'' if cpus == 1 else 's'}"])])


def _or_nan(count: int | None) -> float:
    return np.nan if count is None else count


def _cell(records: CellRecords, launches: NDArray[np.float64], planned: System, measured: Workload) -> Row:
    made, failed = records.launches_made_count, records.failed_checks
    warnings = [
        f"{name}: {group['detail'].iloc[0]} ({len(group)} of {records.checks_count[name]} trials)"
        for name, group in failed.groupby("name", sort=False)
    ]
    remarks = list(failed["name"].unique())
    if records.failures:
        remarks.append(f"failed in {len(records.failures)} of {made} blocks")
        warnings.append(f"{remarks[-1]}: {records.failures[0]}")
    row: Row = {"system": planned.name, "server": planned.server, "codec": planned.codec, "variant": planned.variant}
    row |= workload_columns(measured)
    row |= {"launches_count": len(launches), "launches_made_count": made}
    row |= {"remarks": remarks, "warnings": warnings, "status": "ok", **records.described}
    if not len(launches):
        why = "not measured"
        if records.failures:
            why = records.failures[0]
        elif records.described:
            void = failed[failed["void"].astype(bool)].drop_duplicates("name")
            why = f"all trials are void ({'; '.join(void['name'] + ': ' + void['detail'])})"
        achieved = records.all_windows["achieved_fraction"]
        return row | {"status": f"failed: {why}", "errors_count": 0, "achieved_fraction": achieved}
    estimate = geometric_mean_interval(launches)
    row |= _throughput(records.windows, estimate)
    row["achieved_fraction"] = _achieved(records.windows, estimate.value)
    times = _latency(records)
    if measured.shape.server_cpus_count is not None and measured.shape.rate_rps is not None:
        # Late sends make no such trial void: see the check of the schedule.
        times = dict.fromkeys(times, np.nan)
    row |= times
    return row | _cost(records)


def _throughput(windows: Numbers, estimate: Interval) -> Row:
    errors = {name: int(count) for name, count in windows.items() if name.startswith("errors_")}
    errors_count, requests_count = sum(errors.values()), int(windows["requests_count"])
    return {
        **_named("throughput_rps", estimate),
        "speed_ratio": windows["speed_ratio"],
        "goodput_rps": estimate.value * windows["goodput_rps"] / windows["throughput_rps"],
        "requests_count": requests_count,
        "errors_count": errors_count,
        "errors_fraction": errors_count / max(1, errors_count + requests_count),
        **errors,
    }


def _achieved(windows: Numbers, throughput_rps: float) -> float:
    """Return the completed requests as a share of those that were scheduled, or that the rate makes of the time."""
    # Poisson arrivals are more or fewer than rate × time: only their schedule says how many there were.
    of_schedule = windows["achieved_fraction"]
    return of_schedule if of_schedule > 0 else throughput_rps / windows["offered_rps"]


def _latency(records: CellRecords) -> dict[str, float]:
    launches, merged = records.histograms, histograms.merge(records.histograms)
    found: dict[str, float] = {}
    for percentile, interval in percentile_intervals(launches, PERCENTILES).items():
        found |= _named(percentile_column(percentile), interval)
    for column, statistic in _STATISTICS.items():
        each = np.array([statistic(*launch.arrays) for launch in launches])
        found |= _named(column, around(statistic(*merged.arrays) * _US, each))
    found["max_s"] = histograms.maximum(merged.values_us, merged.counts) * _US
    if records.little_ratio < LEAST_LITTLE:
        found |= {name: np.nan for name in found if not name.startswith(("mean_", "stddev_"))}
    for name, by_launch in zip(CORRECTED, records.corrected.T, strict=True):
        found |= _named(name, UNKNOWN if (by_launch <= 0).any() else geometric_mean_interval(by_launch))
    return found | {"little_ratio": records.little_ratio}


def _cost(records: CellRecords) -> Row:
    sound, server, of_role = records.sound, records.server, records.of_role
    cpu, peak = geometric_mean_interval(records.cpu_times), peak_interval(records.peaks)
    busy = {f"{role}_busy_fraction": of_role[role]["busy_fraction"] for role in ROLES}
    used = {f"{role}_used_fraction": of_role[role]["used_fraction"] for role in ROLES}
    ahead = used["generator_used_fraction"] > used["backend_used_fraction"]
    return {
        **_named("cpu_per_request_s", cpu),
        "cpu_user_per_request_s": cpu.value * server["user_fraction"],
        "cpu_system_per_request_s": cpu.value * (1 - server["user_fraction"]),
        "rss_peak_bytes": server["rss_peak_bytes"],
        "rss_peak_low_bytes": peak.low,
        "rss_peak_high_bytes": peak.high,
        "threads_count": server["threads_count"],
        "context_switches_per_request_ratio": server["context_switches_rps"] / sound["throughput_rps"],
        "generator_cpu_per_request_s": of_role["generator"]["cpu_per_request_sampled_s"],
        "backend_cpu_per_request_s": of_role["backend"]["cpu_per_request_sampled_s"],
        "pss_bytes": float(server["pss_bytes"]),
        "fds_count": float(server["fds_count"]),
        "established_count": sound["established_count"],
        "requested_connections_count": int(sound["requested_connections_count"]),
        "window_s": sound["duration_s"],
        "ramp_up_s": sound["ramp_up_s"],
        **{name: value for name, value in sound.items() if name.startswith("memory_")},
        **busy,
        **used,
        "bottleneck": bottleneck(
            *busy.values(),
            apart=bool(sound["apart"]),
            generator_ahead=ahead,
            network_busy=sound.get("network_busy_fraction", np.nan),
        ),
    }


def peak_interval(peaks: NDArray[np.float64]) -> Interval:
    """Return the largest of the launches' peaks, and how far a launch may lie from their mean (95 %, by Student's t)."""
    if not len(peaks):
        return UNKNOWN  # no window lasted long enough to be sampled twice
    largest, mean = peaks.max(), mean_interval(peaks)
    # The interval of one launch is √n times as wide as that of their mean. NaN for one launch alone.
    arm = (mean.high - mean.value) * np.sqrt(len(peaks))
    return Interval(largest, np.minimum(largest, mean.value - arm), np.maximum(largest, mean.value + arm))


def _named(column: str, interval: Interval) -> dict[str, float]:
    stem, unit = column.rsplit("_", 1)
    return as_columns(interval, stem, f"_{unit}")
