"""The abstract at the top of a notebook, which is known only at its end."""

from __future__ import annotations

from collections.abc import Sequence

from IPython.display import display

from runners.present import narrative
from runners.present.frames import Results
from runners.present.narrative import Narrative


class Abstract:
    """Shown at once with a line that says that nothing is measured yet; filled in when the results are there.

    Parameters
    ----------
    waiting : that first line
    """

    def __init__(self, waiting: str = "Not measured yet: run all cells.") -> None:
        self._shown = display(Narrative([waiting]), display_id=True)  # type: ignore[no-untyped-call]

    def fill(self, results: Results, own: Sequence[str] = ()) -> None:
        """Put the run's most important sentences in the place of the first line: the notebook's `own`, or the general ones."""
        smoke = [narrative.SMOKE] if results.profile == "quick" else []
        found = Narrative([*smoke, *own, narrative.precision(results)]) if own else narrative.abstract(results)
        self.say(found)

    def say(self, sentences: Narrative) -> None:
        """Put these sentences in the place of the first line."""
        if self._shown is not None:
            self._shown.update(sentences)
