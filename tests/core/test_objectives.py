"""Objectives: what a text states, and when a percentile meets it."""

import math

import pytest
from hypothesis import given, strategies as st

from runners.core.errors import WrkbookError
from runners.core.parameter_values import objective, objectives


@pytest.mark.parametrize(
    ("text", "percentile", "limit_s"),
    [("p99 <= 5 ms", 99, 0.005), ("p99.9≤20ms", 99.9, 0.02), ("p50 < 250 us", 50, 250e-6), (" p95 <= 1 s ", 95, 1)],
)
def test_an_objective_is_a_percentile_and_a_limit(text: str, percentile: float, limit_s: float) -> None:
    found = objective(text)
    assert (found.percentile, found.limit_s) == (percentile, pytest.approx(limit_s))
    assert objective(found.text) == found


@pytest.mark.parametrize(
    "text",
    ["", "p99", "p99 <= 5", "p100 <= 5 ms", "p0 <= 5 ms", "p99 >= 5 ms", "99 <= 5 ms", "p99 <= 0 ms", "p99 <= -1 ms"],
)
def test_a_text_that_states_no_objective_is_rejected_with_an_example(text: str) -> None:
    with pytest.raises(WrkbookError, match="no objective") as caught:
        objective(text)
    assert "p99 <= 5 ms" in str(caught.value.remedy)


def test_an_objective_that_is_given_twice_is_rejected() -> None:
    with pytest.raises(WrkbookError, match="twice"):
        objectives(["p99 <= 5 ms", "p99 ≤ 5ms"])


@given(st.floats(1e-6, 10, allow_nan=False))
def test_a_percentile_meets_an_objective_up_to_its_limit(response_s: float) -> None:
    assert objective("p99 <= 5 ms").met(response_s) == (response_s <= 0.005)


def test_a_percentile_that_is_not_known_meets_no_objective() -> None:
    assert not objective("p99 <= 5 ms").met(math.nan)
