"""WrkbookError: the exception that users see without a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


class WrkbookError(Exception):
    """An error that the user can fix: the problem and its remedy.

    Parameters
    ----------
    problem : str
        One sentence that names the thing.
    remedy : str
        What to do; empty where nothing is known.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem, self.remedy = visible(problem), visible(remedy)
        super().__init__(f"{self.problem}\n  → {self.remedy}" if remedy else self.problem)

    def _render_traceback_(self) -> list[str]:
        # IPython shows this in the place of a traceback.
        return [f"wrkbook: {self}"]


def visible(text: str) -> str:
    """Replace unprintable characters: an error may quote output that holds terminal escapes."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in text)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Return a remedy for an unknown name: the nearest known name, and all of them."""
    close = difflib.get_close_matches(name, known, n=1)
    return (f"did you mean {close[0]!r}? " if close else "") + f"there are: {', '.join(known) or 'none'}"
