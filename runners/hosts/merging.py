"""Join what several hosts recorded of one window."""

from __future__ import annotations

from runners.core.sample import Role
from runners.core.trial_record import WindowRecord
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
