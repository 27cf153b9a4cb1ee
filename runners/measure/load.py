"""The load of a window: its source, its target, its ramp-up time, and the limits of connections on this machine.

Numbers of connections are clamped to the limits, and those that do not fit are reported.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.load import Generator
from runners.core.parameters import Parameters
from runners.core.records import LoadProfile
from runners.core.request import Request
from runners.core.workloads import WORKLOADS
from runners.machine.pinning_plan import PinningPlan
from runners.machine.speed_probe import SpeedProbes
from runners.measure.launched import Elsewhere, Launched
from runners.measure.sampling import open_files
from runners.systems.host import REMEDY as PORTS_REMEDY
from runners.systems.image import Image
from runners.systems.process_tree import descendants
from runners.systems.sockets import accepted_count, established_count

# What a process has open besides its connections.
OTHER_FILES = 100
# A level that misses the limit by so little is measured at the limit, under its real number.
_NEAR = 0.9
_ROUND = 100
FILES_REMEDY = (
    "raise the hard limit of open files, which the generator and each server process have for themselves: "
    'echo "$USER hard nofile 65536" | sudo tee /etc/security/limits.d/wrkbook.conf, then log in again (ulimit -Hn shows it)'
)


@dataclass(frozen=True)
class LoadTarget:
    """The target of a load: a launched server and the backend behind it, the request, and the name of the load generator.

    `prepared` is the folder that :meth:`Generator.prepare` filled.
    """

    server: Launched
    request: Request
    generator: str
    prepared: Path
    backend: Launched | None = None


@dataclass(frozen=True)
class LoadContext:
    """The load generators by name, where they run, and what watches the CPUs meanwhile.

    `builds` holds, for generators of which something is built, the folder that their sandbox shows at /build.
    """

    generators: Mapping[str, Generator]
    image: Image
    plan: PinningPlan
    probes: SpeedProbes
    builds: Mapping[str, Path] = field(default_factory=dict)


# Fewer are open within 20 ms, and are not waited for.
LEAST_WATCHED = 1000


# A server that refuses connections has them opened again and again; then the window begins with what is there.
MOST_RAMP_UP_S = 40.0


# A warm-up is for the server's code and heap: it needs no more connections than this, which are open at once.
MOST_WARM_UP_CONNECTIONS = 100


_LOOK_S = 0.005


# A server of 10,000 requests/s responds three times on every connection in a window of this many seconds per connection.
_WINDOW_PER_CONNECTION_S = 3 / 10_000


# Of one connection; of one more when more than half of the ports are taken (Linux tries every second port first).
_OPEN_S, _SEARCH_S = 3e-5, 1e-3


def window_seconds(wanted_s: float, connections: int) -> float:
    """Return the length of a window: as wanted, but long enough for more than one response on each connection."""
    return max(wanted_s, connections * _WINDOW_PER_CONNECTION_S if connections >= LEAST_WATCHED else 0.0)


def expected_ramp_up_s(connections: int, ports_count: int) -> float:
    """Return about how long the ramp-up takes, from what was seen on one machine: for plans, not for measuring."""
    if connections < LEAST_WATCHED:
        return 0.0
    return connections * _OPEN_S + max(0, connections - ports_count // 2) * _SEARCH_S


def wait_until_open(process: subprocess.Popen[bytes], connections: int) -> float:
    """Wait until a sandboxed generator holds so many connections; return how many seconds it needed from its first moment.

    The wait ends sooner when the generator does, and after ``MOST_RAMP_UP_S``.
    """
    started, pids = time.monotonic(), list[int]()
    deadline = started + MOST_RAMP_UP_S
    while process.poll() is None and time.monotonic() < deadline:
        if not pids:
            pids, started = descendants(process.pid), time.monotonic()
        elif sum(open_files(pid) for pid in pids) >= connections:
            break
        time.sleep(_LOOK_S)
    return time.monotonic() - started


# As few connections may be another program's. More, and the load has begun, although none of its short ones may ever be seen open.
_MOST_OF_OTHERS = 2
_POLL_S = 0.01


def wait_until_connected(
    process: subprocess.Popen[bytes], server: Launched, port: int, accepted_before: int, latest: float
) -> None:
    """Wait for the load generator's first connection: before that it sends nothing, and may not heed a signal yet."""
    elsewhere = isinstance(server, Elsewhere)
    while process.poll() is None and time.monotonic() < latest:
        if (
            established_count(port, elsewhere=elsewhere)
            or accepted_count(elsewhere=elsewhere) - accepted_before > _MOST_OF_OTHERS
        ):
            break
        ends_within(process, _POLL_S)


def ends_within(process: subprocess.Popen[bytes], duration_s: float) -> bool:
    """Wait for so long, or for the process to end; return whether it has ended."""
    if process.poll() is None:
        # It becomes readable when the process ends; `Popen.wait` would wake up again and again to see.
        descriptor = os.pidfd_open(process.pid)
        try:
            ending = select.poll()
            ending.register(descriptor, select.POLLIN)
            ending.poll(max(0.0, 1000 * duration_s))
        finally:
            os.close(descriptor)
    return process.poll() is not None


@dataclass(frozen=True)
class LeftOut:
    """A number of connections that does not fit: why, what would help, and what is measured in its place (None: nothing)."""

    connections: int
    why: str
    remedy: str
    instead: int | None


@dataclass(frozen=True)
class Levels:
    """The numbers of connections that are measured, in the order given, and those that are left out, ascending."""

    kept: tuple[int, ...]
    left_out: tuple[LeftOut, ...]


def fitting_levels(requested: Sequence[int], files_limit: int, ports_count: int) -> Levels:
    """Return what of `requested` fits into one process's limit of open files, and into a client's ports towards one server.

    The smallest of those that do not fit is replaced by the largest number that does, where that is at least 90 % of it.

    Raises
    ------
    WrkbookError
        When nothing fits.
    """
    most = min(files_limit - OTHER_FILES, ports_count)
    if files_limit - OTHER_FILES <= ports_count:
        why, remedy = f"the limit of {files_limit} open files", FILES_REMEDY
    else:
        why, remedy = f"the {ports_count} ports that a client has", PORTS_REMEDY
    kept = [count for count in requested if count <= most]
    left_out: list[LeftOut] = []
    nearest = most // _ROUND * _ROUND
    for count in sorted(count for count in requested if count > most):
        instead = nearest if nearest >= _NEAR * count and nearest > max(kept, default=0) else None
        kept += [instead] if instead else []
        left_out.append(LeftOut(count, why, remedy, instead))
    if requested and not kept:
        raise WrkbookError(
            f"numbers of connections: {', '.join(map(str, requested))}: none fits into {why}",
            f"use at most {most}, or {remedy}",
        )
    return Levels(tuple(kept), tuple(left_out))


def clamped(
    parameters: Parameters, files_limit: int, ports_count: int, shapes: Sequence[LoadProfile] = ()
) -> tuple[Parameters, tuple[LeftOut, ...]]:
    """Return the parameters with those connections that fit, and what was left out of them.

    `shapes` are those of an experiment that compares its own, whatever the parameters list.

    Raises
    ------
    WrkbookError
        When nothing is left of a list, or `connections` or those of `shapes`, where they are the load, do not fit.
    """
    most = files_limit - OTHER_FILES
    wanted = max((shape.connections or parameters.connections for shape in shapes), default=parameters.connections)
    if wanted > most and (shapes or not parameters.connection_counts):
        raise WrkbookError(
            f"parameter connections: {wanted} do not fit into the limit of {files_limit} open files",
            f"use at most {most}, or raise the hard limit (ulimit -Hn, /etc/security/limits.conf)",
        )
    names = (
        "connection_counts",
        *(each.connections_parameter for each in WORKLOADS.values() if each.connections_parameter),
    )
    levels = {name: fitting_levels(getattr(parameters, name), files_limit, ports_count) for name in names}
    left_out = dict.fromkeys(level for found in levels.values() for level in found.left_out)
    return parameters.model_copy(update={name: list(levels[name].kept) for name in names}), tuple(left_out)


def in_words(levels: Sequence[LeftOut]) -> list[str]:
    """Return a sentence for each level that was left out."""
    return [
        f"{level.connections} connections do not fit into {level.why}: "
        + (f"{level.instead} were measured instead" if level.instead else "left out")
        + f"; to measure them, {level.remedy}."
        for level in levels
    ]
