"""A made-up run at several numbers of connections: throughputs, errors and memory that are known."""

from unittest import mock

from runners.core.load import Load
from runners.core.records import CONTROL, LoadProfile
from runners.core.sample import ProcessMemory
from runners.store.ledger import Run
from tests.analyse import synthetic

BASE_BYTES, AFTER_START_BYTES = 20_000_000, 12_000_000


def trial(block, system, workload, connections, rate, *, per_connection_bytes=5000, errors=0, seen=None, server=None):
    """One trial of a cell on a process of its own; `seen`: the connections that the kernel counted."""
    with mock.patch.multiple(synthetic, CONNECTIONS=connections, LOAD=Load(connections, 1, 1.0)):
        label = f"{workload}@{connections}"
        record = synthetic.trial(block, system, label, [rate], status_errors=errors, server=server or system)
    record.workload_name, record.shape = workload, LoadProfile(str(connections), connections=connections)
    record.memory_before = ProcessMemory(rss_bytes=AFTER_START_BYTES, pss_bytes=AFTER_START_BYTES, fds_count=7)
    record.memory_after = record.memory_before.model_copy(update={"rss_bytes": BASE_BYTES})
    for sample in (sample for window in record.windows for sample in window.samples):
        # Each block's server takes a little more than the one before.
        sample.server.rss_peak_bytes = int(BASE_BYTES + per_connection_bytes * connections * (1 + 0.02 * block))
        sample.connections_count = connections if seen is None else seen
    return record


def run_of(folder, cells, blocks=4, **about) -> Run:
    """A run of (system, connections) → rate, or a dict of :func:`trial`'s arguments; the first system has the control."""
    run = Run("05-connection-scale", "scaled", folder)
    first = next(iter(cells))[0]
    plan = {
        cell: arguments if isinstance(arguments, dict) else {"rate": arguments} for cell, arguments in cells.items()
    }
    plan |= {(CONTROL, count): {**given, "server": first} for (name, count), given in plan.items() if name == first}
    labels = {f"json10@{count}" for _, count in plan}
    known = {
        "parameters": {"seed": 1, "precision": 0.02, "connections": 80},
        "compared": sorted(labels, key=lambda label: int(label.split("@")[1])),
        "floor": None,
    }
    run.open(synthetic.manifest([(system, f"json10@{count}") for system, count in plan], first, **known | about))
    for block in range(1, blocks + 1):
        trials = [
            trial(block, system, "json10", count, **{**given, "rate": given["rate"] * (1 + 0.003 * block)})
            for (system, count), given in plan.items()
        ]
        run.write_block(block, trials)
    return run
