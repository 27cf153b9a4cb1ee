"""The checks of every trial: each has a name, a finding, and what to do about it."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Any

from runners.analyse.connection_checks import ERRORS_TOLERANCE as _ERRORS_TOLERANCE
from runners.analyse.connection_checks import asked_for, connections_open, errors_shown
from runners.analyse.cpu_speed import seen_by_probes
from runners.analyse.disturbances import memory_pressure, other_load, steal, throttling
from runners.analyse.little import little
from runners.analyse.usage import ROLES, Windows, complete_looks
from runners.records import WINDOW, Bottleneck, Check

SATURATED_FRACTION = 0.95
_CLOCK_TOLERANCE = 0.05
_LATE_TOLERANCE = 0.02
_WARMUP_TOLERANCE = 0.10
_OFFERED = 0.99
_WORK_TOLERANCE = 0.01


def trial_checks(record: dict[str, Any], windows: Windows) -> list[Check]:
    """Return all checks of one trial; `windows` are those of the kinds ``window`` and ``percentiles``."""
    checks = [identity, contract, answer_size, errors, pinning, steal, other_load, throttling, memory_pressure]
    checks += [warm_up, generator_warnings]
    # What is offered whatever the answers do says how fast; else the connections are always busy.
    checks.insert(4, offered if any(raw["load"].get("rate_rps") for raw, _ in windows) else little)
    if record.get("work_per_request"):
        checks.insert(2, backend_work)
    if any(raw.get("turns") for raw, _ in windows):
        checks.insert(0, clock)
    if asked_for(record):
        checks[checks.index(errors) : checks.index(errors) + 1] = [connections_open, errors_shown]
    return [check(record, windows) for check in checks]


def identity(record: dict[str, Any], windows: Windows) -> Check:
    """The launched process, and no other, listened on the port before and after each window."""
    ok = all(raw["server_listened"] for raw, _ in windows)
    detail = (
        f"the launched process alone listened on port {record['port']}"
        if ok
        else f"port {record['port']} was not the launched process's alone"
    )
    return Check("answering process", ok, detail, "end other servers: ss -ltnp", void=True)


def clock(record: dict[str, Any], windows: Windows) -> Check:
    """In time slices, suspended processes used at most 2 % of the CPU's time, and the virtual clock was right within 5 %."""
    turns = [(raw["turns"], result) for raw, result in windows if raw.get("turns")]
    worst = max((result.duration_s / about["ran_s"] for about, result in turns), key=lambda share: abs(share - 1))
    late = max(used_s / about["ran_s"] for about, _ in turns for used_s in about["late_s"].values())
    ok = abs(worst - 1) <= _CLOCK_TOLERANCE and late <= _LATE_TOLERANCE
    detail = (
        f"the load generator's clock showed {worst:.1%} of the time in which it ran; "
        f"{late:.2%} of the CPU's time was used between time slices"
    )
    return Check("clock", ok, detail, "measure in one piece: -p slices 0", void=True)


def contract(record: dict[str, Any], windows: Windows) -> Check:
    """The answer was right before and after."""
    wrong = [record[when]["difference"] for when in ("verified_before", "verified_after") if record[when]["difference"]]
    return Check("contract", not wrong, (wrong or ["right before and after"])[0], "./wrkbook verify", void=True)


def answer_size(record: dict[str, Any], windows: Windows) -> Check:
    """All answers together have the bytes that as many verified answers have: none was cut short or different."""
    verified = record["verified_before"]
    allowed = record.get("answer_tolerance", _ERRORS_TOLERANCE)
    worst = 0.0
    for _, result in windows:
        expected = verified["body_bytes" if result.bodies_only else "answer_bytes"]
        seen = (result.requests_count - result.unseen_count) * expected
        # Answers that were under way when the window ended are read in part.
        difference = max(0.0, abs(result.read_bytes - seen) - result.connections_count * expected)
        worst = max(worst, difference / max(1, seen))
    detail = (
        f"answers of {verified['answer_bytes']} bytes, as verified"
        + (f", ±{allowed:.0%}" if allowed > _ERRORS_TOLERANCE else "")
        if worst <= allowed
        else f"bytes read differ by {worst:.2%} from verified answers"
    )
    return Check("answer size", worst <= allowed, detail, "./wrkbook verify", void=True)


def errors(record: dict[str, Any], windows: Windows) -> Check:
    """No errors; more than 0.1 % of the requests make the trial void."""
    total = sum(result.errors.total_count for _, result in windows)
    requests = sum(result.requests_count for _, result in windows)
    fraction = total / max(1, requests + total)
    detail = f"{total} errors in {requests} requests" if total else "none"
    detail = detail if requests else "no request was completed"
    void = fraction > _ERRORS_TOLERANCE or not requests
    advice = "lower connections, or see what the server prints: ./wrkbook serve"
    return Check("errors", total == 0 and requests > 0, detail, advice if total else "", void=void)


def backend_work(record: dict[str, Any], windows: Windows) -> Check:
    """The backend did the work that the requests need, by its own count: within 1 %, or the trial is void.

    What was under way when the window ended was worked for, but not counted as completed: up to one request a connection.
    """
    wanted, wrong = record["work_per_request"], []
    for raw, result in windows:
        work = raw["backend_work"]
        if work is None:
            wrong.append("the backend could not be asked")
            continue
        requests = result.requests_count
        for kind in work:
            for what in ("calls", "rows"):
                each = wanted.get(kind, {}).get(what, 0)
                least = requests * each * (1 - _WORK_TOLERANCE)
                spare = max(requests, 100) * _WORK_TOLERANCE * max(1, each)
                most = (requests + result.connections_count) * each + spare
                if not least <= work[kind][what] <= most:
                    wrong.append(f"{work[kind][what]} {what} of {kind} for {requests} requests of {each}")
    detail = wrong[0] if wrong else "queries and rows, counted by the backend, are those of the requests"
    return Check("backend work", not wrong, detail, "./wrkbook verify; is someone else using it?", void=True)


def offered(record: dict[str, Any], windows: Windows) -> Check:
    """An open loop's requests were really offered: at least 99 % of the rate that was asked for was achieved."""
    shares = [result.throughput_rps / raw["load"]["rate_rps"] for raw, result in windows]
    worst = min(shares, default=math.nan)
    ok = worst >= _OFFERED
    advice = "the server, or the load generator, cannot carry this rate: its latencies are not those of that rate"
    return Check("offered load", ok, f"{worst:.1%} of the offered rate was achieved", advice)


def pinning(record: dict[str, Any], windows: Windows) -> Check:
    """Every thread of server, generator and backend was on its CPUs whenever it was looked at."""
    looks = [sample for raw, _ in windows for sample in complete_looks(raw)]
    seen = [(role, sample[role]) for sample in looks for role in ROLES if role in sample]
    strays = [
        f"{role} thread {stray['thread']} on CPU {stray['cpu']} (allowed {stray['allowed']})"
        for role, processes in seen
        for stray in processes["strays"]
    ]
    ok = not strays and bool(looks) and all(processes["threads_count"] for _, processes in seen)
    detail = f"all threads on their CPUs in {len(looks)} looks" if ok else "no thread could be looked at"
    detail = strays[0] if strays else detail
    advice = "something changes affinities: look for cpusets or a pinning daemon"
    return Check("pinning", ok, detail, advice, void=True)


def warm_up(record: dict[str, Any], windows: Windows) -> Check:
    """The first window was within 10 % of the rest, the speed of the CPU taken into account where it is known."""
    windows = [(raw, result) for raw, result in windows if raw["kind"] == WINDOW]
    probes = [seen_by_probes(record, raw) for raw, _ in windows]
    speeds = [seen["probe_mean_hz"] * seen["probe_wakes_hz"] for seen in probes]
    known = all(speed > 0 for speed in speeds)
    rates = [
        result.throughput_rps / (speed if known else 1.0) for (_, result), speed in zip(windows, speeds, strict=True)
    ]
    if len(rates) < 2:
        return Check("warm-up", True, "one window: nothing to compare it with")
    change = rates[0] / fmean(rates[1:]) - 1
    ok = abs(change) <= _WARMUP_TOLERANCE
    advice = "use the publication profile: its warm-up is longer"
    return Check("warm-up", ok, f"first window {change:+.1%} against the rest", advice)


def generator_warnings(record: dict[str, Any], windows: Windows) -> Check:
    """What the load generator's parser found odd."""
    found = [warning for _, result in windows for warning in result.warnings]
    return Check(
        "load generator", not found, "; ".join(dict.fromkeys(found)) or "its report is complete and agrees with itself"
    )


def bottleneck(
    server_busy: float,
    generator_busy: float,
    backend_busy: float = math.nan,
    *,
    apart: bool = True,
    generator_ahead: bool = False,
) -> Bottleneck:
    """Return the limit, from the shares of time that the CPUs of each role were not idle.

    ``both``: server and generator were busy, or share busy CPUs (not `apart`), so the server might serve more to a faster generator.
    Where generator and backend are both busy on CPUs that they share, the backend is named, unless the generator is
    `generator_ahead`: it used more of the CPUs' time.
    """
    backend_is_busy = backend_busy >= SATURATED_FRACTION
    generator_limits = generator_busy >= SATURATED_FRACTION and (generator_ahead or not backend_is_busy)
    if server_busy >= SATURATED_FRACTION:
        return "both" if generator_limits or not apart else "server"
    if generator_limits:
        return "generator"
    return "backend" if backend_is_busy else "unsaturated"
