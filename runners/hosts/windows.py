"""One window over hosts: those of the load generator make the load, those of server and backend watch theirs."""

from __future__ import annotations

import time
from typing import cast

from distributed import Future

from runners.core.load import Load
from runners.core.records import WARM_UP_KINDS
from runners.core.sample import Role
from runners.core.trial_record import WindowKind, WindowRecord
from runners.hosts.merging import joined, merged, network_use, overlap_fraction, split
from runners.hosts.remote_server import RemoteServer
from runners.hosts.station import CONTROLLER, Station, at_station
from runners.hosts.station_records import Share
from runners.hosts.stations import Stations
from runners.measure.load import LoadTarget
from runners.measure.window import SAMPLED_AT

# Time for the tasks of a window to reach their hosts before it begins.
_LEAD_S = 0.3
_AROUND = (0.0, 1.0)


def measure_window(
    stations: Stations, target: LoadTarget, load: Load, kind: WindowKind, *, paced: bool
) -> WindowRecord:
    """Measure one window; all hosts are told in advance when it begins. `paced`: at a rate it has a sample at each end only."""
    server, backend = cast("RemoteServer", target.server), cast("RemoteServer | None", target.backend)
    loads = dict(zip(stations.generators, split(load, len(stations.generators)), strict=False))
    shares = () if kind in WARM_UP_KINDS else _AROUND if paced else SAMPLED_AT
    watches: dict[str, dict[Role, int]] = {}
    for role, process in (("server", server), ("backend", backend)):
        if process is not None and process.host not in loads:
            watches.setdefault(process.host, {})[cast("Role", role)] = process.launch.number
    start_s, port = time.monotonic() + _LEAD_S, server.port_of(target.request.tls)
    watching: dict[str, Future[None]] = {
        host: stations.hosts.submit(
            host, at_station, Station.watch, numbers, load, port, stations.there_s(host, start_s), shares
        )
        for host, numbers in watches.items()
    }
    records = _loaded(stations, target, loads, kind, start_s)
    for host, future in watching.items():
        stations.hosts.result(host, future)
    found = {host: stations.at(host, Station.watched) for host in watches}
    record = joined(load, list(records.values()), server.addresses.own)
    for host, watched in found.items():
        record = merged(record, watched, set(watches[host]), server.addresses.own)
    if server.host not in found:
        return record
    began = [stations.here_s(host, made.began_at_s) for host, made in records.items()]
    # A backend's host sees no first connection by which to begin.
    watched_at = stations.here_s(server.host, found[server.host].began_at_s)
    overlaps = {
        "overlap_fraction": overlap_fraction(began, load.duration_s),
        "watched_fraction": overlap_fraction([*began, watched_at], load.duration_s),
    }
    use = network_use(found[server.host], stations.link, stations.clocks.values())
    return record.model_copy(update={"network": use.model_copy(update=overlaps)})


def _loaded(
    stations: Stations, target: LoadTarget, loads: dict[str, Load], kind: WindowKind, start_s: float
) -> dict[str, WindowRecord]:
    """Return host of the load generator → its record of its share."""
    server, backend = cast("RemoteServer", target.server), cast("RemoteServer | None", target.backend)

    def share(host: str) -> Share:
        return Share(
            server.launch.number if server.host == host else server.seen_from_elsewhere(),
            backend.launch.number if backend is not None and backend.host == host else None,
            target.request,
            target.generator,
            loads[host],
            kind,
            stations.there_s(host, start_s),
        )

    if CONTROLLER in loads:
        return {CONTROLLER: at_station(Station.window, share(CONTROLLER))}
    pending = {host: stations.hosts.submit(host, at_station, Station.window, share(host)) for host in loads}
    return {host: stations.hosts.result(host, future) for host, future in pending.items()}
