"""Conclusions written from the numbers of the run, and the abstract that shows the first of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd
from IPython.display import display

from runners.analyse.results import Results
from runners.core.records import GENERATOR_LIMITED
from runners.core.units import format_duration, format_half_width
from runners.present import narrative
from runners.present.kit.frames import leaders, measured, without_control, workload_title
from runners.present.kit.markup import Fragment, unbroken
from runners.present.throughput import sentences

SMOKE = "This is a smoke run (profile quick): it shows that everything works and is not evidence for any comparison."


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


class Headline(str):
    """One sentence that a notebook shows large."""

    __slots__ = ()

    def _repr_mimebundle_(self, **kwargs: object) -> tuple[dict[str, str], dict[str, dict[str, bool]]]:
        return Fragment(f'<p class="wb-headline">{unbroken(self)}</p>', str(self))._repr_mimebundle_(**kwargs)


def conclusions(results: Results) -> Narrative:
    """All conclusions of a run: per workload against its leader, the order, the floor; then the run itself."""
    found = [SMOKE] if results.profile == "quick" else []
    for workload in sentences.workloads_of(results):
        found += [sentences.order(results, workload), sentences.verdicts(results, workload)]
        if workload not in set(results.shares["floor_workload"]):
            found.append(sentences.above_floor(results, workload))
        found += sentences.published_directions(results, workload, leaders(results.comparisons, workload))
    found += [
        *sentences.failures(results),
        sentences.noise(results),
        sentences.speed(results),
        sentences.checked(results),
        precision(results),
    ]
    return Narrative(_said(found))


def abstract(results: Results) -> Narrative:
    """The three to five sentences that matter most; the first says so when the run is a smoke run."""
    row = _clearest(results)
    workload = str(row["workload"]) if row is not None else next(iter(sentences.workloads_of(results)), None)
    found = [SMOKE] if results.profile == "quick" else []
    found.append(_finding(results))
    if workload:
        found.append(sentences.order(results, workload))
        if results.profile != "quick":
            found.append(sentences.above_floor(results, workload))
    return Narrative(_said([*found[:4], precision(results)]))


def headline(results: Results) -> Headline:
    """The clearest difference that the run decided, or that it decided none."""
    finding = _finding(results)
    return Headline(f"Smoke run, not evidence: {finding}" if results.profile == "quick" else finding)


def precision(results: Results) -> str:
    """Return the sentence about the amount of measuring, the precision that it reached, and the limit that ended it."""
    rows = results.comparisons[results.comparisons["family"] != "other"]
    plural = "" if results.blocks_count == 1 else "s"
    text = f"{results.blocks_count} block{plural}, {format_duration(results.measured_s)} of measuring"
    note = results.budget_note.strip().rstrip(".")
    widths = ((rows["ratio_high"] - rows["ratio_low"]) / 2 / rows["ratio"]).dropna()
    if not widths.empty:
        widest = float(widths.max())
        aim = f"aim: {format_half_width(results.precision_ratio)}"
        text += f"; the widest 95 % interval of a ratio is {format_half_width(widest)} ({aim})"
        if widest > results.precision_ratio and not note:
            note = "the aim was not reached"
    return f"{text}; {note}." if note else f"{text}."


def _finding(results: Results) -> str:
    row = _clearest(results)
    if row is not None:
        return sentences.compared(results, row)
    rows = leaders(results.comparisons)
    if len(rows):
        return f"None of the {len(rows)} comparisons with the leader of a workload found a difference."
    for cell in without_control(measured(results.cells)).to_dict("records"):
        least = "at least " if cell["bottleneck"] in GENERATOR_LIMITED else ""
        rate = sentences.rate(results, cell["system"], cell["workload"])
        return f"{workload_title(results.cells, cell['workload'])}: {cell['system']} completed {least}{rate}."
    return "No system has a number."


def _clearest(results: Results) -> pd.Series | None:
    """The decided comparison with a leader whose interval lies furthest from 1."""
    rows = leaders(results.comparisons)
    decided = rows[(rows["verdict"] == "slower") & rows["workload"].isin(sentences.workloads_of(results))]
    return None if decided.empty else decided.loc[decided["ratio_high"].idxmin()]


def _said(found: Iterable[str]) -> list[str]:
    return [sentence for sentence in found if sentence]


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
