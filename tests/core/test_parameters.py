"""Parameters: what is accepted, and what the errors say."""

import pytest

from runners.cli.arguments import joined_parameters, parameter_values
from runners.core.errors import WrkbookError
from runners.core.parameters import (
    ComparedRuns,
    Parameters,
    changed_parameters,
    check_parameters,
    from_notebook,
    validated,
)
from runners.core.project import COMPARING, declared_parameters, experiments

DECODE = "02-json-decode"


def checked(values):
    return check_parameters(values, DECODE)


def test_the_defaults_are_valid_and_standard():
    assert checked({}).profile == "standard"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"profil": "quick"}, "unknown parameter profil (did you mean profile?)"),
        ({"profile": "fast"}, "parameter profile"),
        ({"connections": "80"}, "parameter connections"),
        ({"connections": True}, "parameter connections"),
        ({"connections": 0}, "parameter connections"),
        ({"batch_sizes": []}, "parameter batch_sizes"),
        ({"batch_sizes": [0]}, "0 is not from 1 to 4096"),
        ({"batch_sizes": [4097]}, "4097 is not from 1 to 4096"),
        ({"batch_sizes": [10, 10]}, "given twice"),
        ({"batch_sizes": 10}, "parameter batch_sizes"),
        ({"systems": "gin"}, "parameter systems"),
        ({"precision": 0}, "parameter precision"),
        ({"body_style": "ugly"}, "parameter body_style"),
        ({"seed": -1}, "parameter seed"),
        ({"slices": "often"}, "parameter slices: must be auto, or whole milliseconds from 0"),
        ({"slices": 1001}, "parameter slices"),
        ({"slices": "auto-0"}, "parameter slices"),
        ({"slices": "auto-"}, "parameter slices"),
        ({"slices": "auto--5"}, "parameter slices"),
        ({"slices": -1}, "parameter slices"),
        ({"slices": "1.5"}, "parameter slices"),
        ({"slices": 0.5}, "parameter slices"),
        ({"slices": True}, "parameter slices"),
        ({"slices": ""}, "parameter slices"),
        ({"slice_ms": 100}, "unknown parameter slice_ms"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_wrong(values, told):
    with pytest.raises(WrkbookError) as caught:
        checked(values)
    assert told in str(caught.value)
    assert "→" in str(caught.value)


@pytest.mark.parametrize("name", experiments())
def test_the_defaults_of_each_notebook_are_valid_and_it_declares_what_every_run_needs(name):
    declared = declared_parameters(name)
    parameters = check_parameters({}, name)
    assert set(declared) <= set(Parameters.model_fields)
    assert {key: getattr(parameters, key) for key in declared} == declared
    assert {"profile", "budget_minutes", "min_blocks", "max_blocks", "seed", "run_id"} <= set(declared)


def test_the_notebook_that_compares_runs_declares_its_own_model():
    assert list(declared_parameters(COMPARING)) == list(ComparedRuns.model_fields)


def test_a_parameter_of_another_notebook_is_refused_with_a_list_of_this_ones():
    with pytest.raises(WrkbookError) as caught:
        checked({"measure_flaws": False})
    own = ", ".join(declared_parameters(DECODE))
    assert str(caught.value).startswith("unknown parameter measure_flaws")
    assert f"02-json-decode's parameters are: {own};" in str(caught.value)


def test_every_parameter_is_one_of_some_notebook():
    assert set(Parameters.model_fields) == {
        name for notebook in experiments() for name in declared_parameters(notebook)
    }


def test_what_a_notebook_has_by_itself_is_not_changed():
    values = {"connections": 80, "seed": 2, "measure_flaws": True, "systems": []}
    assert changed_parameters(values, DECODE) == {"seed": 2}
    assert changed_parameters(values, "04-text-json-sql") == {"connections": 80, "seed": 2, "systems": []}


def test_a_notebook_whose_parameters_are_no_constants_is_named():
    with pytest.raises(WrkbookError, match=r"parameters of notebook 77-none cannot be read from .*77-none"):
        declared_parameters("77-none")


def test_all_wrong_parameters_are_told_at_once():
    with pytest.raises(WrkbookError) as caught:
        checked({"profil": 1, "connections": -1})
    assert "profil" in str(caught.value)
    assert "connections" in str(caught.value)


def test_a_whole_number_will_do_for_a_fraction_of_minutes():
    assert checked({"budget_minutes": 5}).budget_minutes == 5.0


def test_the_profile_gives_way_to_what_the_parameters_say():
    profile = checked({"profile": "quick", "max_blocks": 2, "budget_minutes": 1.5}).effective_profile
    assert (profile.min_blocks, profile.max_blocks, profile.budget_minutes) == (2, 2, 1.5)


def test_a_window_is_as_long_however_many_of_them_a_block_has():
    several, lone, long = (
        checked(values).effective_profile
        for values in ({}, {"windows_count": 1}, {"windows_count": 1, "profile": "publication"})
    )
    assert (several.window_s, several.windows_count) == (1.0, 2)
    assert (lone.window_s, lone.windows_count) == (1.0, 1)
    assert long.window_s == 15.0


@pytest.mark.parametrize(
    ("values", "sure"),
    [({}, 5), ({"budget_minutes": 2.0}, 1), ({"budget_minutes": 2.0, "min_blocks": 3}, 3), ({"profile": "quick"}, 3)],
)
def test_only_a_budget_that_was_requested_ends_a_run_before_its_least_blocks(values, sure):
    assert checked(values).effective_profile.sure_blocks == sure


def test_more_blocks_at_least_than_at_most_are_refused():
    with pytest.raises(WrkbookError, match="min_blocks"):
        _ = checked({"min_blocks": 5, "max_blocks": 4}).effective_profile


def test_a_name_that_papermill_injected_counts_even_when_it_is_unknown():
    namespace = {
        "In": ["", "profile = 'standard'", "# Parameters\nprofil = 'quick'\n"],
        "profil": "quick",
        "profile": "standard",
        "x": 1,
    }
    assert from_notebook(namespace) == {"profile": "standard", "profil": "quick"}


def test_other_names_of_a_notebook_are_no_parameters():
    assert from_notebook({"In": ["", "x = 3"], "x": 3, "profile": "quick"}) == {"profile": "quick"}


def test_the_command_line_takes_a_parameter_as_two_words_or_one():
    words = ["run", "-p", "connections", "40", "-p", "seed=2", "--parameter", "systems", "gin,drogon"]
    assert joined_parameters(words) == [
        "run",
        "-p",
        "connections=40",
        "-p",
        "seed=2",
        "--parameter",
        "systems=gin,drogon",
    ]


def test_values_from_the_command_line_get_their_types():
    values = parameter_values(
        [
            "connections=40",
            "server_cpus=0",
            "batch_sizes=1,10",
            "systems=gin+encoding/json,drogon+glaze",
            "precision=0.05",
        ]
    )
    assert values == {
        "connections": 40,
        "server_cpus": "0",
        "batch_sizes": [1, 10],
        "systems": ["gin+encoding/json", "drogon+glaze"],
        "precision": 0.05,
    }


def test_a_parameter_without_a_value_is_an_error():
    with pytest.raises(WrkbookError, match="seed has no value"):
        parameter_values(joined_parameters(["-p", "seed"])[1:])


@pytest.mark.parametrize(
    ("given", "kept", "slice_s"),
    [
        ("auto", "auto", 0.1),
        (0, "0", 0.0),
        ("0", "0", 0.0),
        (100, "100", 0.1),
        ("0100", "100", 0.1),
        ("1000", "1000", 1.0),
        ("auto-20", "auto-20", 0.02),
        ("auto-050", "auto-50", 0.05),
    ],
)
def test_time_slices_are_auto_or_milliseconds_as_text_or_number(given, kept, slice_s):
    parameters = checked({"slices": given})
    assert parameters.slices == kept
    assert parameters.effective_profile.slice_s == slice_s


@pytest.mark.parametrize(("words", "kept"), [("slices=auto", "auto"), ("slices=0", "0"), ("slices=250", "250")])
def test_time_slices_can_be_given_on_the_command_line(words, kept):
    assert checked(parameter_values([words])).slices == kept


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"objectives": ["p99 < 5"]}, "is no objective"),
        ({"objectives": ["p99 <= 5 ms", "p99<=5ms"]}, "twice"),
        ({"shares": [0]}, "greater than 0"),
        ({"shares": [120]}, "less than or equal to 100"),
        ({"rates": [-1]}, "greater than 0"),
        ({"workloads": ["pong"]}, "no workload named 'pong'"),
    ],
)
def test_rates_objectives_and_workloads_that_are_none_are_named_before_anything_starts(values, told):
    with pytest.raises(WrkbookError, match=told):
        validated(Parameters, values)


def test_objectives_are_kept_in_one_form():
    assert validated(Parameters, {"objectives": ["p99≤5ms"]}).objectives == ["p99 <= 5 ms"]


def test_a_list_of_any_type_may_be_given_with_commas():
    assert parameter_values(["shares=50,90.5", "objectives=p99 <= 5 ms,p99.9 <= 20 ms"]) == {
        "shares": [50, 90.5],
        "objectives": ["p99 <= 5 ms", "p99.9 <= 20 ms"],
    }
