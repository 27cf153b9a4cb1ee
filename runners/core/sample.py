"""A sample: processes, CPUs and machine at a moment of a window."""

from __future__ import annotations

from typing import Literal

from runners.core.records import Record

Role = Literal["server", "generator", "backend"]
ROLES: tuple[Role, ...] = ("server", "generator", "backend")


class CpuTimes(Record):
    """Seconds that a CPU has spent on each kind of work since the machine started, from ``/proc/stat``."""

    user_s: float
    nice_s: float
    system_s: float
    idle_s: float
    iowait_s: float
    irq_s: float
    softirq_s: float
    steal_s: float

    @property
    def total_s(self) -> float:
        """Return the sum over all kinds of work."""
        return float(sum(vars(self).values()))


class RoleCpus(Record):
    """The sums over one role's CPUs at a moment: a record is as large with 64 of them as with one.

    Attributes
    ----------
    times : CpuTimes
        Seconds by kind of work.
    own_cpu_s : float
        CPU time of wrkbook itself: its speed probes, and its share of the CPUs where it may run.
    other_cpu_s : float | None
        CPU time of processes outside of wrkbook since the window's first sample.
    co_scheduled_cpu_s : float | None
        CPU time of the other windows' processes, in time slices.
    """

    times: CpuTimes
    own_cpu_s: float
    other_cpu_s: float | None = None
    co_scheduled_cpu_s: float | None = None


class CpuSpread(Record):
    """The busy shares of one role's CPUs in a window: of the least busy, the median, and the busiest CPU."""

    least_fraction: float
    median_fraction: float
    most_fraction: float


class UnpinnedThread(Record):
    """A thread that was on, or allowed on, a CPU that is not its role's; `allowed` is the kernel's list of CPUs."""

    thread: str
    cpu: int
    allowed: str


class ProcessMemory(Record):
    """Memory and descriptors of the server's processes at a moment; `pss_bytes` is their proportional share (NaN: unreadable)."""

    rss_bytes: int
    pss_bytes: float
    fds_count: int


class RoleSample(Record):
    """The sums over one role's processes at a moment.

    `cpu_s` has the scheduler's precision, `user_s` and `system_s` are in clock ticks. `memory`: only in the sample at half of the
    window, of the server.
    """

    cpu_s: float
    user_s: float
    system_s: float
    rss_bytes: int
    rss_peak_bytes: int
    threads_count: int
    context_switches_count: int
    unpinned_threads: list[UnpinnedThread] = []
    memory: ProcessMemory | None = None


class Pressure(Record):
    """Heat, clock and memory at a moment, by the kernel; None for what it does not show on this machine.

    Since the machine started: `throttled_count` (how often heat has slowed one of the server's CPUs), `memory_stall_s` (how long some
    task has waited for memory), `swapped_pages_count` (written to or read from swap). Now: `clock_hz` (the lowest clock of these CPUs).
    """

    throttled_count: int | None = None
    clock_hz: int | None = None
    memory_stall_s: float | None = None
    swapped_pages_count: int | None = None


class Sample(Record):
    """Processes, CPUs and machine at a moment of a window.

    Attributes
    ----------
    at_s : float
        Time by the monotonic clock.
    cpus : dict[Role, RoleCpus]
        Role → its CPUs.
    pressure : Pressure
        Pressure on the server's CPUs and the machine.
    server, generator : RoleSample
        Their processes.
    backend : RoleSample | None
        Its processes; None without a backend.
    connections_count : int | None
        Open connections to the server; only in the sample at half of the window.
    suspended_s : float
        Time for which a window in time slices had been suspended.
    """

    at_s: float
    cpus: dict[Role, RoleCpus]
    pressure: Pressure = Pressure()
    server: RoleSample
    generator: RoleSample
    backend: RoleSample | None = None
    connections_count: int | None = None
    suspended_s: float = 0.0

    @property
    def roles(self) -> dict[Role, RoleSample]:
        """Return role → its processes, without a backend that there is not."""
        found = {"server": self.server, "generator": self.generator, "backend": self.backend}
        return {role: found[role] for role in ROLES if found[role] is not None}  # type: ignore[misc]
