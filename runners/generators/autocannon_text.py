"""The tables that autocannon prints for people, as printed: also for published outputs."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from runners.core.load import GeneratorError, LatencySummary
from runners.generators.wrk_text import Rounded

_EXPONENTS = {"B": 0, "kB": 3, "MB": 6, "GB": 9, "TB": 12}
_LATENCY = ["Stat", "2.5%", "50%", "97.5%", "99%", "Avg", "Stdev", "Max"]
_RATES = ["Stat", "1%", "2.5%", "50%", "97.5%", "Avg", "Stdev", "Min"]


@dataclass(frozen=True)
class Samples:
    """A line of the second table: statistics of amounts in intervals of one length."""

    percentiles: dict[float, Rounded]
    mean: Rounded
    stddev: Rounded
    min: Rounded


@dataclass(frozen=True)
class AutocannonText:
    """autocannon's printed result, in seconds, bytes and counts.

    Attributes
    ----------
    planned_s : float
        The requested duration.
    latency : LatencySummary
        Latencies of responses, cut down to whole milliseconds before anything was calculated.
    requests, read_bytes_by_interval : Samples
        Statistics over the intervals of `interval_s`.
    sent_count : Rounded
        Requests *sent*: that is what "1202k requests" means; those under way at the end are among them.
    errors_count : Rounded
        Timeouts, and connections refused or lost.
    statuses : dict[int, int]
        Count by status, where ``--renderStatusCodes`` was given.
    """

    url: str
    planned_s: float
    connections_count: int
    workers_count: int
    latency: LatencySummary
    requests: Samples
    read_bytes_by_interval: Samples
    interval_s: float
    intervals_count: int
    sent_count: Rounded
    duration_s: float
    read_bytes: Rounded
    errors_count: Rounded
    timeouts_count: Rounded
    non_2xx_count: int
    mismatches_count: Rounded
    resets_count: Rounded
    statuses: dict[int, int]


def parse_text(text: str) -> AutocannonText:
    """Read one result of autocannon 7 to 9; lines around it do not matter.

    Raises
    ------
    GeneratorError
        When a line is missing, appears twice, or has a number that autocannon would not print.
    """
    planned, url = _only(r"Running (\S+)s test @ (\S+)", text, "what it runs")
    rows = _rows(text)
    sent, duration, size = _only(r"(\S+) requests in (\S+)s, (\S+ \S+) read", text, "requests and duration")
    every = _optional(r"Req/Bytes counts sampled every (\S+) seconds\.", text)
    errors = _optional(r"(\S+) errors \((\S+) timeouts\)", text) or ("0", "0")
    non_2xx = _optional(r"\d+ 2xx responses, (\d+) non 2xx responses", text) or ("0",)
    mismatches = _optional(r"(\S+) requests with mismatched body", text) or ("0",)
    resets = _optional(r"request pipeline was reset (\S+) times?", text) or ("0",)
    workers = _optional(r"(\d+) workers", text) or ("0",)
    return AutocannonText(
        url=url,
        planned_s=_number(planned),
        connections_count=int(_only(r"(\d+) connections(?: with .*)?", text, "connections")[0]),
        workers_count=int(workers[0]),
        latency=_latency(rows),
        requests=_samples(rows, "Req/Sec"),
        read_bytes_by_interval=_samples(rows, "Bytes/Sec"),
        interval_s=_number(every[0]) if every else 1.0,
        intervals_count=int(_only(r"# of samples: (\d+)", text, "number of samples")[0]),
        sent_count=_count(sent),
        duration_s=_number(duration),
        read_bytes=_size(size),
        errors_count=_count(errors[0]),
        timeouts_count=_count(errors[1]),
        non_2xx_count=int(non_2xx[0]),
        mismatches_count=_count(mismatches[0]),
        resets_count=_count(resets[0]),
        statuses={int(name): int(row[0]) for name, (header, *row) in rows.items() if header == "Code"},
    )


def _rows(text: str) -> dict[str, list[str]]:
    """Return the lines of all tables by their first cell: the first cell of the table's header, then the other cells."""
    rows: dict[str, list[str]] = {}
    header: list[str] = []
    for line in text.splitlines():
        if not line.startswith("│"):
            # A table's top edge: what follows it is its header.
            header = [] if line.startswith("┌") else header
            continue
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        if not header:
            header = cells
            continue
        known = {"Latency": _LATENCY, "Req/Sec": _RATES, "Bytes/Sec": _RATES}.get(cells[0], ["Code", "Count"])
        if header != known or len(cells) != len(known):
            raise GeneratorError(f"not a table of autocannon: {line.strip()!r} below {' '.join(header)!r}")
        if cells[0] in rows:
            raise GeneratorError(f"more than one output of autocannon: {cells[0]} appears twice")
        rows[cells[0]] = [header[0], *cells[1:]]
    if missing := {"Latency", "Req/Sec", "Bytes/Sec"} - set(rows):
        raise GeneratorError(f"autocannon's output has no line {' and '.join(sorted(missing))}")
    return rows


def _latency(rows: dict[str, list[str]]) -> LatencySummary:
    cells = [re.fullmatch(r"(\S+) ms", cell) for cell in rows["Latency"][1:]]
    values = [_number(cell[1]) / 1e3 for cell in cells if cell]
    if len(values) != len(cells):
        raise GeneratorError(f"not latencies that autocannon prints: {', '.join(rows['Latency'][1:])}")
    *percentiles, mean, stddev, largest = values
    return LatencySummary(dict(zip((2.5, 50.0, 97.5, 99.0), percentiles, strict=True)), mean, stddev, largest)


def _samples(rows: dict[str, list[str]], name: str) -> Samples:
    read = _size if name == "Bytes/Sec" else _plain
    *percentiles, mean, stddev, least = [read(cell) for cell in rows[name][1:]]
    return Samples(dict(zip((1.0, 2.5, 50.0, 97.5), percentiles, strict=True)), mean, stddev, least)


def _plain(printed: str) -> Rounded:
    """Return a number such as ``109,262.55``; means and deviations have up to two decimals, all else is whole."""
    return Rounded(_number(printed.replace(",", "")), 0.005)


def _size(printed: str) -> Rounded:
    """Return the bytes in ``8.4 MB``, which is 8.40 MB: three significant digits, whose last zeros are left out."""
    number, _, unit = printed.partition(" ")
    if unit not in _EXPONENTS:
        raise GeneratorError(f"not a size that autocannon prints: {printed!r}")
    value, exponent = _number(number), _EXPONENTS[unit]
    leading = math.floor(math.log10(value)) if value >= 1 else 0
    return Rounded(float(f"{number}e{exponent}"), 10.0 ** (exponent + leading - 2) / 2)


def _count(printed: str) -> Rounded:
    """Return a count such as ``1202k``: rounded from a thousand on, exact below."""
    number = re.fullmatch(r"(\d+)(k?)", printed)
    if number is None:
        raise GeneratorError(f"not a count that autocannon prints: {printed!r}")
    return Rounded(int(number[1]) * 1e3, 500.0) if number[2] else Rounded(float(number[1]), 0.0)


def _number(printed: str) -> float:
    if not re.fullmatch(r"\d+(\.\d+)?", printed):
        raise GeneratorError(f"not a number that autocannon prints: {printed!r}")
    return float(printed)


def _only(pattern: str, text: str, what: str) -> tuple[str, ...]:
    found = _optional(pattern, text)
    if found is None:
        raise GeneratorError(f"autocannon's output does not say: {what}")
    return found


def _optional(pattern: str, text: str) -> tuple[str, ...] | None:
    found = list(re.finditer(rf"^{pattern}$", text, re.MULTILINE))
    if len(found) > 1:
        raise GeneratorError(f"more than one output of autocannon: {found[0][0]!r} and {found[1][0]!r}")
    return found[0].groups() if found else None
