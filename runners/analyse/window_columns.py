"""The columns of one window in the table of trials: load, throughput, errors, probes, memory, and the times of its responses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runners.analyse.checks.conditions import little_ratio
from runners.analyse.usage import seen_by_probes
from runners.core.histogram import Histogram
from runners.core.load import LATE_S, PACED_S, LoadResult
from runners.core.parameter_values import objective
from runners.core.records import PERCENTILES, WARM_UP_KINDS, Row, percentile_column
from runners.core.trial_record import NetworkUse, TrialRecord, WindowRecord
from runners.machine.topology import parse_cpu_list
from runners.stats import histograms

_PRINTED = (50.0, 75.0, 90.0, 99.0)
CORRECTED = tuple(f"corrected_{name}" for name in (*map(percentile_column, _PRINTED), "mean_s", "stddev_s", "max_s"))
"""Service times in seconds as wrk prints them, after its own correction: what published wrk figures can be held against."""


def response_column(percentile: float) -> str:
    """Return the column of a percentile of the response times: 99.9 is ``response_p99_9_s``."""
    return f"response_{percentile_column(percentile)}"


_OF_A_SCHEDULE = ("on_time_fraction", "late_p99_s", "late_fraction", "achieved_fraction")
OPEN_LOOP = (*map(response_column, PERCENTILES), *_OF_A_SCHEDULE)
"""Columns of a window with scheduled arrivals: percentiles of the response times; the share of the sends at most `PACED_S` late, the
p99 of their lateness, and the share of those later than `LATE_S`; and how much of the arrivals' rate correct responses reached."""


def trial_row(record: TrialRecord, raw: WindowRecord, result: LoadResult) -> Row:
    """Return the columns of a window that it does not share with its trial; see :class:`runners.analyse.tables.Tables`."""
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
        **{f"errors_{name}": count for name, count in vars(result.errors).items()},
        "startup_s": record.startup_s,
        "block_s": record.block_s,
        # Memory of the trial's process, where it had one of its own.
        **{
            f"memory_{when}_{name}": getattr(getattr(record, f"memory_{when}"), name, np.nan)
            for when in ("before", "after")
            for name in ("rss_bytes", "pss_bytes", "fds_count")
        },
        "generator_warnings": "; ".join(result.warnings),
        **{f"sent_{name}_count": count for name, count in (result.sent_counts or {}).items()},
        **_corrected(result.corrected or Histogram((), ())),
        **_network(raw.network),
    }


def _network(network: NetworkUse | None) -> dict[str, float]:
    """Return how busy the network was and what share of the segments was sent again; nothing where all was on one machine."""
    if network is None:
        return {}
    return {
        "network_busy_fraction": network.busy_fraction,
        "network_retransmitted_fraction": network.retransmitted_count / max(1, network.segments_count),
        "network_dropped_count": network.dropped_count,
    }


def _open_loop(result: LoadResult, objectives: Sequence[str]) -> dict[str, float]:
    """Return `OPEN_LOOP` of one window, and the percentiles of its objectives; NaN where arrivals were not scheduled."""
    wanted = sorted({*PERCENTILES, *(objective(text).percentile for text in objectives)})
    if not (result.response_time or result.lateness or result.scheduled_rps):
        return dict.fromkeys([*map(response_column, wanted), *_OF_A_SCHEDULE], np.nan)
    times, late = result.response_time or Histogram((), ()), result.lateness or Histogram((), ())
    values = histograms.percentiles(*times.arrays, wanted) * 1e-6
    found = {response_column(percentile): float(value) for percentile, value in zip(wanted, values, strict=True)}
    return found | {
        "on_time_fraction": 1 - _later(late, PACED_S),
        "late_p99_s": float(histograms.percentiles(*late.arrays, [99.0])[0]) * 1e-6,
        "late_fraction": _later(late, LATE_S),
        "achieved_fraction": result.achieved_fraction,
    }


def _later(late: Histogram, limit_s: float) -> float:
    """Return the share of the sends that were later than a limit; NaN without a send."""
    values_us, counts = late.arrays
    total = int(counts.sum())
    return float(counts[values_us > limit_s * 1e6].sum()) / total if total else np.nan


def _corrected(histogram: Histogram) -> dict[str, float]:
    """Return `CORRECTED` of one window; NaN without a sample."""
    values, counts = histogram.arrays
    statistics = (
        histograms.mean(values, counts),
        histograms.stddev(values, counts),
        histograms.maximum(values, counts),
    )
    known = [*histograms.percentiles(values, counts, _PRINTED), *statistics]
    return {name: value * 1e-6 for name, value in zip(CORRECTED, known, strict=True)}
