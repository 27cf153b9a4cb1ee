"""Numbers of connections that fit into this machine's limits, and what becomes of the others."""

import pytest

from runners.core.errors import WrkbookError
from runners.core.parameters import Parameters
from runners.measure.design import connection_shapes
from runners.measure.load import clamped, fitting_levels, in_words


def test_what_fits_is_kept_as_it_is():
    assert fitting_levels([10, 19_900], 20_000, 28_232).kept == (10, 19_900)
    assert fitting_levels([10, 19_900], 20_000, 28_232).left_out == ()


def test_a_level_that_misses_by_little_is_measured_at_the_limit_under_its_own_number():
    levels = fitting_levels([20, 20_000], 20_000, 28_232)
    assert levels.kept == (20, 19_900)
    (left,) = levels.left_out
    assert (left.connections, left.instead) == (20_000, 19_900)
    (said,) = in_words(levels.left_out)
    assert "20000 connections do not fit into the limit of 20000 open files: 19900 were measured instead" in said
    assert "ulimit -Hn" in said


def test_a_level_far_beyond_the_limit_is_left_out_by_name():
    levels = fitting_levels([20, 1000, 50_000], 20_000, 28_232)
    assert levels.kept == (20, 1000)
    assert "50000 connections" in in_words(levels.left_out)[0]
    assert "left out" in in_words(levels.left_out)[0]


def test_no_level_is_measured_twice_in_the_place_of_others():
    assert fitting_levels([19_900, 20_000, 20_100], 20_000, 28_232).kept == (19_900,)


def test_the_ports_of_a_client_are_a_limit_too_with_another_remedy():
    levels = fitting_levels([20, 50_000], 100_000, 28_232)
    assert "28232 ports" in levels.left_out[0].why
    assert "ip_local_port_range" in levels.left_out[0].remedy


def test_nothing_left_is_an_error_that_says_what_fits():
    with pytest.raises(WrkbookError, match=r"50000: none fits into the limit of 1024 open files") as caught:
        fitting_levels([50_000], 1024, 28_232)
    assert "use at most 924" in str(caught.value)


def test_all_lists_of_the_parameters_are_clamped_and_those_requested_stay_in_the_record():
    requested = Parameters(**{"connection_counts": [10, 20_000], "blog_connection_counts": [20, 30_000]})
    fits, left_out = clamped(requested, 20_000, 28_232)
    assert fits.connection_counts == [10, 19_900]
    assert fits.blog_connection_counts == [20]
    assert [level.connections for level in left_out] == [20_000, 30_000]
    assert requested.connection_counts == [10, 20_000]


def test_a_load_of_one_number_that_does_not_fit_is_an_error():
    with pytest.raises(WrkbookError, match="parameter connections: 2000 do not fit into the limit of 1024"):
        clamped(Parameters(**{"connections": 2000}), 1024, 28_232)


def test_an_experiment_s_own_loads_must_fit_too():
    with pytest.raises(WrkbookError, match="parameter connections: 3000 do not fit"):
        clamped(Parameters(**{"connections": 80}), 1024, 28_232, connection_shapes([10, 3000]))
    clamped(Parameters(**{"connections": 80}), 1024, 28_232, connection_shapes([10, 900]))
