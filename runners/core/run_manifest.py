"""The manifest of a run, ``run.json``: what was planned, on which machine, and with which versions."""

from __future__ import annotations

from typing import Any, Literal

from runners.core.records import Hue, LoadProfile, Record, System, Workload

Facts = dict[str, Any]
"""Facts by name, which are shown and compared, and never computed with."""


class Shade(Record):
    """The colour of a system: its framework's hue, and its `place` among the systems `of` that framework."""

    hue: Hue
    place: int
    of: int


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
    """The speed of a CPU in the tenth of a second that began `at_s` after the start of the survey."""

    cpu: int
    at_s: float
    mean_hz: float
    wakes_hz: float


class CoreFacts(Record):
    """A core: its CPUs, NUMA node, package and L3 cache (None: not known), and the rank of its kind (0: the fastest)."""

    cpus: tuple[int, ...]
    node: int
    package: int
    l3: int | None
    kind: int


class PreflightFinding(Record):
    """One finding of ``./wrkbook doctor``."""

    name: str
    level: str
    detail: str
    remedy: str


class MachineSurvey(Record):
    """The machine before measuring.

    `cores` (all that are online), `kinds` (a description of each kind, the fastest first), `offline_cpus` and `preflight` where the
    machine is the question.
    """

    idle: IdleMachine
    idle_speed: list[SpeedReading]
    cores: list[CoreFacts] = []
    kinds: list[str] = []
    offline_cpus: list[int] = []
    preflight: list[PreflightFinding] = []


class RelayNote(Record):
    """An optional case that a proxy failed, and the difference that was seen."""

    case: str
    difference: str


class RelayNotes(Record):
    """The number of cases that a proxy was tried on, and the optional ones that it failed."""

    tried: int
    failed: list[RelayNote]


class PlannedLoad(Record):
    """A load at a rate that was planned on this machine.

    Attributes
    ----------
    systems : list[str] | None
        Systems that are measured at this rate (None: all).
    workload : str | None
        Label of the workload without its load (None: all).
    share : float | None
        The rate as a share of a capacity (None: the rate was given, or rounded down).
    share_of : Literal["", "slowest", "own"]
        The capacity that `share` refers to: that of the slowest compared system, or the system's own.
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
    capacities : dict[str, dict[str, float]]
        Load, or label of the workload → system → requests/s.
    generator_rps : float | None
        The highest rate at which the load generator keeps its schedule here (None: not measured).
    """

    capacities: dict[str, dict[str, float]]
    generator_rps: float | None = None
    loads: list[PlannedLoad]


class HostFacts(Record):
    """A host of a run: its name is made of its roles, its fingerprint stands for the machine and tells nothing of it.

    `cpus` are by role, `builds` are label → key. `clock_offset_s`: its time of day minus the controller's.
    """

    name: str
    roles: list[str]
    cpus: dict[str, str]
    machine: Facts
    fingerprint: str
    builds: dict[str, str]
    clock_offset_s: float


class LinkFacts(Record):
    """The network before the run: what one connection from the server's host carried, and the round trip."""

    rate_bps: float
    rtt_s: float


class RunManifest(Record):
    """The plan of a run, its machine and its versions.

    Attributes
    ----------
    pinning : dict[str, str]
        Role → list of CPUs.
    pinning_threats : list[str]
        What the plan of the CPUs could not avoid, in words.
    cells : list[tuple[str, str]]
        Labels of system and workload.
    systems : dict[str, System]
        Label → system.
    workloads : dict[str, Workload]
        Label → workload.
    shades : dict[str, Shade]
        Label of a system → its colour in all charts.
    compared : list[str]
        Labels of the workloads that are compared.
    floor : str | None
        Name of the workload to which throughputs are related as shares.
    nonconforming : dict[str, str]
        Server → why it was not measured.
    notes : dict[str, RelayNotes | None]
        Server → findings about it as a proxy.
    left_out : list[str]
        Cells that were not measured and why, in words.
    control_of : str | None
        Label of the system that the A/A control repeats.
    windows : WindowPlan | None
        None where nothing was measured, as are `slices` and `about_machine`.
    rates : PlannedRates | None
        Planned rates; None where no rate was planned.
    selected_runs : dict[str, str] | None
        Experiment → run-id of the run that decides its claims; None where the run reviews no claims.
    hosts : list[HostFacts]
        The hosts; empty where all roles were on one machine. `machine` is that of the servers.
    link : LinkFacts | None
        The network between the hosts.
    """

    started_at: str
    profile: str
    parameters: Facts
    windows: WindowPlan | None = None
    slices: SliceChoice | None = None
    pinning: dict[str, str]
    pinning_threats: list[str] = []
    backends: dict[str, BackendFacts] = {}
    machine: Facts
    versions: Facts
    cells: list[tuple[str, str]]
    systems: dict[str, System]
    workloads: dict[str, Workload]
    shades: dict[str, Shade] = {}
    compared: list[str]
    floor: str | None
    nonconforming: dict[str, str] = {}
    notes: dict[str, RelayNotes | None] = {}
    left_out: list[str] = []
    control_of: str | None
    about_machine: MachineSurvey | None = None
    rates: PlannedRates | None = None
    selected_runs: dict[str, str] | None = None
    hosts: list[HostFacts] = []
    link: LinkFacts | None = None

    @property
    def earlier_revision(self) -> str:
        """Return the git revision whose builds were measured beside the present ones; empty where none was."""
        return next((system.variant or "" for system in self.systems.values() if system.earlier), "")
