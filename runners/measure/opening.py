"""What many connections need in a window: time for their ramp-up, and time for several responses on each of them.

A generator that opens all its connections before it sends the first request (wrk does) spends part of its window on that: 0.3 s
for 10,000 here, 7 s for 19,900 where these are more than half of the kernel's ports for clients. So the window begins when the
generator holds a descriptor for each connection; the time until then is :attr:`Load.opening_s`.
"""

from __future__ import annotations

import subprocess
import time

from runners.measure.sampling import open_files
from runners.systems.process import descendants

# Fewer are open within 20 ms, and are not waited for.
LEAST_WATCHED = 1000
# A server that refuses connections has them opened again and again; then the window begins with what is there.
MOST_OPENING_S = 40.0
# A warm-up is for the server's code and heap: it needs no more connections than this, which are open at once.
MOST_WARM_UP_CONNECTIONS = 100
_LOOK_S = 0.005
# A server of 10,000 requests/s answers every connection three times in a window of this many seconds per connection.
_WINDOW_PER_CONNECTION_S = 3 / 10_000
# Of one connection; of one more when more than half of the ports are taken (Linux looks through every second port first).
_OPEN_S, _SEARCH_S = 3e-5, 1e-3


def window_seconds(wanted_s: float, connections: int) -> float:
    """Return the length of a window: as wanted, but long enough for more than one response on each connection."""
    return max(wanted_s, connections * _WINDOW_PER_CONNECTION_S if connections >= LEAST_WATCHED else 0.0)


def expected_opening_s(connections: int, ports_count: int) -> float:
    """Return about how long opening takes, from what was seen on one machine: for plans, not for measuring."""
    if connections < LEAST_WATCHED:
        return 0.0
    return connections * _OPEN_S + max(0, connections - ports_count // 2) * _SEARCH_S


def wait_until_open(process: subprocess.Popen[bytes], connections: int) -> float:
    """Wait until a sandboxed generator holds so many connections; return how many seconds it needed from its first moment.

    The wait ends sooner when the generator does, and after ``MOST_OPENING_S``.
    """
    started, pids = time.monotonic(), list[int]()
    deadline = started + MOST_OPENING_S
    while process.poll() is None and time.monotonic() < deadline:
        if not pids:
            pids, started = descendants(process.pid), time.monotonic()
        elif sum(open_files(pid) for pid in pids) >= connections:
            break
        time.sleep(_LOOK_S)
    return time.monotonic() - started
