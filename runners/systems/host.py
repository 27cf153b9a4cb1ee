"""Requirements of the host: Debian packages, the right to make sandboxes, and free client ports."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.status_line import note

_PROGRAMS = {"mmdebstrap": "mmdebstrap", "bwrap": "bubblewrap", "newuidmap": "uidmap"}
_SETTINGS = Path("/proc/sys")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

SETTING = "net.ipv4.ip_local_port_range"
REMEDY = f'sudo sysctl -w {SETTING}="20000 65535"'
_KERNEL = Path("/proc/sys/net/ipv4")
_DEFAULT_RANGE = (32768, 60999)
_TIME_WAIT = b"06"
_WAIT_S, _REUSED_AFTER_S, _TICK_HZ = 60.0, 1.0, 100
_LOOK_S = 1.0


@cache
def ensure_sandbox() -> None:
    """Install bubblewrap and mmdebstrap where they are missing, and prove that a sandbox can be entered.

    Raises
    ------
    WrkbookError
        When packages cannot be installed, or the kernel forbids user namespaces to this user.
    """
    if missing := missing_packages():
        _install(missing)
    check_sandbox()


def missing_packages() -> list[str]:
    """Return the Debian packages that making sandboxes and images needs and this host lacks."""
    missing = [package for program, package in _PROGRAMS.items() if shutil.which(program) is None]
    return missing if _KEYRING.exists() else [*missing, "debian-archive-keyring"]


def check_sandbox() -> None:
    """Enter a sandbox and leave it again; bubblewrap must be there.

    Raises
    ------
    WrkbookError
        When the kernel forbids user namespaces to this user.
    """
    probe = ["bwrap", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/true"]
    outcome = subprocess.run(probe, capture_output=True, text=True)
    if outcome.returncode != 0:
        raise WrkbookError(
            f"bubblewrap cannot make a sandbox here: {outcome.stderr.strip() or 'no reason given'}", namespace_remedy()
        )


def ensure_unshare() -> None:
    """Ensure that an ordinary user has a range of subordinate ids, which mmdebstrap needs."""
    if os.geteuid() == 0:
        return
    user = pwd.getpwuid(os.geteuid()).pw_name
    for path in (Path("/etc/subuid"), Path("/etc/subgid")):
        lines = path.read_text().splitlines() if path.exists() else []
        if not any(line.split(":")[0] in (user, str(os.geteuid())) for line in lines):
            raise WrkbookError(
                f"user {user} has no range of subordinate ids in {path}, which building the image needs",
                f"as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {user}",
            )


def install_command(packages: list[str]) -> list[str]:
    """Return the command that installs Debian packages here, with sudo where that is needed.

    Raises
    ------
    WrkbookError
        When there is no apt-get, or neither root nor sudo.
    """
    command = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *packages]
    by_hand = _by_hand(command)
    if shutil.which("apt-get") is None:
        raise WrkbookError(f"missing here: {', '.join(packages)}", "install them with this system's package manager")
    if os.geteuid() != 0:
        if shutil.which("sudo") is None:
            raise WrkbookError(f"the packages {', '.join(packages)} are missing, and there is no sudo", by_hand)
        command = ["sudo", *command]
    return command


def _install(packages: list[str]) -> None:
    command = install_command(packages)
    print(f"Installing the host packages {', '.join(packages)} …", flush=True)
    prefix = command[: command.index("apt-get")]
    subprocess.run([*prefix, "apt-get", "update", "--quiet"], capture_output=True, text=True)
    outcome = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if outcome.returncode != 0:
        tail = "\n".join(outcome.stdout.strip().splitlines()[-5:])
        raise WrkbookError(
            f"the packages {', '.join(packages)} could not be installed:\n{tail}", _by_hand(command[len(prefix) :])
        )


def _by_hand(command: list[str]) -> str:
    return f"as root: apt-get update && {' '.join(command)}"


def namespace_remedy() -> str:
    """Return the remedy that root has where this user may not make sandboxes."""
    settings = {
        "kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
        "kernel/apparmor_restrict_unprivileged_userns": ("1", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
        "user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=15000"),
    }
    for name, (bad, remedy) in settings.items():
        path = _SETTINGS / name
        if path.exists() and path.read_text().strip() == bad:
            return f"as root: {remedy}   (and again after a restart, or put it into /etc/sysctl.d/)"
    return "user namespaces are forbidden to this user; run as root, or in a container with --privileged"


@dataclass(frozen=True)
class Ports:
    """The range of ports that the kernel grants clients.

    Attributes
    ----------
    low, high : int
        The range, both included.
    reuses : bool
        A port in TIME_WAIT may be used again after a second.
    """

    low: int
    high: int
    reuses: bool

    @property
    def count(self) -> int:
        """Return the most connections that a client can have to one server."""
        return self.high - self.low + 1


def client_ports(kernel: Path = _KERNEL) -> Ports:
    """Return the settings of this machine; the kernel's defaults where they cannot be read."""
    low, high = _DEFAULT_RANGE
    with contextlib.suppress(OSError, ValueError):
        low, high = map(int, (kernel / "ip_local_port_range").read_text().split())
    try:
        reuses = (kernel / "tcp_tw_reuse").read_text().strip() in ("1", "2")
    except OSError:
        reuses = False
    return Ports(low, high, reuses)


def held_ports(table: bytes, server_port: int, ports: Ports) -> int:
    """Return the number of client ports that cannot be used towards a server, from the text of ``/proc/net/tcp``."""
    remote, held = f":{server_port:04X}".encode(), set()
    for line in table.splitlines()[1:]:
        fields = line.split(maxsplit=6)
        if len(fields) < 6 or not fields[2].endswith(remote):
            continue
        port = int(fields[1].rsplit(b":", 1)[1], 16)
        if ports.low <= port <= ports.high and not (ports.reuses and _is_old(fields[3], fields[5])):
            held.add(port)
    return len(held)


def _is_old(state: bytes, timer: bytes) -> bool:
    """Return whether a line is of a connection that was closed more than a second ago: its timer counts down from a minute."""
    left_s = int(timer.rsplit(b":", 1)[1], 16) / _TICK_HZ
    return state == _TIME_WAIT and left_s <= _WAIT_S - _REUSED_AFTER_S


def wait_for_ports(
    server_port: int,
    connections: int,
    *,
    most_s: float = _WAIT_S + 5,
    tables: Iterable[Path] = (Path("/proc/net/tcp"), Path("/proc/net/tcp6")),
    ports: Ports | None = None,
    told: Callable[[str], None] = note,
) -> str:
    """Wait until so many connections to a server on this machine find a port each.

    Returns
    -------
    str
        Why they still do not after `most_s`, with the remedy; empty when they do. When it has to wait, `told` gets a text.
    """
    known, deadline, quiet = ports or client_ports(), time.monotonic() + most_s, False
    while True:
        held = sum(held_ports(_read(table), server_port, known) for table in tables)
        if held + connections <= known.count:
            return ""
        if connections > known.count or time.monotonic() > deadline:
            return f"{connections} connections do not find a port each: {held} of {known.count} are held; {REMEDY}"
        if not quiet:
            told(f"Waiting for ports: {held} of {known.count} are held by closed connections, at most {most_s:.0f} s")
            quiet = True
        time.sleep(_LOOK_S)


def _read(table: Path) -> bytes:
    with contextlib.suppress(OSError):
        return table.read_bytes()
    return b""
