"""The load of a window: its source, its target, and the time that its connections need to ramp up."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runners.core.load import Request
from runners.generators import Generator
from runners.machine.pinning import PinningPlan
from runners.machine.speed_probe import SpeedProbes
from runners.measure.sampling import open_files
from runners.systems.backend import Backend
from runners.systems.image import Image
from runners.systems.process import ServerProcess, descendants


@dataclass(frozen=True)
class LoadTarget:
    """The target of a load: a launched server and the backend behind it, the request, and the name of the load generator.

    `prepared` is the folder that :meth:`Generator.prepare` filled.
    """

    server: ServerProcess
    request: Request
    generator: str
    prepared: Path
    backend: Backend | None = None


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
# Of one connection; of one more when more than half of the ports are taken (Linux looks through every second port first).
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
