"""One window: the load generator runs against one server, and everything that proves it is written down."""

from __future__ import annotations

import contextlib
import math
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from runners.generators import LOAD_FOLDER, Generator
from runners.machine.pinning import PinningPlan
from runners.measure.sampling import snapshot, total_cpu_s
from runners.measure.speed_probe import SpeedProbes
from runners.records import Load, Request
from runners.systems.image import Image
from runners.systems.process import ServerProcess, descendants
from runners.systems.sandbox import Sandbox
from runners.systems.sockets import LOOPBACK

# When, as fractions of the window, the processes are looked at: clear of the ramps at both ends.
_LOOKS = (0.1, 0.5, 0.9)
# A generator that is not through this long after its window hangs.
_GRACE_S = 15.0


@dataclass(frozen=True)
class LoadSource:
    """The load generator, where it runs, and the folder with what it sends."""

    generator: Generator
    image: Image
    plan: PinningPlan
    probes: SpeedProbes

    def window(self, server: ServerProcess, request: Request, load: Load, prepared: Path, kind: str) -> dict[str, Any]:
        """Measure one window and return its raw record; it holds no judgement.

        Returns
        -------
        dict
            ``kind`` (warmup or window), ``started_at``, ``load``, ``command``, ``exit_status``, ``stdout``, ``stderr``,
            ``elapsed_s``, ``server_cpu_s`` (over the whole window), ``samples`` (see :func:`sampling.snapshot`),
            ``speed`` (see :meth:`SpeedProbes.between`), ``server_listened`` (whether the launched process held the port
            before and after), ``hung``.
        """
        argv = self.generator.command(request, load, LOOPBACK, server.port)
        command = Sandbox(self.image, read_only={LOAD_FOLDER: prepared}).command(argv, self.plan.generator)
        pids = server.pids
        record: dict[str, Any] = {"kind": kind, "started_at": datetime.now(UTC).isoformat(), "command": argv}
        record["load"] = {
            "connections": load.connections,
            "threads": load.threads,
            "duration_s": load.duration_s,
            "timeout_s": load.timeout_s,
        }
        listened, cpu_before = server.listens(), total_cpu_s(pids)
        started = time.monotonic()
        record |= self._run(command, pids, server.cpus, load, looks=_LOOKS if kind == "window" else ())
        record["elapsed_s"] = time.monotonic() - started
        record["speed"] = self.probes.between(started, started + load.duration_s)
        record["server_cpu_s"] = total_cpu_s(pids) - cpu_before
        record["server_listened"] = listened and server.listens()
        return record

    def _run(
        self, command: list[str], pids: list[int], cpus: list[int], load: Load, looks: Sequence[float]
    ) -> dict[str, Any]:
        samples, hung = [], False
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
            try:
                started = time.monotonic()
                for look in looks:
                    _wait(process, started + look * load.duration_s)
                    if process.poll() is None:
                        samples.append(
                            snapshot(pids, cpus, descendants(process.pid), self.plan.generator, self.probes.pids)
                        )
                if not float(load.duration_s).is_integer():
                    _wait(process, started + load.duration_s)
                    _interrupt(process)
                hung = not _wait(process, started + math.ceil(load.duration_s) + load.timeout_s + _GRACE_S)
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return {
            "exit_status": process.returncode,
            "stdout": texts[0],
            "stderr": texts[1],
            "samples": samples,
            "hung": hung,
        }


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
