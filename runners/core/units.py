"""Durations, sizes, rates and names: parse what tools print, format what people read, with intervals.

Inside wrkbook every quantity is a plain float or int in seconds, bytes or requests per second. Units exist in tool
output and in reports only. Tools differ in what ``k`` means: :func:`parse_count` takes 1000,
:func:`parse_binary_size` 1024, as wrk prints them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from runners.core.records import CONTROL

_DURATIONS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-zµ]*)")


def parse_duration(text: str) -> float:
    """Return the seconds in a duration such as ``247.78us``, ``0.97ms``, ``15s``, ``1.00m`` or ``2h``.

    Raises
    ------
    ValueError
        When the text is not a number followed by one of ns, us, ms, s, m, h.
    """
    return _parse(text, _DURATIONS, "duration")


def parse_count(text: str) -> float:
    """Return a count with an optional decimal prefix: ``1.98k`` is 1980."""
    return _parse(text, _DECIMAL, "count")


def parse_binary_size(text: str) -> float:
    """Return the bytes in a size with binary prefixes, as wrk prints it: ``324.49MB``, ``9B``."""
    if not text.endswith("B"):
        raise ValueError(f"not a size: {text!r} (expected for example 324.49MB)")
    return _parse(text[:-1], _BINARY, "size")


def _parse(text: str, factors: dict[str, float], what: str) -> float:
    match = _NUMBER.fullmatch(text.strip())
    if match is None or match[2] not in factors:
        raise ValueError(f"not a {what}: {text!r} (known units: {', '.join(unit for unit in factors if unit)})")
    return float(match[1]) * factors[match[2]]


def format_duration(seconds: float) -> str:
    """Format a duration with three significant digits: ``195 µs``, ``5.88 ms``, ``1.38 s``, ``2 min 5 s``."""
    if math.isnan(seconds):
        return "–"
    if abs(seconds) >= 120:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        # Not the plain factor: 999.9 µs would be shown as "1.00e+03 µs".
        if abs(seconds) >= 0.9995 * factor:
            return f"{_significant(seconds / factor)} {unit}"
    return f"{_significant(seconds / 1e-9)} ns"


def format_seconds(seconds: float) -> str:
    """Format an estimated duration in whole seconds, at least one: ``88 s``, ``2 min 5 s``."""
    return format_duration(max(1, round(seconds)))


def format_roughly(seconds: float) -> str:
    """Format a long duration in whole minutes: ``32 min``, ``2 h 5 min``; one below 90 s in seconds."""
    hours, minutes = divmod(max(1, round(seconds / 60)), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if seconds >= 90 else format_seconds(seconds)


def format_size(size_bytes: float) -> str:
    """Format a size in binary units: ``9 B``, ``5.2 KiB``, ``1.13 GiB``."""
    if math.isnan(size_bytes):
        return "–"
    value, step = size_bytes, 0
    while abs(value) >= 0.9995 * 1024 and step < len(_SIZES) - 1:
        value, step = value / 1024, step + 1
    return f"{_significant(value)} {_SIZES[step]}"


def format_half_width(ratio: float) -> str:
    """Format an interval's half-width as a share of its value: ``±2.0 %``; beyond 100 % (two launches) without the number."""
    return f"±{ratio * 100:.1f} %" if ratio <= 1 else "more than ±100 %"


def _significant(value: float) -> str:
    text = f"{value:.3g}"
    if "e" in text:
        text = f"{value:.0f}"
    return minus(text)


_SHOWN = re.compile(
    r"[≥≤?▲▼✓✕± ]*(?P<sign>[−+-]?)(?P<number>\d[\d,\u202f]*(?:\.\d+)?)[ \u202f]?(?P<unit>[^\s\d/]*)(?: (?P<rest>\d+) s)?"
)
_SHOWN_UNITS = (
    _DURATIONS
    | {"min": 60.0, "%": 0.01, "k": 1e3, "M": 1e6}
    | {size: 1024.0**place for place, size in enumerate(_SIZES)}
)


def sort_value(text: str) -> float | None:
    """Return the number that a formatted quantity begins with, in its base unit, to sort by; None where it begins with words."""
    found = _SHOWN.match(text)
    if not found:
        return None
    number = float(re.sub("[,\u202f]", "", found["number"])) * _SHOWN_UNITS.get(found["unit"], 1.0)
    return (number + float(found["rest"] or 0)) * (-1 if found["sign"] in ("-", "−") else 1)


def minus(text: str) -> str:
    """Return a text with true minus signs in the place of hyphens before numbers; names keep theirs."""
    return re.sub(r"(?<![\w.)])-(?=[\d.])", "−", text)


def significant(value: float) -> str:
    """Format a value with three significant digits and no unit, for labels whose axis has it; NaN is an en dash."""
    return "–" if math.isnan(value) else minus(f"{value:.{decimals(value)}f}")


def grouped(value: float) -> str:
    """Format a whole number with a comma between thousands: ``20,000``."""
    return minus(f"{value:,.0f}")


Scale = tuple[tuple[float, str], ...]

RATES: Scale = ((1e6, "M requests/s"), (1e3, "k requests/s"), (1.0, "requests/s"))
TIMES: Scale = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
RATIOS: Scale = ((1.0, "×"),)
PERCENT: Scale = ((0.01, "%"),)
SIZES: Scale = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))


_MOST_PLACES = 3
_WIDEST = 1000.0
"""Of an interval that spans more than this factor, no end is printed."""
_TOO_WIDE = "interval too wide"


def too_wide(low: float, high: float) -> bool:
    """Return whether a positive interval spans so large a factor that its ends say nothing."""
    return 0 < low * _WIDEST < high


def quantity(value: float, low: float, high: float, scale: Scale) -> str:
    """Format a value with its 95 % interval, three significant digits, one unit: ``61.2 k requests/s (60.1 to 62.3)``."""
    text, interval = quantity_parts(value, low, high, scale)
    return f"{text} ({interval})" if interval else text


def quantity_parts(value: float, low: float, high: float, scale: Scale) -> tuple[str, str]:
    """Return the value and the interval of :func:`quantity` apart, for tables: NaN is an en dash, a missing interval empty."""
    if math.isnan(value):
        return "–", ""
    factor, unit = unit_of(value, scale)
    places = decimals(value / factor)
    text = minus(f"{value / factor:.{places}f} {unit}")
    if math.isnan(low) or math.isnan(high):
        return text, ""
    if too_wide(low, high):
        return text, _TOO_WIDE
    return text, minus(f"{low / factor:.{places}f} to {high / factor:.{places}f}")


def amount(value: float, scale: Scale) -> str:
    """Format a value without an interval, three significant digits; NaN is an en dash."""
    return "–" if math.isnan(value) else quantity(value, math.nan, math.nan, scale)


def unit_of(value: float, scale: Scale) -> tuple[float, str]:
    """Return factor and name of the unit in which a value has one to three digits before the point."""
    # 0.9995: what would be rounded to 1000 of a unit is 1.00 of the next.
    return next(((factor, unit) for factor, unit in scale if abs(value) >= 0.9995 * factor), scale[-1])


def decimals(value: float) -> int:
    """Return the decimal places that show three significant digits."""
    if value == 0 or not math.isfinite(value):
        return 2
    # The summand is that of unit_of: 99.95 is shown as 100.
    return max(0, 2 - math.floor(math.log10(abs(value)) + 2.2e-4))


def plus_minus(ratio: float) -> str:
    """Format a band around 1: 1.013 is ``±1.3 %``."""
    return f"±{(ratio - 1) * 100:.1f} %"


def times(value: float, low: float, high: float) -> tuple[str, str]:
    """Return a ratio and its interval with the digits that the interval supports: 4.457 (4.31 to 4.61) is ``4.5 ×`` and ``4.3 to 4.6``.

    The interval is empty where it is missing. Where it spans more than a factor of 1,000, only that is said.
    """
    half_width = (high - low) / 2
    if low * _WIDEST < high:
        return amount(value, RATIOS), _TOO_WIDE
    if not half_width > 0:
        return amount(value, RATIOS), ""
    most = decimals(value)
    places = min(most, max(most - 1, math.ceil(-math.log10(half_width)), 0))
    # No rounding may move an end of the interval to 1, or over it.
    while places < _MOST_PLACES and any(_side(end) != _side(round(end, places)) for end in (low, high)):
        places += 1
    return f"{value:.{places}f} ×", f"{low:.{places}f} to {high:.{places}f}"


def _side(ratio: float) -> int:
    """Return on which side of 1 a ratio is: -1, 0 or 1."""
    return int(ratio > 1) - int(ratio < 1)


def percent_more(value: float, low: float, high: float) -> tuple[str, str]:
    """Return what a ratio is above 1, and its interval: 1.013 (0.999 to 1.03) is ``1.3 %`` and ``−0.1 to 3.0``.

    The interval is empty, or too wide to be printed, as in :func:`times`.
    """
    shown = [minus(f"{100 * (each - 1):.1f}") for each in (value, low, high)]
    if math.isnan(low) or math.isnan(high):
        return f"{shown[0]} %", ""
    return f"{shown[0]} %", _TOO_WIDE if low * _WIDEST < high else f"{shown[1]} to {shown[2]}"


def shortlist(parts: Sequence[str], most: int = 3) -> str:
    """Join the first parts for a sentence, and count the others: ``a, b, c and 4 more``."""
    return listing(parts) if len(parts) <= most else f"{', '.join(parts[:most])} and {len(parts) - most} more"


def listing(parts: Sequence[str]) -> str:
    """Join parts for a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def shortened(text: str, most: int) -> str:
    """Cut a text to at most `most` characters, with an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def system_title(name: str) -> str:
    """Return the name of a system for people: records call the A/A control ``control``."""
    return "control" if name == CONTROL else name
