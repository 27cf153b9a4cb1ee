"""Join what several hosts recorded of one window."""

from __future__ import annotations

from collections.abc import Iterable

from runners.core.sample import Role
from runners.core.trial_record import NetworkUse, WindowRecord
from runners.hosts.cluster import ClockOffset
from runners.hosts.link import Link
from runners.hosts.watch import Watched


def merged(record: WindowRecord, watched: Watched, roles: set[Role], address: str) -> WindowRecord:
    """Return the record of a window with what another host has seen of these roles in the place of what could not be seen.

    The server's `address` is in no record.
    """
    samples = [
        sample.model_copy(
            update={
                **{role: getattr(seen, role) for role in roles},
                "cpus": sample.cpus | {role: seen.cpus[role] for role in roles},
                **(
                    {"pressure": seen.pressure, "connections_count": seen.connections_count}
                    if "server" in roles
                    else {}
                ),
            }
        )
        for sample, seen in zip(record.samples, watched.samples, strict=False)
    ]
    command = [word.replace(address, "server") for word in record.command]
    printed = {name: getattr(record, name).replace(address, "server") for name in ("stdout", "stderr")}
    update: dict[str, object] = {"command": command, **printed, "samples": samples, "busy": record.busy | watched.busy}
    if "server" in roles:
        update |= {"server_cpu_s": watched.cpu_s, "server_listened": watched.listened}
        update["speed"] = watched.speed
    if "backend" in roles:
        update["backend_work"] = watched.work
    return record.model_copy(update=update)


def network_use(watched: Watched, link: Link, clocks: Iterable[ClockOffset]) -> NetworkUse:
    """Return what crossed the network of the server's host in a window, with what was known of it before the run."""
    used = watched.traffic
    return NetworkUse(
        elapsed_s=used.at_s,
        received_bytes=used.received_bytes,
        sent_bytes=used.sent_bytes,
        dropped_count=used.dropped_count,
        segments_count=used.segments_count,
        retransmitted_count=used.retransmitted_count,
        link_bps=link.rate_bps,
        rtt_s=link.rtt_s,
        clock_uncertainty_s=max((clock.uncertainty_s for clock in clocks), default=0.0),
    )
