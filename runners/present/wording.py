"""Quantities in words: a value with its interval in one unit, and lists as people write them."""

from __future__ import annotations

import math
from collections.abc import Sequence

Scale = tuple[tuple[float, str], ...]

RATES: Scale = ((1e6, "M requests/s"), (1e3, "k requests/s"), (1.0, "requests/s"))
TIMES: Scale = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
RATIOS: Scale = ((1.0, "×"),)
PERCENT: Scale = ((0.01, "%"),)


WIDEST = 2.0
"""An interval that is wider than this factor tells nothing that should be printed."""


def quantity(value: float, low: float, high: float, scale: Scale) -> str:
    """A value with its 95 % interval, three significant digits, one unit: ``61.2 k requests/s (60.1 to 62.3)``."""
    factor, unit = unit_of(value, scale)
    places = decimals(value / factor)
    text = f"{value / factor:.{places}f} {unit}"
    if math.isnan(low) or math.isnan(high):
        return text
    if 0 < low * WIDEST < high:
        return f"{text} (interval not known)"
    return f"{text} ({low / factor:.{places}f} to {high / factor:.{places}f})"


def amount(value: float, scale: Scale) -> str:
    """A value without an interval, three significant digits; an en dash when there is none."""
    return "–" if math.isnan(value) else quantity(value, math.nan, math.nan, scale)


def unit_of(value: float, scale: Scale) -> tuple[float, str]:
    """The factor and name of the unit in which a value has one to three digits before the point."""
    # 0.9995: what would be rounded to 1000 of a unit is 1.00 of the next.
    return next(((factor, unit) for factor, unit in scale if abs(value) >= 0.9995 * factor), scale[-1])


def decimals(value: float) -> int:
    """Decimal places that show three significant digits."""
    if value == 0 or not math.isfinite(value):
        return 2
    # The summand is that of unit_of: 99.95 is shown as 100.
    return max(0, 2 - math.floor(math.log10(abs(value)) + 2.2e-4))


def plus_minus(ratio: float) -> str:
    """A band around 1 as people say it: 1.013 is ``±1.3 %``."""
    return f"±{(ratio - 1) * 100:.1f} %"


def listing(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters; an ellipsis where it was cut."""
    return text if len(text) <= most else text[: most - 1] + "…"
