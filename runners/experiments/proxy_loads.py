"""The loads of 06-tcp-proxies: the published rates of perf-gauge's benchmark, and the loads without a rate."""

from __future__ import annotations

from runners.core.records import LoadShape
from runners.generators.perf_gauge import PerfGauge
from runners.measure.fixed_rates import RatedLoad

_MAXIMUM = LoadShape("maximum", PerfGauge.name)
_CONNECTING = LoadShape("no-keepalive-capacity", PerfGauge.name, keepalive_requests=1)
RELAYED: tuple[RatedLoad, ...] = (
    RatedLoad("no-keepalive", _CONNECTING, "connection_rate_rps", (3500.0, 1500.0)),
    RatedLoad("moderate", _MAXIMUM, "request_rate_rps", (25_000.0, 25_000.0)),
)
UNLIMITED: tuple[LoadShape, ...] = (_CONNECTING, _MAXIMUM, LoadShape("maximum-wrk", "wrk"))
