"""Windows at a rate, and the search of a launch, with a real server and the real load generator."""

import pytest

from runners.analyse import tables
from runners.analyse.tables import build_tables
from runners.core.parameters import Profile
from runners.core.records import LoadProfile, System, Workload
from runners.generators.registry import GENERATORS
from runners.machine.pinning import plan_pinning
from runners.machine.speed_probe import SpeedProbes
from runners.measure.block import measure_block
from runners.measure.conformance import build_all, full_image
from runners.measure.design import BlockSettings, Cell, Design
from runners.measure.load import LoadContext
from runners.measure.this_machine import usable_cores
from runners.systems.catalogue import Catalogue

pytestmark = [pytest.mark.servers, pytest.mark.quiet]
SHORT = Profile(0.0, 0.4, 1, 1, 1, 1.0, "for tests")
AT_A_RATE = Workload("ping", shape=LoadProfile("500/s", "paceload", rate_rps=500.0))
# Any server keeps it at these rates, on any machine that is not overloaded.
SEARCHED = Workload("ping", shape=LoadProfile("capacity", "paceload", objectives=("p50 <= 1 s",)))


@pytest.fixture(scope="module")
def records():
    catalogue = Catalogue()
    artifacts = build_all(catalogue, [catalogue.server(name) for name in ("beast", "paceload")])
    builds = {"paceload": artifacts["paceload"].folder}
    source = LoadContext(
        {"paceload": GENERATORS["paceload"]},
        full_image(catalogue),
        plan_pinning(usable_cores()),
        SpeedProbes([]),
        builds,
    )
    design = Design(tuple(Cell(System("beast"), workload) for workload in (AT_A_RATE, SEARCHED)), (AT_A_RATE,))
    ranges = {("beast", "ping"): (800.0, 1000.0)}
    settings = BlockSettings(
        design, artifacts, source, SHORT, 20, 1, "pretty", 1, generator="paceload", search_ranges=ranges
    )
    found = measure_block(settings, 1, set(), lambda _: None)
    assert [record.failure for record in found] == [None, None]
    return {record.workload: record for record in found}


def test_no_sample_is_taken_while_a_schedule_is_kept(records):
    (window,) = [each for each in records["ping@500/s"].windows if each.kind == "window"]
    first, last = window.samples
    # From its first connection to its end: at least its duration, less the moment in which that was noticed.
    assert last.at_s - first.at_s > 0.9 * window.load.duration_s
    assert first.generator.threads_count
    assert first.server.threads_count
    assert last.server.memory is not None


def test_the_cpu_time_of_the_load_generator_is_that_of_its_report(records, monkeypatch):
    # Whatever made the trial void on a busy machine.
    monkeypatch.setattr(tables, "_void_for", lambda _: ())
    window = records["ping@500/s"].windows[-1]
    reported_s = GENERATORS["paceload"].parse(window.stdout, window.load).cpu_s
    assert window.samples[-1].generator.cpu_s == max(reported_s, window.samples[0].generator.cpu_s)
    usage = build_tables(records.values()).usage.set_index(["workload", "role"])
    assert usage.loc[("ping@500/s", "generator"), "cpu_s"] > 0


def test_a_search_goes_up_to_the_highest_rate_and_ends_there(records):
    windows = [each for each in records["ping@capacity"].windows if each.kind == "search"]
    assert {each.load.rate_rps for each in windows} == {800.0, 1000.0}
    trials = build_tables(records.values()).trials
    searched = trials[trials["kind"] == "search"]
    assert set(searched["offered_rps"]) == {800.0, 1000.0}
    assert searched["response_p50_s"].notna().all()
