"""The search of one launch: which rates it tries, and what it does with late or missed windows."""

from collections.abc import Callable

import pytest

from runners.core.histogram import Histogram
from runners.core.load import LoadErrors, LoadResult
from runners.core.parameter_values import objectives
from runners.measure.capacity_search import CapacitySearch, met, on_schedule
from runners.stats.verdicts import bracket

GOALS = objectives(["p99 <= 5 ms", "p99.9 <= 20 ms"])


def window(p99_us: int, tail_us: int, *, late: bool = False, completed: float = 1.0, failed: float = 0.0) -> LoadResult:
    """Return the report of a window of 10,000 arrivals with this p99 and p99.9."""
    requests = round(10_000 * completed)
    return LoadResult(
        requests,
        1.0,
        0,
        1,
        LoadErrors(status_count=round(failed * requests)),
        service_time=Histogram((1,), (requests,)),
        response_time=Histogram((100, p99_us, tail_us), (9_800, 180, 20)),
        lateness=Histogram((10, 2000), (9_800, 200) if late else (9_990, 10)),
        scheduled_count=10_000,
    )


def searched(server: Callable[[float], LoadResult], most_rps: float = 1000.0) -> CapacitySearch:
    search = CapacitySearch(GOALS, 0.75 * most_rps, most_rps)
    while (rate := search.next_rate_rps()) is not None:
        search.add(rate, server(rate))
    return search


def largest(search: CapacitySearch, place: int) -> float:
    return bracket((rate, met(result, GOALS[place])) for rate, result in search.windows if on_schedule(result)).met_rps


def test_each_objective_gets_its_own_largest_rate_and_windows_serve_both() -> None:
    search = searched(lambda rate: window(1000 if rate <= 600 else 9000, 10_000 if rate <= 700 else 30_000))
    assert largest(search, 0) == pytest.approx(600, rel=0.03)
    assert largest(search, 1) == pytest.approx(700, rel=0.03)
    assert len(search.windows) <= 16


def test_a_missed_rate_is_tried_twice_before_it_counts() -> None:
    search = searched(lambda rate: window(9000, 30_000) if rate > 500 else window(1000, 10_000))
    missed = [rate for rate, _ in search.windows if rate > 500]
    assert {missed.count(rate) for rate in missed} == {2}


def test_one_disturbed_window_changes_no_result() -> None:
    disturbed = []

    def server(rate: float) -> LoadResult:
        if rate < 400 and not disturbed:
            disturbed.append(rate)
            return window(9000, 90_000)
        return window(1000 if rate <= 350 else 9000, 10_000 if rate <= 350 else 30_000)

    assert largest(searched(server), 0) == pytest.approx(350, rel=0.03)
    assert disturbed


def test_a_rate_that_the_generator_cannot_pace_bounds_the_search_and_counts_for_nothing() -> None:
    search = searched(lambda rate: window(100, 200, late=rate > 800))
    assert largest(search, 0) <= 800
    assert largest(search, 0) > 700


def test_a_search_ends_when_the_generator_is_late_at_every_rate() -> None:
    assert len(searched(lambda _: window(100, 200, late=True)).windows) <= 8


def test_a_window_that_lost_or_failed_requests_meets_no_objective() -> None:
    assert met(window(100, 200), GOALS[0])
    assert not met(window(100, 200, completed=0.98), GOALS[0])
    assert not met(window(100, 200, failed=0.05), GOALS[0])


def test_a_search_is_bounded() -> None:
    outcomes = iter(range(10_000))
    assert len(searched(lambda _: window(9000 if next(outcomes) % 3 else 100, 100)).windows) <= 24
