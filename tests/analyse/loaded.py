"""Runs under load that nobody measured: queues with a known capacity, as paceload would report them, at shares of it and in a search."""

import json
import math
import random

import numpy as np

from runners.core.histogram import Histogram
from runners.core.load import Load
from runners.core.parameter_values import objectives
from runners.core.records import CONTROL, LoadProfile, Workload
from runners.core.run_manifest import PlannedLoad, PlannedRates
from runners.core.trial_record import WindowRecord
from runners.stats.histograms import correct, stalled_response_s
from runners.store.ledger import Run
from runners.store.migrations import workload_of_label
from tests.analyse import synthetic
from tests.generators import wrk_printer

EXPERIMENT = "08-latency-under-load"
OBJECTIVES = ("p99 <= 5 ms", "p99.9 <= 20 ms")
SHARES = (0.1, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95)
CONNECTIONS = 100
BURST, SPARE = 3.0, 1.05
"""Requests that come at once, so that tails are long; and what a queue serves, in capacities."""
_GRID = np.concatenate([np.arange(0.0025, 0.9, 0.005), 1 - np.geomspace(0.1, 1e-5, 120)])


def percentile_s(percentile, rate_rps, service_rps, base_s=100e-6):
    """The response time at a percentile of a queue with exponential sojourn times; without an end where it is overloaded."""
    spare = service_rps - rate_rps
    return base_s - BURST * math.log(1 - percentile / 100) / spare if spare > 0 else math.inf


def rate_of(goal, service_rps, base_s=100e-6):
    """The rate at which this queue crosses an objective: what a search must find."""
    return service_rps + BURST * math.log(1 - goal.percentile / 100) / (goal.limit_s - base_s)


def report(rate_rps, times_us, counts, *, achieved=1.0, late=0.0, seed=0):
    """paceload's report of a window of one second."""
    scheduled = int(sum(counts))
    completed = min(scheduled, round(achieved * scheduled))
    lost = scheduled - completed

    def bins(values, numbers):
        pairs = [(int(value * 1000), int(number)) for value, number in zip(values, numbers, strict=True) if number > 0]
        mean_ns = sum(value * number for value, number in pairs) / max(1, sum(number for _, number in pairs))
        return {"mean_ns": mean_ns, "hdr": "", "ns": pairs}

    served = np.diff(np.minimum(np.cumsum(counts), completed), prepend=0)
    sends = [(2, completed - round(late * completed)), (3000, round(late * completed))]
    said = dict.fromkeys(["connect_errors", "read_errors", "write_errors", "timeouts", "status_errors"], 0)
    return json.dumps({
        "paceload": 1, "rate_rps": rate_rps, "duration_s": 1.0, "elapsed_s": 1.0, "cpu_s": 0.4, "poisson": True, "seed": seed,
        "scheduled": scheduled, "completed": completed, "unanswered": lost, "opened": CONNECTIONS, "most_waiting": 0,
        "read_bytes": completed * synthetic.RESPONSE_BYTES, **said, "response": bins(times_us, counts),
        "service": bins(times_us, served), "lateness": bins(*zip(*sends, strict=True)),
    })  # fmt: skip


def queue_report(rate_rps, service_rps, **about):
    """The report of a queue: by percentile, with counts that make these percentiles exact."""
    edges = np.concatenate([[0], (_GRID[1:] + _GRID[:-1]) / 2, [1]])
    counts = np.diff(np.round(edges * round(rate_rps))).astype(int)
    if rate_rps >= service_rps:
        times, achieved = 2e6 * (1 - service_rps / rate_rps) * _GRID + 1e3, service_rps / rate_rps
    else:
        times, achieved = [1e6 * percentile_s(100 * at, rate_rps, service_rps) for at in _GRID], 1.0
    return report(rate_rps, times, counts, **{"achieved": achieved} | about)


def window(kind, rate_rps, service_rps, cpu_us, **about) -> WindowRecord:
    """A window of an open loop; the server needs `cpu_us` for each request."""
    busy = min(1.0, rate_rps * cpu_us * 1e-6)
    record = synthetic.window(1000.0, kind)
    record.samples = [synthetic.sample(at_s, busy, 1.0) for at_s in (0.1, 0.5, 0.9)]
    record.load, record.server_cpu_s = Load(CONNECTIONS, 1, 1.0, rate_rps=rate_rps), rate_rps * cpu_us * 1e-6
    record.stdout = queue_report(rate_rps, service_rps, **about)
    return record


def trial(block, system, label, shape, windows, *, server=None, failure=None):
    """A trial of a workload (without its load) under a load."""
    record = synthetic.trial(
        block, system, f"{label}@{shape.name}", [1000.0], server=server or system.partition("+")[0]
    )
    record.shape, record.generator, record.windows, record.failure = shape, "paceload", windows, failure
    known = workload_of_label(label)
    record.workload_name, record.operations, record.count = known["name"], known["operations"], known["count"]
    return record


def search(goals, service_rps, cpu_us, highest_rps, **about):
    """The windows of a bisection between 0 and the highest rate, for each objective; a rate that fails once is tried again."""
    windows = []
    for goal in objectives(goals):
        low, high, rate = 0.0, None, highest_rps
        for _ in range(7):
            met = percentile_s(goal.percentile, rate, service_rps) <= goal.limit_s
            windows += [window("search", rate, service_rps, cpu_us, **about) for _ in range(1 if met else 2)]
            low, high = (rate, high) if met else (low, rate)
            if high is None:
                break
            rate = (low + high) / 2
    return windows


def _planned(capacities, shares, given):
    """The planned loads of one run: given rates, equal ones at shares of a capacity, and each system's own."""
    loads = []
    for base, own in capacities.items():
        slowest = min(own, key=own.get)
        shapes = [LoadProfile(f"{rate}/s", generator="paceload", rate_rps=float(rate)) for rate in given]
        loads += [PlannedLoad(load=each.name, shape=each, systems=list(own), workload=base) for each in shapes]
        for share in shares:
            plans = [("slowest", own[slowest], list(own))]
            plans += [("own", rate, [name]) for name, rate in own.items() if name != slowest]
            for share_of, capacity, systems in plans:
                rate = float(round(share * capacity))
                shape = LoadProfile(f"{rate:.0f}/s", generator="paceload", rate_rps=rate)
                loads.append(
                    PlannedLoad(
                        load=shape.name, shape=shape, systems=systems, workload=base, share=share, share_of=share_of
                    )
                )
    return loads


def run_of(
    folder,
    queues,
    *,
    blocks=4,
    noise=0.01,
    run_id="loaded",
    shares=SHARES,
    highest=1.1,
    stalled=False,
    goals=OBJECTIVES,
    **about,
):
    """A run of label → system → capacity in requests/s; the first system of the first workload has the control.

    A system's queue serves `SPARE` × its capacity (the pilot's); each launch's differs by `noise`. `highest`: of the search, × capacity.
    `about`: profile, given (rates beside those at `shares`), late (share of the sends of a search), record (what differs in run.json).
    """
    run, chance = Run(EXPERIMENT, run_id, folder), random.Random(about.get("chance", 3))
    first_label, first = next((label, next(iter(own))) for label, own in queues.items())
    rates = PlannedRates(
        capacities=queues, generator_rps=120_000.0, loads=_planned(queues, shares, about.get("given", ()))
    )
    of = {}
    for label, own in queues.items():
        of |= {(system, label): rate for system, rate in own.items()}
    of[CONTROL, first_label] = queues[first_label][first]
    searched = LoadProfile("capacity", generator="paceload", objectives=goals)
    plan = []
    for (system, label), _ in of.items():
        shapes = {}
        for load in rates.loads:
            if load.workload == label and (system if system != CONTROL else first) in load.systems:
                shapes |= {load.shape.name: load.shape} if system != CONTROL or load.share_of != "own" else {}
        plan += [(system, label, shape) for shape in [*shapes.values(), searched]]
    beside = [("calibration+stalled", "ping", shape) for shape in stalled_shapes()] if stalled else []
    workloads = {}
    for _, label, shape in [*plan, *beside]:
        workloads[f"{label}@{shape.name}"] = Workload(**{**workload_of_label(label), "shape": shape})
    cells = [(system, f"{label}@{shape.name}") for system, label, shape in [*plan, *beside]]
    manifest = synthetic.manifest(
        cells,
        first,
        workloads=workloads,
        floor=None,
        compared=list(dict.fromkeys(f"{label}@{shape.name}" for _, label, shape in plan if not shape.objectives)),
        rates=rates,
        profile=about.get("profile", "standard"),
        parameters={"seed": 1, "precision": 0.02, "connections": CONNECTIONS, "objectives": list(goals)},
        **about.get("record", {}),
    )
    run.open(manifest)
    for block in range(1, blocks + 1):
        speed = {key: SPARE * rate * math.exp(chance.gauss(0, noise)) for key, rate in of.items()}
        trials = [
            _trial(block, system, label, shape, speed, of, first, highest, about, chance)
            for system, label, shape in plan
        ]
        trials += [stalled_trial(block, shape) for _, _, shape in beside]
        run.write_block(block, trials)
    confirmed = LoadProfile("confirmation", generator="paceload", objectives=goals[:1])
    trials = []
    for (system, label), rate in of.items():
        goal = objectives(goals)[0]
        held = [
            window("confirmation", 0.97 * min(highest * rate, rate_of(goal, SPARE * rate)), SPARE * rate, 8e5 / rate)
            for _ in range(2)
        ]
        server = first.partition("+")[0] if system == CONTROL else None
        trials.append(trial(blocks + 1, system, label, confirmed, held, server=server))
    if about.get("confirmed", True):
        run.write_block(blocks + 1, trials)
    return run


def _trial(block, system, label, shape, speed, of, first, highest, about, chance):
    server = first.partition("+")[0] if system == CONTROL else None
    service, cpu_us = speed[system, label], 8e5 / of[system, label] * math.exp(chance.gauss(0, 0.005))
    if shape.objectives:
        windows = search(shape.objectives, service, cpu_us, highest * of[system, label], late=about.get("late", 0.0))
    else:
        windows = [window("warmup", shape.rate_rps, service, cpu_us), window("window", shape.rate_rps, service, cpu_us)]
    return trial(block, system, label, shape, windows, server=server)


def stalled_shapes():
    """The loads of the server that stops at times: an open loop and a closed one."""
    return [LoadProfile("open", generator="paceload", rate_rps=1000.0), LoadProfile("closed", generator="wrk")]


def stalled_trial(block, shape):
    """The server that stops at times: response times as calculated; of a closed loop one stall a connection."""
    if shape.rate_rps:
        share = (np.arange(20_000) + 0.5) / 20_000
        values, counts = np.unique([round(1e6 * stalled_response_s(100 * at)) for at in share], return_counts=True)
        record = synthetic.window(1000.0)
        record.load = Load(400, 1, 20.0, rate_rps=1000.0)
        text = json.loads(report(1000.0, values.tolist(), counts.tolist()))
        record.stdout = json.dumps(text | {"duration_s": 20.0, "elapsed_s": 20.0})
    else:
        record = synthetic.window(1000.0)
        histogram = Histogram((5050, 5100, 105_100), (9000, 9000, 100))
        record.load = Load(CONNECTIONS, 1, 1.0)
        fields = {
            "duration_us": 1_000_000, "requests": 18_100, "bytes": 18_100 * synthetic.RESPONSE_BYTES,
            "errors": dict.fromkeys(["connect", "read", "write", "timeout", "status"], 0),
            "latency_us": wrk_printer.statistics(correct(histogram, 1_000_000 // (18_100 // CONNECTIONS))),
            "thread_rps": wrk_printer.statistics(Histogram((18_100,), (1,))),
        }  # fmt: skip
        record.stdout = wrk_printer.output(fields, record.load)
    found = trial(block, "calibration+stalled", "ping", shape, [record])
    found.generator = shape.generator
    return found
