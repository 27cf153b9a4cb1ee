"""The record types that all rooms share, and the schema versions of stored data.

Names are the field's: a *run* has *blocks* (one launch of every system), a block has *trials* (one system × one
workload), a trial has a warm-up and *windows*. Columns end in their unit: ``_s _rps _bytes _count _fraction _ratio``;
what is missing is NaN, never −1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict

TRIAL_SCHEMA = "wrkbook.trial/12"
RUN_SCHEMA = "wrkbook.run/12"
SUMMARY_SCHEMA = "wrkbook.summary/8"
COMPARISON_SCHEMA = "wrkbook.comparison/2"

CONTROL = "control"
SMOKE_PROFILE = "quick"
"""The profile whose runs show that everything works, and are no evidence."""

# The kinds of windows. Throughput comes from `window` only; percentiles come only from windows in one piece.
WARM_UP_KINDS = frozenset({"priming", "warmup"})
WINDOW: Literal["window"] = "window"
PERCENTILES_WINDOW: Literal["percentiles"] = "percentiles"
SEARCH_WINDOW: Literal["search"] = "search"
CONFIRMATION_WINDOW: Literal["confirmation"] = "confirmation"
# Each at a rate of its own, to find and confirm the largest one that meets an objective (:mod:`runners.measure.capacity_search`).
SEARCH_KINDS = frozenset({SEARCH_WINDOW, CONFIRMATION_WINDOW})
MEASURED_KINDS = frozenset({WINDOW, PERCENTILES_WINDOW})
PERCENTILES = (50.0, 75.0, 90.0, 99.0, 99.9, 99.99)

Hue = Literal["blue", "vermilion", "green", "olive", "sky", "purple", "violet", "amber", "crimson", "teal"]
"""The hue of a framework in all charts."""
Row = dict[str, float | str | list[str] | None]
"""A row on its way into a table: column → value. What tables hold is described where they are made."""

Verdict = Literal["faster", "slower", "equivalent", "undecided", "not comparable"]
Decision = Literal["no regression", "regression", "undecided"]
Bound = Literal["", "at most", "at least", "unknown"]
Bottleneck = Literal["server", "generator", "both", "backend", "network", "unsaturated"]
LOWER_BOUND_LIMITS = frozenset({"generator", "both", "network"})
"""Limits with which a throughput is a lower bound of what the server can do."""


def percentile_column(percentile: float) -> str:
    """Return the column name of a percentile: 50 is ``p50_s``, 99.99 is ``p99_99_s``."""
    return f"p{percentile:g}_s".replace(".", "_")


class Record(BaseModel):
    """A part of a stored record: an unknown field, or one that is missing, is an error."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class LoadProfile:
    """The load of a workload, where it is part of an experiment's question; None: as the run's parameters say.

    Attributes
    ----------
    name : str
        Short text for labels, for example ``20000`` or ``no-keepalive``; empty for the run's own load.
    generator : str | None
        Name of the load generator.
    connections : int | None
        Connections that are kept busy.
    rate_rps : float | None
        Offered load of an open loop; None for a closed loop.
    keepalive_requests : int | None
        Requests on one connection before it is closed; None: as many as come.
    requested_rps : float | None
        The requested rate, see :class:`runners.core.load.Load`.
    window_s : float | None
        Seconds of a window; None: the profile's.
    objectives : tuple[str, ...]
        Objectives of a capacity search, as :mod:`runners.core.parameter_values` writes them.
    server_cpus_count : int | None
        Number of CPUs on which the server runs; None: all that are planned for servers.
    server_threads_count : int | None
        Number of threads with which it is started; None: one for each of its CPUs.
    """

    name: str = ""
    generator: str | None = None
    connections: int | None = None
    rate_rps: float | None = None
    keepalive_requests: int | None = None
    requested_rps: float | None = None
    window_s: float | None = None
    objectives: tuple[str, ...] = ()
    server_cpus_count: int | None = None
    server_threads_count: int | None = None

    @property
    def label(self) -> str:
        """Return the part of a label that stands for this load: its name, and the number of server CPUs where that is its own."""
        cpus = (
            "" if self.server_cpus_count is None else f"{self.server_cpus_count}cpu{'s' * (self.server_cpus_count > 1)}"
        )
        return "-".join(filter(None, [self.name, cpus]))


@dataclass(frozen=True)
class Workload:
    """A workload of the contract, with its size and its load.

    Attributes
    ----------
    name : str
        Contract name, for example ``decode``.
    operations : int | None
        Batch size, for workloads that send a batch.
    delay_ms : int | None
        Delay of ``ping-delay``.
    count : int | None
        Records of ``sql2``.
    shape : LoadProfile
        Its load.
    """

    name: str
    operations: int | None = None
    delay_ms: int | None = None
    count: int | None = None
    shape: LoadProfile = LoadProfile()

    @property
    def label(self) -> str:
        """Return a short unique text for columns and file names: ``decode-10``, ``ping-delay-10ms``, ``sql2-20``, ``json10@20000``."""
        return f"{self.base_label}@{self.shape.label}" if self.shape.label else self.base_label

    @property
    def base_label(self) -> str:
        """Return the label of the same workload in the run's own load."""
        size = self.operations if self.operations is not None else self.count
        text = self.name if size is None else f"{self.name}-{size}"
        return text if self.delay_ms is None else f"{text}-{self.delay_ms}ms"


def label_of(server: str, codec: str | None = None, variant: str | None = None) -> str:
    """Return the label of a system, or without a codec that of a build: ``gin``, ``gin+encoding/json+pgo``, ``gin+pgo``."""
    return "+".join(filter(None, [server, codec, variant]))


@dataclass(frozen=True)
class System:
    """One row of a comparison: a server, its codec and its tuned build (None: the plain one), launched as its own process.

    ``control`` marks the A/A control: the same as another system, launched once more under this name. ``earlier`` marks the build of
    an earlier git revision, which ``variant`` names.
    """

    server: str
    codec: str | None = None
    variant: str | None = None
    control: bool = False
    earlier: bool = False

    @property
    def name(self) -> str:
        """Return the shown name: ``drogon+simdjson``, ``gin``, ``gin+sonic+pgo``, or ``control``."""
        return CONTROL if self.control else label_of(self.server, self.codec, self.variant)

    @property
    def build(self) -> str:
        """Return the label of its build: ``gin``, ``gin+pgo``."""
        return label_of(self.server, variant=self.variant)

    @property
    def plain(self) -> System:
        """Return the same row of the plain build."""
        return replace(self, variant=None, earlier=False)

    def repeats(self, other: System) -> bool:
        """Return whether this is the A/A control of `other`."""
        return self.control and not other.control and replace(self, control=False) == other


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def half_width_ratio(self) -> float:
        """Return half the width of the interval, relative to the value; infinite for a value of 0."""
        return (self.high - self.low) / 2 / abs(self.value) if self.value else float("inf")


@dataclass(frozen=True)
class Check:
    """The outcome of one check: name, result, finding and advice.

    A trial that fails a check with ``void`` is not used; otherwise it is only flagged. A check that held has no advice.
    """

    name: str
    ok: bool
    detail: str
    advice: str = ""
    void: bool = False

    def __post_init__(self) -> None:
        if self.ok:
            object.__setattr__(self, "advice", "")
