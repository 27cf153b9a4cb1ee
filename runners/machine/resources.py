"""Preflight checks of memory, swap, open files, ports, and disk space."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from runners.core.units import format_size
from runners.machine.facts import PreflightItem, not_exposed, numbers_in, text_of

# Connections of the largest experiment, and a usual large number.
MOST_CONNECTIONS = 20_000
MANY_CONNECTIONS = 10_000
# Files that a process has open besides its connections; experiments refuse more connections than the limit less these.
_OTHER_FILES = 100
_FEWEST_CONNECTIONS = 80  # the experiments' default
_FILES_WANTED = 65_536
_MEMORY_LEAST_BYTES = 256 * 2**20
_MEMORY_WANTED_BYTES = 2 * 2**30
_LISTEN = "0A"
_HIGHEST_PORT = 65_535


def memory(root: Path) -> PreflightItem:
    """Check that memory suffices for the servers, their compilers and the notebook."""
    free_bytes = _meminfo(root).get("MemAvailable")
    if free_bytes is None:
        return not_exposed("memory")
    detail = f"{format_size(free_bytes)} available"
    if free_bytes >= _MEMORY_WANTED_BYTES:
        return PreflightItem("memory", "good", detail)
    remedy = "end what needs much: ps -eo rss,pid,comm --sort=-rss | head"
    if free_bytes >= _MEMORY_LEAST_BYTES:
        wanted = f"{detail}: less than {format_size(_MEMORY_WANTED_BYTES)} is little for thousands of connections"
        return PreflightItem("memory", "advice", wanted, remedy)
    return PreflightItem("memory", "problem", f"{detail}: the servers and their compilers do not fit in", remedy)


def swap(root: Path) -> PreflightItem:
    """Check that no swap is in use: pages that are read back disturb a measurement."""
    sizes = _meminfo(root)
    if "SwapTotal" not in sizes or "SwapFree" not in sizes:
        return not_exposed("swap")
    total_bytes = sizes["SwapTotal"]
    used_bytes = max(0, total_bytes - sizes["SwapFree"])
    if not total_bytes:
        return PreflightItem("swap", "good", "none")
    if not used_bytes:
        return PreflightItem("swap", "good", f"{format_size(total_bytes)}, none of it in use")
    fits = used_bytes < sizes.get("MemAvailable", 0)
    return PreflightItem(
        "swap",
        "advice",
        f"{format_size(used_bytes)} of {format_size(total_bytes)} in use: reading it back disturbs a measurement",
        "sudo swapoff -a   (undo: sudo swapon -a)"
        if fits
        else "it would not fit into memory; end what needs much: ps -eo rss,pid,comm --sort=-rss | head",
    )


def open_files(root: Path, hard_limit: int) -> PreflightItem:
    """Check that the limit of open files of a process suffices for the largest experiment.

    Parameters
    ----------
    hard_limit : int
        The hard limit of ``RLIMIT_NOFILE``, which wrkbook uses; negative: no limit.
    """
    if hard_limit < 0:
        return PreflightItem("open files", "good", f"no limit: {MOST_CONNECTIONS} connections fit")
    fitting = max(0, hard_limit - _OTHER_FILES)
    detail = f"the limit of {hard_limit} gives room for {fitting} connections, {fitting // 2} through a proxy"
    if fitting >= MOST_CONNECTIONS:
        return PreflightItem("open files", "good", detail)
    missing = " and ".join(str(count) for count in (MANY_CONNECTIONS, MOST_CONNECTIONS) if fitting < count)
    ceiling = numbers_in(text_of(root / "proc/sys/fs/nr_open"))
    kernel = f"sudo sysctl -w fs.nr_open={_FILES_WANTED}; " if ceiling and ceiling[0] < _FILES_WANTED else ""
    path = "/etc/security/limits.d/wrkbook.conf"
    return PreflightItem(
        "open files",
        "advice" if fitting >= _FEWEST_CONNECTIONS else "problem",
        f"{detail}; {missing} do not fit",
        f'{kernel}echo "$USER hard nofile {_FILES_WANTED}" | sudo tee {path}, then log in again; ulimit -Hn shows it'
        f"   (undo: sudo rm {path}); in a container: docker run --ulimit nofile={_FILES_WANTED}",
    )


def ports(root: Path, server_ports: Sequence[int]) -> PreflightItem:
    """Check that the ephemeral ports suffice for all connections, and hold no port of wrkbook's servers."""
    limits = numbers_in(text_of(root / "proc/sys/net/ipv4/ip_local_port_range"))
    if len(limits) != 2 or not 0 < limits[0] <= limits[1] <= _HIGHEST_PORT:
        return not_exposed("ports for clients")
    low, high = limits
    count = high - low + 1
    # Above the servers' own ports, on a round number.
    setting = "net.ipv4.ip_local_port_range"
    remedy = f'sudo sysctl -w {setting}="20000 {_HIGHEST_PORT}"   (undo: sudo sysctl -w {setting}="{low} {high}")'
    detail = f"{low} to {high}: {count}, which is the most connections that a client can have to one server"
    if low <= max(server_ports) and high >= min(server_ports):
        held = f"{server_ports[0]} to {server_ports[-1]}"
        detail = f"{detail}; a client may be given a port on which wrkbook's servers listen ({held})"
        return PreflightItem("ports for clients", "advice", detail, remedy)
    if count < MOST_CONNECTIONS:
        many = "fit" if count >= MANY_CONNECTIONS else "do not fit either"
        detail = f"{detail}; {MOST_CONNECTIONS} do not fit, {MANY_CONNECTIONS} {many}"
        return PreflightItem("ports for clients", "advice", detail, remedy)
    return PreflightItem("ports for clients", "good", detail)


def waiting_sockets(root: Path) -> PreflightItem:
    """Check that few closed connections still hold their port (TIME_WAIT, for a minute)."""
    match = re.search(r"^TCP:.*? tw ([0-9]{1,9})\b", text_of(root / "proc/net/sockstat"), re.MULTILINE)
    if match is None:
        return not_exposed("closed connections")
    count = int(match[1])
    limits = numbers_in(text_of(root / "proc/sys/net/ipv4/ip_local_port_range"))
    room = limits[1] - limits[0] + 1 if len(limits) == 2 and limits[0] <= limits[1] else 28_232  # the kernel's default
    detail = f"{count} still hold a port (TIME_WAIT)"
    if count <= 0.1 * room:
        return PreflightItem("closed connections", "good", detail)
    detail = f"{detail}, of {room}: clients that open a new one for each request may run out of ports"
    remedy = "wait a minute and look again: ss -tan state time-wait | wc -l"
    return PreflightItem("closed connections", "advice", detail, remedy)


def server_ports_taken(root: Path, server_ports: Sequence[int]) -> PreflightItem:
    """Check that no process listens on the ports of wrkbook's servers."""
    name, tables = "ports for servers", [text_of(root / "proc/net" / table) for table in ("tcp", "tcp6")]
    if not any(tables):
        return not_exposed(name)
    taken = sorted({port for table in tables for port in listened_on(table)} & set(server_ports))
    held = f"{server_ports[0]} to {server_ports[-1]}"
    if not taken:
        return PreflightItem(name, "good", f"{held} are free")
    shown = ", ".join(map(str, taken))
    return PreflightItem(
        name,
        "advice",
        f"somebody listens on {shown} (wrkbook uses {held} and passes over these): a server left over, or another run?",
        f"sudo ss -ltnp 'sport = :{taken[0]}' shows who; end it if it is not meant to be there",
    )


def listened_on(table: str) -> set[int]:
    """Return the listening ports from the text of ``/proc/net/tcp`` or ``tcp6``; malformed lines are ignored."""
    found = set()
    for line in table.splitlines():
        words = line.split()
        if len(words) > 3 and words[3] == _LISTEN and (match := re.fullmatch(r"[0-9A-F]+:([0-9A-F]{4})", words[1])):
            found.add(int(match[1], 16))
    return found


def disk(name: str, folder: Path, least_bytes: int, wanted_bytes: int) -> PreflightItem:
    """Check the free space for `folder`, which need not exist yet, and that it is writable."""
    there = next((path for path in (folder, *folder.absolute().parents) if path.exists()), Path("/"))
    try:
        free_bytes = shutil.disk_usage(there).free
    except OSError as error:
        return PreflightItem(name, "good", f"not exposed: {error.strerror}")
    detail = f"{format_size(free_bytes)} free"
    if not os.access(there, os.W_OK | os.X_OK):
        return PreflightItem(name, "problem", f"{there} may not be written by this user", f'sudo chown "$USER" {there}')
    if free_bytes >= wanted_bytes:
        return PreflightItem(name, "good", detail)
    detail = f"{detail}; {format_size(wanted_bytes)} are wanted"
    remedy = f"make room: du -xh --max-depth=2 {there} | sort -h | tail shows what is large"
    return PreflightItem(name, "advice" if free_bytes >= least_bytes else "problem", detail, remedy)


def _meminfo(root: Path) -> dict[str, int]:
    """Return the sizes of ``/proc/meminfo`` in bytes, by name; malformed lines are left out."""
    lines = re.findall(r"^(\w+):\s+([0-9]{1,15}) kB$", text_of(root / "proc/meminfo"), re.MULTILINE)
    return {name: int(size) * 1024 for name, size in lines}
