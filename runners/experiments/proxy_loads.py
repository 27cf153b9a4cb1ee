"""The loads of 06-tcp-proxies: the published rates of perf-gauge's benchmark, and the loads without a rate.

At a fixed rate paceload sends each request at a moment of its own. perf-gauge, which the benchmark used, repeats the shared rates:
its clients tick together, so its times hold the queues of bursts.
"""

from __future__ import annotations

from runners.core.records import LoadProfile
from runners.generators.paceload import Paceload
from runners.generators.perf_gauge import PerfGauge, paced
from runners.measure.fixed_rates import FixedRateLoad, SecondGenerator

_MAXIMUM = LoadProfile("maximum", PerfGauge.name)
_CONNECTING = LoadProfile("no-keepalive-capacity", PerfGauge.name, keepalive_requests=1)
_PUBLISHED = SecondGenerator(PerfGauge.name, paced)
RELAYED: tuple[FixedRateLoad, ...] = (
    FixedRateLoad(
        LoadProfile("no-keepalive", Paceload.name, keepalive_requests=1),
        _CONNECTING.name,
        "connection_rate_rps",
        (3500.0, 1500.0),
        _PUBLISHED,
    ),
    FixedRateLoad(
        LoadProfile("moderate", Paceload.name), _MAXIMUM.name, "request_rate_rps", (25_000.0, 25_000.0), _PUBLISHED
    ),
)
UNLIMITED: tuple[LoadProfile, ...] = (_CONNECTING, _MAXIMUM, LoadProfile("maximum-wrk", "wrk"))
