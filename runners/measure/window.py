"""One window: the load generator runs against one server, and everything that proves it is written down."""

from __future__ import annotations

import contextlib
import math
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from runners.errors import WrkbookError
from runners.generators import LOAD_FOLDER, Generator
from runners.machine.pinning import PinningPlan
from runners.measure.opening import LEAST_WATCHED, MOST_OPENING_S, wait_until_open
from runners.measure.sampling import memory, snapshot, total_cpu_s
from runners.measure.speed_probe import SpeedProbes
from runners.records import Load, Request
from runners.systems.backend import Backend, Work, work_between
from runners.systems.image import Image
from runners.systems.process import ServerProcess, descendants
from runners.systems.sandbox import Sandbox
from runners.systems.sockets import LOOPBACK, accepted_count, established_count

# When, as fractions of the window, the processes are looked at: clear of the ramps at both ends.
_LOOKS = (0.1, 0.5, 0.9)
# In which what takes longer to find out is looked at too: connections, memory that is shared with others.
_THOROUGH_LOOK = 0.5
_POLL_S = 0.01
# As few connections may be another program's. More, and the load has begun, although none of its short ones may ever be seen open.
_MOST_OF_OTHERS = 2
# A generator that is not through this long after its window hangs.
_GRACE_S = 15.0
# More than any of them has to say: one that prints without end is ended by the kernel, before it fills disk and memory.
_MOST_PRINTED_BYTES = 64 << 20


@dataclass(frozen=True)
class Asked:
    """Who is asked for what, by whom.

    Attributes
    ----------
    server : the launched process that is measured
    request : that is repeated
    generator : name of the load generator
    prepared : folder that :meth:`Generator.prepare` filled
    backend : the launched process behind the server, where there is one
    """

    server: ServerProcess
    request: Request
    generator: str
    prepared: Path
    backend: Backend | None = None


@dataclass(frozen=True)
class LoadSource:
    """The load generators, where they run, and what looks on.

    Attributes
    ----------
    generators : by name
    builds : generator → the folder that its sandbox shows at /build, for those that are not in the image
    """

    generators: Mapping[str, Generator]
    image: Image
    plan: PinningPlan
    probes: SpeedProbes
    builds: Mapping[str, Path] = field(default_factory=dict)

    def window(self, asked: Asked, load: Load, kind: str) -> dict[str, Any]:
        """Measure one window and return its raw record; it holds no judgement.

        Returns
        -------
        dict
            ``kind`` (warmup or window), ``started_at``, ``load``, ``command``, ``exit_status``, ``stdout``, ``stderr``,
            ``elapsed_s``, ``connected_after_s`` (the first connection: some load generators take a while to start),
            ``server_cpu_s`` (over the whole window), ``samples`` (see :func:`sampling.snapshot`),
            ``speed`` (see :meth:`SpeedProbes.between`), ``server_listened`` (whether the launched process held the port
            before and after), ``hung``, ``backend_work`` (kind → calls and rows that the backend counted; None without one).
        """
        server, generator = asked.server, self.generators[asked.generator]
        watched = generator.opens_first and load.connections >= LEAST_WATCHED
        # It is ended by a signal: its own time must only be long enough.
        planned = replace(load, duration_s=load.duration_s + MOST_OPENING_S) if watched else load
        argv = generator.command(asked.request, planned, LOOPBACK, server.port)
        folders = {LOAD_FOLDER: asked.prepared}
        if asked.generator in self.builds:
            folders["/build"] = self.builds[asked.generator]
        limited = ["prlimit", f"--fsize={_MOST_PRINTED_BYTES}", *argv]
        command = Sandbox(self.image, read_only=folders).command(limited, self.plan.generator)
        pids = server.pids
        record: dict[str, Any] = {"kind": kind, "started_at": datetime.now(UTC).isoformat(), "command": argv}
        listened, cpu_before = server.listens(), total_cpu_s(pids)
        work_before = _counted(asked.backend)
        started = time.monotonic()
        record |= self._run(command, asked, load, _LOOKS if kind == "window" else (), watched=watched)
        record["elapsed_s"] = time.monotonic() - started
        begun = started + record["connected_after_s"]
        record["speed"] = self.probes.between(begun, begun + load.duration_s)
        record["server_cpu_s"] = total_cpu_s(pids) - cpu_before
        record["backend_work"] = _work_done(work_before, _counted(asked.backend))
        record["server_listened"] = listened and server.listens()
        return record

    def _run(
        self, command: list[str], asked: Asked, load: Load, looks: Sequence[float], *, watched: bool
    ) -> dict[str, Any]:
        samples, hung, opening_s = [], False, 0.0
        accepted_before = accepted_count()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
            try:
                started = time.monotonic()
                opening_s = wait_until_open(process, load.connections) if watched else 0.0
                latest = time.monotonic() + load.duration_s + load.timeout_s
                connected = (
                    time.monotonic() if watched else _connected(process, asked.server.port, accepted_before, latest)
                )
                for look in looks:
                    _wait(process, connected + look * load.duration_s)
                    if process.poll() is None:
                        samples.append(self._look(asked, descendants(process.pid), thorough=look == _THOROUGH_LOOK))
                if watched or not float(load.duration_s).is_integer():
                    _wait(process, connected + load.duration_s)
                    _interrupt(process)
                hung = not _wait(process, connected + math.ceil(load.duration_s) + load.timeout_s + _GRACE_S)
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return {
            "load": asdict(replace(load, opening_s=opening_s)),
            "connected_after_s": connected - started,
            "exit_status": process.returncode,
            "stdout": texts[0],
            "stderr": texts[1],
            "samples": samples,
            "hung": hung,
        }

    def _look(self, asked: Asked, generator_pids: list[int], *, thorough: bool) -> dict[str, Any]:
        roles = {
            "server": (asked.server.pids, asked.server.cpus),
            "generator": (generator_pids, list(self.plan.generator)),
        }
        if asked.backend is not None:
            roles["backend"] = (asked.backend.pids, asked.backend.cpus)
        sample = snapshot(roles, self.probes.pids)
        if thorough:
            sample["server"] |= memory(asked.server.pids)
            sample["connections_count"] = established_count(asked.server.port)
        return sample


def _counted(backend: Backend | None) -> dict[str, Work] | None:
    """The work that the backend has done so far; None where there is none, or it cannot say any more."""
    if backend is None:
        return None
    try:
        return backend.work()
    except WrkbookError:
        return None  # it has ended: the trial says so


def _work_done(before: Mapping[str, Work] | None, after: Mapping[str, Work] | None) -> dict[str, dict[str, int]] | None:
    """What was done between two counts, by kind, for the record."""
    if before is None or after is None:
        return None
    return {kind: work._asdict() for kind, work in work_between(before, after).items()}


def _connected(process: subprocess.Popen[bytes], port: int, accepted_before: int, latest: float) -> float:
    """When the load generator had opened its first connection: before that it asks nothing, and may not heed a signal yet."""
    while process.poll() is None and time.monotonic() < latest:
        if established_count(port) or accepted_count() - accepted_before > _MOST_OF_OTHERS:
            break
        _wait(process, time.monotonic() + _POLL_S)
    return time.monotonic()


def _wait(process: subprocess.Popen[bytes], until: float) -> bool:
    """Wait for a moment of the monotonic clock, or for the process to end; returns whether it has ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.001, until - time.monotonic()))
    return process.poll() is not None


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Ask the generator itself, not its sandbox, to stop and report."""
    for pid in descendants(process.pid):
        with contextlib.suppress(psutil.Error):
            psutil.Process(pid).send_signal(signal.SIGINT)
