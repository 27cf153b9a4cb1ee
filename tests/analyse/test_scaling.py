"""Growth with CPUs of made-up runs: speed-up, efficiency, the law, and the CPU time of a request."""

import pytest

from runners.analyse.results import analyse
from runners.analyse.scaling import scaling_of
from runners.stats.scalability import law
from tests.analyse import grown


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return scaling_of(analyse(grown.run_of(tmp_path_factory.mktemp("large"))))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return scaling_of(analyse(grown.run_of(tmp_path_factory.mktemp("small"), planned=1, counts=(1, 2))))


def row(frame, system, count):
    return frame[(frame["system"] == system) & (frame["cpus_count"] == count)].iloc[0]


def test_the_speed_up_is_the_ratio_to_one_cpu_and_efficiency_its_share_of_the_ideal(large):
    for system, known in grown.SYSTEMS.items():
        found = row(large.growth, system, 16)
        truth = float(law(16, *known) / law(1, *known))
        assert found["speedup_low_ratio"] <= truth <= found["speedup_high_ratio"]
        assert found["efficiency_ratio"] == pytest.approx(found["speedup_ratio"] / 16)
        assert found["threads_count"] == 16
    assert row(large.growth, "fast+a", 1)["speedup_ratio"] == 1.0
    assert large.counts == [1, 2, 4, 8, 16]


def test_the_law_finds_contention_and_coherency_of_each_system(large):
    for system, (rate, contention, coherency) in grown.SYSTEMS.items():
        found = large.laws["decode-10", system]
        assert found.rate_rps.value == pytest.approx(rate, rel=0.03)
        assert found.contention.low - 0.005 <= contention <= found.contention.high + 0.005
        assert found.coherency.value == pytest.approx(coherency, abs=6e-4)


def test_the_cost_of_a_request_grows_as_it_was_made_to(large):
    for count, doublings in ((2, 1), (16, 4)):
        found = row(large.costs, "slow+b", count)
        assert found["cost_low_ratio"] <= grown.COST_GROWTH**doublings <= found["cost_high_ratio"]
        assert found["cpu_per_request_s"] == pytest.approx(
            grown.COST_US * 1e-6 * grown.COST_GROWTH**doublings, rel=0.03
        )
        assert not found["shared"]


def test_where_the_load_generator_is_the_limit_a_speed_up_is_a_bound_and_no_law_uses_it(tmp_path):
    found = scaling_of(analyse(grown.run_of(tmp_path, limited_from=8)))
    assert row(found.growth, "fast+a", 8)["bound"] == "at least"
    assert row(found.growth, "fast+a", 4)["bound"] == ""
    assert found.laws == {}


def test_on_two_cpus_the_cost_on_both_is_known_and_marked_as_shared(small):
    assert small.counts == [1]
    assert set(small.growth["cpus_count"]) == {1}
    assert [bool(row(small.costs, "fast+a", count)["shared"]) for count in (1, 2)] == [False, True]
    assert row(small.costs, "fast+a", 2)["cost_ratio"] == pytest.approx(grown.COST_GROWTH, rel=0.03)
    assert small.laws == {}
