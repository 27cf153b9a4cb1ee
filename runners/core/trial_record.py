"""The record of a trial as the ledger holds it: its windows, and what verified them."""

from __future__ import annotations

import math
from typing import Literal

from runners.core.load import Load
from runners.core.records import LoadProfile, Record
from runners.core.sample import CpuSpread, ProcessMemory, Role, Sample

WindowKind = Literal["priming", "warmup", "window", "percentiles", "search", "confirmation"]


class TimeSlices(Record):
    """The time slices of a window.

    Attributes
    ----------
    round : str
        The windows of the block with the same text were measured together.
    count : int
        Number of time slices.
    ran_s : float
        Time for which the window ran.
    late_s : dict[str, float]
        Role → CPU time that its processes used while they should have stood still.
    """

    round: str
    count: int
    ran_s: float
    late_s: dict[str, float] = {}


class CpuSpeed(Record):
    """Readings of the speed probe on a CPU.

    `wakes_hz`: bursts a second of time. `mean_hz`: mean of the bursts' own rates, bursts a second of CPU time. `p90_hz`: their 90th
    percentile, near the undisturbed rate if the CPU was undisturbed for a tenth of the time.
    """

    wakes_hz: float
    mean_hz: float
    p90_hz: float


class NetworkUse(Record):
    """The measured network in a window, by the server's host.

    Attributes
    ----------
    elapsed_s : float
        Time between the readings.
    received_bytes, sent_bytes : int
        Bytes through the server's network interface, headers included.
    dropped_count : int
        Packets that the interface dropped.
    segments_count, retransmitted_count : int
        TCP segments that the host sent, and sent again.
    link_bps : float
        Bits per second that the link carried before the run, in one connection from the server's host.
    rtt_s : float
        Round trip between the two hosts before the run.
    clock_uncertainty_s : float
        How well the offset of the two hosts' clocks is known.
    overlap_fraction, watched_fraction : float
        Share of the window in which all hosts made their load, and in which the server's host watched the load, by the clock of the
        controller (NaN before schema 11).
    """

    elapsed_s: float
    received_bytes: int
    sent_bytes: int
    dropped_count: int
    segments_count: int
    retransmitted_count: int
    link_bps: float
    rtt_s: float
    clock_uncertainty_s: float
    overlap_fraction: float = math.nan
    watched_fraction: float = math.nan

    @property
    def busy_fraction(self) -> float:
        """Return the share of the link that the busier direction used."""
        return 8 * max(self.received_bytes, self.sent_bytes) / self.elapsed_s / self.link_bps


class LoadShare(Record):
    """The share of one host in a load that several hosts make: what its load generator was told, and what it printed."""

    command: list[str]
    load: Load
    exit_status: int
    stdout: str
    stderr: str
    hung: bool


class WindowRecord(Record):
    """One window without judgement.

    Attributes
    ----------
    command : list[str]
        Command of the load generator.
    connected_after_s : float
        Time from its launch to the first connection (NaN: none was seen).
    stdout : str
        Output of the load generator, condensed once it was parsed.
    hung : bool
        The load generator did not end in time.
    slices : TimeSlices | None
        Time slices of the window; None where it is in one piece.
    elapsed_s : float
        Time from launch to end.
    speed : dict[int, CpuSpeed]
        CPU → readings of its probe while the window ran.
    busy : dict[Role, CpuSpread]
        Role → how its CPUs shared the work; empty before schema 8, and in a warm-up.
    server_cpu_s : float
        CPU time of the server over the whole window.
    backend_work : dict[str, dict[str, int]] | None
        Kind → calls and rows that the backend counted; None without a backend.
    server_listened : bool
        The launched process alone held the port before and after.
    network : NetworkUse | None
        What crossed the measured network; None where all roles are on one machine.
    began_at_s : float
        Begin of the load on the monotonic clock of the load generator's host (0 before schema 11).
    shares : list[LoadShare]
        The share of each host where several make the load; then `load` is the whole, and all else that of the host whose load
        generator was busiest.
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
    network: NetworkUse | None = None
    began_at_s: float = 0.0
    shares: list[LoadShare] = []


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
    system, workload : str
        Labels of the fields server, codec, variant, control, workload_name, operations, count and shape.
    body_bytes : int
        Size of the request's body.
    response_tolerance : float
        Share by which the size of a right response may differ from that of the verified one.
    idle_other_fraction : dict[int, float]
        CPU → share of its time that other processes used on the idle machine.
    work_per_request : dict[str, dict[str, int | float]]
        Kind → calls and rows of the backend for one request, of a mix on average; empty where nothing is counted.
    cpus : dict[str, str]
        Role → list of CPUs.
    measures_percentiles : bool
        Whether a window in one piece was to follow those in time slices.
    startup_s : float | None
        Time from launch to the first accepted connection.
    memory_before, memory_after : ProcessMemory | None
        Memory of the server, where the trial has a process of its own.
    block_started_at : str
        Start of the trial's block.
    block_s : float
        Duration of that block.
    """

    block: int
    system: str
    server: str
    codec: str | None
    variant: str | None = None
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
    work_per_request: dict[str, dict[str, int | float]]
    cpus: dict[str, str]
    generator: str
    measures_percentiles: bool = True
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
