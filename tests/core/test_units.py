"""Units: what tools print, and what people read."""

import math

import pytest
from hypothesis import given, strategies as st

from runners.core.units import (
    PERCENT,
    RATES,
    RATIOS,
    TIMES,
    amount,
    decimals,
    format_duration,
    format_half_width,
    format_roughly,
    format_seconds,
    format_size,
    listing,
    minus,
    parse_binary_size,
    parse_count,
    parse_duration,
    percent_more,
    quantity,
    shortlist,
    sort_value,
    times,
    unit_of,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5ns", 5e-9), ("247.78us", 247.78e-6), ("3µs", 3e-6), ("0.97ms", 0.97e-3), ("1.38s", 1.38), ("1.00m", 60.0),
     ("2h", 7200.0), ("0.00us", 0.0), (" 15s ", 15.0)],
)  # fmt: skip
def test_durations_are_read_in_every_unit(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "count"), [("516.32", 516.32), ("1.98k", 1980.0), ("2M", 2e6), ("1.5G", 1.5e9), ("3T", 3e12), ("1P", 1e15)]
)
def test_counts_are_read_in_thousands(text, count):
    assert parse_count(text) == pytest.approx(count, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("9B", 9.0), ("0.00B", 0.0), ("1.5KB", 1536.0), ("324.49MB", 324.49 * 2**20), ("0.91GB", 0.91 * 2**30),
     ("2TB", 2.0**41), ("1PB", 2.0**50)],
)  # fmt: skip
def test_sizes_are_read_in_1024s(text, size_bytes):
    assert parse_binary_size(text) == pytest.approx(size_bytes, rel=1e-12)


@pytest.mark.parametrize("text", ["", "s", "15", "1.s", ".5s", "-1s", "1e3s", "1 s", "1S", "1ks", "1s 2s", "nan"])
def test_what_is_no_duration_is_refused_by_name(text):
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "k", "1K", "1kk", "1,000", "-5", "1s"])
def test_what_is_no_count_is_refused_by_name(text):
    with pytest.raises(ValueError, match="not a count"):
        parse_count(text)


@pytest.mark.parametrize("text", ["", "B", "9", "1kB", "1MiB", "1Mb", "-1B"])
def test_what_is_no_size_is_refused_by_name(text):
    with pytest.raises(ValueError, match="not a size"):
        parse_binary_size(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(195e-6, "195 µs"), (5.88e-3, "5.88 ms"), (1.38, "1.38 s"), (125.0, "2 min 5 s"), (119.4, "119 s"),
     (999.9e-6, "1 ms"), (0.9999, "1 s"), (3e-9, "3 ns"), (0.0, "0 ns"), (float("nan"), "–"), (3600.0, "60 min 0 s")],
)  # fmt: skip
def test_durations_are_shown_with_three_digits(seconds, text):
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (89.4, "89 s"), (90.0, "2 min"), (1920.0, "32 min"), (3599.0, "1 h 0 min"), (7520.0, "2 h 5 min")],
)
def test_long_durations_are_shown_in_whole_minutes(seconds, text):
    assert format_roughly(seconds) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(9, "9 B"), (5325, "5.2 KiB"), (1.13 * 2**30, "1.13 GiB"), (1023, "1023 B"), (1024, "1 KiB"), (2**50, "1024 TiB"),
     (0, "0 B"), (float("nan"), "–")],
)  # fmt: skip
def test_sizes_are_shown_in_binary_units(size_bytes, text):
    assert format_size(size_bytes) == text


@given(st.floats(1e-9, 100))
def test_a_shown_duration_is_read_back_within_its_three_digits(seconds):
    shown = parse_duration(format_duration(seconds).replace(" ", ""))
    assert math.isclose(shown, seconds, rel_tol=0.0051)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.02, "±2.0 %"),
        (0.01949, "±1.9 %"),
        (1.0, "±100.0 %"),
        (1.001, "more than ±100 %"),
        (1949.3, "more than ±100 %"),
    ],
)
def test_a_half_width_that_says_nothing_has_no_digits(ratio, text):
    assert format_half_width(ratio) == text


@given(st.floats(1e-9, 1e8), st.sampled_from([RATES, TIMES, RATIOS, PERCENT]))
def test_a_quantity_keeps_three_significant_digits(value, scale):
    shown = quantity(value, value, value, scale)
    factor, unit = unit_of(value, scale)
    number = float(shown.split()[0])
    assert unit in shown
    assert number * factor == pytest.approx(value, rel=0.006)
    assert decimals(number) >= 0


def test_quantities_read_as_people_write_them():
    assert quantity(61_234, 60_100, 62_300, RATES) == "61.2 k requests/s (60.1 to 62.3)"
    assert quantity(4.1, 4.02, 4.19, RATIOS) == "4.10 × (4.02 to 4.19)"
    assert amount(float("nan"), TIMES) == "–"
    assert amount(999.96e-6, TIMES) == "1.00 ms"
    assert quantity(61_234, 30_000, 60_001, RATES) == "61.2 k requests/s (30.0 to 60.0)"
    assert quantity(61_234, 3_000, 3_000_001, RATES) == "61.2 k requests/s (interval too wide)"
    assert quantity(0.1, -0.02, 0.22, PERCENT) == "10.0 % (−2.0 to 22.0)"
    assert [listing(list("abc")[:count]) for count in (1, 2, 3)] == ["a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        ((4.457, 4.31, 4.61), ("4.5 ×", "4.3 to 4.6")),
        ((1.11, 1.09, 1.13), ("1.11 ×", "1.09 to 1.13")),
        ((1.08, 1.0004, 1.6), ("1.080 ×", "1.000 to 1.600")),
        ((1.3, 1.02, 1.7), ("1.30 ×", "1.02 to 1.70")),
        ((4.0, 3.04, 5.3), ("4.0 ×", "3.0 to 5.3")),
        ((23.4, 20.1, 28.2), ("23 ×", "20 to 28")),
        ((1.088, 0.96, 1.233), ("1.09 ×", "0.96 to 1.23")),
        ((0.357, 0.206, 0.611), ("0.36 ×", "0.21 to 0.61")),
        ((2.0, 0.9, 400.0), ("2.0 ×", "0.9 to 400.0")),
        ((2.0, 0.01, 400.0), ("2.00 ×", "interval too wide")),
        ((2.0, 0.0, math.inf), ("2.00 ×", "interval too wide")),
        ((2.0, math.nan, math.nan), ("2.00 ×", "")),
        ((23.4, 23.4, 23.4), ("23.4 ×", "")),
    ],
)
def test_a_ratio_has_the_digits_that_its_interval_supports_and_keeps_its_side_of_one(ratio, shown):
    assert times(*ratio) == shown


def test_small_differences_are_said_in_percent_with_a_minus_sign():
    assert percent_more(1.013, 0.999, 1.03) == ("1.3 %", "−0.1 to 3.0")
    assert percent_more(1.013, math.nan, math.nan) == ("1.3 %", "")


@pytest.mark.parametrize(
    ("ends", "shown"),
    [((0.7, 1.5), "−30.0 to 50.0"), ((1e-7, 6e5), "interval too wide"), ((0.0, math.inf), "interval too wide")],
)
def test_a_small_difference_has_its_interval_unless_that_says_nothing(ends, shown):
    assert percent_more(1.013, *ends) == ("1.3 %", shown)


def test_a_long_list_is_counted():
    assert shortlist(list("abc")) == "a, b and c"
    assert shortlist(list("abcdef")) == "a, b, c and 3 more"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("61.2 k", 61_200), ("≥ 1.20 M", 1.2e6), ("195 µs", 195e-6), ("2 min 5 s", 125), ("5.2 KiB", 5324.8), ("4.46 ×", 4.46),
        ("−0.100 ms", -1e-4), ("82 %", 0.82), ("20\u202f000", 20_000), ("✓ 3 of 4", 3), ("gin", None), ("–", None), ("", None),
    ],
)  # fmt: skip
def test_a_formatted_quantity_is_sorted_by_its_number_in_its_base_unit(text, value):
    assert sort_value(text) == (value if value is None else pytest.approx(value))


def test_a_minus_sign_is_one_and_a_name_keeps_its_hyphens():
    assert minus("-3.5 ms (-4 to 1), gin-simdjson, p-1") == "−3.5 ms (−4 to 1), gin-simdjson, p-1"
    assert quantity(-0.0035, -0.004, 0.001, TIMES) == "−3.50 ms (−4.00 to 1.00)"


def test_an_estimated_duration_has_whole_seconds():
    found = [format_seconds(seconds) for seconds in (0.2, 87.5, 119.4, 125.3)]
    assert found == ["1 s", "88 s", "119 s", "2 min 5 s"]
