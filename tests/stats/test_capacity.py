"""The largest rate that meets an objective: what windows at several rates say, and which rate is next."""

import math

from hypothesis import given, strategies as st

from runners.stats.verdicts import RESOLUTION, bracket, next_rate

RATES = st.floats(1.0, 1e6)


def search(true_rps: float, most_rps: float, first_rps: float = math.inf) -> list[tuple[float, bool]]:
    """Return the windows of a search on a server that meets the objective up to `true_rps`."""
    windows: list[tuple[float, bool]] = []
    while (rate := next_rate(bracket(windows), min(first_rps, most_rps), most_rps)) is not None:
        windows.append((rate, rate <= true_rps))
        assert len(windows) < 40
    return windows


@given(st.floats(0.01, 0.97), st.floats(0.01, 2.0), RATES)
def test_a_search_finds_the_largest_rate_within_its_resolution_wherever_it_begins(
    share: float, first: float, most_rps: float
) -> None:
    found = bracket(search(share * most_rps, most_rps, first * most_rps)).met_rps
    assert found <= share * most_rps <= found * (1 + RESOLUTION) * 1.001


@given(st.floats(0.01, 2.0), RATES)
def test_a_search_in_which_every_rate_meets_the_objective_ends_at_the_highest_rate(
    first: float, most_rps: float
) -> None:
    found = bracket(search(math.inf, most_rps, first * most_rps))
    assert math.isinf(found.missed_rps)
    assert found.met_rps == most_rps


def test_a_pilot_that_was_too_low_bounds_no_search() -> None:
    assert bracket(search(900.0, 10_000.0, 100.0)).met_rps > 875


def test_a_search_in_which_no_rate_meets_the_objective_ends_without_one() -> None:
    assert math.isnan(bracket(search(0.0, 1000.0)).met_rps)


@given(st.lists(st.tuples(st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0]), st.booleans())))
def test_the_largest_rate_is_below_every_rate_that_was_missed(windows: list[tuple[float, bool]]) -> None:
    found = bracket(windows)
    assert math.isnan(found.met_rps) or found.met_rps < found.missed_rps


def test_a_rate_is_met_in_more_than_half_of_its_windows() -> None:
    low, high = [(5.0, True)], [(20.0, False)]
    assert bracket([*low, (10.0, False), (10.0, True), *high]).met_rps == 5.0
    assert bracket([*low, (10.0, False), (10.0, True), (10.0, True), *high]).met_rps == 10.0
