"""A database that is killed in the middle of a window: its trials fail with the reason, and the run goes on."""

import json
import os
import signal
import threading

import psutil
import pytest

import runners.measure.run
from runners.analyse.tables import build_tables, measured_windows
from runners.generators.registry import GENERATORS
from runners.ledger import Run
from runners.machine.pinning import plan_with_backend
from runners.machine.topology import read_cores
from runners.measure.block import BlockSettings, measure_block
from runners.measure.design import design
from runners.measure.run import measure
from runners.measure.speed_probe import SpeedProbes
from runners.measure.verify import build_all, full_image
from runners.measure.window import LoadSource
from runners.parameters import Profile
from runners.systems.catalogue import Catalogue

pytestmark = pytest.mark.servers
TWO_BLOCKS = Profile(0.2, 0.6, 2, 2, 2, 5.0, "for tests")


def settings():
    catalogue = Catalogue()
    artifacts = build_all(catalogue, [catalogue.server(name) for name in ("net-http", "postgresql")])
    plan = plan_with_backend(read_cores())
    source = LoadSource({"wrk": GENERATORS["wrk"]}, full_image(catalogue), plan, SpeedProbes([]))
    cells = design(catalogue, ["text", "sql1", "sql2"], systems=["net-http"], counts=[20])
    return BlockSettings(cells, artifacts, source, TWO_BLOCKS, 10, 1, "pretty", 1)


def databases():
    """The first processes of the databases below this one."""
    found = [child for child in psutil.Process().children(recursive=True) if child.name() == "postgres"]
    return [child for child in found if child.ppid() not in {other.pid for other in found}]


def test_the_trials_of_a_killed_database_say_so_and_the_next_block_has_a_new_one(tmp_path, monkeypatch):
    killed = []

    def kill():
        for first in databases():
            killed.append(first.pid)
            os.kill(first.pid, signal.SIGKILL)

    def killing(settings, number, excluded, step):
        def doing(what):
            # In the middle of the first window that asks it for anything: after the warm-up's 0.2 s.
            if number == 1 and "sql" in what and not killed:
                timers.append(threading.Timer(0.6, kill))
                timers[-1].start()
                killed.append(0)
            step(what)

        return measure_block(settings, number, excluded, doing)

    timers: list[threading.Timer] = []
    monkeypatch.setattr(runners.measure.run, "measure_block", killing)
    run = Run("04-text-json-sql", "killed", tmp_path)
    run.open({"started_at": "now"})
    measure(run, settings(), measured_windows, precision=0.01)

    records = [json.loads(json.dumps(record)) for record in run.trials()]
    assert len(killed) == 2
    asking = [record for record in records if record["workload"] != "text"]
    failures = {
        record["block"]: [other["failure"] for other in asking if other["block"] == record["block"]]
        for record in asking
    }
    assert {failure["stage"] for failure in failures[1]} == {"backend"}
    assert all("exit status -9" in failure["message"] for failure in failures[1])
    assert failures[2] == [None] * 4
    # What did not need it went on in the same block.
    assert {record["block"] for record in records if record["workload"] == "text" and not record["failure"]} == {1, 2}
    tables = build_tables(records)
    assert set(tables.trials[tables.trials["workload"] == "sql1"]["block"]) == {2}
    assert databases() == []
