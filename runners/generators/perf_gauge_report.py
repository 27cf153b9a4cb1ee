"""The output of perf-gauge: its printed statistics, its JSON log, and its pushed histograms."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from runners.core.histogram import Histogram
from runners.core.load import GeneratorError, LatencySummary
from runners.generators.steps import parse_steps
from runners.generators.wrk_text import Rounded


def parse_report(stdout: str) -> tuple[PerfGaugeReport, Push]:
    """Parse the log and the push, which must agree with one another and with the printed statistics.

    Raises
    ------
    GeneratorError
        When something is missing, damaged, or differs by more than its printed digits.
    """
    text, report, push = parse_text(stdout), _report(stdout), _push(stdout)
    if wrong := [*_printed_otherwise(text, report), *_pushed_otherwise(report, push)]:
        raise GeneratorError(f"what perf-gauge printed, logged and pushed differ: {'; '.join(wrong)}")
    return report, push


def is_status(what: str) -> bool:
    """Return whether a line of the summary is a status (``404 Not Found``) and not an error's text."""
    return re.match(r"[1-5][0-9][0-9]\b", what) is not None


@dataclass(frozen=True)
class PerfGaugeReport:
    """The line of JSON that perf-gauge logs: what it prints, with all digits."""

    duration_s: float
    requests_count: int
    body_bytes: int
    responses: dict[str, int]
    latencies_s: dict[str, float]

    @property
    def summary(self) -> LatencySummary:
        """Return the latencies by their meaning."""
        return summary_of(self.latencies_s)


@dataclass(frozen=True)
class Push:
    """The metrics that perf-gauge pushed, and the number of measurements that it lost before."""

    requests_count: int
    body_bytes: int
    succeeded: Histogram
    failed: Histogram
    lost_count: int


def _report(stdout: str) -> PerfGaugeReport:
    try:
        fields = json.loads(_line("report", stdout))["combined"]
        report = PerfGaugeReport(
            duration_s=fields["duration"]["secs"] + fields["duration"]["nanos"] / 1e9,
            requests_count=int(fields["total_requests"]),
            body_bytes=int(fields["total_bytes"]),
            responses={str(what): int(count) for what, count in fields["response_code_summary"]},
            latencies_s={str(name): int(us) / 1e6 for name, us in fields["latency_summary"]},
        )
        summary_of(report.latencies_s)
    except (ValueError, KeyError, TypeError) as error:
        raise GeneratorError(f"perf-gauge's report is damaged: {error!r}") from error
    if report.duration_s <= 0:
        raise GeneratorError("perf-gauge reports a window without duration")
    return report


def _push(stdout: str) -> Push:
    try:
        fields = json.loads(_line("pushed", stdout))
        return Push(
            requests_count=int(fields["requests"]),
            body_bytes=int(fields["bytes"]),
            succeeded=parse_steps(fields["succeeded_us"]),
            failed=parse_steps(fields["failed_us"]),
            lost_count=int(_line("lost", stdout)),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise GeneratorError(f"what perf-gauge pushed is damaged: {error!r}") from error


def _line(marker: str, stdout: str) -> str:
    lines = [line.removeprefix(f"{marker} ") for line in stdout.splitlines() if line.startswith(f"{marker} ")]
    if len(lines) != 1:
        raise GeneratorError(f"expected one line that starts with {marker} in perf-gauge's output, found {len(lines)}")
    return lines[0]


def _printed_otherwise(text: PerfGaugeText, report: PerfGaugeReport) -> list[str]:
    pairs = [("requests", text.requests_count, report.requests_count), ("responses", text.responses, report.responses)]
    rounded = [
        ("duration", text.duration_s, report.duration_s),
        ("requests per second", text.throughput_rps, report.requests_count / report.duration_s),
        ("bytes", text.body_bytes, report.body_bytes),
        ("bits per second", text.body_bits_per_s, report.body_bytes * 8 / report.duration_s),
        *((f"latency {name}", at, report.latencies_s[name]) for name, at in text.latencies_s.items()),
    ]
    wrong = [f"{what}: {one} and {other}" for what, one, other in pairs if one != other]
    return wrong + [f"{what}: {one.value:g} and {other:g}" for what, one, other in rounded if not one.admits(other)]


def _pushed_otherwise(report: PerfGaugeReport, push: Push) -> list[str]:
    samples = push.succeeded.total_count + push.failed.total_count
    succeeded = sum(count for what, count in report.responses.items() if is_status(what) and what.startswith("2"))
    pairs = [
        ("requests", report.requests_count, push.requests_count),
        ("responses", report.requests_count, sum(report.responses.values())),
        ("bytes", report.body_bytes, push.body_bytes),
        ("latencies", report.requests_count, samples),
        ("latencies of responses 2xx", succeeded, push.succeeded.total_count),
    ]
    return [f"{what}: {one} and {other}" for what, one, other in pairs if one != other]


_DURATIONS = {"ns": -9, "µs": -6, "ms": -3, "s": 0}
_PERCENTILES = {"Min": 0.0, "p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9, "p99.99": 99.99}
LATENCIES = (*_PERCENTILES, "Max", "Mean", "StdDev", "tm95", "tm99", "tm99.9")
"""The lines of the latency table, in their order."""


@dataclass(frozen=True)
class PerfGaugeText:
    """perf-gauge's printed statistics, in seconds, bytes and counts.

    Attributes
    ----------
    requests_count : int
        Responses of any status and failed requests.
    success_fraction : Rounded
        Responses of status 2xx; NaN where there were none at all.
    body_bytes : Rounded
        Bytes of the bodies alone.
    responses : dict[str, int]
        Count by status line (``200 OK``) or by what failed.
    latencies_s : dict[str, Rounded]
        Name of the line → latency.
    """

    name: str
    duration_s: Rounded
    requests_count: int
    throughput_rps: Rounded
    success_fraction: Rounded
    body_bytes: Rounded
    body_bits_per_s: Rounded
    responses: dict[str, int]
    latencies_s: dict[str, Rounded]

    @property
    def summary(self) -> LatencySummary:
        """Return the latencies by their meaning."""
        return summary_of({name: at.value for name, at in self.latencies_s.items()})


def summary_of(latencies_s: dict[str, float]) -> LatencySummary:
    """Return the lines of the latency table by their meaning; the minimum is percentile 0."""
    return LatencySummary(
        {percentage: latencies_s[name] for name, percentage in _PERCENTILES.items()},
        latencies_s["Mean"],
        latencies_s["StdDev"],
        latencies_s["Max"],
    )


def parse_text(text: str) -> PerfGaugeText:
    """Read one report of perf-gauge 0.1.20; lines around it do not matter.

    Raises
    ------
    GeneratorError
        When a line is missing, appears twice, or has a number that perf-gauge would not print.
    """
    size, unit = _only(r"Total bytes: (\S+) ([KMGTPE]?i?B)", text, "total bytes").groups()
    base = 1024 if unit.endswith("iB") else 1000
    return PerfGaugeText(
        name=_only(r"Test: (.+)", text, "the name of the test")[1],
        duration_s=_duration(_only(r"Duration (\S+)", text, "the duration")[1]),
        requests_count=int(_only(r"Requests: (\d+)", text, "requests")[1]),
        throughput_rps=_rounded(_only(r"Request rate: (\S+) per second", text, "the rate of requests")[1]),
        success_fraction=_rounded(_only(r"Success rate: (\S+)%", text, "the rate of success")[1], 0.01),
        body_bytes=_rounded(size, base ** " KMGTPE".index(unit[0]) if unit != "B" else 1),
        body_bits_per_s=_rounded(_only(r"Bitrate: (\S+) Mbps", text, "the rate of bits")[1], 1e6),
        responses=_responses(text),
        latencies_s=_latencies(text),
    )


def _responses(text: str) -> dict[str, int]:
    block = re.search(r"^Summary:\n((?:.+: \d+\n)+)\n", text, re.MULTILINE)
    if block is None:
        if "Summary:" in text:
            raise GeneratorError("perf-gauge's summary of responses is damaged")
        return {}
    return {what: int(count) for what, _, count in (line.rpartition(": ") for line in block[1].splitlines())}


def _latencies(text: str) -> dict[str, Rounded]:
    block = _only(r"Latency:\n((?:\S+ *: *\S+s\n)+)", text, "latencies")
    pairs = [line.partition(":") for line in block[1].splitlines()]
    if tuple(name.strip() for name, _, _ in pairs) != LATENCIES:
        raise GeneratorError(f"perf-gauge's latencies are not the {len(LATENCIES)} lines that it prints")
    return {name.strip(): _duration(value.strip()) for name, _, value in pairs}


def _duration(printed: str) -> Rounded:
    number = re.fullmatch(r"([0-9.]+)(ns|µs|ms|s)", printed)
    if number is None:
        raise GeneratorError(f"not a duration that perf-gauge prints: {printed!r}")
    return _rounded(number[1], float(f"1e{_DURATIONS[number[2]]}"))


def _rounded(printed: str, unit: float = 1.0) -> Rounded:
    if printed == "NaN":
        return Rounded(float("nan"), 0.0)
    number = re.fullmatch(r"\d+(?:\.(\d+))?", printed)
    if number is None:
        raise GeneratorError(f"not a number that perf-gauge prints: {printed!r}")
    return Rounded(float(printed) * unit, unit / 2 / 10 ** len(number[1] or ""))


def _only(pattern: str, text: str, what: str) -> re.Match[str]:
    found = list(
        re.finditer(rf"^{pattern}[ \t]*$" if not pattern.endswith(")+)") else f"^{pattern}", text, re.MULTILINE)
    )
    if not found:
        raise GeneratorError(f"perf-gauge's output does not say: {what}")
    if len(found) > 1:
        raise GeneratorError(f"more than one output of perf-gauge: {what} twice")
    return found[0]
