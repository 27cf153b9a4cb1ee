"""Split a load among hosts, and join what several hosts recorded of one window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runners.core.load import Load
from runners.core.sample import Role
from runners.core.trial_record import LoadShare, NetworkUse, WindowRecord
from runners.hosts.cluster import ClockOffset
from runners.hosts.link import Link
from runners.hosts.watch import Watched


def split(load: Load, count: int) -> list[Load]:
    """Return the shares of so many hosts in a load; of as many as it has connections, where these are fewer.

    Each gets its part of the connections and of the rate, and arrivals of its own.
    """
    count = min(count, load.connections)
    if count == 1:
        return [load]
    each, rest = divmod(load.connections, count)
    shares = []
    for number in range(count):
        connections = each + (number < rest)
        rates = {
            name: rate / count for name in ("rate_rps", "requested_rps") if (rate := getattr(load, name)) is not None
        }
        own = {"connections": connections, "threads": min(load.threads, connections), "seed": load.seed + number}
        shares.append(replace(load, **own, **rates))  # type: ignore[arg-type]
    return shares


def joined(load: Load, records: Sequence[WindowRecord], address: str) -> WindowRecord:
    """Return the records of several hosts' shares in a load as one: that of the host whose load generator was busiest.

    The server's `address` is in no record.
    """
    busiest = max(records, key=_generator_cpu_s)
    if len(records) == 1:
        return busiest
    shares = [
        LoadShare(
            command=[word.replace(address, "server") for word in record.command],
            load=record.load,
            exit_status=record.exit_status,
            stdout=record.stdout.replace(address, "server"),
            stderr=record.stderr.replace(address, "server"),
            hung=record.hung,
        )
        for record in records
    ]
    failed = next((share for share in shares if share.hung or share.exit_status), shares[0])
    return busiest.model_copy(
        update={
            "load": replace(load, ramp_up_s=max(record.load.ramp_up_s for record in records)),
            "shares": shares,
            "exit_status": failed.exit_status,
            "hung": failed.hung,
            "stderr": failed.stderr,
        }
    )


def _generator_cpu_s(record: WindowRecord) -> float:
    """Return the CPU time of the load generator between the first and the last sample."""
    seen = [sample.generator.cpu_s for sample in record.samples]
    return seen[-1] - seen[0] if seen else 0.0


def overlap_fraction(began_at_s: Sequence[float], duration_s: float) -> float:
    """Return the share of the window in which several hosts were at it; they began at these moments of one clock."""
    return max(0.0, 1 - (max(began_at_s) - min(began_at_s)) / duration_s)


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
