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
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Self

import psutil

from runners.core.load import LOAD_FOLDER, Load
from runners.core.records import WARM_UP_KINDS
from runners.core.sample import Role, Sample
from runners.core.trial_record import CpuSpeed, TimeSlices, WindowKind, WindowRecord
from runners.measure.load import LEAST_WATCHED, MOST_RAMP_UP_S, LoadContext, LoadTarget, wait_until_open
from runners.measure.sampling import OtherProcesses, memory, snapshot, total_cpu_s
from runners.measure.virtual_clock import VirtualClock
from runners.systems.backend import counted, work_done
from runners.systems.process import descendants
from runners.systems.sandbox import Sandbox
from runners.systems.sockets import LOOPBACK, accepted_count, established_count

# When, as fractions of the window, samples are taken: clear of the ramps at both ends.
SAMPLED_AT = (0.1, 0.5, 0.9)
# After the end of its schedule a load generator prints its report, and is left alone.
_END_S = 0.1
# The sample that also has what takes longer to find out: connections, memory that is shared with others.
_THOROUGH_AT = 0.5
_POLL_S = 0.01
# As few connections may be another program's. More, and the load has begun, although none of its short ones may ever be seen open.
_MOST_OF_OTHERS = 2
# A generator that is not through this long after its window hangs.
GRACE_S = 15.0
# More than any of them has to say: one that prints without end is ended by the kernel, before it fills disk and memory.
_MOST_PRINTED_BYTES = 64 << 20


def in_one_piece(source: LoadContext, target: LoadTarget, load: Load, kind: WindowKind) -> WindowRecord:
    """Measure one window in one piece and return its record."""
    with Window(source, target, load, kind) as window:
        end = window.begun + load.duration_s
        # A sample costs milliseconds, which a schedule beside it would lose: at a rate one is taken as it begins, one when it has ended.
        if window.paced and kind not in WARM_UP_KINDS:
            window.sample(0.0)
        for share in () if window.paced or kind in WARM_UP_KINDS else SAMPLED_AT:
            if not window.ends_by(window.begun + share * load.duration_s):
                window.sample(share)
        if window.watched or not float(load.duration_s).is_integer():
            window.ends_by(end + (_END_S if window.paced else 0.0))
            # The load generator itself, not its sandbox, reports and ends.
            for pid in window.generator_pids:
                with contextlib.suppress(psutil.Error):
                    psutil.Process(pid).send_signal(signal.SIGINT)
        window.hung = not window.ends_by(window.begun + math.ceil(load.duration_s) + load.timeout_s + GRACE_S)
        window.close()
        window.sample_end()
        return window.record([(window.begun, end)])


class Window:
    """A load generator at work on one server, and what is recorded of it. The window is open within its context.

    In time slices, `clock` is suspended with the load generator, and the window takes up to `waiting_s` longer than its load. `begun` is
    the moment of the first connection; where the window is `watched`, that of the last. `hung`: the load generator did not end in time.
    """

    def __init__(
        self,
        source: LoadContext,
        target: LoadTarget,
        load: Load,
        kind: WindowKind,
        clock: VirtualClock | None = None,
        waiting_s: float = 0.0,
    ) -> None:
        self._source, self._target, self._load, self._kind, self._clock = source, target, load, kind, clock
        self._generator = source.generators[target.generator]
        self.paced = load.rate_rps is not None and source.generators[target.generator].reports_cpu
        self.watched = self._generator.opens_first and load.connections >= LEAST_WATCHED
        # One that is ended by a signal needs a time of its own that is long enough, no more.
        spare_s = waiting_s + (MOST_RAMP_UP_S if self.watched else 0.0)
        self._argv = self._generator.command(
            target.request, replace(load, duration_s=load.duration_s + spare_s), LOOPBACK, target.server.port
        )
        self.begun, self._ended, self.hung = math.nan, math.inf, False
        self._samples: list[Sample] = []
        self._others = OtherProcesses()

    def __enter__(self) -> Self:
        server = self._target.server
        self._started_at = datetime.now(UTC).isoformat()
        self._server_pids = server.pids
        self._listened, self._cpu_before_s = server.listens(), total_cpu_s(self._server_pids)
        self._work_before = counted(self._target.backend)
        if self.paced:
            self._others.used_s(())
        with ExitStack() as stack:
            self._out = stack.enter_context(tempfile.TemporaryFile())
            self._err = stack.enter_context(tempfile.TemporaryFile())
            accepted_before = accepted_count()
            self._started = time.monotonic()
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err, start_new_session=True
            )
            stack.callback(self.close)
            launched, self._ramp_up_s = time.monotonic(), 0.0
            if self.watched:
                self._ramp_up_s = wait_until_open(self._process, self._load.connections)
            else:
                latest = launched + self._load.duration_s + self._load.timeout_s
                _wait_until_connected(self._process, server.port, accepted_before, latest)
            self.begun = time.monotonic()
            self._connected_after_s = self.begun - launched
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _command(self) -> list[str]:
        folders, env = {LOAD_FOLDER: self._target.prepared}, {}
        if self._target.generator in self._source.builds:
            folders["/build"] = self._source.builds[self._target.generator]
        if self._clock is not None and self._generator.clock is not None:
            env = {"LD_PRELOAD": self._generator.clock, "VIRTUAL_CLOCK": f"{LOAD_FOLDER}/{self._clock.path.name}"}
        limited = ["prlimit", f"--fsize={_MOST_PRINTED_BYTES}", *self._argv]
        return Sandbox(self._source.image, read_only=folders, env=env).command(limited, self._source.plan.generator)

    @property
    def generator_pids(self) -> list[int]:
        """The load generator's processes."""
        return descendants(self._process.pid)

    def ends_by(self, moment: float) -> bool:
        """Wait until a moment of the monotonic clock, or until the load generator ends; return whether it has ended."""
        return self.ends_within(moment - time.monotonic())

    def ends_within(self, duration_s: float) -> bool:
        """Wait for so long, or until the load generator ends; return whether it has ended."""
        return _ends_within(self._process, duration_s)

    def sample(
        self, share: float, suspended_s: float = 0.0, co_scheduled_cpu_s: dict[int, float] | None = None
    ) -> None:
        """Take a sample of the processes and the machine; none after the end. For the rest see :class:`Sample`."""
        if self._process.poll() is not None:
            return
        server = self._target.server
        sample = snapshot(self._roles(), self._source.probes.pids)
        sample.other_cpu_s = dict.fromkeys(sample.cpus, 0.0) if self.paced else self._others.used_s(sample.cpus)
        sample.suspended_s, sample.co_scheduled_cpu_s = suspended_s, co_scheduled_cpu_s
        if share == _THOROUGH_AT:
            sample.server.memory = memory(server.pids)
            sample.connections_count = established_count(server.port)
        self._samples.append(sample)

    def _roles(self) -> dict[Role, tuple[list[int], Sequence[int]]]:
        """Return role → its processes and CPUs at this moment."""
        server, backend = self._target.server, self._target.backend
        roles: dict[Role, tuple[list[int], Sequence[int]]] = {
            "server": (self._server_pids if self.paced else server.pids, server.cpus),
            "generator": (self.generator_pids, self._source.plan.generator),
        }
        if backend is not None:
            roles["backend"] = (backend.pids, backend.cpus)
        return roles

    def sample_end(self) -> None:
        """Take the last sample of a window at a rate, after its load generator has ended; that one's CPU time is in its report."""
        if not self.paced or not self._samples:
            return
        last = snapshot({**self._roles(), "generator": ((), self._source.plan.generator)}, self._source.probes.pids)
        last.generator = self._samples[0].generator.model_copy()
        last.other_cpu_s = self._others.used_s(last.cpus)
        last.server.memory = memory(self._target.server.pids)
        self._samples.append(last)

    def close(self) -> None:
        """End the load generator, if it has not ended."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._ended = min(self._ended, time.monotonic())

    def record(self, intervals: Sequence[tuple[float, float]], slices: TimeSlices | None = None) -> WindowRecord:
        """Return the record of a closed window, without judgement; `intervals` of the monotonic clock are when it ran."""
        printed = []
        for file in (self._out, self._err):
            file.seek(0)
            printed.append(file.read().decode(errors="replace"))
        return WindowRecord(
            kind=self._kind,
            started_at=self._started_at,
            command=self._argv,
            load=replace(self._load, ramp_up_s=self._ramp_up_s),
            connected_after_s=self._connected_after_s,
            exit_status=self._process.returncode,
            stdout=printed[0],
            stderr=printed[1],
            samples=self._samples,
            hung=self.hung,
            slices=slices,
            elapsed_s=self._ended - self._started,
            speed={cpu: CpuSpeed(**speed._asdict()) for cpu, speed in self._source.probes.within(intervals).items()},
            server_cpu_s=total_cpu_s(self._server_pids) - self._cpu_before_s,
            backend_work=work_done(self._work_before, counted(self._target.backend)),
            server_listened=self._listened and self._target.server.listens(),
        )


def _wait_until_connected(process: subprocess.Popen[bytes], port: int, accepted_before: int, latest: float) -> None:
    """Wait for the load generator's first connection: before that it sends nothing, and may not heed a signal yet."""
    while process.poll() is None and time.monotonic() < latest:
        if established_count(port) or accepted_count() - accepted_before > _MOST_OF_OTHERS:
            break
        _ends_within(process, _POLL_S)


def _ends_within(process: subprocess.Popen[bytes], duration_s: float) -> bool:
    """Wait for so long, or for the process to end; return whether it has ended."""
    if process.poll() is None:
        # It becomes readable when the process ends; `Popen.wait` would wake up again and again to see.
        descriptor = os.pidfd_open(process.pid)
        try:
            ending = select.poll()
            ending.register(descriptor, select.POLLIN)
            ending.poll(max(0.0, 1000 * duration_s))
        finally:
            os.close(descriptor)
    return process.poll() is not None
