"""wrk: as many requests as a fixed number of connections can make, one at a time each.

wrk prints a summary for people; ``wrk.lua`` adds one line for programs, with exact numbers and the whole histogram.
Both are parsed, and must agree as far as the printed digits go.

What wrk 4.1.0 counts, from its src/wrk.c:

- A response slower than the timeout is completed *and* a timeout, and is missing from the histogram. A request that is
  never responses counts nowhere.
- Statuses of 400 and more are counted; redirects pass.
- Each thread opens connections // threads. One that cannot be opened, for example for want of file descriptors, is a
  connect error and not tried again. One that is refused, or lost, is tried again at once, and fails as read or write.
- Each thread makes all its connections before it sends the first request; the printed duration includes that.
- A response that closes its connection is followed by a new connection. Its time counts in the throughput, but not in the latencies.
- Over TLS, a new connection resumes the session of the one before it, where the server allows that.
- The end of the window is noticed up to 100 ms late (``RECORD_INTERVAL_MS``); the printed duration includes that.
"""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

from runners.core.histogram import Histogram
from runners.core.load import LOAD_FOLDER, GeneratorError, Load, LoadResult
from runners.core.request import Request
from runners.generators import wrk_mix
from runners.generators.wrk_exact import COARSE_PARTS, PARTS, Exact, Statistics, condense, parse_exact, without_line
from runners.generators.wrk_text import Rounded, Spread, WrkText, parse_text

_SCRIPT = Path(__file__).with_name("wrk.lua")
_BODY = "body"
_FORGETS_SESSIONS = "/build/forget_sessions.so"
_END_TOLERANCE_S = 0.25


class Wrk:
    """A closed loop over HTTP/1.1 with keep-alive."""

    name: str = "wrk"
    packages: tuple[str, ...] = ("wrk",)
    built_by: str | None = "wrk"
    clock: str | None = "/build/clock.so"
    opens_first: bool = True
    ends_itself: bool = False
    reports_cpu: bool = False

    def prepare(self, request: Request, folder: Path) -> None:
        """Write the script, and the body of the request or what a mix needs."""
        shutil.copyfile(_SCRIPT, folder / _SCRIPT.name)
        (folder / _BODY).write_bytes(request.body)
        if request.mix:
            wrk_mix.write(request.mix, folder)

    def command(self, request: Request, load: Load, host: str, port: int) -> list[str]:
        """Return the arguments of one window; see :class:`runners.core.load.Generator`.

        wrk prints everything, done() included, after SIGINT as well: tried with 4.1.0 after 0.05, 0.4 and 1.5 s, with
        1 and 40 threads. The duration it then prints is the real one.
        """
        if not 1 <= load.threads <= load.connections:
            raise GeneratorError(f"wrk needs a connection for each thread: {load.connections} for {load.threads}")
        if load.duration_s <= 0 or load.timeout_s < 1 or load.timeout_s % 1:
            raise GeneratorError(
                "wrk needs a duration above 0 s and a timeout in whole seconds, not "
                f"{load.duration_s} s and {load.timeout_s} s"
            )
        if load.rate_rps is not None or load.keepalive_requests is not None:
            raise GeneratorError("wrk neither sends at a given rate nor closes connections")
        requests = request.mix.requests.values() if request.mix else [request]
        for each in requests:
            if not re.fullmatch(r"/[!-~]*", each.path):
                raise GeneratorError(f"not a path that wrk can request: {each.path!r}")
        origin = f"{'https' if request.tls else 'http'}://{host}:{port}"
        command = ["wrk", "--threads", str(load.threads), "--connections", str(load.connections)]
        command += ["--duration", f"{math.ceil(load.duration_s)}s", "--timeout", f"{load.timeout_s:.0f}s", "--latency"]
        command += [word for name, value in request.headers for word in ("--header", f"{name}: {value}")]
        if request.mix:
            script, url = f"{LOAD_FOLDER}/{wrk_mix.SCRIPT.name}", f"{origin}/"
            return [*command, "--script", script, url, "--", f"{LOAD_FOLDER}/{wrk_mix.MIX_FILE}"]
        command += ["--script", f"{LOAD_FOLDER}/{_SCRIPT.name}", f"{origin}{request.path}"]
        command += ["--", request.method]
        if request.body or request.method not in ("GET", "HEAD"):
            command += [request.content_type, f"{LOAD_FOLDER}/{_BODY}"]
        return command

    def libraries(self, request: Request) -> tuple[str, ...]:
        """Return the library that makes it forget its TLS sessions, where each request needs a full handshake."""
        return (_FORGETS_SESSIONS,) if request.tls == "full" else ()

    def parse(self, stdout: str, load: Load) -> LoadResult:
        """Parse wrk's report; see :class:`runners.core.load.Generator`.

        ``service_time`` is recovered from the printed histogram (``corrected``), as
        :func:`runners.stats.histograms.recover` explains.
        """
        text, exact = parse_text(without_line(stdout)), parse_exact(stdout)
        if (text.threads_count, text.connections_count) != (load.threads, load.connections):
            raise GeneratorError(
                f"wrk was told to keep {load.threads} threads and {load.connections} connections, but "
                f"reports {text.threads_count} and {text.connections_count}"
            )
        if exact.duration_us / 1e6 <= load.ramp_up_s:
            raise GeneratorError("wrk ended before its connections were open")
        if wrong := _contradictions(text, exact):
            raise GeneratorError(f"what wrk printed and what its script saw differ: {'; '.join(wrong)}")
        latency, expected_us = exact.latency, _expected_interval_us(exact, load)
        try:
            service_time = latency.in_us(latency.recovered(expected_us))
        except ValueError as error:
            raise GeneratorError(f"wrk's latencies: {error}") from error
        return LoadResult(
            requests_count=exact.requests_count,
            duration_s=exact.duration_us / 1e6 - load.ramp_up_s,
            read_bytes=exact.read_bytes,
            connections_count=max(0, _planned_count(load) - exact.errors.connect_count),
            errors=exact.errors,
            service_time=service_time,
            corrected=latency.by_us,
            warnings=tuple(_warnings(exact, load, service_time)),
            sent_counts=wrk_mix.sent_counts(stdout, exact.requests_count, load.connections + exact.errors.total_count),
        )

    def condensed(self, stdout: str, load: Load, *, coarse: bool = False) -> str:
        """Return a shorter form of the output; see :func:`runners.generators.wrk_exact.condense`."""
        return condense(stdout, _expected_interval_us(parse_exact(stdout), load), COARSE_PARTS if coarse else PARTS)


def _contradictions(text: WrkText, exact: Exact) -> list[str]:
    """Return the differences between the printed text and the exact line beyond the rounding of the text."""
    duration_s = exact.duration_us / 1e6
    percentiles = text.percentiles_s.items()
    wrong = [
        f"{what}: {printed} and {seen}"
        for what, printed, seen in (
            ("requests", text.requests_count, exact.requests_count),
            ("errors", text.errors, exact.errors),
            ("latency distribution", bool(percentiles), True),
        )
        if printed != seen
    ]
    rounded = [
        ("duration", text.duration_s, duration_s),
        ("bytes", text.read_bytes, exact.read_bytes),
        ("requests per second", text.throughput_rps, exact.requests_count / duration_s),
        ("bytes per second", text.transfer_bytes_per_s, exact.read_bytes / duration_s),
        *(
            (f"{q:g} % of latency", at.within(exact.latency.tolerance_us * 1e-6), exact.latency.percentile_us(q) * 1e-6)
            for q, at in percentiles
        ),
        *_spread("latency", text.latency_s, exact.latency, 1e-6),
        *_spread("thread rate", text.thread_rps, exact.thread_rate, 1.0),
    ]
    return wrong + [f"{what}: {at.value:g} and {seen:g}" for what, at, seen in rounded if not at.admits(seen)]


def _spread(what: str, printed: Spread, seen: Statistics, unit: float) -> list[tuple[str, Rounded, float]]:
    return [
        (f"mean {what}", printed.mean, seen.mean * unit),
        (f"standard deviation of {what}", printed.stddev, seen.stdev * unit),
        (f"largest {what}", printed.max, seen.max * unit),
    ]


def _expected_interval_us(exact: Exact, load: Load) -> int | None:
    """Return the interval of wrk's correction, from the requested connections; None where wrk corrects nothing."""
    rounds = exact.requests_count // load.connections
    return exact.duration_us // rounds if rounds else None


def _planned_count(load: Load) -> int:
    return load.connections // load.threads * load.threads


def _warnings(exact: Exact, load: Load, service_time: Histogram) -> list[str]:
    warnings = []
    errors, planned = exact.errors, _planned_count(load)
    duration_s = exact.duration_us / 1e6 - load.ramp_up_s
    if planned != load.connections:
        warnings.append(f"wrk used {planned} connections, not {load.connections}: each thread has the same number")
    if abs(duration_s - load.duration_s) > _END_TOLERANCE_S:
        warnings.append(f"the window lasted {duration_s:.2f} s instead of {load.duration_s:g} s")
    if not exact.requests_count:
        warnings.append("no request was completed")
    if errors.connect_count:
        warnings.append(f"{errors.connect_count} connections could not be opened (is the limit of open files too low?)")
    if errors.timeout_count:
        late = f"{errors.timeout_count} responses took longer than {load.timeout_s:g} s"
        warnings.append(f"{late} and are not among the service times")
    expected = exact.requests_count - errors.timeout_count
    if service_time.total_count != expected:
        warnings.append(f"recovered {service_time.total_count} service times of {expected}: percentiles are doubtful")
    return warnings
