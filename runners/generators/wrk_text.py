"""The summary that wrk prints for people, as printed: also for published outputs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from runners.core.load import GeneratorError, LoadErrors
from runners.core.units import parse_binary_size, parse_count, parse_duration

_NUMBER = re.compile(r"\d+(?:\.(\d+))?(\D*)")


@dataclass(frozen=True)
class Rounded:
    """A number as printed, with half a step of its last digit: ``1.39ms`` is 0.00139 s, give or take 0.000005 s."""

    value: float
    half_step: float

    def admits(self, exact: float) -> bool:
        """Return whether a number is printed like this."""
        # A little more than half a step: wrk rounds long doubles, and a tie may fall to either side.
        return abs(self.value - exact) <= self.half_step * 1.001

    def within(self, tolerance: float) -> Rounded:
        """Return the same, to compare with numbers that are known to within a tolerance."""
        return Rounded(self.value, self.half_step + tolerance)


@dataclass(frozen=True)
class Spread:
    """One line of ``Thread Stats``; ``within_stddev_fraction`` is NaN where there are no samples."""

    mean: Rounded
    stddev: Rounded
    max: Rounded
    within_stddev_fraction: float


@dataclass(frozen=True)
class WrkText:
    """wrk's printed summary, in seconds, bytes and requests per second.

    Attributes
    ----------
    connections_count : int
        Requested connections.
    latency_s : Spread
        Latencies after wrk's correction for coordinated omission.
    thread_rps : Spread
        Rates of single threads over 100 ms each.
    percentiles_s : dict[float, Rounded]
        Percentage → latency; empty without ``--latency``.
    """

    url: str
    threads_count: int
    connections_count: int
    latency_s: Spread
    thread_rps: Spread
    percentiles_s: dict[float, Rounded]
    requests_count: int
    duration_s: Rounded
    read_bytes: Rounded
    errors: LoadErrors
    throughput_rps: Rounded
    transfer_bytes_per_s: Rounded


def parse_text(text: str) -> WrkText:
    """Read one summary of wrk 4; lines around it do not matter.

    Raises
    ------
    GeneratorError
        When a line is missing, appears twice, or has a number that wrk would not print.
    """
    url = _only(r"Running \S+ test @ (\S+)", text, "what it runs")[0]
    threads, connections = _only(r"(\d+) threads and (\d+) connections", text, "threads and connections")
    requests, duration, size = _only(r"(\d+) requests in (\S+), (\S+) read", text, "completed requests")
    # The last two lines are printed only when there is something to say.
    socket_errors: tuple[str, ...] = ("0",) * 4
    status_errors: tuple[str, ...] = ("0",)
    if "Socket errors" in text:
        pattern = r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)"
        socket_errors = _only(pattern, text, "socket errors by kind")
    if "Non-2xx" in text:
        status_errors = _only(r"Non-2xx or 3xx responses: (\d+)", text, "how many statuses were errors")
    return WrkText(
        url=url,
        threads_count=int(threads),
        connections_count=int(connections),
        latency_s=_spread("Latency", text, parse_duration),
        thread_rps=_spread("Req/Sec", text, parse_count),
        percentiles_s=_percentiles(text),
        requests_count=int(requests),
        duration_s=_rounded(duration, parse_duration),
        read_bytes=_rounded(size, parse_binary_size),
        errors=LoadErrors(*(int(count) for count in [*socket_errors, *status_errors])),
        throughput_rps=_rounded(_only(r"(?:Requests|Req)/sec:\s*(\S+)", text, "requests per second")[0], parse_count),
        transfer_bytes_per_s=_rounded(_only(r"Transfer/sec:\s*(\S+)", text, "transfer rate")[0], parse_binary_size),
    )


def _percentiles(text: str) -> dict[float, Rounded]:
    if "Latency Distribution" not in text:
        return {}
    lines = re.findall(r"^\s*(\d+)%\s+(\S+)\s*$", text, re.MULTILINE)
    if [percentage for percentage, _ in lines] != ["50", "75", "90", "99"]:
        raise GeneratorError("wrk's latency distribution does not have its four lines: 50, 75, 90 and 99 %")
    return {float(percentage): _rounded(duration, parse_duration) for percentage, duration in lines}


def _spread(name: str, text: str, parse: Callable[[str], float]) -> Spread:
    mean, stddev, largest, within = _only(rf"{name}\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)%", text, f"{name} statistics")
    try:
        fraction = float(within) / 100
    except ValueError:
        raise GeneratorError(f"not a percentage: {within!r}") from None
    return Spread(_rounded(mean, parse), _rounded(stddev, parse), _rounded(largest, parse), fraction)


def _rounded(printed: str, parse: Callable[[str], float]) -> Rounded:
    number = _NUMBER.fullmatch(printed)
    if number is None:
        raise GeneratorError(f"not a number that wrk prints: {printed!r}")
    decimals, unit = number.groups(default="")
    try:
        return Rounded(parse(printed), _half_step(len(decimals), unit, parse))
    except ValueError as error:
        raise GeneratorError(f"in wrk's output: {error}") from error


@cache
def _half_step(decimals_count: int, unit: str, parse: Callable[[str], float]) -> float:
    return parse(f"1{unit}") / 2 / float(10**decimals_count)


def _only(pattern: str, text: str, what: str) -> tuple[str, ...]:
    """Return the groups of the one line that has a pattern."""
    found = list(re.finditer(rf"^\s*{pattern}\s*$", text, re.MULTILINE))
    if not found:
        raise GeneratorError(f"wrk's output does not say: {what}")
    if len(found) > 1:
        raise GeneratorError(f"more than one output of wrk: {found[0][0].strip()!r} and {found[1][0].strip()!r}")
    return found[0].groups()
