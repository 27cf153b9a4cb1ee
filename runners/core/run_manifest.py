"""The manifest of a run, ``run.json``: what was planned, on which machine, and with which versions."""

from __future__ import annotations

from typing import Any, Literal

from runners.core.records import LoadProfile, Record, System, Workload

Facts = dict[str, Any]
"""Facts by name, which are shown and compared, and never computed with."""


class WindowPlan(Record):
    """The windows of a trial; `slice_s` is 0 where they are measured in one piece."""

    warmup_s: float
    window_s: float
    windows_count: int
    slice_s: float


class SliceChoice(Record):
    """The choice between time slices and windows in one piece, and its reason."""

    requested: str
    slice_s: float
    reason: str


class BackendFacts(Record):
    """A backend: its settings, the connections that each server holds to it, and the SQL statement of each workload."""

    title: str
    pool_count: int
    pool_per_cpu_count: int
    settings: dict[str, str]
    statements: dict[str, str] = {}


class IdleMachine(Record):
    """The survey of the idle machine before measuring; by CPU.

    `steal_fraction`: share of its time that the hypervisor gave to others. `other_fraction`: that other processes used at most.
    `speed_spread`: coefficient of variation of the probe's speed over tenths of a second.
    """

    duration_s: float
    steal_fraction: dict[int, float]
    other_fraction: dict[int, float]
    speed_spread: dict[int, float]


class SpeedReading(Record):
    """What the probe of a CPU saw in a tenth of a second that began `at_s` after the start of the survey."""

    cpu: int
    at_s: float
    mean_hz: float
    wakes_hz: float


class CoreFacts(Record):
    """A core: its CPUs, NUMA node, and whether it is an efficient one."""

    cpus: tuple[int, ...]
    node: int
    efficient: bool


class PreflightFinding(Record):
    """One finding of ``./wrkbook doctor``."""

    name: str
    level: str
    detail: str
    remedy: str


class MachineSurvey(Record):
    """What was seen of the machine before measuring; `cores` and `preflight` where the machine is the question."""

    idle: IdleMachine
    idle_speed: list[SpeedReading]
    cores: list[CoreFacts] = []
    preflight: list[PreflightFinding] = []


class RelayNote(Record):
    """A case that a proxy failed although it is not required, and what was seen."""

    case: str
    difference: str


class RelayNotes(Record):
    """How many cases a proxy was tried on, and which of those that are not required it failed."""

    tried: int
    failed: list[RelayNote]


class PlannedLoad(Record):
    """A load at a rate that was planned on this machine.

    Attributes
    ----------
    systems : those that are measured at this rate (None: all)
    workload : label of the workload without its load (None: all)
    share : of the capacity that the rate comes from (None: the rate was given, or rounded down)
    share_of : whose capacity that is: that of the slowest compared system, or the system's own
    """

    load: str
    shape: LoadProfile
    systems: list[str] | None
    workload: str | None = None
    share: float | None = None
    share_of: Literal["", "slowest", "own"] = ""


class PlannedRates(Record):
    """The capacities that were measured before the first block, and the loads that were planned from them.

    Attributes
    ----------
    capacities : load, or label of the workload → system → requests/s
    generator_rps : the highest rate at which the load generator keeps its schedule here (None: not measured)
    """

    capacities: dict[str, dict[str, float]]
    generator_rps: float | None = None
    loads: list[PlannedLoad]


class RunManifest(Record):
    """What a run is.

    Attributes
    ----------
    pinning : role → list of CPUs
    cells : labels of system and workload
    systems, workloads : label → what it stands for
    compared : labels of the workloads that are compared
    floor : name of the workload that the shares are of
    nonconforming : server → why it was not measured
    notes : server → what is reported of it as a proxy
    left_out : what was not measured and why, in words
    control_of : label of the system that the A/A control repeats
    windows, slices, about_machine : None where nothing was measured
    rates : None where no rate was planned
    selected_runs : experiment → run-id of the runs that decide claims; None where the run reviews no claims
    """

    started_at: str
    profile: str
    parameters: Facts
    windows: WindowPlan | None = None
    slices: SliceChoice | None = None
    pinning: dict[str, str]
    backends: dict[str, BackendFacts] = {}
    machine: Facts
    versions: Facts
    cells: list[tuple[str, str]]
    systems: dict[str, System]
    workloads: dict[str, Workload]
    compared: list[str]
    floor: str | None
    nonconforming: dict[str, str] = {}
    notes: dict[str, RelayNotes | None] = {}
    left_out: list[str] = []
    control_of: str | None
    about_machine: MachineSurvey | None = None
    rates: PlannedRates | None = None
    selected_runs: dict[str, str] | None = None
