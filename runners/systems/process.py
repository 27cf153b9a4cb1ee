"""The lifecycle of a server process: launch, readiness, proof of identity, end."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import tempfile
import time
from types import TracebackType
from typing import IO

import psutil

from runners.errors import WrkbookError
from runners.systems.build import Artifact
from runners.systems.sockets import LOOPBACK, is_free, listening_inodes, socket_inodes

_READY_TIMEOUT_S = 15.0
_END_TIMEOUT_S = 3.0


class ServerProcess:
    """A launched server. Use it as a context manager: leaving ends it and waits until its port is free.

    Parameters
    ----------
    artifact : the built server
    port : on loopback; must be free
    cpus : the CPUs that its threads are pinned to; as many threads as CPUs
    """

    def __init__(self, artifact: Artifact, port: int, cpus: list[int]) -> None:
        self.artifact = artifact
        self.name = artifact.server.name
        self.port = port
        self.cpus = cpus
        self.startup_s = float("nan")
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._sandbox: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Base URL."""
        return f"http://{LOOPBACK}:{self.port}"

    def __enter__(self) -> ServerProcess:
        self.launch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def launch(self) -> None:
        """Start the server and wait until it listens.

        Raises
        ------
        WrkbookError
            When the port is taken, or the server ends or does not listen in time: with what it printed.
        """
        if not is_free(self.port):
            raise WrkbookError(
                f"port {self.port} is in use, {self.name} cannot be launched on it",
                f"end what listens there (ss -ltnp 'sport = :{self.port}') or choose another port",
            )
        values = {"{port}": str(self.port), "{threads}": str(len(self.cpus))}
        command = [_fill(word, values) for word in self.artifact.server.start.command]
        sandbox = self.artifact.sandbox()
        env = {name: _fill(value, values) for name, value in sandbox.env.items()}
        sandbox = type(sandbox)(sandbox.image, sandbox.read_only, sandbox.writable, env, sandbox.workdir)
        started = time.monotonic()
        self._sandbox = subprocess.Popen(
            sandbox.command(command, self.cpus),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            # Ctrl-C in the terminal is for wrkbook, which then ends its servers in order.
            start_new_session=True,
        )
        try:
            self._wait_until_listening(started)
        except BaseException:
            self.end()
            raise

    def _wait_until_listening(self, started: float) -> None:
        while not self.listens():
            if not self.alive:
                raise WrkbookError(
                    f"{self.name} ended while it was starting{self._said()}", f"try it: ./wrkbook serve {self.name}"
                )
            if time.monotonic() - started > _READY_TIMEOUT_S:
                raise WrkbookError(
                    f"{self.name} does not listen on port {self.port} after {_READY_TIMEOUT_S:.0f} s{self._said()}",
                    f"try it: ./wrkbook serve {self.name}",
                )
            time.sleep(0.01)
        self.startup_s = time.monotonic() - started

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return self._sandbox is not None and self._sandbox.poll() is None

    @property
    def exit_status(self) -> int | None:
        """Exit status of the server, None while it runs; negative: the signal that ended it."""
        if self._sandbox is None or (status := self._sandbox.poll()) is None:
            return None
        return status if status < 128 else -(status - 128)

    @property
    def pids(self) -> list[int]:
        """The server's own processes, without the sandbox around them."""
        return descendants(self._sandbox.pid) if self._sandbox is not None else []

    def listens(self) -> bool:
        """Whether this very process, and no other, listens on the port."""
        listening = listening_inodes(self.port)
        return bool(listening) and listening <= {inode for pid in self.pids for inode in socket_inodes(pid)}

    def output(self) -> str:
        """The last 4 KiB of what the server printed."""
        self._log.seek(0, 2)
        self._log.seek(max(0, self._log.tell() - 4096))
        return self._log.read().decode(errors="replace").strip()

    def _said(self) -> str:
        status = self.exit_status
        ending = f" (exit status {status})" if status is not None else ""
        return f"{ending}; it printed:\n    " + ("\n    ".join(self.output().splitlines()[-8:]) or "nothing")

    def end(self) -> int | None:
        """End the server: SIGTERM, then SIGKILL; wait until its port is free. Returns its exit status."""
        if self._sandbox is None:
            return None
        for pid in self.pids:
            _signal(pid, signal.SIGTERM)
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
    """The processes below a sandbox, without bubblewrap's own and taskset before it becomes its program."""
    found = []
    for child in _children(pid):
        with contextlib.suppress(psutil.Error):
            if psutil.Process(child).name() not in ("bwrap", "taskset"):
                found.append(child)
    return found


def _children(pid: int) -> list[int]:
    try:
        return [process.pid for process in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(psutil.Error):
        psutil.Process(pid).send_signal(number)


def _fill(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word
