"""The command line of bubblewrap, the CPUs that programs may have, the end of what they print, and sandboxes that lost their owner."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from runners.core.errors import WrkbookError
from runners.systems.image import NETWORK_FILES, Image
from runners.systems.process_tree import children

# Settings of the user's network that a build needs to reach its package registry through a proxy or mirror.
_HANDED_ON = (
    *(
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    ),
    *("GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "NODE_EXTRA_CA_CERTS"),
)


@dataclass(frozen=True)
class Sandbox:
    """The mounts and environment of a program inside the image.

    Attributes
    ----------
    read_only, writable : dict[str, Path]
        Folder inside → folder of the host.
    env : dict[str, str]
        Environment variables; nothing else is inherited.
    builds : bool
        The program may fetch packages (certificates, name resolution and proxies of the host).
    user : str | None
        The account of the image that the program sees itself as; None: whoever runs wrkbook.
    scratch : Sequence[str]
        Empty folders inside, in memory, for this program alone.
    """

    image: Image
    read_only: dict[str, Path] = field(default_factory=dict)
    writable: dict[str, Path] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    builds: bool = False
    user: str | None = None
    scratch: Sequence[str] = ()

    def command(self, argv: Sequence[str], cpus: Sequence[int] = ()) -> list[str]:
        """Return the argument list that runs `argv` inside, on `cpus` only where they are given.

        The sandbox ends with its parent, and everything in it with the sandbox: it has a process namespace of its own.
        """
        words = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL"]
        words += ["--clearenv", "--ro-bind", str(self.image.root), "/", "--proc", "/proc", "--dev", "/dev"]
        words += ["--tmpfs", "/tmp", "--tmpfs", "/run"]  # noqa: S108 - inside the sandbox
        if self.user is not None:
            # In a user namespace: outside, it stays whoever runs wrkbook, so this needs no right to change accounts.
            uid, gid = self.image.account(self.user)
            words += ["--unshare-user", "--uid", str(uid), "--gid", str(gid)]
        for inside in self.scratch:
            words += ["--perms", "0700", "--tmpfs", inside]
        if self.builds:
            for name in ("/etc/ssl/certs", *(f"/{file}" for file in NETWORK_FILES)):
                if Path(name).exists():
                    words += ["--ro-bind", str(Path(name).resolve()), name]
        for inside, outside in self.read_only.items():
            words += ["--ro-bind", str(outside), inside]
        for inside, outside in self.writable.items():
            words += ["--bind", str(outside), inside]
        handed_on = {name: os.environ[name] for name in _HANDED_ON if self.builds and name in os.environ}
        for name, value in {"PATH": "/usr/bin:/usr/sbin", "LANG": "C.UTF-8", **handed_on, **self.env}.items():
            words += ["--setenv", name, value]
        words += ["--chdir", self.workdir, "--"]
        if cpus:
            words += ["taskset", "--cpu-list", ",".join(map(str, cpus))]
        return [*words, *argv]


def ensure_cpus(cpus: Iterable[int]) -> None:
    """Ensure that a program may run on each of `cpus` at this moment: taskset would leave out what is missing, without a word.

    Raises
    ------
    WrkbookError
        Naming the CPUs that were taken offline, or that a control group withholds.
    """
    wanted, granted = set(cpus), set[int]()

    def attempt() -> None:
        # In a thread of its own, whose affinity ends with it: sched_setaffinity(2) concerns the calling thread.
        with suppress(OSError):
            os.sched_setaffinity(0, wanted)
            granted.update(os.sched_getaffinity(0))

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    if missing := sorted(wanted - granted):
        gone = ", ".join(map(str, missing))
        raise WrkbookError(
            f"CPU {gone} {'is' if len(missing) == 1 else 'are'} gone since the CPUs were planned",
            "bring it back (echo 1 | sudo tee /sys/devices/system/cpu/cpuN/online, or the container's cpuset), or start a new run",
        )


_CHUNK_BYTES = 64 * 1024
_JOIN_S = 0.5


class Tail:
    """A pipe that is always read, and remembers the last `most_bytes`.

    Attributes
    ----------
    descriptor : int
        The end for the process to write to; :meth:`started` closes it here once the process has its own.
    """

    def __init__(self, most_bytes: int = 4096) -> None:
        reading, self.descriptor = os.pipe()
        self._most_bytes, self._last = most_bytes, b""
        self._thread = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._thread.start()

    def started(self) -> None:
        """Leave the writing end to the process: the pipe ends with the last that holds it."""
        os.close(self.descriptor)

    def text(self, *, ended: bool) -> str:
        """Return the last output; of a process that has ended, including what was still in the pipe."""
        if ended:
            self._thread.join(_JOIN_S)
        return self._last.decode(errors="replace").strip()

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            while chunk := pipe.read(_CHUNK_BYTES):
                self._last = (self._last + chunk)[-self._most_bytes :]


_PR_SET_CHILD_SUBREAPER = 36
_SANDBOX = "bwrap"
_END_TIMEOUT_S = 10.0


@contextmanager
def orphans_ended() -> Iterator[Callable[[], None]]:
    """Hold what descendants leave behind while the context lasts; at its end, kill the sandboxes among that.

    Yields what removes those that have ended by themselves. It must be called now and then: each sandbox leaves its process 1 behind,
    so an hour of blocks leaves thousands of ended processes, and each search among all processes takes longer.
    """
    own = set(psutil.Process().children())
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    kept = {process.pid for process in own}

    def remove_ended() -> None:
        for pid in set(children(os.getpid(), recursive=False)) - kept:
            with suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() == _SANDBOX:
                    os.waitpid(pid, os.WNOHANG)

    try:
        yield remove_ended
    finally:
        remove_ended()
        # One that was about to start its process 1 leaves that behind, too.
        while found := _sandboxes(own):
            for process in found:
                _kill(process)
            if psutil.wait_procs(found, _END_TIMEOUT_S)[1]:
                break
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _sandboxes(own: set[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in set(psutil.Process().children()) - own:
        with suppress(psutil.Error):
            if process.name() == _SANDBOX:
                found.append(process)
    return found


def _kill(process: psutil.Process) -> None:
    """Kill a process and all below it: with its process 1, a sandbox loses everything that is in it."""
    with suppress(psutil.Error):
        for below in [*process.children(recursive=True), process]:
            with suppress(psutil.Error):
                below.kill()
