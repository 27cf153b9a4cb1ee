"""Make a Debian root with mmdebstrap, from the packages that were downloaded before and from a mirror."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from runners.core.errors import WrkbookError
from runners.core.project import cache_folder
from runners.core.status_line import StatusLine

SUITE = "forky"
_ARCHIVES = "/var/cache/apt/archives"
_TAIL_LINES = 8


def make_root(target: Path, packages: Sequence[str]) -> None:
    """Make a root with `packages` in the empty folder `target`.

    Raises
    ------
    WrkbookError
        When that fails: the end of mmdebstrap's own output and a remedy.
    """
    downloaded = cache_folder() / "packages"
    downloaded.mkdir(exist_ok=True)
    with _handed_on_apt_settings() as settings:
        mode = "root" if os.geteuid() == 0 else "unshare"
        # As a tarball, not a folder: unpacked here, every file belongs to the user who may later delete it.
        command = ["mmdebstrap", f"--mode={mode}", "--variant=apt", "--format=tar", "--verbose"]
        command += [f"--aptopt={settings}", f"--include={','.join(packages)}"]
        # Nothing of a half-made root is kept: it needs no write to have reached the disk.
        command += ["--dpkgopt=force-unsafe-io"]
        # As its manual does it: what was downloaded is kept outside, also of the first packages.
        command += ["--skip=essential/unlink", f'--setup-hook=mkdir -p "$1"{_ARCHIVES}']
        command += [
            f"--setup-hook=sync-in {downloaded} {_ARCHIVES}",
            f"--customize-hook=sync-out {_ARCHIVES} {downloaded}",
        ]
        _run([*command, SUITE, "-"], target, f"Making the image ({len(packages)} packages, Debian {SUITE}; once)")
    _remove_superseded(downloaded)


def _run(command: list[str], target: Path, title: str) -> None:
    log: list[str] = []
    # Were wrkbook killed, nobody would end it: so the kernel does, and it removes what it has made so far.
    mortal = ["setpriv", "--pdeathsig", "TERM", *command]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}  # its output is read
    # Where its output cannot be written, it sends SIGHUP to its whole process group, which must not be wrkbook's.
    make = subprocess.Popen(
        mortal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True
    )
    assert make.stdout is not None
    assert make.stderr is not None
    # By itself tar ends at the zeros that end an archive. More may follow, and mmdebstrap would write them into a broken pipe.
    extract = ["tar", "--extract", "--ignore-zeros", "--directory", str(target), "--exclude=./dev/*", "--no-same-owner"]
    unpack = subprocess.Popen(extract, stdin=make.stdout)
    make.stdout.close()
    try:
        with StatusLine() as status:
            status.begin(title)
            progress = InstallProgress()
            for raw in make.stderr:
                log.append(raw.decode(errors="replace").rstrip())
                if step := progress.read(log[-1], time.monotonic()):
                    status.show(f"{title}: {step}")
        failed = make.wait() != 0, unpack.wait() != 0
    finally:
        for process, end in ((unpack, unpack.terminate), (make, partial(os.killpg, make.pid, signal.SIGTERM))):
            if process.poll() is None:
                end()
                process.wait()
    if any(failed):
        raise WrkbookError(
            "the image could not be made:\n    " + "\n    ".join(log[-_TAIL_LINES:]),
            "check that a Debian mirror is reachable (apt-get update) and that the disk is not full (df -h)",
        )


_UNITS = {"B": 1e-6, "kB": 1e-3, "MB": 1.0, "GB": 1e3}
_SIZE = r"(?P<size>[\d.,]+) (?P<unit>[kMG]?B)"
_TO_GET = re.compile(rf"Need to get {_SIZE}")
_GOT = re.compile(rf"Get:\d+ .*\[{_SIZE}\]")
_TO_INSTALL = re.compile(r"\d+ upgraded, (?P<count>\d+) newly installed")
_INSTALLED = re.compile(r"(?:Unpacking|Setting up) \S+ \(")
# Each package is unpacked and set up.
_LINES_A_PACKAGE = 2
# Before so much of a step is done, its pace says little.
_LEAST_SHARE = 0.05


class InstallProgress:
    """The present step of mmdebstrap and the time that it needs still, by the lines that apt and dpkg print."""

    def __init__(self) -> None:
        self._verb, self._unit, self._done, self._all, self._since_s = "", "", 0.0, 0.0, 0.0
        self._packages_count = 0

    def read(self, line: str, now_s: float) -> str:
        """Return the step after one more line, printed at `now_s`; empty when the line says nothing of it."""
        if line.startswith("I: "):
            return line.removeprefix("I: ")
        if match := _TO_INSTALL.match(line):
            self._packages_count = int(match["count"])
        elif match := _TO_GET.match(line):
            self._begin("downloading", "MB", _megabytes(match), now_s)
        elif self._verb == "downloading" and (match := _GOT.match(line)):
            self._done += _megabytes(match)
            return self._step(now_s)
        elif _INSTALLED.match(line):
            if self._verb != "installing":
                self._begin("installing", "packages", self._packages_count, now_s)
            self._done += 1 / _LINES_A_PACKAGE
            return self._step(now_s)
        return ""

    def _begin(self, verb: str, unit: str, amount: float, now_s: float) -> None:
        self._verb, self._unit, self._done, self._all, self._since_s = verb, unit, 0.0, amount, now_s

    def _step(self, now_s: float) -> str:
        share = min(1.0, self._done / self._all) if self._all else 1.0
        text = f"{self._verb} {min(self._done, self._all):.0f} of {self._all:.0f} {self._unit}"
        if share < _LEAST_SHARE:
            return text
        return f"{text}, {(now_s - self._since_s) * (1 - share) / share:.0f} s left"


def _megabytes(match: re.Match[str]) -> float:
    return float(match["size"].replace(",", "")) * _UNITS[match["unit"]]


def _remove_superseded(folder: Path) -> None:
    """Remove the files of each downloaded package but the newest."""
    newest: dict[str, Path] = {}
    for path in sorted(folder.glob("*.deb"), key=lambda path: path.stat().st_mtime):
        name = path.name.partition("_")[0]
        if name in newest:
            newest[name].unlink()
        newest[name] = path


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
