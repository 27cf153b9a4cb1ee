"""The loads of 06-tcp-proxies: the published rates of perf-gauge's benchmark, and the loads without a rate."""

from __future__ import annotations

from runners.core.records import LoadProfile
from runners.generators.perf_gauge import PerfGauge
from runners.measure.fixed_rates import FixedRateLoad

_MAXIMUM = LoadProfile("maximum", PerfGauge.name)
_CONNECTING = LoadProfile("no-keepalive-capacity", PerfGauge.name, keepalive_requests=1)
RELAYED: tuple[FixedRateLoad, ...] = (
    FixedRateLoad("no-keepalive", _CONNECTING, "connection_rate_rps", (3500.0, 1500.0)),
    FixedRateLoad("moderate", _MAXIMUM, "request_rate_rps", (25_000.0, 25_000.0)),
)
UNLIMITED: tuple[LoadProfile, ...] = (_CONNECTING, _MAXIMUM, LoadProfile("maximum-wrk", "wrk"))
