"""One window: the load generator runs against one server, and everything that proves it is written down."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Self

import psutil

from runners.generators import LOAD_FOLDER
from runners.measure.load_source import Asked, LoadSource
from runners.measure.opening import LEAST_WATCHED, MOST_OPENING_S, wait_until_open
from runners.measure.other_processes import OtherProcesses
from runners.measure.sampling import memory, snapshot, total_cpu_s
from runners.measure.stopped_clock import StoppedClock
from runners.records import MEASURED_KINDS, Load
from runners.systems.backend import counted, work_done
from runners.systems.process import descendants
from runners.systems.sandbox import Sandbox
from runners.systems.sockets import LOOPBACK, accepted_count, established_count

# When, as fractions of the window, the processes are looked at: clear of the ramps at both ends.
LOOKS = (0.1, 0.5, 0.9)
# In which what takes longer to find out is looked at too: connections, memory that is shared with others.
_THOROUGH_LOOK = 0.5
_POLL_S = 0.01
# As few connections may be another program's. More, and the load has begun, although none of its short ones may ever be seen open.
_MOST_OF_OTHERS = 2
# A generator that is not through this long after its window hangs.
GRACE_S = 15.0
# More than any of them has to say: one that prints without end is ended by the kernel, before it fills disk and memory.
_MOST_PRINTED_BYTES = 64 << 20


def in_one_piece(source: LoadSource, asked: Asked, load: Load, kind: str) -> dict[str, Any]:
    """Measure one window in one piece and return its record, see :meth:`Window.record`."""
    with Window(source, asked, load, kind) as window:
        for look in LOOKS if kind in MEASURED_KINDS else ():
            if not window.ends_by(window.begun + look * load.duration_s):
                window.look(look)
        if window.watched or not float(load.duration_s).is_integer():
            window.ends_by(window.begun + load.duration_s)
            window.interrupt()
        window.hung = not window.ends_by(window.begun + math.ceil(load.duration_s) + load.timeout_s + GRACE_S)
        window.close()
        return window.record([(window.begun, window.begun + load.duration_s)])


class Window:
    """One window: a load generator at work on one server, and what is written down of it. It is open within its context.

    Parameters
    ----------
    kind : priming, warmup, window or percentiles
    clock : of a load generator that will be stopped now and then; None: it runs in one piece
    waiting_s : how much longer than its load the window takes at most, when it is stopped now and then

    Attributes
    ----------
    begun : moment of its first connection
    hung : whether the load generator did not end when it should have
    """

    def __init__(
        self,
        source: LoadSource,
        asked: Asked,
        load: Load,
        kind: str,
        clock: StoppedClock | None = None,
        waiting_s: float = 0.0,
    ) -> None:
        self._source, self._asked, self._load, self._kind, self._clock = source, asked, load, kind, clock
        self._generator = source.generators[asked.generator]
        self.watched = self._generator.opens_first and load.connections >= LEAST_WATCHED
        # One that is ended by a signal needs a time of its own that is long enough, no more.
        spare_s = waiting_s + (MOST_OPENING_S if self.watched else 0.0)
        self._argv = self._generator.command(
            asked.request, replace(load, duration_s=load.duration_s + spare_s), LOOPBACK, asked.server.port
        )
        self.begun, self._ended, self.hung = math.nan, math.inf, False
        self._stack = ExitStack()
        self._samples: list[dict[str, Any]] = []
        self._others = OtherProcesses()

    def __enter__(self) -> Self:
        server = self._asked.server
        self._started_at = datetime.now(UTC).isoformat()
        self._server_pids = server.pids
        self._listened, self._cpu_before_s = server.listens(), total_cpu_s(self._server_pids)
        self._work_before = counted(self._asked.backend)
        self._out = self._stack.enter_context(tempfile.TemporaryFile())
        self._err = self._stack.enter_context(tempfile.TemporaryFile())
        accepted_before = accepted_count()
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            self._command(),
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )
        try:
            started = time.monotonic()
            self._opening_s = wait_until_open(self._process, self._load.connections) if self.watched else 0.0
            latest = time.monotonic() + self._load.duration_s + self._load.timeout_s
            if not self.watched:
                _wait_until_connected(self._process, server.port, accepted_before, latest)
            self.begun = time.monotonic()
            self._connected_after_s = self.begun - started
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._stack.close()

    def _command(self) -> list[str]:
        folders, env = {LOAD_FOLDER: self._asked.prepared}, {}
        if self._asked.generator in self._source.builds:
            folders["/build"] = self._source.builds[self._asked.generator]
        if self._clock is not None and self._generator.clock is not None:
            env = {"LD_PRELOAD": self._generator.clock, "STOPPED_CLOCK": f"{LOAD_FOLDER}/{self._clock.path.name}"}
        limited = ["prlimit", f"--fsize={_MOST_PRINTED_BYTES}", *self._argv]
        return Sandbox(self._source.image, read_only=folders, env=env).command(limited, self._source.plan.generator)

    @property
    def generator_pids(self) -> list[int]:
        """The load generator's processes."""
        return descendants(self._process.pid)

    def ends_by(self, moment: float) -> bool:
        """Wait until a moment of the monotonic clock, or until the load generator ends; returns whether it has ended."""
        return self.ends_within(moment - time.monotonic())

    def ends_within(self, duration_s: float) -> bool:
        """Wait for so long, or until the load generator ends; returns whether it has ended."""
        return _ends_within(self._process, duration_s)

    def look(self, look: float, also: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Look at the processes and the machine, and remember what was seen, and `also` what else is known of this moment."""
        if self._process.poll() is not None:
            return
        sample = snapshot(self._roles(), self._source.probes.pids)
        sample["others"] = self._others.used_s(sample["cpus"])
        if look == _THOROUGH_LOOK:
            sample["server"] |= memory(self._asked.server.pids)
            sample["connections_count"] = established_count(self._asked.server.port)
        self._samples.append({**sample, **also})

    def _roles(self) -> dict[str, tuple[list[int], list[int]]]:
        server, backend = self._asked.server, self._asked.backend
        roles = {
            "server": (server.pids, server.cpus),
            "generator": (self.generator_pids, list(self._source.plan.generator)),
        }
        if backend is not None:
            roles["backend"] = (backend.pids, backend.cpus)
        return roles

    def interrupt(self) -> None:
        """Ask the load generator itself, not its sandbox, to stop and report."""
        for pid in self.generator_pids:
            with contextlib.suppress(psutil.Error):
                psutil.Process(pid).send_signal(signal.SIGINT)

    def close(self) -> None:
        """End the load generator, if it has not ended."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._ended = min(self._ended, time.monotonic())

    def record(
        self, intervals: Sequence[tuple[float, float]], turns: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The raw record of a window that is closed; it holds no judgement.

        Parameters
        ----------
        intervals : when it ran, as pairs of moments of the monotonic clock
        turns : of a window in turns: ``round``, which windows of the block were measured together; ``count``; ``ran_s``, for how
            long it ran; and ``late_s``, the CPU time that each role used when it was to stand still; None: in one piece

        Returns
        -------
        dict
            ``kind`` (priming, warmup, window or percentiles), ``started_at``, ``load``, ``command``, ``exit_status``, ``stdout``,
            ``stderr``, ``elapsed_s``, ``connected_after_s`` (the first connection: some load generators take a while to start),
            ``server_cpu_s`` (over the whole window), ``samples`` (see :func:`sampling.snapshot`; ``others``, CPU → seconds of
            :class:`OtherProcesses` since the first sample; of a window in time slices also ``stood_s``, how long it had been
            suspended by then, and ``companions``, CPU → seconds that the other windows' processes had used of it),
            ``speed`` (see :meth:`SpeedProbes.within`), ``server_listened`` (whether the launched process held the port
            before and after), ``hung``, ``backend_work`` (kind → calls and rows that the backend counted; None without one),
            ``turns`` as given.
        """
        server = self._asked.server
        texts = []
        for file in (self._out, self._err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return {
            "kind": self._kind,
            "started_at": self._started_at,
            "command": self._argv,
            "load": asdict(replace(self._load, opening_s=self._opening_s)),
            "connected_after_s": self._connected_after_s,
            "exit_status": self._process.returncode,
            "stdout": texts[0],
            "stderr": texts[1],
            "samples": self._samples,
            "hung": self.hung,
            "turns": dict(turns) if turns else None,
            "elapsed_s": self._ended - self._started,
            "speed": self._source.probes.within(intervals),
            "server_cpu_s": total_cpu_s(self._server_pids) - self._cpu_before_s,
            "backend_work": work_done(self._work_before, counted(self._asked.backend)),
            "server_listened": self._listened and server.listens(),
        }


def _wait_until_connected(process: subprocess.Popen[bytes], port: int, accepted_before: int, latest: float) -> None:
    """Wait for the load generator's first connection: before that it asks nothing, and may not heed a signal yet."""
    while process.poll() is None and time.monotonic() < latest:
        if established_count(port) or accepted_count() - accepted_before > _MOST_OF_OTHERS:
            break
        _ends_within(process, _POLL_S)


def _ends_within(process: subprocess.Popen[bytes], duration_s: float) -> bool:
    """Wait for so long, or for the process to end; returns whether it has ended."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(process.pid)
            try:
                # It becomes readable when the process ends; `Popen.wait` would wake up again and again to see.
                ending = select.poll()
                ending.register(descriptor, select.POLLIN)
                ending.poll(max(0.0, 1000 * duration_s))
            finally:
                os.close(descriptor)
    return process.poll() is not None
