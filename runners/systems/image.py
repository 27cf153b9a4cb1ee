"""The image: a private Debian root, made by mmdebstrap, in which everything that is measured is built and run.

It is cached under the user's cache folder and keyed by suite and package set, so that adding a server with a new
package makes a new image and leaves the old one alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.project import cache_folder, exclusive
from runners.core.status_line import StatusLine
from runners.systems import host

SUITE = "forky"
# Raised when the recipe below changes what is in the root.
_RECIPE = 2
MOUNT_POINTS = (
    "src",
    "contract",
    "build",
    "cache",
    "data",
    "load",
    "shared",
    "profile",
    "dev",
    "proc",
    "sys",
    "tmp",
    "run",
)
NETWORK_FILES = ("etc/resolv.conf", "etc/hosts")


@dataclass(frozen=True)
class Image:
    """A Debian root that holds `packages` (sorted names)."""

    packages: tuple[str, ...]

    @classmethod
    def of(cls, packages: Iterable[str]) -> Image:
        """Return the image of a package set."""
        return cls(tuple(sorted(set(packages) | {"ca-certificates"})))

    @property
    def key(self) -> str:
        """Return twelve hexadecimal digits that stand for suite, recipe and package set."""
        return hashlib.sha256("\n".join([SUITE, str(_RECIPE), *self.packages]).encode()).hexdigest()[:12]

    @property
    def root(self) -> Path:
        """Return the root's folder, whether it is there yet or not."""
        return cache_folder() / f"image-{self.key}"

    @property
    def ready(self) -> bool:
        """Return whether it has been made."""
        return self.root.is_dir()

    @cached_property
    def versions(self) -> dict[str, str]:
        """Return the version of every Debian package in the root."""
        found: dict[str, str] = {}
        for entry in (self.root / "var/lib/dpkg/status").read_text(encoding="utf-8").split("\n\n"):
            fields = dict(line.split(": ", 1) for line in entry.splitlines() if ": " in line and line[0] != " ")
            if "Package" in fields and "installed" in fields.get("Status", ""):
                found[fields["Package"]] = fields["Version"]
        return found

    def account(self, name: str) -> tuple[int, int]:
        """Return user and group id of an account that one of the packages made.

        Raises
        ------
        WrkbookError
            When there is none of that name.
        """
        for line in (self.root / "etc/passwd").read_text(encoding="utf-8").splitlines():
            fields = line.split(":")
            if fields[0] == name:
                return int(fields[2]), int(fields[3])
        raise WrkbookError(
            f"the image has no account {name!r}", "name an account that one of the server's packages makes"
        )

    def ensure(self) -> None:
        """Make the root unless it is there. Interrupted half-way, it starts over the next time.

        Raises
        ------
        WrkbookError
            When the host cannot make it: the end of mmdebstrap's own output and a remedy.
        """
        host.ensure_sandbox()
        if self.ready:
            _add_mount_points(self.root)  # an earlier wrkbook may have had fewer
            return
        host.ensure_unshare()
        with exclusive(f"image-{self.key}", "the image is being made by another wrkbook"):
            if not self.ready:
                self._make()

    def _make(self) -> None:
        partial = self.root.with_name(self.root.name + ".partial")
        remove_tree(partial)
        partial.mkdir()
        with _handed_on_apt_settings() as settings:
            mode = "root" if os.geteuid() == 0 else "unshare"
            # As a tarball, not a folder: unpacked here, every file belongs to the user who may later delete it.
            command = ["mmdebstrap", f"--mode={mode}", "--variant=apt", "--format=tar"]
            command += [f"--aptopt={settings}", f"--include={','.join(self.packages)}", SUITE, "-"]
            self._run(command, partial)
        _add_mount_points(partial)
        for name in NETWORK_FILES:
            # Something to mount the host's own on, where the root came without.
            if not (partial / name).exists():
                (partial / name).touch()
        partial.rename(self.root)

    def _run(self, command: list[str], target: Path) -> None:
        log: list[str] = []
        # Were wrkbook killed, nobody would end it: so the kernel does, and it removes what it has made so far.
        mortal = ["setpriv", "--pdeathsig", "TERM", *command]
        make = subprocess.Popen(mortal, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert make.stdout is not None
        assert make.stderr is not None
        unpack = subprocess.Popen(
            ["tar", "--extract", "--directory", str(target), "--exclude=./dev/*", "--no-same-owner"], stdin=make.stdout
        )
        make.stdout.close()
        title = f"Making the image ({len(self.packages)} packages, Debian {SUITE}; once)"
        try:
            with StatusLine() as status:
                status.begin(title)
                for raw in make.stderr:
                    log.append(raw.decode(errors="replace").rstrip())
                    if log[-1].startswith("I: "):
                        status.show(f"{title}: {log[-1].removeprefix('I: ')}")
            failed = make.wait() != 0, unpack.wait() != 0
        finally:
            for process in (make, unpack):
                if process.poll() is None:
                    process.terminate()
                    process.wait()
        if any(failed):
            raise WrkbookError(
                "the image could not be made:\n    " + "\n    ".join(log[-8:]),
                "check that a Debian mirror is reachable (apt-get update) and that the disk is not full (df -h)",
            )


@contextmanager
def _handed_on_apt_settings() -> Iterator[str]:
    """Return the host's own apt settings (proxy, certificates, Check-Valid-Until …) as a file for mmdebstrap."""
    outcome = subprocess.run(["apt-config", "dump", "Acquire"], capture_output=True, text=True)
    # Only what concerns how files are fetched: the rest would overwrite mmdebstrap's own choices.
    kept = [
        line for line in outcome.stdout.splitlines() if not line.startswith(("Acquire::IndexTargets", "Acquire::cdrom"))
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write("\n".join(kept) + "\n")
        file.flush()
        Path(file.name).chmod(0o644)
        yield file.name


def remove_tree(folder: Path) -> None:
    """Delete a folder that may hold read-only folders, as Go's module cache and Debian roots do."""
    if not folder.exists():
        return

    def make_writable(function: Callable[[str], object], path: str, _error: object) -> None:
        Path(path).parent.chmod(0o700)
        function(path)

    shutil.rmtree(folder, onerror=make_writable)


def _add_mount_points(root: Path) -> None:
    for name in MOUNT_POINTS:
        (root / name).mkdir(exist_ok=True)
