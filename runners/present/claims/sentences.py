"""Published claims on trial, in sentences: how many statements are reproduced, which are not, what the flaws of the set-ups change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pandas as pd

from runners.analyse.claims.judgements import NOT_REPRODUCED, NOT_TESTABLE, VERDICTS
from runners.analyse.results import Results
from runners.core.units import RATIOS, amount, listing, quantity
from runners.present import narrative
from runners.present.kit.frames import ordered
from runners.present.narrative import Headline, Narrative
from runners.present.throughput import sentences

_MOST_NAMED = 12
_MOST_IN_ABSTRACT = 3


class Evidence(Protocol):
    """The run that decides about the claims of an experiment."""

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
    """The claims with their verdicts; see :class:`runners.experiments.claim_review.Findings`."""

    @property
    def claims(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def rank_agreement(self) -> pd.DataFrame: ...  # noqa: D102
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


def statements(findings: Findings) -> pd.DataFrame:
    """The claims that are counted: independent ones that have a verdict, also where it is that nothing here can test them."""
    return findings.claims[findings.claims["standing"] == "statement"]


def headline(findings: Findings) -> Headline:
    """Return the sentence that counts independent, testable statements by verdict."""
    used = [each for each in findings.evidence if each.results is not None]
    said = _counted(statements(findings), "independent published statements")
    if not used:
        return Headline(f"No run of any experiment is here. {said}")
    return Headline(f"Smoke runs, not evidence: {said}" if all(each.is_smoke for each in used) else said)


def abstract(findings: Findings) -> Narrative:
    """The sentences that matter most."""
    return _said(
        [
            str(headline(findings)),
            _smoke(findings),
            _not_reproduced(findings, _MOST_IN_ABSTRACT),
            _effects(findings),
            _explained(findings),
        ]
    )


def conclusions(findings: Findings) -> Narrative:
    """All conclusions: each source, what is not reproduced, ranks, flaws, and how sure it is."""
    sources = [
        f"{source}: {_counted(rows, 'statements')}"
        for source, rows in statements(findings).groupby("source", sort=False)
    ]
    return _said(
        [str(headline(findings)), _smoke(findings), *sources, _not_counted(findings), _not_reproduced(findings), _ranks(findings),
         _effects(findings), _explained(findings), _untestable(findings), _missing(findings), _machines(findings), _sure(findings),
         *_measured(findings)]
    )  # fmt: skip


def _counted(rows: pd.DataFrame, what: str) -> str:
    found = rows["verdict"].value_counts()
    untested = int(found.get(NOT_TESTABLE, 0))
    tested = [f"{found[verdict]} {verdict}" for verdict in VERDICTS if found.get(verdict) and verdict != NOT_TESTABLE]
    if not tested:
        return f"Of {untested} {what}, none is testable here."
    more = f" {untested} more {'is' if untested == 1 else 'are'} {NOT_TESTABLE}." if untested else ""
    return f"Of {len(rows) - untested} {what}: {'; '.join(tested)}.{more}"


def _not_counted(findings: Findings) -> str:
    found = findings.claims["standing"].value_counts()
    return (
        f"Not counted, and without a verdict: {found.get('restatement', 0)} restatements, which follow from statements, and "
        f"{found.get('absolute', 0)} absolute numbers of other machines."
    )


def _sure(findings: Findings) -> str:
    judged = int(findings.claims["p_adjusted"].notna().sum())
    return f"Verdicts are corrected for the {judged} statements that were tested (Holm)." if judged else ""


def _smoke(findings: Findings) -> str:
    names = [each.experiment for each in findings.evidence if each.is_smoke]
    if not names:
        return ""
    return f"There are only smoke runs (profile quick) of {listing(names)}: their verdicts show that everything works and are no evidence."


def _not_reproduced(findings: Findings, most: int = _MOST_NAMED) -> str:
    rows = findings.claims[findings.claims["verdict"] == NOT_REPRODUCED]
    parts = [f"no. {place + 1} ({_both(row)})" for place, row in zip(rows.index, rows.to_dict("records"), strict=True)]
    more = f"; and {len(parts) - most} more" if len(parts) > most else ""
    return f"Not reproduced here: {'; '.join(parts[:most])}{more}." if parts else ""


def _both(row: Mapping[str, Any]) -> str:
    if math.isnan(row["measured"]):
        return f"{row['id']}: {row['why']}"
    published = f"published {amount(row['published'], RATIOS)}, " if not math.isnan(row["published"]) else ""
    return (
        f"{row['id']}: {published}here {quantity(row['measured'], row['measured_low'], row['measured_high'], RATIOS)}"
    )


def _ranks(findings: Findings) -> str:
    parts = [
        f"{row['experiment']} {tau(row['tau'])} by {row['metric'].rpartition('_')[0]} ({row['cells_count']} cells)"
        for row in findings.rank_agreement.to_dict("records")
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
    return f"What the flaws of the published set-ups change in the throughput: {'; '.join(parts)}." if parts else ""


def _explained(findings: Findings) -> str:
    parts = []
    for row in findings.explained.to_dict("records"):
        nearer = abs(math.log(row["faulty"] / row["published"])) < abs(math.log(row["equal"] / row["published"]))
        equal, faulty, published = (amount(row[name], RATIOS) for name in ("equal", "faulty", "published"))
        parts.append(
            f"{row['first']} has {equal} the throughput of {row['second']} on equal work and {faulty} with the flaws, "
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
    rows = findings.claims[findings.claims["verdict"] == NOT_TESTABLE]
    without = int((rows["run_id"] == "").sum())
    parts = [
        f"{count} {words}"
        for count, words in (
            (without, "about an experiment without a run"),
            (len(rows) - without, "for the reason that stands beside each"),
        )
        if count
    ]
    return f"Not testable here: {listing(parts)}." if parts else ""


def _machines(findings: Findings) -> str:
    found = ordered(str(each.results.machine.get("cpu", "")) for each in findings.evidence if each.results is not None)
    return f"The runs come from more than one machine: {listing(found)}." if len(found) > 1 else ""


def _measured(findings: Findings) -> list[str]:
    if not findings.run.blocks_count:
        return ["What the flaws change was not measured in this run."]
    return [
        *sentences.failures(findings.run),
        sentences.noise(findings.run),
        sentences.checked(findings.run),
        narrative.precision(findings.run),
    ]


def _said(found: Sequence[str]) -> Narrative:
    return Narrative(sentence for sentence in found if sentence)
