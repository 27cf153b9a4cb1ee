"""Published claims on trial, in sentences: how many claims hold, which are refuted, what the faults of the set-ups change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pandas as pd

from runners.analyse.judgements import VERDICTS
from runners.present import narrative, sentences
from runners.present.frames import Results, ordered
from runners.present.narrative import Headline, Narrative
from runners.present.wording import RATIOS, amount, listing, quantity

WORDS = {
    "reproduced": "reproduced in direction and size",
    "direction only": "reproduced in direction only",
    "refuted": "refuted",
    "inconclusive": "inconclusive",
    "not testable": "not testable here",
}
_MOST_NAMED = 12
_MOST_IN_ABSTRACT = 3
_CHANCE = 0.05


class Evidence(Protocol):
    """Which run decides about the claims of an experiment."""

    @property
    def experiment(self) -> str: ...  # noqa: D102
    @property
    def run_id(self) -> str: ...  # noqa: D102
    @property
    def results(self) -> Any: ...  # noqa: ANN401, D102  (an analysed run, or None)
    @property
    def why(self) -> str: ...  # noqa: D102
    @property
    def is_smoke(self) -> bool: ...  # noqa: D102


class Findings(Protocol):
    """The claims with their verdicts; see :class:`runners.on_trial.Findings`."""

    @property
    def claims(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def agreement(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def effects(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def explained(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def evidence(self) -> Sequence[Evidence]: ...  # noqa: D102
    @property
    def titles(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def run(self) -> Results: ...  # noqa: D102


def headline(findings: Findings) -> Headline:
    """How many claims have which verdict."""
    used = [each for each in findings.evidence if each.results is not None]
    said = f"Of {len(findings.claims)} published claims, {_counted(findings.claims)}."
    if not used:
        return Headline(f"No run of any experiment is here: {said}")
    return Headline(f"Smoke runs, not evidence: {said}" if all(each.is_smoke for each in used) else said)


def abstract(findings: Findings) -> Narrative:
    """The sentences that matter most."""
    return _said(
        [
            str(headline(findings)),
            _smoke(findings),
            _refuted(findings, _MOST_IN_ABSTRACT),
            _effects(findings),
            _explained(findings),
        ]
    )


def conclusions(findings: Findings) -> Narrative:
    """All conclusions: each source, what is refuted, ranks, faults, and how sure it is."""
    claims = findings.claims
    sources = [
        f"{source}: of {len(rows)} claims, {_counted(rows)}." for source, rows in claims.groupby("source", sort=False)
    ]
    return _said(
        [str(headline(findings)), _smoke(findings), *sources, _refuted(findings), _ranks(findings), _effects(findings),
         _explained(findings), _untestable(findings), _missing(findings), _machines(findings), chance(findings), *_measured(findings)]
    )  # fmt: skip


def chance(findings: Findings) -> str:
    """That verdicts are not corrected for their number."""
    judged = int((findings.claims["verdict"] != "not testable").sum())
    if not judged:
        return ""
    return (
        f"Each verdict stands on 95 % intervals of its own and is not corrected for the number of claims (no Holm): of the {judged} "
        f"that were judged, about {math.ceil(_CHANCE * judged)} may be owed to chance."
    )


def _counted(claims: pd.DataFrame) -> str:
    found = claims["verdict"].value_counts()
    return listing([f"{found[verdict]} {WORDS[verdict]}" for verdict in VERDICTS if found.get(verdict)])


def _smoke(findings: Findings) -> str:
    names = [each.experiment for each in findings.evidence if each.is_smoke]
    if not names:
        return ""
    return f"There are only smoke runs (profile quick) of {listing(names)}: their verdicts show that everything works and are no evidence."


def _refuted(findings: Findings, most: int = _MOST_NAMED) -> str:
    rows = findings.claims[findings.claims["verdict"] == "refuted"]
    parts = [f"no. {place + 1} ({_both(row)})" for place, row in zip(rows.index, rows.to_dict("records"), strict=True)]
    more = f"; and {len(parts) - most} more" if len(parts) > most else ""
    return f"Refuted: {'; '.join(parts[:most])}{more}." if parts else ""


def _both(row: Mapping[str, Any]) -> str:
    if math.isnan(row["ours"]):
        return f"{row['id']}: {row['why']}"
    published = f"published {amount(row['published'], RATIOS)}, " if not math.isnan(row["published"]) else ""
    return f"{row['id']}: {published}here {quantity(row['ours'], row['ours_low'], row['ours_high'], RATIOS)}"


def _ranks(findings: Findings) -> str:
    parts = [
        f"{row['experiment']} {tau(row['tau'])} by {row['metric'].rpartition('_')[0]} ({row['cells_count']} cells)"
        for row in findings.agreement.to_dict("records")
        if row["cells_count"] > 2
    ]
    return f"Kendall's tau between published and measured ranks: {listing(parts)}." if parts else ""


def tau(value: float) -> str:
    """Kendall's tau as text."""
    return "–" if math.isnan(value) else f"{value:.2f}"


def _effects(findings: Findings) -> str:
    rows = findings.effects[findings.effects["ratio"].notna()].to_dict("records")
    parts = [
        f"{row['title']}: {quantity(row['ratio'], row['ratio_low'], row['ratio_high'], RATIOS)}, {row['verdict']}"
        for row in rows
    ]
    return f"What the faults of the published set-ups change in the throughput: {'; '.join(parts)}." if parts else ""


def _explained(findings: Findings) -> str:
    parts = []
    for row in findings.explained.to_dict("records"):
        nearer = abs(math.log(row["faulty"] / row["published"])) < abs(math.log(row["equal"] / row["published"]))
        equal, faulty, published = (amount(row[name], RATIOS) for name in ("equal", "faulty", "published"))
        parts.append(
            f"{row['first']} has {equal} the throughput of {row['second']} on equal work and {faulty} with the faults, "
            f"{'nearer to' if nearer else 'no nearer to'} the published {published}"
        )
    return f"Side by side: {'; '.join(parts)}." if parts else ""


def _missing(findings: Findings) -> str:
    names = [each.experiment for each in findings.evidence if each.results is None]
    return (
        f"There is no sound run of {listing(names)} here: claims about {'them' if len(names) > 1 else 'it'} are not testable."
        if names
        else ""
    )


def _untestable(findings: Findings) -> str:
    rows = findings.claims[findings.claims["verdict"] == "not testable"]
    absolute = rows["kind"] == "absolute"
    without = ~absolute & (rows["run_id"] == "")
    parts = [
        f"{count} {words}"
        for count, words in (
            (
                int(absolute.sum()),
                "about absolute numbers of another machine, which are shown beside ours and never judged",
            ),
            (int(without.sum()), "about an experiment without a run"),
            (int((~absolute & ~without).sum()), "for the reason that stands beside each"),
        )
        if count
    ]
    return f"Not testable here: {listing(parts)}." if parts else ""


def _machines(findings: Findings) -> str:
    found = ordered(str(each.results.machine.get("cpu", "")) for each in findings.evidence if each.results is not None)
    return f"The runs come from more than one machine: {listing(found)}." if len(found) > 1 else ""


def _measured(findings: Findings) -> list[str]:
    if not findings.run.blocks_count:
        return ["What the faults change was not measured in this run."]
    return [
        *sentences.failures(findings.run),
        sentences.noise(findings.run),
        sentences.checked(findings.run),
        narrative.precision(findings.run),
    ]


def _said(found: Sequence[str]) -> Narrative:
    return Narrative(sentence for sentence in found if sentence)
