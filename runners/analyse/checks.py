"""The checks of every trial: each has a name, a finding, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from runners import histograms
from runners.analyse.usage import window_usage
from runners.machine.topology import parse_cpu_list
from runners.records import Bottleneck, Check, LoadResult

Windows = Sequence[tuple[dict[str, Any], LoadResult]]

SATURATED_FRACTION = 0.95
_LITTLE_TOLERANCE = 0.05
_NOISE_TOLERANCE = 0.02
_TAKEN_TOLERANCE = 0.10
_WARMUP_TOLERANCE = 0.10
_ERRORS_TOLERANCE = 0.001


def trial_checks(record: dict[str, Any], windows: Windows) -> list[Check]:
    """All checks of one trial; `windows` without its warm-up."""
    checks = (identity, contract, answer_size, errors, little, pinning, steal, other_load, warm_up, generator_warnings)
    return [check(record, windows) for check in checks]


def identity(record: dict[str, Any], windows: Windows) -> Check:
    """The launched process, and no other, listened on the port before and after each window."""
    ok = all(raw["server_listened"] for raw, _ in windows)
    detail = (
        f"the launched process alone listened on port {record['port']}"
        if ok
        else f"port {record['port']} was not the launched process's alone"
    )
    return Check("answering process", ok, detail, "" if ok else "end other servers: ss -ltnp", void=True)


def contract(record: dict[str, Any], windows: Windows) -> Check:
    """The answer was right before and after."""
    wrong = [record[when]["difference"] for when in ("verified_before", "verified_after") if record[when]["difference"]]
    return Check(
        "contract",
        not wrong,
        wrong[0] if wrong else "right before and after",
        "" if not wrong else "./wrkbook verify",
        void=True,
    )


def answer_size(record: dict[str, Any], windows: Windows) -> Check:
    """All answers together have the bytes that as many verified answers have: none was cut short or different."""
    expected = record["verified_before"]["answer_bytes"]
    worst = 0.0
    for _, result in windows:
        # Answers that were under way when the window ended are read in part.
        tolerated = result.connections_count * expected
        difference = abs(result.read_bytes - result.requests_count * expected)
        worst = max(worst, max(0.0, difference - tolerated) / max(1, result.requests_count * expected))
    detail = (
        f"answers of {expected} bytes, as verified"
        if worst <= _ERRORS_TOLERANCE
        else f"bytes read differ by {worst:.2%} from verified answers"
    )
    return Check(
        "answer size",
        worst <= _ERRORS_TOLERANCE,
        detail,
        "" if worst <= _ERRORS_TOLERANCE else "./wrkbook verify",
        void=True,
    )


def errors(record: dict[str, Any], windows: Windows) -> Check:
    """No errors; more than 0.1 % of the requests make the trial void."""
    total = sum(result.errors.total_count for _, result in windows)
    requests = sum(result.requests_count for _, result in windows)
    fraction = total / max(1, requests + total)
    detail = f"{total} errors in {requests} requests" if total else "none"
    advice = "" if not total else "lower connections, or see what the server prints: ./wrkbook serve"
    return Check(
        "errors",
        total == 0 and requests > 0,
        detail if requests else "no request was completed",
        advice,
        void=fraction > _ERRORS_TOLERANCE or not requests,
    )


def little(record: dict[str, Any], windows: Windows) -> Check:
    """Little's law: connections = throughput × mean service time, within 5 %, when all are always busy.

    What was under way when the window ended is not counted as completed: up to one service time for each connection.
    """
    ratios, excesses = [], []
    for _, result in windows:
        mean_s = histograms.mean(result.service_time.values_us, result.service_time.counts) * 1e-6
        ratios.append(result.throughput_rps * mean_s / result.connections_count)
        under_way = mean_s / result.duration_s if ratios[-1] < 1 else 0.0
        excesses.append(abs(ratios[-1] - 1) - under_way)
    worst = max(ratios, key=lambda ratio: abs(ratio - 1), default=math.nan)
    ok = max(excesses, default=math.nan) <= _LITTLE_TOLERANCE
    advice = (
        ""
        if ok
        else "service times miss time that requests spend waiting in the load generator: trust the throughput more"
    )
    return Check("Little's law", ok, f"throughput × mean service time is {worst:.1%} of the connections", advice)


def pinning(record: dict[str, Any], windows: Windows) -> Check:
    """Every thread of server and generator was on its CPUs whenever it was looked at."""
    strays = [
        f"{role} thread {stray['thread']} on CPU {stray['cpu']} (allowed {stray['allowed']})"
        for raw, _ in windows
        for sample in raw["samples"]
        for role in ("server", "generator")
        for stray in sample[role]["strays"]
    ]
    looks = sum(len(raw["samples"]) for raw, _ in windows)
    seen = all(
        sample[role]["threads_count"]
        for raw, _ in windows
        for sample in raw["samples"]
        for role in ("server", "generator")
    )
    ok = not strays and looks > 0 and seen
    detail = (
        strays[0] if strays else f"all threads on their CPUs in {looks} looks" if ok else "no thread could be looked at"
    )
    return Check(
        "pinning",
        ok,
        detail,
        "" if ok else "something changes affinities: look for cpusets or a pinning daemon",
        void=True,
    )


def steal(record: dict[str, Any], windows: Windows) -> Check:
    """The hypervisor took less than 2 % of the pinned CPUs' time; more than 10 % of the server's make the trial void."""
    return _below(
        record,
        windows,
        "steal",
        "steal_fraction",
        "stolen by the hypervisor",
        "measure on a machine of your own, or more blocks",
    )


def other_load(record: dict[str, Any], windows: Windows) -> Check:
    """Other programs took less than 2 % of the pinned CPUs' time; more than 10 % of the server's make the trial void."""
    return _below(
        record, windows, "other load", "other_fraction", "used by others", "end other programs, or measure more blocks"
    )


def warm_up(record: dict[str, Any], windows: Windows) -> Check:
    """The first window was within 10 % of the rest, the speed of the CPU taken into account where it is known."""
    speeds = [_speed(record, raw) for raw, _ in windows]
    known = all(speed > 0 for speed in speeds)
    rates = [
        result.throughput_rps / (speed if known else 1.0) for (_, result), speed in zip(windows, speeds, strict=True)
    ]
    if len(rates) < 2:
        return Check("warm-up", True, "one window: nothing to compare it with")
    change = rates[0] / fmean(rates[1:]) - 1
    ok = abs(change) <= _WARMUP_TOLERANCE
    return Check(
        "warm-up",
        ok,
        f"first window {change:+.1%} against the rest",
        "" if ok else "use the publication profile: its warm-up is longer",
    )


def generator_warnings(record: dict[str, Any], windows: Windows) -> Check:
    """What the load generator's parser found odd."""
    found = [warning for _, result in windows for warning in result.warnings]
    return Check(
        "load generator", not found, "; ".join(dict.fromkeys(found)) or "its report is complete and agrees with itself"
    )


def _speed(record: dict[str, Any], raw: dict[str, Any]) -> float:
    """What the probes saw of the server's CPUs in a window: speed × presence in arbitrary units; 0 where one is missing."""
    seen = [raw.get("speed", {}).get(str(cpu)) for cpu in parse_cpu_list(record["cpus"]["server"])]
    return fmean(probe["mean_hz"] * probe["wakes_hz"] if probe else 0.0 for probe in seen) if all(seen) else 0.0


def bottleneck(server_busy: float, generator_busy: float) -> Bottleneck:
    """Who was the limit, from the shares of time that the CPUs of both were not idle."""
    if server_busy >= SATURATED_FRACTION:
        return "server"
    return "client" if generator_busy >= SATURATED_FRACTION else "unsaturated"


def _below(record: dict[str, Any], windows: Windows, name: str, column: str, what: str, advice: str) -> Check:
    rows = [row for raw, result in windows for row in window_usage(record, raw, result.requests_count)]
    worst = max((row[column] for row in rows), default=math.nan)
    ok = not worst > _NOISE_TOLERANCE
    taken = max((row[column] for row in rows if row["role"] == "server"), default=math.nan)
    return Check(
        name,
        ok,
        f"at most {worst:.1%} of the pinned CPUs' time {what}" if rows else "not sampled",
        "" if ok else advice,
        void=taken > _TAKEN_TOLERANCE,
    )
