"""Made-up runs on several numbers of server CPUs: throughputs that follow a law, and CPU times of requests that are known."""

import random

from runners.core.load import Load
from runners.core.records import CONTROL, LoadProfile, Workload
from runners.core.run_manifest import PlannedLoad, PlannedRates
from runners.core.sample import CpuSpread, CpuTimes, RoleCpus
from runners.machine.topology import format_cpu_list
from runners.stats.scalability import law
from runners.store.ledger import Run
from tests.analyse import loaded, synthetic

EXPERIMENT = "09-cpu-scaling"
SYSTEMS = {"fast+a": (40_000.0, 0.02, 0.0), "slow+b": (10_000.0, 0.1, 2e-3)}
"""System → λ, σ and κ."""
COST_US, COST_GROWTH = 20.0, 1.1
"""CPU time of a request on one CPU, and the factor on each doubling of the CPUs."""
RATE_RPS = 1000.0


def shapes(counts, *, rate_rps=None):
    name = "" if rate_rps is None else f"{rate_rps:g}/s"
    generator = None if rate_rps is None else "paceload"
    return [
        LoadProfile(name, generator, rate_rps=rate_rps, server_cpus_count=n, server_threads_count=n) for n in counts
    ]


def cpus(at_s, busy, count):
    """So many CPUs of a role, all of them as busy."""
    kinds = dict.fromkeys(("nice_s", "system_s", "iowait_s", "irq_s", "softirq_s", "steal_s"), 0.0)
    times = CpuTimes(user_s=busy * at_s * count, idle_s=(1 - busy) * at_s * count, **kinds)
    return RoleCpus(times=times, own_cpu_s=0.0)


def trial(block, system, shape, throughput_rps, cpu_us, planned, *, server, busy=(1.0, 0.6)):
    """One trial on the first CPUs of `planned`; `busy`: shares of the CPUs of server and load generator."""
    label = Workload("decode", operations=10, shape=shape).label
    record = synthetic.trial(block, system, label, [throughput_rps], server=server)
    record.workload_name, record.operations, record.shape = "decode", 10, shape
    own = tuple(range(shape.server_cpus_count))
    generator = tuple(range(planned, 2 * planned))
    record.cpus = {"server": format_cpu_list(own), "generator": format_cpu_list(generator), "housekeeping": "0"}
    if shape.rate_rps:
        record.generator = "paceload"
        record.windows = [
            loaded.window(kind, shape.rate_rps, 50 * shape.rate_rps, cpu_us) for kind in ("warmup", "window")
        ]
    for window in record.windows:
        window.server_cpu_s = throughput_rps * cpu_us * 1e-6
        for sample, at_s in zip(window.samples, (0.1, 0.5, 0.9), strict=False):
            sample.cpus = {"server": cpus(at_s, busy[0], len(own)), "generator": cpus(at_s, busy[1], len(generator))}
            sample.server.cpu_s = busy[0] * at_s * len(own)
            sample.generator.cpu_s = busy[1] * at_s * len(generator)
        window.busy = {
            "server": CpuSpread(least_fraction=busy[0] - 0.1, median_fraction=busy[0], most_fraction=busy[0])
        }
        window.load = window.load if shape.rate_rps else Load(synthetic.CONNECTIONS, 1, 1.0)
    return record


def run_of(folder, planned=16, counts=(1, 2, 4, 8, 16), *, blocks=6, noise=0.01, limited_from=None, **about) -> Run:
    """A run on a machine with so many server CPUs; from `limited_from` CPUs on the load generator is the limit."""
    run, chance = Run(EXPERIMENT, about.pop("run_id", "grown"), folder), random.Random(5)
    alone = [n for n in counts if n <= planned]
    closed, paced = shapes(alone), shapes(counts, rate_rps=RATE_RPS)
    workloads = [Workload("decode", operations=10, shape=shape) for shape in [*closed, *paced]]
    first = next(iter(SYSTEMS))
    names = [*SYSTEMS, CONTROL]
    capacities = {"decode-10": {name: rate for name, (rate, _, _) in SYSTEMS.items()}}
    loads = [PlannedLoad(load="levels", shape=LoadProfile(f"{RATE_RPS:g}/s", "paceload", rate_rps=RATE_RPS), systems=None,
                         workload="decode-10", share=0.4, share_of="slowest")]  # fmt: skip
    manifest = synthetic.manifest(
        [(name, workload.label) for workload in workloads for name in names],
        first,
        workloads={workload.label: workload for workload in workloads},
        compared=[workload.label for workload in workloads],
        floor=None,
        pinning={"server": format_cpu_list(range(planned)), "generator": format_cpu_list(range(planned, 2 * planned)),
                 "housekeeping": "0"},
        rates=PlannedRates(capacities=capacities, loads=loads),
        **about,
    )  # fmt: skip
    run.open(manifest)
    for block in range(1, blocks + 1):
        trials = []
        for name in names:
            known = SYSTEMS[first if name == CONTROL else name]
            server = first.partition("+")[0] if name == CONTROL else name.partition("+")[0]
            for shape in [*closed, *paced]:
                n = shape.server_cpus_count
                rate = float(law(n, *known)) * (1 + chance.gauss(0, noise))
                cpu_us = COST_US * COST_GROWTH ** (n.bit_length() - 1) * (1 + chance.gauss(0, noise))
                is_limited = limited_from is not None and n >= limited_from and not shape.rate_rps
                busy = (0.3, 0.3) if shape.rate_rps else (0.5, 1.0) if is_limited else (1.0, 0.6)
                completed = shape.rate_rps or rate
                trials.append(trial(block, name, shape, completed, cpu_us, planned, server=server, busy=busy))
        run.write_block(block, trials)
    return run
