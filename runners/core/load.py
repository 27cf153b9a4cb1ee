"""The load of a window, the result that a load generator reports, the interface of load generators, and shared thresholds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runners.core.histogram import Histogram
from runners.core.request import Request

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
class Load:
    """The load of one window: a closed loop (a connection sends after each response) unless it has a rate.

    Attributes
    ----------
    connections : int
        Open connections, over all threads.
    threads : int
        Threads of the load generator.
    duration_s : float
        Length of the window.
    timeout_s : float
        Responses slower than this count as timeouts.
    rate_rps : float | None
        Offered requests per second, independent of responses (open loop); None for a closed loop.
    keepalive_requests : int | None
        Requests on one connection before it is closed; None: as many as come.
    requested_rps : float | None
        The requested rate, for a generator that offers less than requested; None: `rate_rps` itself.
    ramp_up_s : float
        The ramp-up before `duration_s`, in which the generator opens its connections and sends nothing.
    seed : int
        Seed of the arrivals of an open loop; the same for all systems in a visit of a block.
    poisson : bool
        True: arrivals are a Poisson process. False: they have a constant distance.
    spin : bool
        The load generator may keep its CPUs busy while it waits: nothing else runs on them.
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
class LatencySummary:
    """Statistics of service times as a tool printed them, with its own resolution and definitions.

    Attributes
    ----------
    percentiles_s : dict[float, float]
        Percentage → service time.
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
    requests_count : int
        Completed requests of any status.
    duration_s : float
        Measured by the generator, without the ramp-up. Of a scheduled open loop, until the last response, less what the fastest took.
    read_bytes : int
        Bytes of all responses with known size, headers included unless `bodies_only`.
    connections_count : int
        Connections that were opened.
    service_time : Histogram
        Service times, from the actual send to the complete response.
    corrected : Histogram | None
        Service times after the generator's own correction, where it has one.
    summary : LatencySummary | None
        The latencies that the generator printed, where they do not follow from the histogram.
    warnings : tuple[str, ...]
        Anomalies that the parser found, one sentence each.
    bodies_only : bool
        The generator counts the bytes of bodies, without headers.
    unseen_count : int
        Completed requests without a recorded service time.
    scheduled_rps : float | None
        Arrivals per second of an open loop that has a schedule.
    response_time : Histogram | None
        Response times, from the intended send, where the generator knows it. Requests without a response are lower bounds.
    lateness : Histogram | None
        Delays of the sends of an open loop, after they were due and a connection was free.
    cpu_s : float | None
        CPU time of the load generator since its start, where it reports that.
    sent_counts : dict[str, int] | None
        Endpoint of a mix → requests that were sent to it, those included that were under way at the end; None without a mix.
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
    scheduled_rps: float | None = None
    response_time: Histogram | None = None
    lateness: Histogram | None = None
    cpu_s: float | None = None
    sent_counts: dict[str, int] | None = None

    @property
    def throughput_rps(self) -> float:
        """Return the completed requests per second."""
        return self.requests_count / self.duration_s

    @property
    def goodput_rps(self) -> float:
        """Return the correct responses per second."""
        return (self.requests_count - self.errors.status_count) / self.duration_s

    @property
    def achieved_fraction(self) -> float:
        """Return the correct responses per second as a share of the scheduled arrivals per second; NaN without a schedule.

        A server that falls behind may respond to all, but later and later: then the last responses come long after the last arrival.
        """
        return self.goodput_rps / self.scheduled_rps if self.scheduled_rps else math.nan


class GeneratorError(ValueError):
    """A load that the generator cannot make, or output that cannot be trusted; the message says which and why."""


class Generator(Protocol):
    """The interface of a load generator: its command line and its parser; it starts nothing itself.

    Attributes
    ----------
    name : str
        The tool's name as its authors write it.
    packages : tuple[str, ...]
        Debian packages that hold it.
    built_by : str | None
        The folder of ``servers/`` that builds it, or something for it, shown at /build; None where nothing is built.
    clock : str | None
        The library in its sandbox that lets its clock stand still while it is stopped (``servers/wrk/clock.cpp``); None: it cannot be
        measured in time slices.
    reports_cpu : bool
        Its report holds its own CPU time, so that no sample has to be taken while it keeps a schedule.
    opens_first : bool
        It opens all its connections before it sends the first request, and ends when it gets SIGINT.
    ends_itself : bool
        It keeps a duration that is no whole number of seconds. All others get SIGINT when that is over.
    """

    name: str
    packages: tuple[str, ...]
    built_by: str | None
    clock: str | None
    opens_first: bool
    ends_itself: bool
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

    def libraries(self, request: Request) -> tuple[str, ...]:
        """Return the libraries in its sandbox that are loaded before its own for this request."""
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

        With `coarse`, latencies may lose further digits, as a warm-up and the search for a rate need few.
        """
        ...
