"""Conclusions written from the numbers of the run: generic over systems and workloads, true again after a re-run."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from runners.present import sentences
from runners.present.frames import Results, against, measured, ordered, without_placebo, workload_title
from runners.present.markup import Fragment, unbroken
from runners.records import PLACEBO
from runners.units import format_duration, format_half_width

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


def conclusions(results: Results, baseline: str | None = None) -> Narrative:
    """All conclusions of a run: per workload against the baseline, the order, the tail, the floor; then the run itself.

    Parameters
    ----------
    baseline : the system that others are compared with; where it has no number, the first of the workload
    """
    found = [SMOKE] if results.profile == "quick" else []
    for workload in sentences.workloads_of(results):
        rows = _against_baseline(results, workload, baseline)
        found += [sentences.order(results, workload), sentences.verdicts(results, workload, rows)]
        if workload not in set(results.shares["floor_workload"]):
            found += [sentences.tail(results, workload), sentences.above_floor(results, workload)]
        found += sentences.published_directions(results, workload, rows)
    found += [
        *sentences.failures(results),
        sentences.noise(results),
        sentences.speed(results),
        sentences.checked(results),
        precision(results),
    ]
    return Narrative(_said(found))


def abstract(results: Results, baseline: str | None = None) -> Narrative:
    """The three to five sentences that matter most; the first says so when the run is a smoke run."""
    workload = _headline_workload(results, baseline)
    found = [SMOKE] if results.profile == "quick" else []
    found.append(_finding(results, baseline))
    if workload:
        found += [sentences.order(results, workload), sentences.tail(results, workload)]
        if results.profile != "quick":
            found.append(sentences.above_floor(results, workload))
    return Narrative(_said([*found[:4], precision(results)]))


def headline(results: Results, baseline: str | None = None) -> Headline:
    """The clearest difference that the run decided, or that it decided none."""
    finding = _finding(results, baseline)
    return Headline(f"Smoke run, not evidence: {finding}" if results.profile == "quick" else finding)


def precision(results: Results) -> str:
    """How much was measured, how precise it became, and what a budget cut short."""
    rows = results.comparisons
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


def _finding(results: Results, baseline: str | None) -> str:
    row = _clearest(results, baseline)
    if row is not None:
        return sentences.compared(results, row)
    rows = results.comparisons
    pairs = rows[(rows["system_a"] != PLACEBO) & (rows["system_b"] != PLACEBO)]
    if len(pairs):
        return f"None of the {len(pairs)} comparisons found a difference beyond the noise that could be ranked."
    for cell in without_placebo(measured(results.cells)).to_dict("records"):
        least = "at least " if cell["bottleneck"] == "client" else ""
        rate = sentences.rate(results, cell["system"], cell["workload"])
        return f"{workload_title(results.cells, cell['workload'])}: {cell['system']} completed {least}{rate}."
    return "No system has a number."


def _clearest(results: Results, baseline: str | None) -> pd.Series | None:
    """The decided comparison whose interval lies furthest from 1: against the baseline if one was, else of any pair."""
    parts = [_against_baseline(results, workload, baseline) for workload in sentences.workloads_of(results)]
    rows = results.comparisons
    for frame in (
        *([pd.concat(parts)] if parts else []),
        rows[(rows["system_a"] != PLACEBO) & (rows["system_b"] != PLACEBO)],
    ):
        decided = frame[frame["verdict"].isin(["faster", "slower"])]
        if not decided.empty:
            least = pd.concat([decided["ratio_low"], 1 / decided["ratio_high"]], axis=1).max(axis=1)
            return decided.iloc[int(least.to_numpy().argmax())]
    return None


def _headline_workload(results: Results, baseline: str | None) -> str | None:
    row = _clearest(results, baseline)
    return str(row["workload"]) if row is not None else next(iter(sentences.workloads_of(results)), None)


def _against_baseline(results: Results, workload: str, baseline: str | None) -> pd.DataFrame:
    """The comparisons of one workload with the baseline, or with the first system where the baseline has no number."""
    names = ordered(without_placebo(measured(results.cells)).query("workload == @workload")["system"])
    chosen = baseline if baseline in names else next(iter(names), "")
    rows = against(results.comparisons[results.comparisons["workload"] == workload], chosen)
    return rows[rows["system_a"] != PLACEBO]


def _said(found: Iterable[str]) -> list[str]:
    return [sentence for sentence in found if sentence]
