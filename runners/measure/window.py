"""One window: the load generator runs against one server, and everything that proves it is written down."""

from __future__ import annotations

import contextlib
import math
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Self, cast

import psutil

from runners.core.load import LOAD_FOLDER, Load
from runners.core.records import WARM_UP_KINDS
from runners.core.sample import CpuSpread, CpuTimes, Role, Sample
from runners.core.trial_record import CpuSpeed, TimeSlices, WindowKind, WindowRecord
from runners.measure.launched import Elsewhere, OnThisMachine
from runners.measure.load import (
    LEAST_WATCHED,
    MOST_RAMP_UP_S,
    LoadContext,
    LoadTarget,
    ends_within,
    wait_until_connected,
    wait_until_open,
)
from runners.measure.other_processes import OtherProcesses
from runners.measure.sampling import busy_spread, memory, snapshot, total_cpu_s
from runners.measure.virtual_clock import VirtualClock
from runners.systems.backend import Backend, counted, work_done
from runners.systems.process_tree import descendants
from runners.systems.sandbox import Sandbox
from runners.systems.sockets import accepted_count, established_count

# When, as fractions of the window, samples are taken: clear of the ramps at both ends.
SAMPLED_AT = (0.1, 0.5, 0.9)
# After the end of its schedule a load generator prints its report, and is left alone.
_END_S = 0.1
# The sample that also has what takes longer to find out: connections, memory that is shared with others.
THOROUGH_AT = 0.5
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
        ends_itself = source.generators[target.generator].ends_itself or float(load.duration_s).is_integer()
        if window.watched or not ends_itself:
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
        self.paced = load.rate_rps is not None and self._generator.reports_cpu
        self.watched = self._generator.opens_first and load.connections >= LEAST_WATCHED
        # One that is ended by a signal needs a time of its own that is long enough, no more.
        spare_s = waiting_s + (MOST_RAMP_UP_S if self.watched else 0.0)
        self._server = cast("OnThisMachine", target.server)
        self._backend = cast("Backend | None", target.backend)
        self._port = target.server.port_of(target.request.tls)
        longest, address = replace(load, duration_s=load.duration_s + spare_s), self._server.addresses.own
        self._argv = self._generator.command(target.request, longest, address, self._port)
        self.begun, self._ended, self.hung = math.nan, math.inf, False
        self._samples: list[Sample] = []
        self._others = OtherProcesses()
        self._cpu_times: list[dict[int, CpuTimes]] = []  # CPU → its times, in the first and the last sample

    def __enter__(self) -> Self:
        server = self._server
        self._started_at = datetime.now(UTC).isoformat()
        self._server_pids = server.pids
        self._listened, self._cpu_before_s = server.listens(), total_cpu_s(self._server_pids)
        self._work_before = counted(self._backend)
        self._others.prepare()
        if self.paced:
            self._others.used_s(())
        with ExitStack() as stack:
            self._out, self._err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            accepted_before = accepted_count(elsewhere=isinstance(server, Elsewhere))
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
                wait_until_connected(self._process, self._server, self._port, accepted_before, latest)
            self.begun = time.monotonic()
            self._connected_after_s = self.begun - launched
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _command(self) -> list[str]:
        folders, env = {LOAD_FOLDER: self._target.prepared}, dict[str, str]()
        if self._target.generator in self._source.builds:
            folders["/build"] = self._source.builds[self._target.generator]
        libraries = self._generator.libraries(self._target.request)
        if self._clock is not None and self._generator.clock is not None:
            libraries = (self._generator.clock, *libraries)
            env["VIRTUAL_CLOCK"] = f"{LOAD_FOLDER}/{self._clock.path.name}"
        if libraries:
            env["LD_PRELOAD"] = ":".join(libraries)
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
        return ends_within(self._process, duration_s)

    def sample(
        self, share: float, suspended_s: float = 0.0, co_scheduled_cpu_s: dict[int, float] | None = None
    ) -> None:
        """Take a sample of the processes and the machine; none after the end. For the rest see :class:`Sample`."""
        if self._process.poll() is not None:
            return
        sample = self._snapshot(self._roles(), seen=not self.paced)
        sample.suspended_s = suspended_s
        for role, cpus in self._cpus.items() if co_scheduled_cpu_s is not None else ():
            sample.cpus[role].co_scheduled_cpu_s = sum((co_scheduled_cpu_s or {}).get(cpu, 0.0) for cpu in cpus)
        if share == THOROUGH_AT:
            sample.server.memory = memory(self._server.pids)
            sample.connections_count = established_count(self._port)
        self._samples.append(sample)

    def _snapshot(self, roles: dict[Role, tuple[Sequence[int], Sequence[int]]], *, seen: bool) -> Sample:
        """Return a sample; other processes have used nothing yet where they are not `seen`."""
        sample, times = snapshot(roles, self._source.probes.pids)
        self._cpu_times = [*self._cpu_times[:1], times]
        self._cpus = {role: cpus for role, (_, cpus) in roles.items()}
        used = self._others.used_s(times) if seen else {}
        for role, cpus in self._cpus.items():
            sample.cpus[role].other_cpu_s = round(sum(used.get(cpu, 0.0) for cpu in cpus), 6)
        return sample

    def _roles(self) -> dict[Role, tuple[Sequence[int], Sequence[int]]]:
        """Return role → its processes and CPUs at this moment."""
        server, backend = self._server, self._backend
        roles: dict[Role, tuple[Sequence[int], Sequence[int]]] = {
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
        last = self._snapshot({**self._roles(), "generator": ((), self._source.plan.generator)}, seen=True)
        last.generator = self._samples[0].generator.model_copy()
        last.server.memory = memory(self._server.pids)
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
            backend_work=work_done(self._work_before, counted(self._backend)),
            server_listened=self._listened and self._server.listens(),
            busy=self._busy(),
            began_at_s=self.begun,
        )

    def _busy(self) -> dict[Role, CpuSpread]:
        """Return role → how its CPUs shared the work between the first and the last sample."""
        if len(self._cpu_times) < 2:
            return {}
        first, last = self._cpu_times
        found = {role: busy_spread(first, last, cpus) for role, cpus in self._cpus.items()}
        return {role: spread for role, spread in found.items() if spread}
