"""Histograms as wrkbook's scripts print them: there and back, and what is no such text."""

import pytest
from hypothesis import given, strategies as st

from runners.core.histogram import Histogram
from runners.generators.steps import parse_steps, print_steps


@given(st.dictionaries(st.integers(0, 1 << 40), st.integers(1, 1 << 40)))
def test_what_is_printed_is_read_again(counts):
    pairs = sorted(counts.items())
    found = parse_steps(print_steps(pairs))
    assert list(zip(found.values_us, found.counts, strict=True)) == pairs
    values, numbers = found.arrays
    assert (values.tolist(), numbers.tolist()) == ([*found.values_us], [*found.counts])


def test_the_example_of_the_format():
    assert parse_steps("72:1 2:3 5") == Histogram((72, 74, 75), (1, 3, 5))
    assert parse_steps("1 2\n") == Histogram((1, 2), (1, 2))
    assert parse_steps(" ") == Histogram((), ())


@pytest.mark.parametrize("text", ["1:", ":1", "1::2", "1:2:3", "a", "1:-2", "-1:2", "1.5", "1:0", "5 0:1", "1,2", "٣"])
def test_another_text_is_refused(text):
    with pytest.raises(ValueError, match="a histogram"):
        parse_steps(text)
