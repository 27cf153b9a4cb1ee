"""Runs that nobody measured: records with known throughputs, service times and uses of the CPUs."""

import random

from runners.core.histogram import Histogram
from runners.core.load import ERRORS_TOLERANCE, Load
from runners.core.records import CONTROL, MEASURED_KINDS, LoadProfile, System
from runners.core.run_manifest import RunManifest
from runners.core.sample import CpuTimes, RoleCpus, RoleSample, Sample
from runners.core.trial_record import TrialRecord, Verification, WindowRecord
from runners.store.ledger import Run
from runners.store.migrations import workload_of_label
from tests.generators import wrk_printer

CONNECTIONS = 80
RESPONSE_BYTES = 150
LOAD = Load(CONNECTIONS, 1, 1.0)


def printed(
    throughput_rps: float, status_errors: int = 0, response_bytes: int = RESPONSE_BYTES, waiting: float = 0.0
) -> str:
    """wrk's output of one second in which all service times agree with Little's law, but for a share spent `waiting` in wrk."""
    requests = round(throughput_rps)
    service_us = max(1, round((1 - waiting) * CONNECTIONS / throughput_rps * 1e6))
    values = (service_us - 1, service_us, service_us + 1) if service_us > 1 else (1, 2, 3)
    counts = (requests // 3, requests - 2 * (requests // 3), requests // 3)
    fields = {
        "duration_us": 1_000_000,
        "requests": requests,
        "bytes": requests * response_bytes,
        "errors": {"connect": 0, "read": 0, "write": 0, "timeout": 0, "status": status_errors},
        "latency_us": wrk_printer.statistics(Histogram(values, counts)),
        "thread_rps": wrk_printer.statistics(Histogram((requests,), (1,))),
    }
    return wrk_printer.output(fields, LOAD)


def sample(at_s: float, server_busy: float = 1.0, generator_busy: float = 0.6, steal: float = 0.0, unpinned=()):
    """A snapshot in which both roles have been as busy as given for `at_s` seconds."""

    def cpus(busy):
        used = {"user_s": busy * at_s, "idle_s": (1 - busy - steal) * at_s, "steal_s": steal * at_s}
        times = CpuTimes(**dict.fromkeys(("nice_s", "system_s", "iowait_s", "irq_s", "softirq_s"), 0.0) | used)
        return RoleCpus(times=times, own_cpu_s=0.0)

    def role(busy):
        return RoleSample(
            cpu_s=busy * at_s,
            user_s=busy * at_s * 0.75,
            system_s=busy * at_s * 0.25,
            rss_bytes=9_000_000,
            rss_peak_bytes=10_000_000,
            threads_count=3,
            context_switches_count=int(1000 * at_s),
            unpinned_threads=list(unpinned),
        )

    return Sample(
        at_s=at_s,
        cpus={"server": cpus(server_busy), "generator": cpus(generator_busy)},
        server=role(server_busy),
        generator=role(generator_busy),
    )


def window(throughput_rps: float, kind: str = "window", **about) -> WindowRecord:
    """One window's record; `about`: what is odd in it."""
    moments = (0.1, 0.5, 0.9) if kind in MEASURED_KINDS else ()
    usage = {name: about[name] for name in ("server_busy", "generator_busy", "steal", "unpinned") if name in about}
    return WindowRecord(
        kind=kind,
        started_at="2026-01-01T00:00:00+00:00",
        command=["wrk"],
        load=Load(CONNECTIONS, 1, 1.0),
        connected_after_s=0.01,
        exit_status=0,
        stdout=printed(
            throughput_rps,
            about.get("status_errors", 0),
            about.get("response_bytes", RESPONSE_BYTES),
            about.get("waiting", 0.0),
        ),
        stderr="",
        samples=[sample(at_s, **usage) for at_s in moments],
        hung=False,
        slices=None,
        elapsed_s=1.1,
        speed={},
        server_cpu_s=0.95,
        backend_work=None,
        server_listened=about.get("server_listened", True),
    )


def trial(block: int, system: str, workload: str, rates: list[float], **about) -> TrialRecord:
    """One trial's record."""
    server, _, codec = system.partition("+")
    name, _, operations = workload.rpartition("-") if workload[-1].isdigit() and "-" in workload else (workload, "", "")
    verified = Verification(response_bytes=RESPONSE_BYTES, body_bytes=RESPONSE_BYTES, difference=None)
    return TrialRecord(
        block=block,
        system=system,
        server=about.get("server", server),
        codec=codec or None,
        control=system == CONTROL,
        workload=workload,
        workload_name=name.partition("@")[0],
        operations=int(operations) if operations else None,
        count=None,
        shape=LoadProfile(),
        path=f"/{name}",
        body_bytes=560,
        response_tolerance=ERRORS_TOLERANCE,
        idle_other_fraction={},
        work_per_request={},
        cpus={"server": "0", "generator": "1", "housekeeping": "1"},
        generator="wrk",
        port=18080,
        startup_s=0.05,
        failure=about.get("failure"),
        windows=[window(rates[0], "warmup"), *(window(rate, **about) for rate in rates)],
        verified_before=verified,
        verified_after=verified,
        block_started_at="2026-01-01T00:00:00+00:00",
        block_s=10.0,
    )


def described(cells, baseline) -> dict:
    """What a run's manifest says of the systems and workloads of its cells."""
    servers = {name: baseline if name == CONTROL else name for name, _ in cells}
    systems = {
        name: System(label.partition("+")[0], label.partition("+")[2] or None, control=name == CONTROL)
        for name, label in servers.items()
    }
    return {"systems": systems, "workloads": {label: workload_of_label(label) for _, label in cells}}


def manifest(cells=(), baseline="fast+a", **differing) -> RunManifest:
    """A run's manifest: of two CPUs, and of nothing that matters."""
    content = {
        "started_at": "2026-01-01T00:00:00+00:00",
        "profile": "standard",
        "parameters": {"seed": 1, "precision": 0.02},
        "pinning": {"server": "0", "generator": "1", "housekeeping": "1"},
        "machine": {"cpu": "a CPU", "cpus_count": 2, "kernel": "6.1"},
        "versions": {},
        "cells": list(cells),
        **described(cells, baseline),
        "compared": list(dict.fromkeys(workload for _, workload in cells if not workload.startswith("discard"))),
        "floor": "discard",
        "control_of": baseline,
    }
    return RunManifest.model_validate(content | differing)


def run_of(tmp_path, rates: dict[tuple[str, str], float], blocks: int = 8, noise: float = 0.005, **about) -> Run:
    """A run in the ledger whose cells have the given throughputs, with noise between launches and drift between blocks.

    `about`: run_id, experiment, chance (seed of the noise), drift (how far blocks differ), record (what differs in run.json).
    """
    run = Run(about.get("experiment", "02-json-decode"), about.get("run_id", "synthetic"), tmp_path)
    chance, width = random.Random(about.get("chance", 7)), about.get("drift", 0.1)
    nonconforming = about.pop("nonconforming", {})
    run.open(manifest(rates, **{"nonconforming": nonconforming} | about.get("record", {})))
    odd = about.pop("odd", {})
    for block in range(1, blocks + 1):
        drift = chance.uniform(1 - width, 1 + width)
        trials = []
        for (system, workload), rate in rates.items():
            launch = rate * drift * (1 + chance.gauss(0, noise))
            server = {"server": "fast"} if system == CONTROL else {}
            windows = [launch * (1 + chance.gauss(0, noise / 3)) for _ in range(2)]
            trials.append(trial(block, system, workload, windows, **server, **odd.get((system, workload), {})))
        run.write_block(block, trials)
    return run
