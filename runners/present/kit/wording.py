"""Sentences of a report: short, with the number and how sure it is, and without lists of many names."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from runners.core.records import Interval
from runners.core.units import Scale, amount, listing, quantity, shortlist, times
from runners.present.kit.markup import Fragment, unbroken

MOST_WORDS = 25
"""Words in a sentence of a report."""
MOST_CONCLUSIONS = 8
"""Conclusions in a report: what does not fit is in its tables."""
_WORD = re.compile(r"[\w./'’%±-]*\w[\w./'’%±-]*")

PER_SECOND: Scale = ((1e6, "M/s"), (1e3, "k/s"), (1.0, "/s"))
"""Requests per second, in short."""

SMOKE = "This is a smoke run (profile quick): it shows that everything works and is not evidence for any comparison."

_MOST_NAMES = 3
UNKNOWN = "interval not known"
"""In the place of an interval that is missing: that of one launch."""


def words_count(text: str) -> int:
    """Return the number of words: signs are none, and the parts of gin+sonic are two."""
    return len(_WORD.findall(text))


def sentence(first: str, *clauses: str) -> str:
    """Return one sentence: `first`, and those further clauses that leave it within `MOST_WORDS`.

    Each clause begins with the mark or word that joins it: ``"; node is the last"``. The most important comes first; one
    that does not fit is left out, and so are those after it. An empty `first` gives no sentence.
    """
    text = first
    for clause in filter(None, clauses):
        if words_count(text + clause) > MOST_WORDS:
            break
        text += clause
    return f"{text}." if text else ""


def few(names: Sequence[str]) -> str:
    """List at most three names; of more than three the first two, and how many others there are."""
    return listing(names) if len(names) <= _MOST_NAMES else shortlist(names, _MOST_NAMES - 1)


def known(value: float, low: float, high: float, scale: Scale) -> str:
    """Return a quantity with its interval; where there is none, say that it is not known."""
    if math.isfinite(low) and math.isfinite(high):
        return quantity(value, low, high, scale)
    return f"{amount(value, scale)} ({UNKNOWN})"


def factor(value: float, low: float, high: float) -> str:
    """Return a ratio with its interval, as :func:`runners.core.units.times`; where there is none, say that it is not known."""
    said, interval = times(value, low, high)
    return f"{said} ({interval or UNKNOWN})"


def changes(what: str, found: Mapping[str, Interval]) -> str:
    """Return the sentence about the largest and the smallest fall of a quantity, `what`.

    `found` is system → its earlier value over its later one. A system whose quantity grows is said to grow, so no factor is
    below 1. Empty where no ratio is known.
    """
    order = sorted((each for each in found if not math.isnan(found[each].value)), key=lambda each: found[each].value)
    if not order:
        return ""
    (most, size), (least, smallest) = (_change(found[each]) for each in (order[-1], order[0]))
    first = f"{what} {most} by {size} with {order[-1]}"
    verb = "" if least == most else f"{least} "
    return sentence(first, f" and {verb}by {smallest} with {order[0]}" if len(order) > 1 else "")


def _change(ratio: Interval) -> tuple[str, str]:
    if ratio.value >= 1:
        return "falls", factor(ratio.value, ratio.low, ratio.high)
    return "grows", factor(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)


def at_most(sentences: Sequence[str]) -> list[str]:
    """Return the sentences that are not empty, each once, at most `MOST_CONCLUSIONS` of them."""
    return list(dict.fromkeys(filter(None, sentences)))[:MOST_CONCLUSIONS]


class Narrative(tuple[str, ...]):
    """Sentences that a notebook shows as a list, and a program reads as strings."""

    __slots__ = ()

    @property
    def fragment(self) -> Fragment:
        """The sentences as a list, escaped."""
        items = "".join(f"<li>{unbroken(sentence)}</li>" for sentence in self)
        return Fragment(f'<ul class="wb-sentences">{items}</ul>', "\n".join(f"- {sentence}" for sentence in self))

    def _repr_mimebundle_(self, **kwargs: object) -> tuple[dict[str, str], dict[str, dict[str, bool]]]:
        return self.fragment._repr_mimebundle_(**kwargs)

    def _repr_html_(self) -> str:
        return self.fragment._repr_html_()
