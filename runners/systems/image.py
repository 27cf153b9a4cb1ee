"""The image: a private Debian root, made by mmdebstrap, in which everything that is measured is built and run.

It is cached under the user's cache folder and keyed by suite and package set. It holds what a run needs, and grows: when a later run needs
more, a larger one is made from the packages that were downloaded before, and takes the place of the smaller one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.project import cache_folder, exclusive, hold_shared, try_lock
from runners.systems import host
from runners.systems.debian_root import SUITE, make_root

# Raised when the recipe of the root changes what is in it.
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
# In each root: the packages that it was made for, one a line.
_PACKAGES = Path("etc/wrkbook-packages")
# An image that nothing has used for so long is removed when another one is made.
_KEPT_S = 30 * 24 * 3600.0


@dataclass(frozen=True)
class Image:
    """A Debian root that holds `packages` (sorted names)."""

    packages: tuple[str, ...]

    @classmethod
    def of(cls, packages: Iterable[str]) -> Image:
        """Return the image of a package set."""
        return cls(tuple(sorted(set(packages) | {"ca-certificates"})))

    @classmethod
    def made(cls) -> list[Image]:
        """Return the images that are ready, of this suite and recipe, the largest first."""
        found = [
            cls(tuple(file.read_text(encoding="utf-8").split())) for file in cache_folder().glob(f"image-*/{_PACKAGES}")
        ]
        # The key of another suite or recipe is another one.
        return sorted({image for image in found if image.ready}, key=lambda image: (-len(image.packages), image.key))

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
        """Make the root unless it is there, and keep it from being removed while this process lives.

        Interrupted half-way, it starts over the next time.

        Raises
        ------
        WrkbookError
            When the host cannot make it: the end of mmdebstrap's own output and a remedy.
        """
        host.ensure_sandbox()
        hold_shared(self.root.name)
        if not self.ready:
            host.ensure_unshare()
            # One at a time: they share the packages that were downloaded.
            with exclusive("images", "an image is being made by another wrkbook"):
                if not self.ready:
                    self._make()
                    self._remove_others()
        _add_files(self.root, self.packages)  # an earlier wrkbook may have had fewer
        os.utime(self.root)

    def _make(self) -> None:
        partial = self.root.with_name(self.root.name + ".partial")
        remove_tree(partial)
        partial.mkdir()
        make_root(partial, self.packages)
        _add_files(partial, self.packages)
        partial.rename(self.root)

    def _remove_others(self) -> None:
        """Remove the images that this one replaces, and those that were not used for long, unless a process still uses them."""
        replaced = {image.root for image in Image.made() if set(image.packages) < set(self.packages)}
        for root in cache_folder().glob("image-*"):
            unused = time.time() - root.stat().st_mtime > _KEPT_S
            if root == self.root or not (root in replaced or unused) or (lock := try_lock(root.name)) is None:
                continue
            # Under another name at once: half of a root must not be taken for one.
            gone = root.rename(root.with_name(f"{root.name}.removed"))
            remove_tree(gone)
            os.close(lock)


def remove_tree(folder: Path) -> None:
    """Delete a folder that may hold read-only folders, as Go's module cache and Debian roots do."""
    if not folder.exists():
        return

    def make_writable(function: Callable[[str], object], path: str, _error: object) -> None:
        Path(path).parent.chmod(0o700)
        function(path)

    shutil.rmtree(folder, onerror=make_writable)


def _add_files(root: Path, packages: Iterable[str]) -> None:
    """Add to a root what is mounted on, and the list of its packages."""
    for name in (*MOUNT_POINTS, "etc"):
        (root / name).mkdir(exist_ok=True)
    for name in NETWORK_FILES:
        # Something to mount the host's own on, where the root came without.
        if not (root / name).exists():
            (root / name).touch()
    if not (root / _PACKAGES).exists():
        (root / _PACKAGES).write_text("\n".join(packages) + "\n", encoding="utf-8")
