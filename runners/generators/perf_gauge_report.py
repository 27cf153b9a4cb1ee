"""What perf-gauge reported of a run, three times: printed for people, logged as JSON, and pushed with its histograms."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from runners.generators import GeneratorError
from runners.generators.perf_gauge_text import PerfGaugeText, parse_text, summary_of
from runners.generators.steps import parse_steps
from runners.records import Histogram, LatencySummary


def parse_report(stdout: str) -> tuple[Report, Push]:
    """What was logged and what was pushed, which must agree with one another and with what was printed.

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
    """Whether a line of the summary is a status (``404 Not Found``) and not an error's text."""
    return re.match(r"[1-5][0-9][0-9]\b", what) is not None


@dataclass(frozen=True)
class Report:
    """The line of JSON that perf-gauge logs: what it prints, with all digits."""

    duration_s: float
    requests_count: int
    body_bytes: int
    answers: dict[str, int]
    latencies_s: dict[str, float]

    @property
    def summary(self) -> LatencySummary:
        """The latencies by their meaning."""
        return summary_of(self.latencies_s)


@dataclass(frozen=True)
class Push:
    """What perf-gauge pushed, and how many measurements it lost before."""

    requests_count: int
    body_bytes: int
    succeeded: Histogram
    failed: Histogram
    lost_count: int


def _report(stdout: str) -> Report:
    try:
        fields = json.loads(_line("report", stdout))["combined"]
        report = Report(
            duration_s=fields["duration"]["secs"] + fields["duration"]["nanos"] / 1e9,
            requests_count=int(fields["total_requests"]),
            body_bytes=int(fields["total_bytes"]),
            answers={str(what): int(count) for what, count in fields["response_code_summary"]},
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
            succeeded=Histogram(*parse_steps(fields["succeeded_us"])),
            failed=Histogram(*parse_steps(fields["failed_us"])),
            lost_count=int(_line("lost", stdout)),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise GeneratorError(f"what perf-gauge pushed is damaged: {error!r}") from error


def _line(marker: str, stdout: str) -> str:
    lines = [line.removeprefix(f"{marker} ") for line in stdout.splitlines() if line.startswith(f"{marker} ")]
    if len(lines) != 1:
        raise GeneratorError(f"expected one line that starts with {marker} in perf-gauge's output, found {len(lines)}")
    return lines[0]


def _printed_otherwise(text: PerfGaugeText, report: Report) -> list[str]:
    pairs = [("requests", text.requests_count, report.requests_count), ("answers", text.answers, report.answers)]
    rounded = [
        ("duration", text.duration_s, report.duration_s),
        ("requests per second", text.throughput_rps, report.requests_count / report.duration_s),
        ("bytes", text.body_bytes, report.body_bytes),
        ("bits per second", text.body_bits_per_s, report.body_bytes * 8 / report.duration_s),
        *((f"latency {name}", at, report.latencies_s[name]) for name, at in text.latencies_s.items()),
    ]
    wrong = [f"{what}: {one} and {other}" for what, one, other in pairs if one != other]
    return wrong + [f"{what}: {one.value:g} and {other:g}" for what, one, other in rounded if not one.admits(other)]


def _pushed_otherwise(report: Report, push: Push) -> list[str]:
    samples = push.succeeded.total_count + push.failed.total_count
    succeeded = sum(count for what, count in report.answers.items() if is_status(what) and what.startswith("2"))
    pairs = [
        ("requests", report.requests_count, push.requests_count),
        ("answers", report.requests_count, sum(report.answers.values())),
        ("bytes", report.body_bytes, push.body_bytes),
        ("latencies", report.requests_count, samples),
        ("latencies of answers 2xx", succeeded, push.succeeded.total_count),
    ]
    return [f"{what}: {one} and {other}" for what, one, other in pairs if one != other]
