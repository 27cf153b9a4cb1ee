"""Blocks in which each cell has a process of its own, with more connections than are opened at once."""

import contextlib
import resource

import pandas as pd
import psutil
import pytest

from runners.analyse.tables import build_tables, load_results
from runners.analyse.usage import window_usage
from runners.core.parameters import Profile
from runners.generators.registry import GENERATORS
from runners.machine.facts import raise_open_files_limit
from runners.machine.pinning import plan_pinning
from runners.machine.speed_probe import SpeedProbes
from runners.measure.block import measure_block
from runners.measure.conformance import build_all, full_image
from runners.measure.design import BlockSettings, connection_shapes, design
from runners.measure.load import LoadContext
from runners.measure.this_machine import usable_cores
from runners.systems.catalogue import Catalogue

pytestmark = [pytest.mark.servers, pytest.mark.quiet]
MANY = 1500


def block(step=lambda _: None):
    """The records of one block of json10 at 20 and at many connections."""
    raise_open_files_limit()
    catalogue = Catalogue()
    image, artifacts = full_image(catalogue), build_all(catalogue, [catalogue.server("net-http")])
    source = LoadContext(GENERATORS, image, plan_pinning(usable_cores()), SpeedProbes([]))
    cells = design(
        catalogue, ["json10"], systems=["net-http"], shapes=connection_shapes([20, MANY]), process_per_cell=True
    )
    profile = Profile(0.2, 0.6, 1, 1, 1, 1.0, "for tests")
    return measure_block(BlockSettings(cells, artifacts, source, profile, 80, 1, "pretty", 1), 1, set(), step)


def tables_of(records):
    """The tables, read as the ledger would hand them out; void trials are in them, whatever else the machine does."""
    return build_tables(records)


@pytest.fixture(scope="module")
def records():
    """Those of a block that nothing disturbs."""
    return block()


def test_a_window_of_many_connections_begins_when_all_are_open_and_counts_them(records):
    assert [record.failure for record in records] == [None] * 4
    tables = tables_of(records)
    windows = tables.trials[~tables.trials["warmup"].astype(bool)].set_index("workload")
    many, few = windows.loc[f"json10@{MANY}"], windows.loc["json10@20"]
    assert (many["established_count"] == MANY).all()
    assert (many["ramp_up_s"] > 0).all()
    assert (few["ramp_up_s"] == 0).all()
    assert windows["duration_s"].between(0.5, 1.2).all()
    warm_ups = tables.trials[tables.trials["warmup"].astype(bool)]
    assert set(warm_ups["requested_connections_count"]) == {20, 100}
    assert len({record.port for record in records}) == 4


def test_memory_is_that_of_a_process_of_its_own(records):
    tables = build_tables(records)
    # Not from the tables: void trials, as on a machine that is busy, have no rows of usage there.
    server = pd.DataFrame(
        {"workload": record.workload, **vars(row)}
        for record in records
        for raw, result in load_results(record)
        for row in window_usage(record, raw, result.requests_count)
        if row.role == "server"
    ).set_index("workload")
    many, few = server.loc[f"json10@{MANY}"], server.loc["json10@20"]
    assert many["rss_peak_bytes"].min() > few["rss_peak_bytes"].max()
    assert (many["fds_count"] >= MANY).all()
    before = tables.trials.groupby("workload")["memory_before_rss_bytes"].max()
    assert (many["rss_peak_bytes"] > before[f"json10@{MANY}"]).all()


def test_a_server_that_runs_out_of_descriptors_gets_that_as_its_result():
    def starve(what):
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if child.name() == "server" and what.endswith(f"@{MANY}"):
                    child.rlimit(resource.RLIMIT_NOFILE, (150, 150))

    tables = tables_of(block(starve))
    failed = set(tables.failures["workload"])
    assert failed <= {f"json10@{MANY}"}
    errors = [name for name in tables.trials if name.startswith("errors_")]
    counted = tables.trials.groupby("workload")[errors].sum().sum(axis=1)
    assert counted["json10@20"] == 0
    little = tables.checks[tables.checks["name"] == "Little's law"].groupby("workload")["ok"].all()
    assert failed or counted[f"json10@{MANY}"] > 0 or not little[f"json10@{MANY}"]
