"""Free ports for tests that launch nothing beside another wrkbook."""

import os

from runners.systems.sockets import FIRST_PORT, hold_ports

# Nothing holds a port between its choice and its use: each worker of pytest-xdist has a range of its own, below the clients' ports.
_APART = 2300


def first_of_worker(first=FIRST_PORT):
    """The port in the place of `first` for this worker of pytest-xdist; `first` itself where there are no workers."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw-1").removeprefix("gw")
    return first + _APART * (int(worker) + 1)


def free_ports(count, first=FIRST_PORT):
    """The first `count` free ports from `first` on; nothing holds them."""
    with hold_ports(count, first_of_worker(first)) as found:
        return found
