"""The nouns that every part of wrkbook shares, and the schemas of what it stores.

Names are the field's: a *run* has *blocks* (one launch of every system), a block has *trials* (one system × one
workload), a trial has a warm-up and *windows*. Columns end in their unit: ``_s _rps _bytes _count _fraction _ratio``;
what is missing is NaN, never −1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

TRIAL_SCHEMA = "wrkbook.trial/2"
RUN_SCHEMA = "wrkbook.run/1"
SUMMARY_SCHEMA = "wrkbook.summary/1"
COMPARISON_SCHEMA = "wrkbook.comparison/1"

PLACEBO = "placebo"
PERCENTILES = (50.0, 75.0, 90.0, 99.0, 99.9, 99.99)

Verdict = Literal["faster", "slower", "equivalent", "inconclusive", "at least", "not comparable"]
Bottleneck = Literal["server", "client", "backend", "unsaturated"]


def percentile_column(percentile: float) -> str:
    """The column name of a percentile: 50 is ``p50_s``, 99.99 is ``p99_99_s``."""
    return f"p{percentile:g}_s".replace(".", "_")


@dataclass(frozen=True, order=True)
class Workload:
    """What is asked of a server: a name of the contract, and its size where it has one.

    Attributes
    ----------
    name : contract name, for example ``decode``
    operations : batch size, for workloads that send a batch
    delay_ms : for ``ping-delay``
    """

    name: str
    operations: int | None = None
    delay_ms: int | None = None

    @property
    def label(self) -> str:
        """Short unique text for columns and file names: ``decode-10``, ``ping``, ``ping-delay-10ms``."""
        if self.operations is not None:
            return f"{self.name}-{self.operations}"
        return self.name if self.delay_ms is None else f"{self.name}-{self.delay_ms}ms"


@dataclass(frozen=True)
class System:
    """One row of a comparison: a server, with the codec that it decodes with; launched as a process of its own.

    ``placebo`` marks the A/A control: the same as another system, launched once more under this name.
    """

    server: str
    codec: str | None = None
    placebo: bool = False

    @property
    def name(self) -> str:
        """``drogon+simdjson``, ``gin``, or ``placebo``."""
        if self.placebo:
            return PLACEBO
        return self.server if self.codec is None else f"{self.server}+{self.codec}"

    def repeats(self, other: System) -> bool:
        """Whether this is the A/A control of `other`."""
        return self.placebo and not other.placebo and (self.server, self.codec) == (other.server, other.codec)


@dataclass(frozen=True)
class Request:
    """The request that a load generator repeats."""

    method: str
    path: str
    body: bytes = b""
    content_type: str = "application/json"


@dataclass(frozen=True)
class Load:
    """A closed loop: so many connections, each sending when its answer is there.

    Attributes
    ----------
    connections : open connections, over all threads
    threads : of the generator
    duration_s : length of the window
    timeout_s : answers slower than this count as timeouts
    """

    connections: int
    threads: int
    duration_s: float
    timeout_s: float = 2.0


@dataclass(frozen=True)
class LoadErrors:
    """What went wrong on the generator's side, counted by kind."""

    connect_count: int = 0
    read_count: int = 0
    write_count: int = 0
    timeout_count: int = 0
    status_count: int = 0

    @property
    def total_count(self) -> int:
        """All kinds together."""
        return self.connect_count + self.read_count + self.write_count + self.timeout_count + self.status_count


@dataclass(frozen=True)
class Histogram:
    """Counts of service times in whole microseconds: two parallel tuples, values ascending and unique, counts positive."""

    values_us: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def total_count(self) -> int:
        """Number of samples."""
        return sum(self.counts)


@dataclass(frozen=True)
class LoadResult:
    """What a load generator reported of one window, in wrkbook's units.

    Attributes
    ----------
    requests_count : completed requests, whatever their status
    duration_s : measured by the generator
    read_bytes : bytes of all answers, headers included
    connections_count : connections that were really opened
    service_time : from the actual send to the complete answer
    corrected : as the generator printed it after its own correction, where it has one
    warnings : what the parser found odd, in words
    """

    requests_count: int
    duration_s: float
    read_bytes: int
    connections_count: int
    errors: LoadErrors
    service_time: Histogram
    corrected: Histogram | None = None
    warnings: tuple[str, ...] = ()

    @property
    def throughput_rps(self) -> float:
        """Completed requests per second."""
        return self.requests_count / self.duration_s

    @property
    def goodput_rps(self) -> float:
        """Correct answers per second."""
        return (self.requests_count - self.errors.status_count) / self.duration_s


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def half_width_ratio(self) -> float:
        """Half the width of the interval, relative to the value; infinite for a value of 0."""
        return (self.high - self.low) / 2 / abs(self.value) if self.value else float("inf")

    def as_dict(self) -> dict[str, float]:
        """For ``summary.json``."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Check:
    """The outcome of one check: its name, whether it held, what was found, and what to do about it.

    ``void`` says that a trial which fails it must not be used; otherwise it is only flagged.
    """

    name: str
    ok: bool
    detail: str
    advice: str = ""
    void: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For ``summary.json``."""
        return {"name": self.name, "ok": self.ok, "detail": self.detail, "advice": self.advice, "void": self.void}
