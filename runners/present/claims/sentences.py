"""Published claims on trial, in sentences: how many statements are reproduced, which are not, what the flaws of the set-ups change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from runners.analyse.claims.judgements import NOT_REPRODUCED, NOT_TESTABLE, VERDICTS
from runners.analyse.claims.review import ReviewedClaims
from runners.core.units import RATIOS, amount, listing, quantity
from runners.present import narrative
from runners.present.kit.frames import ordered
from runners.present.narrative import Headline, Narrative
from runners.present.throughput import sentences

_MOST_NAMED = 12
_MOST_IN_ABSTRACT = 3


def statements(reviewed: ReviewedClaims) -> pd.DataFrame:
    """The claims that are counted: independent ones that have a verdict, also where it is that nothing here can test them."""
    return reviewed.claims[reviewed.claims["standing"] == "statement"]


def headline(reviewed: ReviewedClaims) -> Headline:
    """Return the sentence that counts independent, testable statements by verdict."""
    used = [each for each in reviewed.selected_runs if each.results is not None]
    said = _counted(statements(reviewed), "independent published statements")
    if not used:
        return Headline(f"No run of any experiment is here. {said}")
    return Headline(f"Smoke runs, not evidence: {said}" if all(each.is_smoke for each in used) else said)


def abstract(reviewed: ReviewedClaims) -> Narrative:
    """The sentences that matter most."""
    return _said(
        [
            str(headline(reviewed)),
            _smoke(reviewed),
            _not_reproduced(reviewed, _MOST_IN_ABSTRACT),
            _effects(reviewed),
            _explained(reviewed),
        ]
    )


def conclusions(reviewed: ReviewedClaims) -> Narrative:
    """All conclusions: each source, what is not reproduced, ranks, flaws, and how sure it is."""
    sources = [
        f"{source}: {_counted(rows, 'statements')}"
        for source, rows in statements(reviewed).groupby("source", sort=False)
    ]
    return _said(
        [str(headline(reviewed)), _smoke(reviewed), *sources, _not_counted(reviewed), _not_reproduced(reviewed), _ranks(reviewed),
         _effects(reviewed), _explained(reviewed), _untestable(reviewed), _missing(reviewed), _machines(reviewed), _sure(reviewed),
         *_measured(reviewed)]
    )  # fmt: skip


def _counted(rows: pd.DataFrame, what: str) -> str:
    found = rows["verdict"].value_counts()
    untested = int(found.get(NOT_TESTABLE, 0))
    tested = [f"{found[verdict]} {verdict}" for verdict in VERDICTS if found.get(verdict) and verdict != NOT_TESTABLE]
    if not tested:
        return f"Of {untested} {what}, none is testable here."
    more = f" {untested} more {'is' if untested == 1 else 'are'} {NOT_TESTABLE}." if untested else ""
    return f"Of {len(rows) - untested} {what}: {'; '.join(tested)}.{more}"


def _not_counted(reviewed: ReviewedClaims) -> str:
    found = reviewed.claims["standing"].value_counts()
    return (
        f"Not counted, and without a verdict: {found.get('restatement', 0)} restatements, which follow from statements, and "
        f"{found.get('absolute', 0)} absolute numbers of other machines."
    )


def _sure(reviewed: ReviewedClaims) -> str:
    judged = int(reviewed.claims["p_adjusted"].notna().sum())
    return f"Verdicts are corrected for the {judged} statements that were tested (Holm)." if judged else ""


def _smoke(reviewed: ReviewedClaims) -> str:
    names = [each.experiment for each in reviewed.selected_runs if each.is_smoke]
    if not names:
        return ""
    return f"There are only smoke runs (profile quick) of {listing(names)}: their verdicts show that everything works and are no evidence."


def _not_reproduced(reviewed: ReviewedClaims, most: int = _MOST_NAMED) -> str:
    rows = reviewed.claims[reviewed.claims["verdict"] == NOT_REPRODUCED]
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


def _ranks(reviewed: ReviewedClaims) -> str:
    parts = [
        f"{row['experiment']} {tau(row['tau'])} by {row['metric'].rpartition('_')[0]} ({row['cells_count']} cells)"
        for row in reviewed.rank_agreement.to_dict("records")
        if row["cells_count"] > 2
    ]
    return f"Kendall's tau between published and measured ranks: {listing(parts)}." if parts else ""


def tau(value: float) -> str:
    """Kendall's tau as text."""
    return "–" if math.isnan(value) else f"{value:.2f}"


def _effects(reviewed: ReviewedClaims) -> str:
    rows = reviewed.effects[reviewed.effects["ratio"].notna()].to_dict("records")
    parts = [
        f"{row['title']}: {quantity(row['ratio'], row['ratio_low'], row['ratio_high'], RATIOS)}, {row['verdict']}"
        for row in rows
    ]
    return f"What the flaws of the published set-ups change in the throughput: {'; '.join(parts)}." if parts else ""


def _explained(reviewed: ReviewedClaims) -> str:
    parts = []
    for row in reviewed.explained.to_dict("records"):
        nearer = abs(math.log(row["flawed"] / row["published"])) < abs(math.log(row["equal"] / row["published"]))
        equal, flawed, published = (amount(row[name], RATIOS) for name in ("equal", "flawed", "published"))
        parts.append(
            f"{row['first']} has {equal} the throughput of {row['second']} on equal work and {flawed} with the flaws, "
            f"{'nearer to' if nearer else 'no nearer to'} the published {published}"
        )
    return f"Side by side: {'; '.join(parts)}." if parts else ""


def _missing(reviewed: ReviewedClaims) -> str:
    names = [each.experiment for each in reviewed.selected_runs if each.results is None]
    return (
        f"There is no sound run of {listing(names)} here: claims about {'them' if len(names) > 1 else 'it'} are not testable."
        if names
        else ""
    )


def _untestable(reviewed: ReviewedClaims) -> str:
    rows = reviewed.claims[reviewed.claims["verdict"] == NOT_TESTABLE]
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


def _machines(reviewed: ReviewedClaims) -> str:
    found = ordered(
        str(each.results.machine.get("cpu", "")) for each in reviewed.selected_runs if each.results is not None
    )
    return f"The runs come from more than one machine: {listing(found)}." if len(found) > 1 else ""


def _measured(reviewed: ReviewedClaims) -> list[str]:
    if not reviewed.run.blocks_count:
        return ["What the flaws change was not measured in this run."]
    return [
        *sentences.failures(reviewed.run),
        sentences.noise(reviewed.run),
        sentences.checked(reviewed.run),
        narrative.precision(reviewed.run),
    ]


def _said(found: Sequence[str]) -> Narrative:
    return Narrative(sentence for sentence in found if sentence)
