"""autocannon: as many requests as a fixed number of connections can make, one at a time each, from Node.

autocannon's result has latencies in whole milliseconds; ``autocannon.js`` runs it through its programming interface and
keeps the whole histogram in microseconds. Result, tables and histogram are parsed, and must agree.

What autocannon 9.0.0 counts, from its lib/run.js, lib/httpClient.js, lib/pipelinedRequestsQueue.js, lib/histUtil.js:

- A latency is taken from before the request is written to the end of the response, with ``process.hrtime``; recording it
  in its histogram cuts it down to whole milliseconds. The printed average is that of what is left, rounded up: "0.01 ms"
  says that at most one response in a hundred took a millisecond, not that responses took 10 µs.
- "requests in 11.01s" are requests *sent*. The duration is rounded to 10 ms, and the end is noticed at the next sample of
  the rates: by default once a second, so 10 s become 11 s. Here it is every 100 ms.
- A connection that is refused is tried again at once, for ever. So is one that is lost; the request that was under way
  stays in its queue, and from then on that connection's latencies count from one request too early.
- A response slower than the timeout counts as nothing but a timeout; its connection is opened anew.
- With ``reconnectRate`` the response after which it reconnects is not counted: without keep-alive it counts none. With
  ``overallRate`` each connection sends its requests of a second back to back and then waits for the next second, and the
  correction for coordinated omission takes 1 ms as the expected interval whatever the rate. Neither is offered here.
- Each worker thread opens connections // workers.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from runners.core.histogram import Histogram
from runners.core.load import LOAD_FOLDER, GeneratorError, Load, LoadErrors, LoadResult
from runners.core.request import Request
from runners.generators.autocannon_text import AutocannonText, parse_text
from runners.generators.steps import parse_steps
from runners.stats import histograms

_SCRIPT = Path(__file__).with_name("autocannon.js")
_BODY = "body"
_SAMPLE_MS = 100
_END_TOLERANCE_S = 0.25


class Autocannon:
    """A closed loop over HTTP/1.1 with keep-alive."""

    name: str = "autocannon"
    packages: tuple[str, ...] = ("nodejs",)
    built_by: str | None = "autocannon"
    clock: str | None = None
    opens_first: bool = False
    ends_itself: bool = True
    reports_cpu: bool = False

    def prepare(self, request: Request, folder: Path) -> None:
        """Write the script and the body of the request."""
        shutil.copyfile(_SCRIPT, folder / _SCRIPT.name)
        (folder / _BODY).write_bytes(request.body)

    def command(self, request: Request, load: Load, host: str, port: int) -> list[str]:
        """Return the arguments of one window; see :class:`runners.core.load.Generator`."""
        if not request.plain:
            raise GeneratorError(f"autocannon sends one request without headers of its own; use wrk for {request.path}")
        if not 1 <= load.threads <= load.connections:
            raise GeneratorError(
                f"autocannon needs a connection for each thread: {load.connections} for {load.threads}"
            )
        if load.duration_s <= 0 or load.timeout_s <= 0:
            raise GeneratorError("autocannon needs a duration and a timeout above 0 s")
        if load.rate_rps is not None or load.keepalive_requests is not None:
            raise GeneratorError("autocannon neither offers a rate evenly nor counts all responses when it reconnects")
        if not re.fullmatch(r"/[!-~]*", request.path):
            raise GeneratorError(f"not a path that autocannon can request: {request.path!r}")
        options: dict[str, object] = {"url": f"http://{host}:{port}{request.path}", "method": request.method}
        options |= {"connections": load.connections, "duration": load.duration_s, "timeout": load.timeout_s}
        options |= {"sampleInt": _SAMPLE_MS}
        if load.threads > 1:
            options["workers"] = load.threads
        if request.body or request.method not in ("GET", "HEAD"):
            options |= {"headers": {"Content-Type": request.content_type}, "body": f"{LOAD_FOLDER}/{_BODY}"}
        return ["node", f"{LOAD_FOLDER}/{_SCRIPT.name}", json.dumps(options)]

    def libraries(self, request: Request) -> tuple[str, ...]:
        """Return none; see :meth:`runners.core.load.Generator.libraries`."""
        return ()

    def parse(self, stdout: str, load: Load) -> LoadResult:
        """Parse autocannon's report; see :class:`runners.core.load.Generator`."""
        text, result, seen = parse_text(stdout), _result(_line("autocannon", stdout)), _seen(_line("wrkbook", stdout))
        if (text.connections_count, text.workers_count or 1) != (load.connections, load.threads):
            raise GeneratorError(
                f"autocannon was told to keep {load.connections} connections and {load.threads} threads, but "
                f"reports {text.connections_count} and {text.workers_count or 1}"
            )
        if wrong := [*_printed_otherwise(text, result), *_recorded_otherwise(result, seen)]:
            raise GeneratorError(f"what autocannon printed and what its script saw differ: {'; '.join(wrong)}")
        return LoadResult(
            requests_count=result.requests_count,
            duration_s=result.duration_s,
            read_bytes=result.read_bytes,
            connections_count=seen.connected_count,
            errors=LoadErrors(**seen.errors, status_count=result.non_2xx_count),
            service_time=seen.histogram,
            summary=text.latency,
            warnings=tuple(_warnings(load, result, seen)),
        )

    def condensed(self, stdout: str, load: Load, *, coarse: bool = False) -> str:
        """Return all of it: its histogram is small."""
        return stdout


@dataclass(frozen=True)
class _Result:
    """The line with autocannon's own result, as far as it is used."""

    requests_count: int
    sent_count: int
    latencies_count: int
    latency_mean_ms: float
    duration_s: float
    rounded_duration_s: float
    read_bytes: int
    errors_count: int
    timeouts_count: int
    non_2xx_count: int
    fields: dict[str, Any]


@dataclass(frozen=True)
class _Seen:
    """The line with what autocannon.js recorded, over all threads."""

    histogram: Histogram
    errors: dict[str, int]
    connected_count: int


def _line(marker: str, stdout: str) -> str:
    lines = [line.removeprefix(f"{marker} ") for line in stdout.splitlines() if line.startswith(f"{marker} ")]
    if len(lines) != 1:
        raise GeneratorError(f"expected one line of {_SCRIPT.name} that starts with {marker}, found {len(lines)}")
    return lines[0]


def _result(line: str) -> _Result:
    try:
        fields = json.loads(line)
        took = datetime.fromisoformat(fields["finish"]) - datetime.fromisoformat(fields["start"])
        result = _Result(
            requests_count=int(fields["requests"]["total"]),
            sent_count=int(fields["requests"]["sent"]),
            latencies_count=int(fields["latency"]["totalCount"]),
            latency_mean_ms=float(fields["latency"]["average"]),
            duration_s=took.total_seconds(),
            rounded_duration_s=float(fields["duration"]),
            read_bytes=int(fields["throughput"]["total"]),
            errors_count=int(fields["errors"]),
            timeouts_count=int(fields["timeouts"]),
            non_2xx_count=int(fields["non2xx"]),
            fields=fields,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise GeneratorError(f"autocannon's result is damaged: {error!r}") from error
    if result.duration_s <= 0:
        raise GeneratorError("autocannon reports a window without duration")
    return result


def _seen(line: str) -> _Seen:
    counts: Counter[int] = Counter()
    errors: Counter[str] = Counter()
    try:
        threads = json.loads(line)
        for thread in threads:
            read = parse_steps(thread["histogram_us"])
            counts.update(dict(zip(read.values_us, read.counts, strict=True)))
            errors.update({f"{kind}_count": int(count) for kind, count in thread["errors"].items()})
        connected = sum(int(thread["connected"]) for thread in threads)
        LoadErrors(**errors)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise GeneratorError(f"what {_SCRIPT.name} recorded is damaged: {error!r}") from error
    values = tuple(sorted(counts))
    return _Seen(Histogram(values, tuple(counts[value] for value in values)), dict(errors), connected)


def _printed_otherwise(text: AutocannonText, result: _Result) -> list[str]:
    latency = result.fields["latency"]
    printed = [text.latency.percentiles_s[50.0], text.latency.percentiles_s[99.0], text.latency.mean_s]
    pairs = [
        ("duration", text.duration_s, result.rounded_duration_s),
        ("latencies", printed, [latency[name] / 1e3 for name in ("p50", "p99", "average")]),
        ("non-2xx responses", text.non_2xx_count, result.non_2xx_count),
    ]
    rounded = [
        ("requests sent", text.sent_count, result.sent_count),
        ("bytes", text.read_bytes, result.read_bytes),
        ("errors", text.errors_count, result.errors_count),
        ("timeouts", text.timeouts_count, result.timeouts_count),
    ]
    wrong = [f"{what}: {one} and {other}" for what, one, other in pairs if one != other]
    return wrong + [f"{what}: {one.value:g} and {other}" for what, one, other in rounded if not one.admits(other)]


def _recorded_otherwise(result: _Result, seen: _Seen) -> list[str]:
    counts = seen.histogram.counts
    # autocannon.js records the latency that autocannon then cuts down: their means after that must be the same.
    cut = histograms.mean([value // 1000 for value in seen.histogram.values_us], counts) if counts else 0.0
    pairs = [
        ("responses", seen.histogram.total_count, result.requests_count),
        ("latencies", seen.histogram.total_count, result.latencies_count),
        ("errors", sum(seen.errors.values()), result.errors_count),
        ("timeouts", seen.errors.get("timeout_count", 0), result.timeouts_count),
    ]
    wrong = [f"{what}: {one} and {other}" for what, one, other in pairs if one != other]
    # Its histogram keeps five significant digits; the average is rounded up to two decimals.
    if not -1e-9 <= result.latency_mean_ms - cut * (1 - 1e-5) <= 0.01 + 2e-5 * cut + 1e-9:
        wrong.append(f"mean latency in ms: {cut:g} and {result.latency_mean_ms:g}")
    if abs(result.duration_s - result.rounded_duration_s) > 0.02:
        wrong.append(f"duration: {result.duration_s:g} s and {result.rounded_duration_s:g} s")
    return wrong


def _warnings(load: Load, result: _Result, seen: _Seen) -> list[str]:
    warnings = []
    planned = load.connections // load.threads * load.threads
    if planned != load.connections:
        warnings.append(
            f"autocannon used {planned} connections, not {load.connections}: each thread has the same number"
        )
    if abs(result.duration_s - load.duration_s) > _END_TOLERANCE_S:
        warnings.append(f"the window lasted {result.duration_s:.2f} s instead of {load.duration_s:g} s")
    if not result.requests_count:
        warnings.append("no request was completed")
    if seen.connected_count < planned:
        warnings.append(f"{planned - seen.connected_count} connections could not be opened")
    if result.timeouts_count:
        late = f"{result.timeouts_count} responses took longer than {load.timeout_s:g} s"
        warnings.append(f"{late} and are not among the service times")
    if result.errors_count > result.timeouts_count and result.requests_count:
        warnings.append("connections were lost: service times after that count from one request too early")
    return warnings
