"""The one exception that wrkbook shows to its users without a traceback."""

from __future__ import annotations


class WrkbookError(Exception):
    """Something that the user can do something about: what is wrong, and the remedy.

    Parameters
    ----------
    problem : one sentence that names the thing
    remedy : what to do, where there is something
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem}\n  → {remedy}" if remedy else problem)
        self.problem = problem
        self.remedy = remedy

    def _render_traceback_(self) -> list[str]:
        # IPython shows this in the place of a traceback.
        return [f"wrkbook: {self}"]
