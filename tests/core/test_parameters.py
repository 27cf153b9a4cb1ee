"""Parameters: what is accepted, and what the errors say."""

import pytest

from runners.cli.arguments import joined_parameters, parameter_values
from runners.core.errors import WrkbookError
from runners.core.parameters import check_parameters, from_notebook


def test_the_defaults_are_valid_and_standard():
    assert check_parameters({}).profile == "standard"


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
        ({"slices": "often"}, "parameter slices: Value error, must be auto, or whole milliseconds from 0"),
        ({"slices": 1001}, "parameter slices"),
        ({"slices": -1}, "parameter slices"),
        ({"slices": "1.5"}, "parameter slices"),
        ({"slices": 0.5}, "parameter slices"),
        ({"slices": True}, "parameter slices"),
        ({"slices": ""}, "parameter slices"),
        ({"turn_ms": 100}, "unknown parameter turn_ms"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_wrong(values, told):
    with pytest.raises(WrkbookError) as caught:
        check_parameters(values)
    assert told in str(caught.value)
    assert "→" in str(caught.value)


def test_all_wrong_parameters_are_told_at_once():
    with pytest.raises(WrkbookError) as caught:
        check_parameters({"profil": 1, "connections": -1})
    assert "profil" in str(caught.value)
    assert "connections" in str(caught.value)


def test_a_whole_number_will_do_for_a_fraction_of_minutes():
    assert check_parameters({"budget_minutes": 5}).budget_minutes == 5.0


def test_the_profile_gives_way_to_what_the_parameters_say():
    profile = check_parameters({"profile": "quick", "max_blocks": 2, "budget_minutes": 1.5}).effective_profile
    assert (profile.min_blocks, profile.max_blocks, profile.budget_minutes) == (2, 2, 1.5)


def test_a_window_is_as_long_however_many_of_them_a_block_has():
    several, lone, long = (
        check_parameters(values).effective_profile
        for values in ({}, {"windows_count": 1}, {"windows_count": 1, "profile": "publication"})
    )
    assert (several.window_s, several.windows_count) == (1.0, 2)
    assert (lone.window_s, lone.windows_count) == (1.0, 1)
    assert long.window_s == 15.0


@pytest.mark.parametrize(
    ("values", "sure"),
    [({}, 5), ({"budget_minutes": 2.0}, 1), ({"budget_minutes": 2.0, "min_blocks": 3}, 3), ({"profile": "quick"}, 3)],
)
def test_only_a_budget_that_was_asked_for_ends_a_run_before_its_least_blocks(values, sure):
    assert check_parameters(values).effective_profile.sure_blocks == sure


def test_more_blocks_at_least_than_at_most_are_refused():
    with pytest.raises(WrkbookError, match="min_blocks"):
        _ = check_parameters({"min_blocks": 5, "max_blocks": 4}).effective_profile


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
    ("given", "kept", "turn_s"),
    [
        ("auto", "auto", 0.1),
        (0, "0", 0.0),
        ("0", "0", 0.0),
        (100, "100", 0.1),
        ("0100", "100", 0.1),
        ("1000", "1000", 1.0),
    ],
)
def test_time_slices_are_auto_or_milliseconds_as_text_or_number(given, kept, turn_s):
    parameters = check_parameters({"slices": given})
    assert parameters.slices == kept
    assert parameters.effective_profile.turn_s == turn_s


@pytest.mark.parametrize(("words", "kept"), [("slices=auto", "auto"), ("slices=0", "0"), ("slices=250", "250")])
def test_time_slices_can_be_given_on_the_command_line(words, kept):
    assert check_parameters(parameter_values([words])).slices == kept
