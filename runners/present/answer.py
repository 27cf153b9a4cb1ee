"""The head of every report: the answer in one sentence, the decision table, the main chart, and how sure the run is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from IPython.display import display
from IPython.utils.capture import capture_output

from runners.analyse.results import Results
from runners.core.records import SMOKE_PROFILE
from runners.present import sessions
from runners.present.kit.markup import Fragment, joined, unbroken
from runners.present.kit.theme import Chart
from runners.present.kit.wording import SMOKE, Narrative

Shown = TypeVar("Shown", contravariant=True)


class Subject(Protocol[Shown]):
    """The subject of a notebook: a module with these functions, for example :mod:`runners.present.throughput.report`.

    A sentence has at most 25 words, and no sentence says what another one says.
    """

    def answer(self, results: Shown, /) -> str:
        """Return the answer to the notebook's question: who, how much, compared with what, how sure."""

    def decision_table(self, results: Shown, /) -> Fragment:
        """Return the table of what to choose; see :mod:`runners.present.kit.decision`."""

    def message(self, results: Shown, /) -> str:
        """Return the title of the main chart: what there is to see in it."""

    def main_chart(self, results: Shown, /) -> Chart:
        """Return the main chart; its title becomes the message."""

    def how_sure(self, results: Shown, /) -> Sequence[str]:
        """Return at most three sentences about intervals, control, valid trials and n."""

    def conclusions(self, results: Shown, /) -> Sequence[str]:
        """Return the sentences of all further questions, at most eight; each stands in the report once."""


class Answer:
    """Shown at once with a line that says that nothing is measured yet; filled in when the results are there.

    Parameters
    ----------
    subject : Subject[Any]
        What the notebook is about.
    waiting : str
        The first line, until the answer is known.
    """

    def __init__(self, subject: Subject[Any], waiting: str = "Not measured yet: run all cells.") -> None:
        self._subject = subject
        first = [Narrative([waiting]), *[Fragment("", "")] * 2]
        self._places = [display(each, display_id=True) for each in first]  # type: ignore[no-untyped-call]

    def fill(self, results: Any) -> None:  # noqa: ANN401  (of whatever kind the subject takes)
        """Put the answer, its table, its chart and how sure it is in the place of the first line."""
        subject = self._subject
        smoke = [said([SMOKE])] if results.profile == SMOKE_PROFILE else []
        chart = subject.main_chart(results)
        chart.title = subject.message(results)
        shown: list[object] = [
            joined(*smoke, answer_line(subject.answer(results)), subject.decision_table(results)),
            chart,
            joined(heading("How sure"), said(subject.how_sure(results)), *_sessions(results)),
        ]
        for place, each in zip(self._places, shown, strict=True):
            if place is not None:
                data, metadata = _bundle(each)
                place.update(data, raw=True, metadata=metadata)


def _sessions(results: Any) -> list[Fragment]:  # noqa: ANN401  (as above)
    """Return the chart of the sessions, where the results are of several."""
    chart = sessions.figure(results) if isinstance(results, Results) else None
    return [chart.fragment] if chart else []


def published(results: Any, subject: Subject[Any]) -> tuple[str, list[str]]:  # noqa: ANN401  (as above)
    """Return the headline and the conclusions of ``summary.json``: the answer, then each sentence that the report shows."""
    answer = subject.answer(results)
    found = [*subject.conclusions(results), *subject.how_sure(results)]
    if results.profile != SMOKE_PROFILE:
        return answer, found
    return f"Smoke run, not evidence: {answer}", [SMOKE, *found]


def answer_line(text: str) -> Fragment:
    """Return the answer as a line in bold."""
    return Fragment(f'<p class="wb-headline wb-answer"><strong>{unbroken(text)}</strong></p>', text)


def heading(text: str) -> Fragment:
    """Return a heading that stands in the report's contents."""
    return Fragment(f"<h3>{unbroken(text)}</h3>", text)


def said(*findings: Sequence[str]) -> Fragment:
    """Return sentences as paragraphs, each once."""
    found = list(dict.fromkeys(text for each in findings for text in each if text))
    return Fragment("".join(f'<p class="wb-sentence">{unbroken(text)}</p>' for text in found), "\n".join(found))


def _bundle(shown: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what an object shows, as MIME types, with their metadata: an object that displays itself can update no other."""
    with capture_output() as captured:
        display(shown)  # type: ignore[no-untyped-call]
    first = captured.outputs[0]
    return first.data, first.metadata or {}
