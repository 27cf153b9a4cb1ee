"""The one exception that wrkbook shows to its users without a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


class WrkbookError(Exception):
    """Something that the user can do something about: what is wrong, and the remedy.

    Parameters
    ----------
    problem : one sentence that names the thing
    remedy : what to do, where there is something
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem, self.remedy = visible(problem), visible(remedy)
        super().__init__(f"{self.problem}\n  → {self.remedy}" if remedy else self.problem)

    def _render_traceback_(self) -> list[str]:
        # IPython shows this in the place of a traceback.
        return [f"wrkbook: {self}"]


def visible(text: str) -> str:
    """A text for a terminal: what programs printed is quoted in errors, and must not command it."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in text)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A remedy for a name that is not known: the nearest known one, and all of them."""
    close = difflib.get_close_matches(name, known, n=1)
    return (f"did you mean {close[0]!r}? " if close else "") + f"there are: {', '.join(known) or 'none'}"
