"""Free ports for tests that launch nothing beside another wrkbook."""

from runners.systems.sockets import FIRST_PORT, hold_ports


def free_ports(count, first=FIRST_PORT):
    """The first `count` free ports from `first` on; nothing holds them."""
    with hold_ports(count, first) as found:
        return found
