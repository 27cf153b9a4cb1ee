"""Numbers of server CPUs: which are measured, on which CPUs, with how many threads and connections."""

from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from runners.core.errors import WrkbookError
from runners.core.parameter_values import threads_on
from runners.core.parameters import Parameters
from runners.core.records import LoadProfile, System, Workload
from runners.core.run_manifest import PlannedLoad, PlannedRates
from runners.machine.pinning_plan import PinningPlan
from runners.measure.design import BlockSettings, Cell, Design
from runners.measure.fixed_rates import with_rates
from runners.measure.load_levels import LEVELS
from runners.measure.server_cpus import (
    AS_PUBLISHED,
    CONNECTIONS_PER_THREAD,
    connections_for,
    cpu_steps,
    generator_threads,
    most_threads,
    with_server_cpus,
)

TWO = PinningPlan((0,), (1,), (1,))
LARGE = PinningPlan(tuple(range(64)), tuple(range(64, 127)), (127,))


def parameters(**given):
    return Parameters(**given)


def steps(plan, **given):
    found = cpu_steps(parameters(**given), plan)
    return found.alone, found.shared


def ping(**shape):
    return Workload("ping", shape=LoadProfile(**shape))


DESIGN = Design(
    tuple(Cell(System("fast"), ping(name=name)) for name in ("", LEVELS)), (ping(), ping(name=LEVELS))
)  # fmt: skip


def test_a_large_machine_is_measured_at_powers_of_two_and_at_all_its_server_cpus():
    assert steps(LARGE) == ((1, 2, 4, 8, 16, 32, 64), ())
    assert steps(PinningPlan(tuple(range(6)), tuple(range(6, 12)), (11,))) == ((1, 2, 4, 6), ())


def test_one_server_cpu_is_compared_with_those_of_the_load_generator_at_a_fixed_rate_only():
    assert steps(TWO) == ((1,), (2,))
    found = with_server_cpus(DESIGN, cpu_steps(parameters(), TWO), "1x")
    assert [cell.workload.label for cell in found.cells] == ["ping@1cpu", "ping@levels-1cpu", "ping@levels-2cpus"]
    assert found.process_per_cell


def test_counts_that_were_given_are_measured_and_those_beyond_the_plan_are_shared():
    assert steps(LARGE, cpu_counts=[3, 1]) == ((1, 3), ())
    assert steps(PinningPlan((0, 1), (2, 3), (3,)), cpu_counts=[1, 2, 3]) == ((1, 2), (3,))


def test_more_cpus_than_there_are_is_an_error_that_says_how_many_there_are():
    with pytest.raises(WrkbookError, match="3 server CPUs are more than the 2") as told:
        steps(TWO, cpu_counts=[3])
    assert "at most 2" in told.value.remedy


def test_the_published_shape_needs_a_cpu_for_each_of_its_threads():
    with pytest.raises(WrkbookError, match="16 server threads have a CPU each, and only 1 CPU is planned"):
        steps(TWO, shape="as-published")
    assert steps(LARGE, shape="as-published") == ((1, 2, 4, 8, 16), ())
    shaped = parameters(shape="as-published")
    assert connections_for(shaped, 64, chosen=False) == AS_PUBLISHED.connections
    assert generator_threads(shaped, LARGE.generator, 80) == AS_PUBLISHED.generator_threads


@given(st.integers(1, 512), st.integers(1, 600))
def test_every_server_thread_has_two_connections_unless_the_user_said_otherwise(threads, connections):
    given_ = parameters(connections=connections)
    assert connections_for(given_, threads, chosen=False) >= CONNECTIONS_PER_THREAD * threads
    assert connections_for(given_, threads, chosen=False) >= connections
    assert connections_for(given_, threads, chosen=True) == connections


def test_the_load_generator_has_a_thread_for_each_of_its_cpus_and_no_more_than_connections():
    assert generator_threads(parameters(), LARGE.generator, 128) == 63
    assert generator_threads(parameters(), LARGE.generator, 20) == 20
    assert generator_threads(parameters(generator_threads=5), LARGE.generator, 128) == 5


def test_threads_are_a_multiple_of_the_cpus_or_a_number():
    assert [threads_on(text, 4) for text in ("1x", "2x", "16")] == [4, 8, 16]
    found = with_server_cpus(DESIGN, cpu_steps(parameters(), LARGE), "2x")
    assert {cell.workload.shape.server_threads_count for cell in found.cells} == {2, 4, 8, 16, 32, 64, 128}
    assert most_threads(found, LARGE) == 128
    assert most_threads(DESIGN, LARGE) == 64


@pytest.mark.parametrize("wrong", ["0x", "x", "1.5x", "-1", "0", "", True, None])
def test_other_texts_are_no_number_of_threads(wrong):
    with pytest.raises(ValueError, match="1x to 99x"):
        parameters(server_threads=wrong)


def test_a_planned_rate_is_measured_on_every_number_of_cpus():
    found = with_server_cpus(DESIGN, cpu_steps(parameters(), TWO), "2x")
    load = PlannedLoad(load=LEVELS, shape=LoadProfile("500/s", rate_rps=500.0), systems=None, workload="ping")
    planned = with_rates(found, PlannedRates(capacities={"ping": {"fast": 1000.0}}, loads=[load]))
    assert [
        (cell.workload.label, cell.workload.shape.rate_rps, cell.workload.shape.server_threads_count)
        for cell in planned.cells
    ] == [("ping@1cpu", None, 2), ("ping@500/s-1cpu", 500.0, 2), ("ping@500/s-2cpus", 500.0, 4)]
    assert len(planned.compared) == 3


@pytest.mark.parametrize(("count", "cpus"), [(None, [4, 5]), (1, [4]), (2, [4, 5]), (3, [4, 5, 6])])
def test_a_cell_runs_on_the_first_of_the_planned_cpus_and_then_on_those_of_the_load_generator(count, cpus):
    artifact = SimpleNamespace(server=SimpleNamespace(role="origin"))
    source = SimpleNamespace(plan=PinningPlan((4, 5), (6, 7), (7,)))
    settings = BlockSettings(DESIGN, {"fast": artifact}, source, None, 80, 1, "pretty", 1)
    assert settings.cpus(Cell(System("fast"), ping(server_cpus_count=count))) == cpus
