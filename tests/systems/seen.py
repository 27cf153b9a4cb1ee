"""What the kernel says of a launched process: its addresses, and the CPU time of its ended children."""

from pathlib import Path

import psutil

# State of a socket in /proc/net/tcp, see tcp_states.h of Linux.
LISTEN = "0A"


def listening_addresses(port):
    """The addresses on which `port` is listened on, as the kernel writes them (``0100007F`` is 127.0.0.1)."""
    tables = [table for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")) if table.exists()]
    rows = [line.split() for table in tables for line in table.read_text().splitlines()[1:]]
    ends = [row[1].rsplit(":", 1) for row in rows if row[3] == LISTEN]
    return {address for address, at in ends if int(at, 16) == port}


def ended_cpu_s(process):
    """CPU time of those of a server's processes that have ended, in seconds: their parent has it in its own account."""
    times = [psutil.Process(pid).cpu_times() for pid in process.first_pids]
    return sum(time.children_user + time.children_system for time in times)
