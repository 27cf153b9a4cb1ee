"""The load of a window, the result that a load generator reports, the interface of load generators, and shared thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ERRORS_TOLERANCE = 0.001
"""Errors as a share of the requests: with more, a trial is void and a cell is not ranked, as its throughput is of other work."""

LEAST_OFFERED = 0.99
"""Share of the offered rate that must be achieved: below it, service times are those of a lower rate."""

PACED_S = 0.0001
"""A load generator that keeps its schedule sends 99 % of the requests at most so late, at 70 % of its own capacity."""

LATE_S = 0.001
MOST_LATE_SHARE = 0.01
"""An open loop of which a larger share of the sends is later than `LATE_S` did not keep its schedule: its window is void."""

LOAD_FOLDER = "/load"
"""Where the sandbox shows, read-only, the folder that :meth:`Generator.prepare` filled."""


@dataclass(frozen=True)
class Request:
    """The request that a load generator repeats."""

    method: str
    path: str
    body: bytes = b""
    content_type: str = "application/json"


@dataclass(frozen=True)
class Load:
    """The load of one window: a closed loop (a connection sends after each response) unless it has a rate.

    Attributes
    ----------
    connections : open connections, over all threads
    threads : of the generator
    duration_s : length of the window
    timeout_s : responses slower than this count as timeouts
    rate_rps : offered requests per second, independent of responses (open loop); None for a closed loop
    keepalive_requests : requests on one connection before it is closed; None: as many as come
    requested_rps : the requested rate, for a generator that offers less than requested; None: `rate_rps` itself
    ramp_up_s : the ramp-up before `duration_s`, in which the generator opens its connections and sends nothing
    seed : of the arrivals of an open loop; the same for all systems in a visit of a block
    poisson : whether these arrivals are a Poisson process; else they have a constant distance
    spin : whether the load generator may keep its CPUs busy while it waits: nothing else runs on them
    """

    connections: int
    threads: int
    duration_s: float
    timeout_s: float = 2.0
    rate_rps: float | None = None
    keepalive_requests: int | None = None
    requested_rps: float | None = None
    ramp_up_s: float = 0.0
    seed: int = 0
    poisson: bool = True
    spin: bool = False


@dataclass(frozen=True)
class LoadErrors:
    """Errors that the load generator counted, by kind."""

    connect_count: int = 0
    read_count: int = 0
    write_count: int = 0
    timeout_count: int = 0
    status_count: int = 0

    @property
    def total_count(self) -> int:
        """Return the sum over all kinds."""
        return self.connect_count + self.read_count + self.write_count + self.timeout_count + self.status_count


@dataclass(frozen=True)
class Histogram:
    """Counts of service times in whole microseconds: two parallel tuples, values ascending and unique, counts positive."""

    values_us: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def total_count(self) -> int:
        """Return the number of samples."""
        return sum(self.counts)


@dataclass(frozen=True)
class LatencySummary:
    """Statistics of service times as a tool printed them, with its own resolution and definitions.

    Attributes
    ----------
    percentiles_s : by percentage
    """

    percentiles_s: dict[float, float]
    mean_s: float
    stddev_s: float
    max_s: float


@dataclass(frozen=True)
class LoadResult:
    """The report of a load generator on one window, in wrkbook's units.

    Attributes
    ----------
    requests_count : completed requests of any status
    duration_s : measured by the generator, without the ramp-up
    read_bytes : bytes of all responses with known size, headers included unless `bodies_only`
    connections_count : connections that were opened
    service_time : from the actual send to the complete response
    corrected : as the generator printed it after its own correction, where it has one
    summary : the latencies that the generator printed, where they do not follow from the histogram
    warnings : sentences about what the parser found odd
    bodies_only : whether the generator counts the bytes of bodies, without headers
    unseen_count : completed requests without a recorded service time
    scheduled_count : arrivals of an open loop that has a schedule
    response_time : from the intended send, where the generator knows it; with the requests that got no response, as lower bounds
    lateness : of the sends of an open loop, after they were due and a connection was free
    cpu_s : CPU time of the load generator since its start, where it reports that
    """

    requests_count: int
    duration_s: float
    read_bytes: int
    connections_count: int
    errors: LoadErrors
    service_time: Histogram
    corrected: Histogram | None = None
    summary: LatencySummary | None = None
    warnings: tuple[str, ...] = ()
    bodies_only: bool = False
    unseen_count: int = 0
    scheduled_count: int | None = None
    response_time: Histogram | None = None
    lateness: Histogram | None = None
    cpu_s: float | None = None

    @property
    def throughput_rps(self) -> float:
        """Return the completed requests per second."""
        return self.requests_count / self.duration_s

    @property
    def goodput_rps(self) -> float:
        """Return the correct responses per second."""
        return (self.requests_count - self.errors.status_count) / self.duration_s


class GeneratorError(ValueError):
    """A load that the generator cannot make, or output that cannot be trusted; the message says which and why."""


class Generator(Protocol):
    """The interface of a load generator: its command line and its parser; it starts nothing itself.

    Attributes
    ----------
    name : as its authors write it
    packages : Debian packages that hold it
    built_by : the folder of ``servers/`` that builds it, or something for it, shown at /build; None where nothing is built
    clock : the library in its sandbox that lets its clock stand still while it is stopped (``servers/wrk/clock.cpp``); None: it cannot
        be measured in time slices
    reports_cpu : whether its report holds its own CPU time: then no sample has to be taken while it keeps a schedule
    opens_first : whether it opens all its connections before it sends the first request, and ends when it gets SIGINT
    """

    name: str
    packages: tuple[str, ...]
    built_by: str | None
    clock: str | None
    opens_first: bool
    reports_cpu: bool

    def prepare(self, request: Request, folder: Path) -> None:
        """Write what :meth:`command` refers to into a folder, once for any number of windows."""
        ...

    def command(self, request: Request, load: Load, host: str, port: int) -> list[str]:
        """Return the arguments of one window, for a sandbox that shows the prepared folder as ``LOAD_FOLDER``.

        Tools that take whole seconds only get the next whole second: whoever starts the command sends it
        SIGINT after ``load.duration_s``. Tools that take fractions ignore that signal.

        Raises
        ------
        GeneratorError
            When the tool cannot make this load.
        """
        ...

    def parse(self, stdout: str, load: Load) -> LoadResult:
        """Parse the tool's report of one window.

        Raises
        ------
        GeneratorError
            When the output is incomplete, belongs to another load, or contradicts itself.
        """
        ...

    def condensed(self, stdout: str, load: Load, *, coarse: bool = False) -> str:
        """Return a shorter form of output that :meth:`parse` accepts, with the same meaning.

        With `coarse`, latencies may lose further digits: of a warm-up nobody reads them.
        """
        ...
