"""A block in this process: an honest server and one with a fault, side by side, written to a ledger of its own."""

import shutil
import time
from pathlib import Path
from unittest import mock

import psutil

from runners.analyse.checks.conditions import DISTURBANCES
from runners.analyse.tables import Tables, build_tables
from runners.core.parameters import Profile
from runners.core.trial_record import TrialRecord
from runners.generators.registry import GENERATORS
from runners.machine.pinning import plan_pinning
from runners.machine.speed_probe import SpeedProbes
from runners.measure.block import measure_block
from runners.measure.conformance import full_image
from runners.measure.design import BlockSettings, design
from runners.measure.load import LoadContext
from runners.measure.this_machine import usable_cores
from runners.store.ledger import Run
from runners.systems.build import build
from runners.systems.catalogue import Catalogue
from runners.systems.sockets import FIRST_PORT, hold_ports
from tests.analyse.synthetic import manifest
from tests.faults.harness import SETTLED_S, described
from tests.free_ports import first_of_worker

_PROFILE = Profile(0.1, 0.5, 1, 1, 1, 1.0, "for tests")
_LIAR = Path(__file__).with_name("liar") / "server.py"
_MANIFEST = """
title = "A server with a fault"
language = "Python"
role = "origin"
packages = ["python3"]
[start]
command = ["python3", "/src/server.py", "--port", "{{port}}", "--fault", "{fault}"]
[[serves]]
workload = "ping"
path = "/ping"
"""
# On a busy machine samples of the processes may come too late.
_TOO_LATE = "no thread could be sampled"


def servers(folder: Path, **faults: str) -> Path:
    """A catalogue folder: server → its fault."""
    for name, fault in faults.items():
        (folder / name).mkdir(parents=True)
        shutil.copy(_LIAR, folder / name / "server.py")
        (folder / name / "server.toml").write_text(_MANIFEST.format(fault=fault))
    return folder


def settings(folder: Path, generator=None) -> BlockSettings:
    """One cell for each server of a catalogue folder, and the control of the first."""
    image, catalogue = full_image(Catalogue()), Catalogue(folder)
    image.ensure()
    artifacts = {name: build(server, image) for name, server in catalogue.servers.items()}
    source = LoadContext({"wrk": generator or GENERATORS["wrk"]}, image, plan_pinning(usable_cores()), SpeedProbes([]))
    cells = design(catalogue, ["ping"], systems=list(catalogue.servers))
    return BlockSettings(cells, artifacts, source, _PROFILE, 4, 1, "pretty", 1)


def measured(chosen: BlockSettings, ledger: Path, step=lambda _: None) -> tuple[dict[str, TrialRecord], Tables]:
    """Measure one block into a ledger and read it back; nothing may be left of it. System → record, and the tables."""
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    threads, descriptors = psutil.Process().num_threads(), psutil.Process().num_fds()
    run = Run("faults", "block", ledger)
    run.open(manifest())

    # The locks of ports are in a cache of the tests' own, which other workers do not see.
    def own_ports(count, first=FIRST_PORT):
        return hold_ports(count, first_of_worker(first))

    with mock.patch("runners.measure.roles.hold_ports", own_ports):
        records = measure_block(chosen, 1, set(), step)
    run.write_block(1, records)
    left = [process for process in psutil.Process().children(recursive=True) if process.pid not in before]
    # One that was killed may still be ending, where other tests run beside this one.
    _, alive = psutil.wait_procs(left, timeout=SETTLED_S)
    assert [described(process) for process in alive] == []
    # So may a thread that read what it printed.
    deadline = time.monotonic() + SETTLED_S
    while psutil.Process().num_threads() > threads and time.monotonic() < deadline:
        time.sleep(0.05)
    assert psutil.Process().num_threads() <= threads
    assert psutil.Process().num_fds() <= descriptors
    found = list(run.trials())
    assert len(found) == len(records)
    return {record.system: record for record in found}, build_tables(found)


def voids(tables: Tables, system: str) -> dict[str, str]:
    """The checks that declare a trial void, with what they found: those that are not the machine's."""
    checks = tables.checks
    bad = checks[(checks["system"] == system) & ~checks["ok"].astype(bool) & checks["void"].astype(bool)]
    found = {row["name"]: row["detail"] for _, row in bad.iterrows()}
    return {name: told for name, told in found.items() if name not in DISTURBANCES and told != _TOO_LATE}
