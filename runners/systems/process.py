"""The lifecycle of a server process: launch, readiness, proof of identity, end."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from runners.core.errors import WrkbookError
from runners.systems.build import Artifact
from runners.systems.sandbox import Sandbox, Tail, ensure_cpus
from runners.systems.server_manifest import pool_size
from runners.systems.sockets import LOOPBACK, is_free, listening_inodes, socket_inodes

_END_TIMEOUT_S = 3.0
# Not with every kernel: CONFIG_PROC_CHILDREN.
_LISTS_CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children").exists()


class ServerProcess:
    """A launched server. Use it as a context manager: leaving ends it and waits until its port is free.

    Parameters
    ----------
    artifact : Artifact
        The built server.
    port : int
        Port on loopback; must be free, and held by the caller (:func:`runners.systems.sockets.hold_ports`).
    cpus : list[int]
        The CPUs that its threads are pinned to.
    backend_port : int
        Port of the backend; 0 without one.
    threads : int | None
        Number of threads with which it is started; None: one for each CPU.
    """

    ready_timeout_s = 15.0

    def __init__(
        self, artifact: Artifact, port: int, cpus: list[int], backend_port: int = 0, threads: int | None = None
    ) -> None:
        self.artifact = artifact
        self.name = artifact.server.label
        self.port = port
        self.cpus = cpus
        self.backend_port = backend_port
        self.threads = threads or len(cpus)
        self.startup_s = float("nan")
        self._tail: Tail | None = None
        self._sandbox: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the base URL."""
        return f"http://{LOOPBACK}:{self.port}"

    def __enter__(self) -> Self:
        self.launch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def launch(self) -> None:
        """Start the server and wait until it is ready; after its end, start it again.

        Raises
        ------
        WrkbookError
            When it is a load generator, one of its CPUs is gone, the port is taken, or the server ends or does not listen in time:
            with what it printed.
        """
        ensure_cpus(self.cpus)
        command = self.filled(self.artifact.server.launch.command)
        if not is_free(self.port):
            raise WrkbookError(
                f"port {self.port} is in use, {self.name} cannot be launched on it",
                f"end what listens there (ss -ltnp 'sport = :{self.port}') or choose another port",
            )
        started = time.monotonic()
        self._tail = Tail()
        try:
            self._sandbox = subprocess.Popen(
                self.sandbox().command(command, self.cpus),
                stdin=subprocess.DEVNULL,
                stdout=self._tail.descriptor,
                stderr=self._tail.descriptor,
                # Ctrl-C in the terminal is for wrkbook, which then ends its servers in order.
                start_new_session=True,
            )
        finally:
            self._tail.started()
        try:
            self._wait_until_ready(started)
        except BaseException:
            self.end()
            raise

    def sandbox(self) -> Sandbox:
        """Return the server's sandbox, its environment filled in."""
        sandbox = self.artifact.sandbox()
        return dataclasses.replace(
            sandbox, env=dict(zip(sandbox.env, self.filled(list(sandbox.env.values())), strict=True))
        )

    def filled(self, words: list[str]) -> list[str]:
        """Return the words of a manifest with this launch's values in their places."""
        values = {"{port}": self.port, "{threads}": self.threads, "{backend_port}": self.backend_port}
        values["{pool}"] = pool_size(self.cpus)
        return [_fill(word, values) for word in words]

    def _wait_until_ready(self, started: float) -> None:
        while not self.ready():
            if not self.alive:
                raise WrkbookError(
                    f"{self.name} ended while it was starting{self._said()}", f"try it: ./wrkbook serve {self.name}"
                )
            if time.monotonic() - started > self.ready_timeout_s:
                raise WrkbookError(
                    f"{self.name} does not listen on port {self.port} after {self.ready_timeout_s:.0f} s{self._said()}",
                    f"try it: ./wrkbook serve {self.name}",
                )
            time.sleep(0.01)
        self.startup_s = time.monotonic() - started

    @property
    def alive(self) -> bool:
        """Return whether it is still running."""
        return self._sandbox is not None and self._sandbox.poll() is None

    @property
    def exit_status(self) -> int | None:
        """Return the exit status of the server, None while it runs; negative: the signal that ended it."""
        if self._sandbox is None or (status := self._sandbox.poll()) is None:
            return None
        return status if status < 128 else -(status - 128)

    @property
    def pids(self) -> list[int]:
        """Return the server's own processes, without the sandbox around them."""
        return descendants(self._sandbox.pid) if self._sandbox is not None else []

    @property
    def first_pids(self) -> list[int]:
        """Return its first process, which started all others; empty when it has ended."""
        return first_of(self.pids)

    def ready(self) -> bool:
        """Return whether it can be used."""
        return self.listens()

    def listens(self) -> bool:
        """Return whether this very process, and no other, listens on the port."""
        listening = listening_inodes(self.port)
        return bool(listening) and listening <= {inode for pid in self.pids for inode in socket_inodes(pid)}

    def output(self) -> str:
        """Return the last 4 KiB of what the server printed."""
        return self._tail.text(ended=not self.alive) if self._tail is not None else ""

    def _said(self) -> str:
        status = self.exit_status
        ending = f" (exit status {status})" if status is not None else ""
        return f"{ending}; it printed:\n    " + ("\n    ".join(self.output().splitlines()[-8:]) or "nothing")

    def end(self) -> int | None:
        """End the server: the signal of its manifest, then SIGKILL; wait until its port is free. Returns its exit status."""
        if self._sandbox is None:
            return None
        for pid in self.first_pids:
            _signal(pid, signal.Signals[f"SIG{self.artifact.server.launch.stop_signal}"])
        try:
            self._sandbox.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # Killing the sandbox's own process 1 takes everything in its process namespace with it.
            for process in [*_children(self._sandbox.pid), self._sandbox.pid]:
                _signal(process, signal.SIGKILL)
            self._sandbox.wait()
        deadline = time.monotonic() + _END_TIMEOUT_S
        while listening_inodes(self.port) and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.exit_status


def descendants(pid: int) -> list[int]:
    """Return the processes below a sandbox, without bubblewrap's own, and those that are still to become their program."""
    found = []
    for child in _children(pid):
        with contextlib.suppress(psutil.Error):
            if psutil.Process(child).name() not in ("bwrap", "taskset", "prlimit"):
                found.append(child)
    return found


def first_of(pids: list[int]) -> list[int]:
    """Return the processes of a sandbox that none of the others started."""
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            if psutil.Process(pid).ppid() not in pids:
                found.append(pid)
    return found


def _children(pid: int) -> list[int]:
    """Return the processes below one, at any depth.

    The kernel lists the children of a thread (proc(5)). psutil reads every process of the machine instead: 4 ms in the middle of a window.
    """
    found: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                found += [child, *_children(child)]
    except FileNotFoundError:
        if not _LISTS_CHILDREN and psutil.pid_exists(pid):
            with contextlib.suppress(psutil.Error):
                return [process.pid for process in psutil.Process(pid).children(recursive=True)]
    except OSError:
        pass  # it ended meanwhile
    return found


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(psutil.Error):
        psutil.Process(pid).send_signal(number)


def _fill(word: str, values: dict[str, int]) -> str:
    for name, value in values.items():
        word = word.replace(name, str(value))
    return word
