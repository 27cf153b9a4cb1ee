"""Requirements of the host: a few Debian packages, and the right to make sandboxes."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from functools import cache
from pathlib import Path

from runners.core.errors import WrkbookError

_PROGRAMS = {"mmdebstrap": "mmdebstrap", "bwrap": "bubblewrap", "newuidmap": "uidmap"}
_SETTINGS = Path("/proc/sys")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


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
    """The Debian packages that making sandboxes and images needs and this host lacks."""
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
    """The command that installs Debian packages here, with sudo where that is needed.

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
    """Return what root can do so that this user may make sandboxes."""
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
