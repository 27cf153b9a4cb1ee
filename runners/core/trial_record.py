"""The record of a trial as the ledger holds it: its windows, and what verified them."""

from __future__ import annotations

import math
from typing import Literal

from runners.core.load import Load
from runners.core.records import LoadProfile, Record
from runners.core.sample import CpuSpread, ProcessMemory, Role, Sample

WindowKind = Literal["priming", "warmup", "window", "percentiles", "search", "confirmation"]


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
    busy : role → how its CPUs shared the work; empty before schema 8, and in a warm-up
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
    busy: dict[Role, CpuSpread] = {}


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
