"""perf-gauge: a fixed number of clients that each send at their share of a rate, with or without keep-alive.

It prints percentiles only. But what it pushes to a Prometheus gateway is its whole histogram, a bucket for each value that
occurred; ``perf_gauge_push.py`` starts it, stands in for the gateway, and prints the push as text. So windows can be merged.

What perf-gauge 0.1.20 measures, from its src/bench_run.rs, rate_limiter.rs, http_bench_session.rs and metrics.rs:

- The clock starts when a client hands the request over, *after* it has waited for the rate limiter, and ends with the body.
  It is a service time: a request that could not be sent on schedule because the one before was slow does not show its
  wait (coordinated omission). Opening the connection is within it, so without keep-alive every time includes a handshake.
- Each client is closed: one request at a time. Its share of the rate is cut to whole requests per second; with g the
  greatest common divisor of that number and 1000, it gets a g-th of it, 1 % more from 100 on, every 1000 / g ms, and sends
  these back to back. A client that falls behind saves up to 100 such portions and sends them as fast as it can; what is
  more is never sent. So a rate that cannot be reached ends as a closed loop at full load, with less than the offered rate.
- The limiter hands out the first portion after the first interval, and then wakes about 1 ms late each time without making
  up for it. Tried on an idle server: 500 per second and client (1 every 2 ms) became 333, 350 (7 every 20 ms) 323. Short
  intervals miss the rate, long ones send in bursts, and the achieved rate is the one to report.
- Each measurement goes through a queue of 1000 to the one task that collects them; what finds it full is lost. They are
  counted here (``lost``): they were completed, but their status, bytes and time are unknown.
- The first request that is slower than the timeout ends the whole run, of all clients, and is counted nowhere.
- A connection that is refused or lost counts as a request, with the error's text for a status; its time is in the printed
  latencies, together with those of responses other than 2xx.
- Bytes are those of bodies, without headers.
- Its histogram (the crate histogram 0.6) rounds times from 1 ms on up by at most 0.2 %; below, they are whole microseconds.
- It uses a thread for each CPU that it may run on, whatever is requested.
"""

from __future__ import annotations

import math
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from runners.core.load import LEAST_OFFERED, LOAD_FOLDER, GeneratorError, Load, LoadErrors, LoadResult
from runners.core.request import Request
from runners.generators.perf_gauge_report import PerfGaugeReport, Push, is_status, parse_report
from runners.stats.histograms import merge

_SCRIPT = Path(__file__).with_name("perf_gauge_push.py")
_STEPS = _SCRIPT.with_name("steps.py")
_LOGGING = Path(__file__).with_name("log4rs.yaml")
_BODY = "body"
_END_TOLERANCE_S = 0.25
# A rate that is cut by more than this is not the requested one.
_RATE_TOLERANCE = 0.01
# Requests per second of one client that it sends one by one, in ticks of whole milliseconds; and how late each of them is.
_TICKS_HZ = (1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 125, 200)
_LATE_S = 0.0016
# Requests that may come at once, where shorter ticks can avoid more.
_BURST = 40


class PerfGauge:
    """Clients that send at a rate, or as fast as they can, over HTTP/1.1."""

    name: str = "perf-gauge"
    packages: tuple[str, ...] = ("python3",)
    built_by: str | None = "perf-gauge"
    clock: str | None = None
    opens_first: bool = False
    ends_itself: bool = False
    reports_cpu: bool = False

    def prepare(self, request: Request, folder: Path) -> None:
        """Write the script, the body of the request, and how perf-gauge is to log."""
        for file in (_SCRIPT, _STEPS):
            shutil.copyfile(file, folder / file.name)
        (folder / "config").mkdir(exist_ok=True)
        shutil.copyfile(_LOGGING, folder / "config" / _LOGGING.name)
        (folder / _BODY).write_bytes(request.body)

    def command(self, request: Request, load: Load, host: str, port: int) -> list[str]:
        """Return the arguments of one window; see :class:`runners.core.load.Generator`."""
        if not request.plain:
            raise GeneratorError(f"perf-gauge sends one request without headers of its own; use wrk for {request.path}")
        if load.connections < 1 or load.duration_s <= 0 or load.timeout_s <= 0:
            raise GeneratorError("perf-gauge needs a client, a duration and a timeout above 0 s")
        if load.keepalive_requests not in (None, 1):
            raise GeneratorError("perf-gauge keeps connections or closes them after each request, nothing between")
        if not re.fullmatch(r"/[!-~]*", request.path):
            raise GeneratorError(f"not a path that perf-gauge can request: {request.path!r}")
        command = ["python3", f"{LOAD_FOLDER}/{_SCRIPT.name}", "--concurrency", str(load.connections)]
        command += ["--duration", _milliseconds(load.duration_s), "--request_timeout", _milliseconds(load.timeout_s)]
        if load.rate_rps is not None:
            offered, requested = portion(load).rate_rps * load.connections, load.requested_rps or load.rate_rps
            if abs(offered / requested - 1) > _RATE_TOLERANCE:
                raise GeneratorError(
                    f"perf-gauge would offer {offered:g} requests per second instead of {requested:g}: "
                    f"choose a whole number for each of the {load.connections} clients"
                )
            command += ["--rate", f"{requested:.12g}"]
        command += ["http", "--method", request.method]
        if load.keepalive_requests is None:
            command.append("--conn_reuse")
        if request.body or request.method not in ("GET", "HEAD"):
            command += ["--header", f"Content-Type:{request.content_type}", "--body", f"file://{LOAD_FOLDER}/{_BODY}"]
        return [*command, f"http://{host}:{port}{request.path}"]

    def libraries(self, request: Request) -> tuple[str, ...]:
        """Return none; see :meth:`runners.core.load.Generator.libraries`."""
        return ()

    def parse(self, stdout: str, load: Load) -> LoadResult:
        """Parse perf-gauge's report; see :class:`runners.core.load.Generator`.

        Times of requests that got no response are left out of ``service_time`` where perf-gauge has them apart.
        """
        report, push = parse_report(stdout)
        responses = {what: count for what, count in report.responses.items() if is_status(what)}
        early = report.duration_s < load.duration_s - _END_TOLERANCE_S
        without_response = {what: count for what, count in report.responses.items() if what not in responses}
        refused_count = sum(count for what, count in without_response.items() if "connect error" in what)
        errors = LoadErrors(
            connect_count=refused_count,
            read_count=sum(without_response.values()) - refused_count,
            timeout_count=int(early),
            status_count=sum(count for what, count in responses.items() if not what.startswith("2")),
        )
        return LoadResult(
            requests_count=sum(responses.values()) + push.lost_count,
            duration_s=report.duration_s,
            read_bytes=report.body_bytes,
            connections_count=load.connections if responses else 0,
            errors=errors,
            service_time=push.succeeded if without_response else merge([push.succeeded, push.failed]),
            summary=report.summary,
            warnings=tuple(_warnings(load, report, push, errors)),
            bodies_only=True,
            unseen_count=push.lost_count,
        )

    def condensed(self, stdout: str, load: Load, *, coarse: bool = False) -> str:
        """Return all of it: its histogram is small."""
        return stdout


@dataclass(frozen=True)
class Portion:
    """The requests that each client may send at once, and how often (``rate_to_refill_amount_and_duration``)."""

    count: int
    every_ms: int

    @property
    def rate_rps(self) -> float:
        """Return the rate of one client, on average."""
        return self.count * 1000 / self.every_ms


def portion(load: Load) -> Portion:
    """Return perf-gauge's distribution of a rate over its clients."""
    share = (load.requested_rps or load.rate_rps or 0.0) / load.connections
    if share <= 0:
        raise GeneratorError("perf-gauge needs a rate above 0")
    if share <= 1:
        return Portion(1, int(1000 / share))
    divisor = math.gcd(int(share), 1000)
    return Portion(int(int(share) // divisor * 1.01), 1000 // divisor)


def paced(rate_rps: float) -> tuple[int, float]:
    """Return the clients that offer a rate, and the rate to request of them: their limiter runs late.

    Each client sends one request a tick. All clients tick together, so a tick is a burst of as many requests as there are
    clients: few clients with short ticks are nearer to an even stream, many with long ticks nearer to the requested rate. The
    lateness is known, the burst is not to be undone: so there are few clients, and a little more is requested.
    """
    if rate_rps <= 0:
        raise GeneratorError("perf-gauge needs a rate above 0")
    found = ((ticks, math.ceil(rate_rps * (1 / ticks + _LATE_S))) for ticks in _TICKS_HZ)
    ticks, clients = next((pair for pair in found if pair[1] <= _BURST), (0, 0))
    if not ticks:
        ticks = _TICKS_HZ[-1]
        clients = math.ceil(rate_rps * (1 / ticks + _LATE_S))
    return clients, float(ticks * clients)


def _milliseconds(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


def _warnings(load: Load, report: PerfGaugeReport, push: Push, errors: LoadErrors) -> list[str]:
    warnings: list[str] = []
    if load.rate_rps is not None:
        each = portion(load)
        if each.count > 1:
            warnings.append(f"each client sends {each.count} requests back to back every {each.every_ms} ms")
        achieved = (report.requests_count + push.lost_count) / report.duration_s / load.rate_rps
        if achieved < LEAST_OFFERED:
            warnings.append(
                f"only {achieved:.1%} of the offered rate were sent: the clients waited for responses, or the limiter ran late"
            )
    if errors.timeout_count:
        warnings.append(
            f"a request took longer than {load.timeout_s:g} s, which ended the run after {report.duration_s:.2f} s"
        )
    elif report.duration_s > load.duration_s + _END_TOLERANCE_S:
        warnings.append(f"the window lasted {report.duration_s:.2f} s instead of {load.duration_s:g} s")
    if push.lost_count:
        warnings.append(f"perf-gauge lost what it measured of {push.lost_count} requests: percentiles are doubtful")
    if report.requests_count == errors.connect_count + errors.read_count:
        warnings.append("no request was completed")
    if errors.connect_count + errors.read_count and errors.status_count:
        warnings.append(
            "responses other than 2xx are missing from the service times: they are mixed with lost connections"
        )
    return warnings
