"""What runs behind servers is killed in the middle of a window: its trials fail with the reason, and the run goes on."""

import signal
import threading

import psutil
import pytest

import runners.measure.run
from runners.analyse.tables import build_tables, measured_windows
from runners.core.parameters import Profile
from runners.generators.registry import GENERATORS
from runners.machine.pinning import plan_with_backend
from runners.machine.speed_probe import SpeedProbes
from runners.measure.block import measure_block
from runners.measure.conformance import build_all, full_image
from runners.measure.design import BlockSettings, design
from runners.measure.load import LoadContext
from runners.measure.run import measure
from runners.measure.this_machine import usable_cores
from runners.store.ledger import Run
from runners.systems.catalogue import Catalogue
from tests.analyse.synthetic import manifest
from tests.faults.harness import send

pytestmark = [pytest.mark.servers, pytest.mark.quiet]
TWO_BLOCKS = Profile(0.2, 0.6, 1, 2, 2, 5.0, "for tests")


def settings(backend, server, workloads):
    catalogue = Catalogue()
    artifacts = build_all(catalogue, [catalogue.server(name) for name in (server, backend)])
    plan = plan_with_backend(usable_cores())
    source = LoadContext({"wrk": GENERATORS["wrk"]}, full_image(catalogue), plan, SpeedProbes([]))
    cells = design(catalogue, workloads, systems=[server], counts=[20])
    return BlockSettings(cells, artifacts, source, TWO_BLOCKS, 10, 1, "pretty", 1)


def running(program):
    """The first processes of a program below this one."""
    found = [child for child in psutil.Process().children(recursive=True) if child.name() == program]
    return [child for child in found if child.ppid() not in {other.pid for other in found}]


def measured(chosen, monkeypatch, folder, *, program, when):
    """The records of a run in whose first block, in the first window of a workload that has `when` in its name, a program is killed."""
    killed, timers = [], []

    def kill():
        for first in running(program):
            killed.append(first.pid)
            # The first one first: it would mourn the others, and start new ones.
            others = first.children(recursive=True)
            for process in [first, *others]:
                send(process, signal.SIGKILL)

    def killing(settings, number, excluded, step):
        def doing(what):
            # In the middle of the first window that needs it: after the warm-up's 0.2 s.
            if number == 1 and when in what and not timers:
                timers.append(threading.Timer(0.6, kill))
                timers[-1].start()
            step(what)

        return measure_block(settings, number, excluded, doing)

    monkeypatch.setattr(runners.measure.run, "measure_block", killing)
    run = Run("killed", "killed", folder)
    run.open(manifest())
    measure(run, chosen, measured_windows, precision=0.01)
    assert len(killed) == 1
    assert running(program) == []
    return list(run.trials())


def failures(records, block):
    return [record.failure for record in records if record.block == block]


def test_the_trials_of_a_killed_database_say_so_and_the_next_block_has_a_new_one(tmp_path, monkeypatch):
    chosen = settings("postgresql", "net-http", ["text", "sql1", "sql2"])
    records = measured(chosen, monkeypatch, tmp_path, program="postgres", when="sql")
    needing = [record for record in records if record.workload != "text"]
    assert {failure.stage for failure in failures(needing, 1)} == {"backend"}
    assert all("exit status -9" in failure.message for failure in failures(needing, 1))
    assert failures(needing, 2) == [None] * 4
    # What did not need it went on in the same block.
    assert {record.block for record in records if record.workload == "text" and not record.failure} == {1, 2}
    tables = build_tables(records)
    assert set(tables.trials[tables.trials["workload"] == "sql1"]["block"]) == {2}


def test_the_trials_through_a_proxy_whose_origin_is_killed_say_so_and_the_next_block_has_a_new_one(
    tmp_path, monkeypatch
):
    chosen = settings("nginx", "haproxy-tcp", ["relay"])
    records = measured(chosen, monkeypatch, tmp_path, program="nginx", when="relay")
    assert {failure.stage for failure in failures(records, 1)} == {"backend"}
    assert all("exit status -9" in failure.message for failure in failures(records, 1))
    assert failures(records, 2) == [None] * 2
    assert set(build_tables(records).trials["block"]) == {2}
