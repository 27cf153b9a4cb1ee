"""Charts with one line per system: words stand where they hide least."""

import pytest
from matplotlib.figure import Figure

from runners.present.kit.lines import free_place

LEVEL = 5e-3
JUST_ABOVE, FAR_BELOW = 5.5e-3, 1e-3


@pytest.fixture
def ax():
    found = Figure(figsize=(4, 3)).add_subplot()
    found.set_yscale("log")
    found.set_ylim(1e-4, 2e-2)
    return found


@pytest.mark.parametrize(
    ("points", "begins"),
    [
        ({}, "left"),
        ({0.1: JUST_ABOVE}, "middle"),
        ({0.1: JUST_ABOVE, 0.5: JUST_ABOVE}, "right"),
        ({0.1: FAR_BELOW, 0.5: JUST_ABOVE}, "left"),
        ({0.1: JUST_ABOVE, 0.5: JUST_ABOVE, 0.9: JUST_ABOVE}, "left"),
    ],
)
def test_words_over_a_level_hide_no_point_where_another_place_is_free(ax, points, begins):
    estimates = [(value, value, value) for value in points.values()]
    place = free_place(ax, list(points), estimates, LEVEL)
    assert begins == ("left" if place < 0.3 else "middle" if place < 0.6 else "right")


def test_of_places_without_a_point_words_take_the_one_with_the_fewest_intervals(ax):
    across = (FAR_BELOW, 5e-4, 1e-2)
    assert free_place(ax, [0.1, 0.2, 0.5], [across, across, (FAR_BELOW, 5e-4, 2e-3)], LEVEL) == pytest.approx(0.36)


def test_a_point_without_a_number_hides_nothing(ax):
    assert free_place(ax, [0.1], [(float("nan"),) * 3], LEVEL) < 0.3
