"""The record of a trial as the ledger holds it: its windows, their samples, and what verified them."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict

from runners.core.load import Load
from runners.core.records import LoadProfile

Role = Literal["server", "generator", "backend"]
ROLES: tuple[Role, ...] = ("server", "generator", "backend")
WindowKind = Literal["priming", "warmup", "window", "percentiles", "search", "confirmation"]


class Record(BaseModel):
    """A part of a stored record: an unknown field, or one that is missing, is an error."""

    model_config = ConfigDict(extra="forbid")


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


class UnpinnedThread(Record):
    """A thread that was on, or allowed on, a CPU that is not its role's; `allowed` is the kernel's list of CPUs."""

    thread: str
    cpu: int
    allowed: str


class ProcessMemory(Record):
    """What the server's processes held at a moment; `pss_bytes` is their proportional share (NaN: unreadable)."""

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
    """What the kernel says of heat, clock and memory at a moment; None for what it does not show on this machine.

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
    at_s : by the monotonic clock
    cpus : CPU → how it has spent its time
    own_cpu_s : CPU → CPU time of wrkbook itself: its speed probe, and its share of the CPUs where it may run
    other_cpu_s : CPU → CPU time of processes outside of wrkbook since the window's first sample
    pressure : of the server's CPUs and the machine
    server, generator, backend : their processes
    connections_count : open connections to the server; only in the sample at half of the window
    suspended_s : in time slices, how long the window had been suspended
    co_scheduled_cpu_s : in time slices, CPU → CPU time of the other windows' processes
    """

    at_s: float
    cpus: dict[int, CpuTimes]
    own_cpu_s: dict[int, float]
    other_cpu_s: dict[int, float] | None = None
    pressure: Pressure = Pressure()
    server: RoleSample
    generator: RoleSample
    backend: RoleSample | None = None
    connections_count: int | None = None
    suspended_s: float = 0.0
    co_scheduled_cpu_s: dict[int, float] | None = None

    @property
    def roles(self) -> dict[Role, RoleSample]:
        """Return role → its processes, without a backend that there is not."""
        found = {"server": self.server, "generator": self.generator, "backend": self.backend}
        return {role: found[role] for role in ROLES if found[role] is not None}  # type: ignore[misc]


class TimeSlices(Record):
    """How a window was measured in time slices.

    Attributes
    ----------
    round : the windows of the block with the same text were measured together
    count : time slices
    ran_s : how long the window ran
    late_s : role → CPU time that its processes used while they should have stood still
    """

    round: str
    count: int
    ran_s: float
    late_s: dict[str, float] = {}


class CpuSpeed(Record):
    """What the speed probe on a CPU saw.

    `wakes_hz`: bursts a second of time. `mean_hz`: mean of the bursts' own rates, bursts a second of CPU time. `p90_hz`: their 90th
    percentile, near the undisturbed rate if the CPU was undisturbed for a tenth of the time.
    """

    wakes_hz: float
    mean_hz: float
    p90_hz: float


class WindowRecord(Record):
    """One window without judgement.

    Attributes
    ----------
    command : of the load generator
    connected_after_s : from its launch to the first connection (NaN: none was seen)
    stdout : what it printed, condensed once it was parsed
    hung : it did not end in time
    slices : None where the window is in one piece
    elapsed_s : from launch to end
    speed : CPU → what its probe saw while the window ran
    server_cpu_s : CPU time of the server over the whole window
    backend_work : kind → calls and rows that the backend counted; None without a backend
    server_listened : whether the launched process alone held the port before and after
    """

    kind: WindowKind
    started_at: str
    command: list[str]
    load: Load
    connected_after_s: float
    exit_status: int
    stdout: str
    stderr: str
    samples: list[Sample]
    hung: bool
    slices: TimeSlices | None
    elapsed_s: float
    speed: dict[int, CpuSpeed]
    server_cpu_s: float
    backend_work: dict[str, dict[str, int]] | None
    server_listened: bool


class Verification(Record):
    """The response to the trial's own request: its size, and how it differs from the contract (None: not at all)."""

    response_bytes: int
    body_bytes: int
    difference: str | None


class Failure(Record):
    """Why a trial was not measured to its end, and at which stage."""

    stage: str
    message: str


class TrialRecord(Record):
    """One system × one workload in one block.

    Attributes
    ----------
    system, workload : labels; server, codec, control, workload_name, operations, count and shape say what they stand for
    body_bytes : of the request
    response_tolerance : share by which the size of a right response may differ from that of the verified one
    idle_other_fraction : CPU → share of its time that other processes used on the idle machine
    work_per_request : kind → calls and rows of the backend for one request; empty where nothing is counted
    cpus : role → list of CPUs
    startup_s : from launch to the first accepted connection
    memory_before, memory_after : of a trial whose server process is its own
    block_started_at, block_s : of the block that the trial is part of
    """

    block: int
    system: str
    server: str
    codec: str | None
    control: bool
    workload: str
    workload_name: str
    operations: int | None
    count: int | None
    shape: LoadProfile
    path: str
    body_bytes: int
    response_tolerance: float
    idle_other_fraction: dict[int, float]
    work_per_request: dict[str, dict[str, int]]
    cpus: dict[str, str]
    generator: str
    port: int | None = None
    startup_s: float | None = None
    failure: Failure | None = None
    windows: list[WindowRecord] = []
    verified_before: Verification | None = None
    verified_after: Verification | None = None
    memory_before: ProcessMemory | None = None
    memory_after: ProcessMemory | None = None
    block_started_at: str = ""
    block_s: float = math.nan

    @property
    def base_workload(self) -> str:
        """Return the label of the workload without its load."""
        return self.workload.removesuffix(f"@{self.shape.label}") if self.shape.label else self.workload
