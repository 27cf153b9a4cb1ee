"""The lifecycle of a server process: launch, readiness, proof of identity, end."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import subprocess
import time
from types import TracebackType
from typing import Self

from runners.core.errors import WrkbookError
from runners.core.request import Tls
from runners.systems.addresses import ONE_HOST, Addresses
from runners.systems.build import Artifact
from runners.systems.certificate import TLS_FOLDER, certificate_folder
from runners.systems.process_tree import children, descendants, first_of, signal_to
from runners.systems.sandbox import Sandbox, Tail, ensure_cpus
from runners.systems.server_manifest import pool_size
from runners.systems.sockets import FIRST_TLS_PORT, hold_ports, is_free, listening_inodes, socket_inodes

_END_TIMEOUT_S = 3.0


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
    addresses : Addresses
        Where it listens, and where its backend and the clients of a backend are.

    Attributes
    ----------
    tls_port : int
        The port on which it listens with TLS, held while it runs; 0 where it does not.
    """

    ready_timeout_s = 15.0

    def __init__(
        self,
        artifact: Artifact,
        port: int,
        cpus: list[int],
        backend_port: int = 0,
        threads: int | None = None,
        addresses: Addresses = ONE_HOST,
    ) -> None:
        self.artifact = artifact
        self.name = artifact.server.label
        self.port, self.tls_port = port, 0
        self.cpus = cpus
        self.addresses = addresses
        self.backend_port = backend_port
        self.threads = threads or len(cpus)
        self.startup_s = float("nan")
        self._tail: Tail | None = None
        self._sandbox: subprocess.Popen[bytes] | None = None
        self._held = contextlib.ExitStack()

    @property
    def url(self) -> str:
        """Return the base URL."""
        return f"http://{self.addresses.own}:{self.port}"

    @property
    def tls_url(self) -> str:
        """Return the base URL with TLS; empty where it has none."""
        return f"https://{self.addresses.own}:{self.tls_port}" if self.tls_port else ""

    @property
    def ports(self) -> list[int]:
        """Return the ports on which it listens."""
        return [self.port, *([self.tls_port] if self.tls_port else [])]

    def port_of(self, tls: Tls) -> int:
        """Return the port to which requests go."""
        return self.tls_port if tls else self.port

    def url_of(self, tls: Tls) -> str:
        """Return the base URL to which requests go."""
        return self.tls_url if tls else self.url

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
        start = self.artifact.server.launch
        if not is_free(self.port):
            raise WrkbookError(
                f"port {self.port} is in use, {self.name} cannot be launched on it",
                f"end what listens there (ss -ltnp 'sport = :{self.port}') or choose another port",
            )
        if start.uses_tls:
            (self.tls_port,) = self._held.enter_context(hold_ports(1, FIRST_TLS_PORT))
        started = time.monotonic()
        self._tail = Tail()
        try:
            self._sandbox = subprocess.Popen(
                self.sandbox().command(self.filled(start.command), self.cpus),
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
        shown = {TLS_FOLDER: certificate_folder()} if self.artifact.server.launch.uses_tls else {}
        return dataclasses.replace(
            sandbox,
            env=self.addresses.environment()
            | dict(zip(sandbox.env, self.filled(list(sandbox.env.values())), strict=True)),
            read_only=sandbox.read_only | shown,
        )

    def filled(self, words: list[str]) -> list[str]:
        """Return the words of a manifest with this launch's values in their places."""
        values: dict[str, int | str] = {
            "{port}": self.port,
            "{threads}": self.threads,
            "{backend_port}": self.backend_port,
        }
        values |= {"{address}": self.addresses.own, "{backend_address}": self.addresses.backend}
        values["{tls_port}"] = self.tls_port
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
        """Return whether this very process, and no other, listens on its ports."""
        listening = [listening_inodes(port) for port in self.ports]
        own = {inode for pid in self.pids for inode in socket_inodes(pid)}
        return all(each and each <= own for each in listening)

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
            self._held.close()
            return None
        for pid in self.first_pids:
            signal_to(pid, signal.Signals[f"SIG{self.artifact.server.launch.stop_signal}"])
        try:
            self._sandbox.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # Killing the sandbox's own process 1 takes everything in its process namespace with it.
            for process in [*children(self._sandbox.pid), self._sandbox.pid]:
                signal_to(process, signal.SIGKILL)
            self._sandbox.wait()
        deadline = time.monotonic() + _END_TIMEOUT_S
        while any(map(listening_inodes, self.ports)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self._held.close()
        return self.exit_status


def _fill(word: str, values: dict[str, int | str]) -> str:
    for name, value in values.items():
        word = word.replace(name, str(value))
    return word
