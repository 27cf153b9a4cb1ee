"""paceload: requests at moments that were fixed in advance, whatever the responses do (``servers/paceload``).

- Arrivals are a Poisson process with a seed. The response time counts from the intended moment: a request that waits for a free
  connection has waited from then on (Tene, How NOT to measure latency). The service time counts from the actual send.
- It reports its own lateness: from the moment at which a request was due and a connection free, to its send.
- A request without a response is among the response times with the time that it had waited by then, as a lower bound.
- Without a rate it is a closed loop: every connection sends as soon as it is free.
- Its histograms have three significant digits. They are printed as bins and as HdrHistogram V2 text; a record keeps the text only.
"""

from __future__ import annotations

import json
import math
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from runners.core.histogram import Histogram
from runners.core.load import (
    LATE_S,
    LEAST_OFFERED,
    LOAD_FOLDER,
    MOST_LATE_SHARE,
    GeneratorError,
    Load,
    LoadErrors,
    LoadResult,
)
from runners.core.request import Request
from runners.stats import histograms
from runners.stats.hdr_text import coarser, decoded

_BODY = "body"
_COARSE_DIGITS = 2  # of the times in a warm-up, and in the search for a rate: their bins are at most 0.8 % wide
_END_TOLERANCE_S = 0.25


class Bins(BaseModel):
    """One of its histograms: `ns` are pairs of a value and its count, `hdr` the same as HdrHistogram V2 text. One of them is enough."""

    model_config = ConfigDict(extra="forbid")

    mean_ns: float
    hdr: str
    ns: list[tuple[int, int]]

    @model_validator(mode="after")
    def _is_readable(self) -> Self:
        _ = self.in_ns
        return self

    @cached_property
    def in_ns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the values, ascending, and their counts."""
        if self.hdr and not self.ns:
            return decoded(self.hdr)
        values, counts = np.array(self.ns, dtype=np.int64).reshape(-1, 2).T
        return values, counts

    @cached_property
    def in_us(self) -> Histogram:
        """Return it in whole microseconds, at least one."""
        values_ns, counts = self.in_ns
        values_us, places = np.unique(np.maximum(1, np.rint(values_ns / 1000)).astype(np.int64), return_inverse=True)
        found = np.zeros(len(values_us), dtype=np.int64)
        np.add.at(found, places, counts)
        return Histogram(values_us, found)

    @property
    def total_count(self) -> int:
        """Return the number of samples."""
        return int(self.in_ns[1].sum())


class PaceloadReport(BaseModel):
    """The report of paceload, as it prints it; see ``servers/paceload/main.cpp``.

    Attributes
    ----------
    scheduled : int
        Arrivals in the window.
    completed, unanswered : int
        Arrivals with a response, and those still without one at the end; others failed.
    most_waiting : int
        The longest queue of arrivals without a free connection.
    elapsed_s : float
        Duration with the wait for the last responses.
    response, service, lateness : Bins
        Histograms; unanswered arrivals are in `response` only.
    """

    model_config = ConfigDict(extra="forbid")

    paceload: int
    rate_rps: float
    duration_s: float
    elapsed_s: float
    cpu_s: float
    poisson: bool
    seed: int
    scheduled: int
    completed: int
    unanswered: int
    read_bytes: int
    opened: int
    most_waiting: int
    connect_errors: int
    read_errors: int
    write_errors: int
    timeouts: int
    status_errors: int
    response: Bins
    service: Bins
    lateness: Bins

    @property
    def late_share(self) -> float:
        """Return the share of the sends that were later than `LATE_S`."""
        values_ns, counts = self.lateness.in_ns
        late = int(counts[values_ns > LATE_S * 1e9].sum())
        return late / max(1, self.lateness.total_count)


class Paceload:
    """An open loop over HTTP/1.1, or a closed one where no rate is given."""

    name: str = "paceload"
    packages: tuple[str, ...] = ("libhdr-histogram-dev", "libllhttp-dev", "zlib1g-dev")
    built_by: str | None = "paceload"
    clock: str | None = None
    opens_first: bool = False
    ends_itself: bool = False
    reports_cpu: bool = True

    def prepare(self, request: Request, folder: Path) -> None:
        """Write the body of the request."""
        (folder / _BODY).write_bytes(request.body)

    def command(self, request: Request, load: Load, host: str, port: int) -> list[str]:
        """Return the arguments of one window; see :class:`runners.core.load.Generator`."""
        if not request.plain:
            raise GeneratorError(f"paceload sends one request without headers of its own; use wrk for {request.path}")
        if load.connections < load.threads or load.duration_s <= 0 or load.timeout_s <= 0:
            raise GeneratorError("paceload needs a connection for each thread, and a duration and a timeout above 0 s")
        if load.keepalive_requests not in (None, 1):
            raise GeneratorError("paceload keeps connections or closes them after each request, nothing between")
        options = {
            "host": host,
            "port": port,
            "method": request.method,
            "target": request.path,
            "connections": load.connections,
            "threads": load.threads,
            "duration": f"{load.duration_s:.6g}",
            "timeout": f"{load.timeout_s:.6g}",
            "seed": load.seed,
            "poisson": int(load.poisson),
            "keep-alive": int(load.keepalive_requests != 1),
            "spin": int(load.spin),
        }
        if load.rate_rps is not None:
            options["rate"] = f"{load.rate_rps:.9g}"
        if request.method != "GET":
            options |= {"content-type": request.content_type, "body": f"{LOAD_FOLDER}/{_BODY}"}
        return ["/build/paceload", *(word for name, value in options.items() for word in (f"--{name}", str(value)))]

    def libraries(self, request: Request) -> tuple[str, ...]:
        """Return none; see :meth:`runners.core.load.Generator.libraries`."""
        return ()

    def parse(self, stdout: str, load: Load) -> LoadResult:
        """Parse paceload's report; see :class:`runners.core.load.Generator`."""
        report = report_of(stdout)
        if (
            not math.isclose(report.rate_rps, load.rate_rps or 0.0, rel_tol=1e-5)
            or report.seed != load.seed
            or report.poisson != load.poisson
        ):
            raise GeneratorError("the report is of another load")
        lost = report.connect_errors + report.read_errors + report.write_errors
        if report.completed + lost + report.unanswered != report.scheduled:
            raise GeneratorError("the completed, failed and unanswered requests are not as many as the scheduled ones")
        if report.response.total_count != report.completed + report.unanswered:
            raise GeneratorError("the response times are not as many as the requests that were completed or given up")
        if report.service.total_count != report.completed:
            raise GeneratorError("the service times are not as many as the completed requests")
        fastest_s = float(min(report.response.in_ns[0], default=0)) / 1e9 if load.rate_rps else 0.0
        return LoadResult(
            requests_count=report.completed,
            duration_s=max(report.duration_s, report.elapsed_s - fastest_s),
            read_bytes=report.read_bytes,
            connections_count=load.connections,
            errors=LoadErrors(
                connect_count=report.connect_errors,
                read_count=report.read_errors,
                write_count=report.write_errors,
                timeout_count=max(report.timeouts, report.unanswered),
                status_count=report.status_errors,
            ),
            service_time=report.service.in_us,
            response_time=report.response.in_us if load.rate_rps else None,
            lateness=report.lateness.in_us if load.rate_rps else None,
            scheduled_rps=report.scheduled / report.duration_s if load.rate_rps else None,
            cpu_s=report.cpu_s,
            warnings=tuple(_warnings(report, load)),
        )

    def condensed(self, stdout: str, load: Load, *, coarse: bool = False) -> str:
        """Return it without the bins of which it has the HdrHistogram text too; with `coarse`, its times have two digits."""
        report = report_of(stdout)
        for times in (report.response, report.service) if coarse else ():
            times.hdr = coarser(times.hdr, _COARSE_DIGITS) if times.hdr else ""
        for bins in (report.response, report.service, report.lateness):
            bins.ns = [] if bins.hdr else bins.ns
        return report.model_dump_json()


def report_of(stdout: str) -> PaceloadReport:
    """Return the parsed report of paceload.

    Raises
    ------
    GeneratorError
        When it is not one complete report.
    """
    try:
        return PaceloadReport.model_validate(json.loads(stdout))
    except (ValidationError, ValueError) as error:
        raise GeneratorError(f"paceload printed no complete report: {str(error).splitlines()[0]}") from error


def _warnings(report: PaceloadReport, load: Load) -> list[str]:
    found = []
    if load.rate_rps and report.late_share > MOST_LATE_SHARE:
        p99_us = histograms.percentiles(*report.lateness.in_us.arrays, (99.0,))[0]
        found.append(
            f"{report.late_share:.1%} of the sends were more than {LATE_S * 1000:g} ms late (99 % within {p99_us:.0f} µs)"
        )
    if load.rate_rps and report.completed < LEAST_OFFERED * report.scheduled:
        found.append(f"only {report.completed / max(1, report.scheduled):.1%} of the scheduled requests were completed")
    if report.elapsed_s > report.duration_s + load.timeout_s + _END_TOLERANCE_S:
        found.append(f"the window lasted {report.elapsed_s:.2f} s instead of {report.duration_s:g} s")
    if not report.completed:
        found.append("no request was completed")
    return found
