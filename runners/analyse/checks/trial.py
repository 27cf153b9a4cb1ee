"""The checks of every trial: each has a name, a finding, and what to do about it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from statistics import fmean

from runners.analyse.checks.conditions import (
    CLOCK,
    little,
    memory_pressure,
    offered,
    schedule,
    taken,
    throttling,
)
from runners.analyse.checks.hosts import of_hosts
from runners.analyse.usage import Windows, complete_samples, seen_by_probes
from runners.core.load import ERRORS_TOLERANCE, LoadResult
from runners.core.records import WINDOW, Bottleneck, Check
from runners.core.trial_record import TrialRecord, Verification
from runners.core.workloads import WORKLOADS

SATURATED_FRACTION = 0.95
# Tolerance of a load generator's virtual clock in time slices.
_VIRTUAL_CLOCK_TOLERANCE = 0.05
_LATE_TOLERANCE = 0.02
_WARMUP_TOLERANCE = 0.10
_WORK_TOLERANCE = 0.01
OPEN_TOLERANCE = 0.01
"""By how much the number of open connections may differ from the requested one."""


def trial_checks(record: TrialRecord, windows: Windows) -> list[Check]:
    """Return all checks of one trial; `windows` are those of the kinds ``window`` and ``percentiles``."""
    checks = [clock] if any(raw.slices for raw, _ in windows) else []
    checks += [identity, contract]
    checks += [backend_work] if record.work_per_request else []
    checks += [response_size]
    checks += [connections_open, errors_by_kind] if planned_connections(record) else [errors]
    # At a fixed rate, or while they are opened, connections are not always busy, as Little's law has it.
    idle = WORKLOADS[record.workload_name].closes
    checks += [offered] if any(raw.load.rate_rps for raw, _ in windows) else [] if idle else [little]
    checks += [schedule] if any(result.lateness for _, result in windows) else []
    found = [check(record, windows) for check in [*checks, pinning]] + taken(record, windows)
    found += [check(record, windows) for check in (throttling, memory_pressure, warm_up, generator_warnings)]
    return found + of_hosts(record, windows)


def search_checks(record: TrialRecord, windows: Windows) -> list[Check]:
    """Return the checks of a trial that searches or confirms a rate: overload and lateness are part of a search.

    A window with interference makes no trial void, since a rate is missed only in two windows.
    """
    checks = [identity, contract, *([backend_work] if record.work_per_request else []), response_size, pinning]
    found = [check(record, windows) for check in checks]
    disturbances = [replace(check, void=False) for check in taken(record, windows)]
    return [*found, *disturbances, memory_pressure(record, windows), *of_hosts(record, windows)]


def identity(record: TrialRecord, windows: Windows) -> Check:
    """Check that the launched process, and no other, listened on the port before and after each window."""
    ok, port = all(raw.server_listened for raw, _ in windows), f"port {record.port}"
    detail = f"the launched process alone listened on {port}" if ok else f"{port} was not the launched process's alone"
    return Check("responding process", ok, detail, "end other servers: ss -ltnp", void=True)


def clock(record: TrialRecord, windows: Windows) -> Check:
    """Check that suspended processes used at most 2 % of the CPU's time, and the virtual clock was right within 5 %."""
    sliced = [(raw.slices, result) for raw, result in windows if raw.slices]
    worst = max((result.duration_s / about.ran_s for about, result in sliced), key=lambda share: abs(share - 1))
    late = max(used_s / about.ran_s for about, _ in sliced for used_s in about.late_s.values())
    detail = (
        f"the load generator's clock showed {worst:.1%} of the time in which it ran, and "
        f"{late:.2%} of the CPU's time was used between time slices"
    )
    ok = abs(worst - 1) <= _VIRTUAL_CLOCK_TOLERANCE and late <= _LATE_TOLERANCE
    return Check(CLOCK, ok, detail, "measure in one piece: -p slices 0", void=True)


def contract(record: TrialRecord, windows: Windows) -> Check:
    """Check that the response was right before and after the windows."""
    wrong = next((verified.difference for verified in _verified(record) if verified.difference), None)
    return Check("contract", not wrong, wrong or "right before and after", "./wrkbook verify", void=True)


def _verified(record: TrialRecord) -> list[Verification]:
    """Return the verifications before and after the windows."""
    return [verified for verified in (record.verified_before, record.verified_after) if verified]


def response_size(record: TrialRecord, windows: Windows) -> Check:
    """Check that all responses together have as many bytes as that many verified responses."""
    verified, allowed = _verified(record), record.response_tolerance
    # A response drawn at random may be of unusual length: then the nearer of the two that were verified counts.
    samples = verified if allowed > ERRORS_TOLERANCE else verified[:1]
    worst = 0.0
    for _, result in windows:
        sizes = [sample.body_bytes if result.bodies_only else sample.response_bytes for sample in samples]
        worst = max(worst, min(_size_difference(result, size) for size in sizes))
    detail = f"responses of {verified[0].response_bytes} bytes, as verified"
    detail += f", ±{allowed:.0%}" if allowed > ERRORS_TOLERANCE else ""
    if worst > allowed:
        detail = f"bytes read differ by {worst:.2%} from verified responses"
    return Check("response size", worst <= allowed, detail, "./wrkbook verify", void=True)


def _size_difference(result: LoadResult, expected_bytes: int) -> float:
    """Return by which share the bytes read differ from those of equal responses of a size."""
    seen = (result.requests_count - result.unseen_count) * expected_bytes
    # Responses that were under way when the window ended are read in part.
    difference = max(0.0, abs(result.read_bytes - seen) - result.connections_count * expected_bytes)
    return difference / max(1, seen)


def errors(record: TrialRecord, windows: Windows) -> Check:
    """Check that there were no errors; more than 0.1 % of the requests make the trial void."""
    total = sum(result.errors.total_count for _, result in windows)
    requests = sum(result.requests_count for _, result in windows)
    detail = f"{total} errors in {requests} requests" if total else "none"
    detail = detail if requests else "no request was completed"
    advice = "lower connections, or see what the server prints: ./wrkbook serve" if total else ""
    void = not requests or total / (requests + total) > ERRORS_TOLERANCE
    return Check("errors", total == 0 and requests > 0, detail, advice, void=void)


def planned_connections(record: TrialRecord) -> int | None:
    """Return the number of connections that a trial is about; None where it is about something else."""
    # Without keep-alive, and at a fixed rate, only those are open that are needed.
    return None if record.shape.keepalive_requests or record.shape.rate_rps else record.shape.connections


def connections_open(record: TrialRecord, windows: Windows) -> Check:
    """Check that the kernel's table had the wanted number of accepted connections in mid-window, within 1 %."""
    requested = planned_connections(record) or 0
    counts = [sample.connections_count for raw, _ in windows for sample in raw.samples]
    known = [count for count in counts if count is not None]
    if not known:
        return Check("connections", False, "not counted: the window was too short", "use longer windows")
    worst = max(known, key=lambda count: abs(count - requested))
    ramp_up_s = max(raw.load.ramp_up_s for raw, _ in windows)
    opened = f", open after {ramp_up_s:.2g} s" if ramp_up_s else ""
    detail = f"{worst} of {requested} connections were open{opened}"
    advice = "the server accepts too slowly or refuses: its backlog (listen), its limit of open files (ulimit -Hn)"
    return Check("connections", abs(worst - requested) <= OPEN_TOLERANCE * requested, detail, advice)


def errors_by_kind(record: TrialRecord, windows: Windows) -> Check:
    """Return errors as what the server makes of so many connections: they do not make the trial void."""
    kinds = ("connect", "read", "write", "timeout", "status")
    counts = {kind: sum(getattr(result.errors, f"{kind}_count") for _, result in windows) for kind in kinds}
    named = ", ".join(f"{kind} {count}" for kind, count in counts.items() if count)
    requests = sum(result.requests_count for _, result in windows)
    detail = f"{named} in {requests} requests" if named else "none"
    detail = detail if requests else f"no request was completed ({named or 'no error was counted'})"
    advice = "this is the server's result at this number of connections; ./wrkbook serve shows what it prints"
    return Check("errors", not named and requests > 0, detail, advice, void=not requests)


def backend_work(record: TrialRecord, windows: Windows) -> Check:
    """Check that the backend counted the work that the requests need, within 1 %; else the trial is void.

    It has also worked for requests that were under way when the window ended: up to one a connection.
    """
    wanted, wrong = record.work_per_request, []
    for raw, result in windows:
        work, requests = raw.backend_work, result.requests_count
        if work is None:
            wrong.append("the counters of the backend could not be read")
            continue
        for kind, what in itertools.product(work, ("calls", "rows")):
            each = wanted.get(kind, {}).get(what, 0)
            # Below 1 in a mix: there the requests under way may all be of this kind.
            share = wanted.get(kind, {}).get("calls", 1)
            under_way = result.connections_count * each / share
            least = requests * each * (1 - _WORK_TOLERANCE) - (under_way if share < 1 else 0)
            spare = max(requests, 100) * _WORK_TOLERANCE * max(1, each)
            if not least <= work[kind][what] <= requests * each + under_way + spare:
                wrong.append(f"{work[kind][what]} {what} of {kind} for {requests} requests of {each}")
    detail = wrong[0] if wrong else "queries and rows, counted by the backend, are those of the requests"
    return Check("backend work", not wrong, detail, "./wrkbook verify; is someone else using it?", void=True)


def pinning(record: TrialRecord, windows: Windows) -> Check:
    """Check that every thread of server, generator and backend was on its CPUs in every sample."""
    samples = [sample for raw, _ in windows for sample in complete_samples(raw)]
    seen = [(role, sampled) for sample in samples for role, sampled in sample.roles.items()]
    unpinned = [
        f"{role} thread {each.thread} on CPU {each.cpu} (allowed {each.allowed})"
        for role, processes in seen
        for each in processes.unpinned_threads
    ]
    ok = not unpinned and bool(samples) and all(processes.threads_count for _, processes in seen)
    detail = f"all threads on their CPUs in {len(samples)} samples" if ok else "no thread could be sampled"
    detail = unpinned[0] if unpinned else detail
    return Check("pinning", ok, detail, "something changes affinities: look for cpusets or a pinning daemon", void=True)


def warm_up(record: TrialRecord, windows: Windows) -> Check:
    """Check that the first window was within 10 % of the rest, relative to the CPU's speed where that is known."""
    windows = [(raw, result) for raw, result in windows if raw.kind == WINDOW]
    if len(windows) < 2:
        return Check("warm-up", True, "one window: nothing to compare it with")
    probes = [seen_by_probes(record, raw) for raw, _ in windows]
    speeds = [seen["probe_mean_hz"] * seen["probe_wakes_hz"] for seen in probes]
    rates = [result.throughput_rps for _, result in windows]
    if all(speed > 0 for speed in speeds):
        rates = [rate / speed for rate, speed in zip(rates, speeds, strict=True)]
    change = rates[0] / fmean(rates[1:]) - 1
    detail = f"first window {change:+.1%} against the rest"
    advice = "use the publication profile: its warm-up is longer"
    return Check("warm-up", abs(change) <= _WARMUP_TOLERANCE, detail, advice)


def generator_warnings(record: TrialRecord, windows: Windows) -> Check:
    """Check that the load generator's parser found nothing odd."""
    found = dict.fromkeys(warning for _, result in windows for warning in result.warnings)
    return Check("load generator", not found, "; ".join(found) or "its report is complete and agrees with itself")


def bottleneck(
    server_busy: float,
    generator_busy: float,
    backend_busy: float,
    *,
    apart: bool = True,
    generator_ahead: bool = False,
    network_busy: float = math.nan,
) -> Bottleneck:
    """Return the limit, from the shares of time that the CPUs of each role were not idle (NaN: no such role).

    ``both``: server and generator were busy, or share busy CPUs (not `apart`): a faster generator might get more.
    Where generator and backend are both busy, on CPUs that they share, the limit is the one that used more CPU time: the
    generator if `generator_ahead`. ``network``: no CPU was the limit, and the link between hosts was busy.
    """
    backend_is_busy = backend_busy >= SATURATED_FRACTION
    generator_limits = generator_busy >= SATURATED_FRACTION and (generator_ahead or not backend_is_busy)
    if server_busy >= SATURATED_FRACTION:
        return "both" if generator_limits or not apart else "server"
    if generator_limits:
        return "generator"
    if network_busy >= SATURATED_FRACTION and not backend_is_busy:
        return "network"
    return "backend" if backend_is_busy else "unsaturated"
