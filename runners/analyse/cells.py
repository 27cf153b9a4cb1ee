"""The cells of a run: every quantity of one system × one workload, estimated over its launches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from runners import histograms
from runners.analyse.checks import bottleneck
from runners.analyse.comparisons import of_cell
from runners.analyse.estimates import UNKNOWN, as_columns, geometric_mean_interval, mean_interval
from runners.analyse.percentiles import around, launch_histograms, percentile_intervals
from runners.analyse.tables import CORRECTED, Tables
from runners.analyse.usage import ROLES
from runners.records import PERCENTILES, Histogram, Interval, percentile_column

LEAST_LITTLE = 0.95
"""Share of the connections that throughput × mean service time must explain: below it requests waited inside the load generator, and
percentiles of service times say nothing of the system."""

_US = 1e-6
_DESCRIBING = ("server", "codec", "operations_count", "records_count", "body_bytes", "generator", "offered_rps")
# There also where nothing was planned, or nothing measured.
_ALWAYS = (
    "system",
    "server",
    "codec",
    "workload",
    "operations_count",
    "throughput_rps",
    "bottleneck",
    "errors_count",
    "status",
)
# Up to p99.99, evenly on the logarithm of the tail, as the curves are drawn.
_CURVE = tuple(round(100 * (1 - tail), 4) for tail in np.geomspace(0.5, 0.0001, 60))
_CURVE_COLUMNS = ["system", "workload", "percentile", "value_s", "estimable"]


_STATISTICS = {"mean_s": histograms.mean, "stddev_s": histograms.stddev, "tm99_s": histograms.trimmed_mean}


def build_cells(
    tables: Tables, throughputs: pd.Series, planned: Iterable[tuple[str, str]], nonconforming: dict[str, str]
) -> pd.DataFrame:
    """Return one row for each planned (system, workload), also for those that failed.

    Parameters
    ----------
    throughputs : see :func:`runners.analyse.comparisons.launch_throughputs`

    Columns
    -------
    system, server, codec, workload, operations_count, body_bytes; launches_count (valid ones) of launches_made_count; throughput_rps with
    _low_ and _high_, speed_ratio, goodput_rps; p50_s … p99_99_s with _low_ and _high_, max_s, tm99_s (NaN where little_ratio is below
    `LEAST_LITTLE`), mean_s, stddev_s; corrected_p50_s … corrected_max_s with _low_ and _high_, as the load generator prints them
    after its own correction; cpu_per_request_s with its interval and split; rss_peak_bytes,
    pss_bytes, fds_count, established_count (connections, by the kernel's table), threads_count, context_switches_per_request_ratio;
    generator_cpu_per_request_s and backend_cpu_per_request_s (sampled; NaN without a backend); offered_rps (NaN in a closed loop);
    server_busy_fraction, server_used_fraction (its own part of that) and those of generator and backend;
    errors_count, bottleneck, warnings, status.
    """
    rows = [_cell(tables, of_cell(throughputs, system, workload), system, workload) for system, workload in planned]
    for row in rows:
        if row["server"] in nonconforming:
            row["status"] = f"failed: {nonconforming[row['server']]}"
    frame = pd.DataFrame(rows)
    return frame.reindex(columns=[*frame.columns, *(name for name in _ALWAYS if name not in frame)])


def build_curves(tables: Tables, cells: pd.DataFrame) -> pd.DataFrame:
    """Percentile curves of the merged service times: system, workload, percentile, value_s, estimable."""
    frames = []
    shown = cells[(cells["status"] == "ok") & cells["p50_s"].notna()] if "p50_s" in cells else cells.iloc[:0]
    for system, workload in shown[["system", "workload"]].itertuples(index=False):
        merged = histograms.merge(launch_histograms(tables.latency, system, workload).values())
        values_s = histograms.percentiles(merged.values_us, merged.counts, _CURVE) * _US
        estimable = [histograms.estimable(merged.total_count, percentile) for percentile in _CURVE]
        columns = [[system] * len(_CURVE), [workload] * len(_CURVE), _CURVE, values_s, estimable]
        frames.append(pd.DataFrame(dict(zip(_CURVE_COLUMNS, columns, strict=True))))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=_CURVE_COLUMNS)


def _cell(tables: Tables, launches: pd.Series, system: str, workload: str) -> dict[str, Any]:
    failures = tables.failures[(tables.failures["system"] == system) & (tables.failures["workload"] == workload)]
    server, _, codec = system.partition("+")
    row: dict[str, Any] = {"system": system, "server": server, "codec": codec or None, "workload": workload}
    rows = _of(tables.trials, system, workload)
    made = rows["block"].nunique() + failures["block"].nunique()
    row |= {"launches_count": len(launches), "launches_made_count": made}
    row |= {"warnings": _warnings(tables, system, workload), "status": "ok"}
    sound = rows[~rows["warmup"].astype(bool) & ~rows["void"].astype(bool)]
    if not rows.empty:
        row |= {name: rows[name].iloc[-1] for name in _DESCRIBING}
    if not failures.empty:
        row["warnings"].append(
            f"failed in {len(failures)} of {len(failures) + rows['block'].nunique()} blocks: {failures['message'].iloc[0]}"
        )
    if launches.empty:
        why = (
            failures["message"].iloc[0]
            if not failures.empty
            else f"all trials are void ({_void_reasons(tables, system, workload)})"
            if not rows.empty
            else "not measured"
        )
        return {**row, "status": f"failed: {why}", "errors_count": 0}
    return (
        row
        | _throughput(sound[sound["kind"] == "window"], launches)
        | _latency(tables, sound, system, workload)
        | _cost(_of(tables.usage, system, workload), sound)
    )


def _throughput(sound: pd.DataFrame, launches: pd.Series) -> dict[str, Any]:
    estimate = geometric_mean_interval(launches.to_numpy())
    errors = [name for name in sound.columns if name.startswith("errors_")]
    count = int(sound[errors].to_numpy().sum())
    return {
        **_named("throughput_rps", estimate),
        "speed_ratio": float(sound["speed_ratio"].mean()),
        "goodput_rps": estimate.value * float(sound["goodput_rps"].sum() / sound["throughput_rps"].sum()),
        "requests_count": int(sound["requests_count"].sum()),
        "errors_count": count,
        "errors_fraction": count / max(1, count + int(sound["requests_count"].sum())),
        **{name: int(sound[name].sum()) for name in errors},
    }


def peak_interval(peaks: NDArray[np.float64]) -> Interval:
    """The largest of some launches' peaks, and how far a launch may lie from their mean (its 95 % interval, by Student's t)."""
    if not len(peaks):
        return UNKNOWN  # no window lasted long enough to be looked at twice
    largest, mean = float(peaks.max()), mean_interval(peaks)
    if len(peaks) < 2:
        return Interval(largest, np.nan, np.nan)
    # Of one launch, not of the mean over launches: √n as wide.
    arm = (mean.high - mean.value) * np.sqrt(len(peaks))
    return Interval(largest, min(largest, mean.value - arm), max(largest, mean.value + arm))


def _largest(counts: pd.Series) -> float:
    """A whole number; NaN where no window lasted long enough to be looked at twice."""
    return int(counts.max()) if len(counts) else np.nan


def _latency(tables: Tables, sound: pd.DataFrame, system: str, workload: str) -> dict[str, float]:
    found = _service_times([*launch_histograms(tables.latency, system, workload).values()])
    in_one_piece = sound[sound["turns_count"] == 0]
    little = float(in_one_piece["little_ratio"].median())
    if little < LEAST_LITTLE:
        found |= {name: np.nan for name in found if not name.startswith(("mean_", "stddev_"))}
    for name in CORRECTED:
        each = in_one_piece[name].astype(float).groupby(in_one_piece["block"]).median().dropna()
        known = geometric_mean_interval(each.to_numpy()) if len(each) and (each > 0).all() else UNKNOWN
        found |= _named(name, known)
    return found | {"little_ratio": little}


def _service_times(launches: list[Histogram]) -> dict[str, float]:
    merged = histograms.merge(launches)
    found: dict[str, float] = {}
    for percentile, interval in percentile_intervals(launches, PERCENTILES).items():
        found |= _named(percentile_column(percentile), interval)
    for column, statistic in _STATISTICS.items():
        each = np.array([statistic(launch.values_us, launch.counts) for launch in launches if launch.total_count])
        found |= _named(column, around(statistic(merged.values_us, merged.counts) * _US, each))
    return found | {"max_s": histograms.maximum(merged.values_us, merged.counts) * _US}


def _named(column: str, interval: Interval) -> dict[str, float]:
    stem, unit = column.rsplit("_", 1)
    return as_columns(interval, stem, f"_{unit}")


def _cost(usage: pd.DataFrame, sound: pd.DataFrame) -> dict[str, Any]:
    server, generator, backend = (usage[usage["role"] == role] for role in ROLES)
    spent = server[server["cpu_per_request_s"] > 0]
    costs = np.exp(np.log(spent["cpu_per_request_s"].astype(float)).groupby(spent["block"]).mean())
    cpu = geometric_mean_interval(costs.to_numpy()) if len(costs) else UNKNOWN
    peak = peak_interval(server["rss_peak_bytes"].groupby(server["block"]).max().to_numpy(float))
    user = float(server["user_fraction"].mean())
    requests_rps = float(sound["throughput_rps"].mean())
    rows = dict(zip(ROLES, (server, generator, backend), strict=True))
    busy = {f"{role}_busy_fraction": float(each["busy_fraction"].median()) for role, each in rows.items()}
    used = {f"{role}_used_fraction": float(each["used_fraction"].median()) for role, each in rows.items()}
    ahead = used["generator_used_fraction"] > used["backend_used_fraction"]
    return {
        **_named("cpu_per_request_s", cpu),
        "cpu_user_per_request_s": cpu.value * user,
        "cpu_system_per_request_s": cpu.value * (1 - user),
        "rss_peak_bytes": _largest(server["rss_peak_bytes"]),
        "rss_peak_low_bytes": peak.low,
        "rss_peak_high_bytes": peak.high,
        "threads_count": _largest(server["threads_count"]),
        "context_switches_per_request_ratio": float(server["context_switches_rps"].mean()) / requests_rps,
        "generator_cpu_per_request_s": float(generator["cpu_per_request_sampled_s"].mean()),
        "backend_cpu_per_request_s": float(backend["cpu_per_request_sampled_s"].mean()),
        "pss_bytes": float(server["pss_bytes"].max()),
        "fds_count": float(server["fds_count"].max()),
        "established_count": float(sound["established_count"].median()),
        "asked_connections_count": int(sound["asked_connections_count"].max()),
        "window_s": float(sound["duration_s"].median()),
        "opening_s": float(sound["opening_s"].median()),
        **{name: float(sound[name].median()) for name in sound.columns if name.startswith("memory_")},
        **busy,
        **used,
        "bottleneck": bottleneck(*busy.values(), apart=bool(sound["apart"].all()), generator_ahead=ahead),
    }


def _warnings(tables: Tables, system: str, workload: str) -> list[str]:
    checks = _of(tables.checks, system, workload)
    found = []
    for name, group in checks[~checks["ok"].astype(bool)].groupby("name", sort=False):
        total = (checks["name"] == name).sum()
        found.append(f"{name}: {group['detail'].iloc[0]} ({len(group)} of {total} trials)")
    return found


def _void_reasons(tables: Tables, system: str, workload: str) -> str:
    checks = _of(tables.checks, system, workload)
    failed = checks[~checks["ok"].astype(bool) & checks["void"].astype(bool)]
    return "; ".join(f"{row['name']}: {row['detail']}" for _, row in failed.drop_duplicates("name").iterrows())


def _of(table: pd.DataFrame, system: str, workload: str) -> pd.DataFrame:
    if table.empty:
        return table
    return table[(table["system"] == system) & (table["workload"] == workload)]
