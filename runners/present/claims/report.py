"""The report of the published claims: how many are reproduced, which are not, and what the flaws of the set-ups change."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from runners.analyse.claims.judgements import (
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    SIZE_FACTOR,
    SIZE_OFF,
    UNDECIDED,
    VERDICTS,
)
from runners.analyse.claims.review import ReviewedClaims
from runners.analyse.claims.run_selection import SelectedRun
from runners.core.units import RATIOS, amount, listing, shortlist, times
from runners.present.claims import charts, tables
from runners.present.claims.register_table import compared, metric_words
from runners.present.claims.tables import statements
from runners.present.how_sure import validity
from runners.present.kit.markup import Fragment
from runners.present.kit.theme import Chart

_MOST_NOT_REPRODUCED = 3
_WORDS = {
    REPRODUCED: "reproduced",
    SIZE_OFF: "right in direction only",
    NOT_REPRODUCED: "not reproduced",
    UNDECIDED: "undecided",
}


def answer(reviewed: ReviewedClaims) -> str:
    """Return how many independent, testable statements have each verdict."""
    if not any(each.results for each in reviewed.selected_runs):
        return "No run of any experiment is here: no published statement can be judged."
    found = statements(reviewed)["verdict"].value_counts()
    tested = {name: int(found.get(name, 0)) for name in VERDICTS if name != NOT_TESTABLE}
    if not sum(tested.values()):
        return f"None of the {int(found.sum())} published statements is testable here."
    counted = listing([f"{count} {_WORDS[name]}" for name, count in tested.items() if count])
    return f"Of {sum(tested.values())} testable published statements, this machine finds {counted}."


def decision_table(reviewed: ReviewedClaims) -> Fragment:
    """Return the counts of verdicts by source."""
    return tables.counts(reviewed)


def message(reviewed: ReviewedClaims) -> str:
    """Return how many of the ratios with a published size lie near it."""
    rows = statements(reviewed)
    rows = rows[(rows["kind"] == "ratio") & (rows["published"] > 0) & (rows["measured"] > 0)]
    if rows.empty:
        return "No published ratio was measured here"
    off = (rows["measured"] / rows["published"]).astype(float).map(math.log).abs()
    near = int((off <= math.log(SIZE_FACTOR)).sum())
    return f"{near} of {len(rows)} measured ratios lie within a factor of {SIZE_FACTOR:g} of the published ones"


def main_chart(reviewed: ReviewedClaims) -> Chart:
    """Return the chart of measured against published ratios."""
    return charts.published_against_measured(reviewed)


def how_sure(reviewed: ReviewedClaims) -> list[str]:
    """Return sentences about the correction, the runs that decide, and the trials with the flaws."""
    judged = int(reviewed.claims["p_adjusted"].notna().sum())
    found = [f"Verdicts are corrected for the {judged} statements that were tested (Holm)."] if judged else []
    used = [each for each in reviewed.selected_runs if each.results]
    smoke = [each.experiment for each in used if each.is_smoke]
    if used:
        decide = f"{len(used)} run{'s decide' if len(used) > 1 else ' decides'}"
        found.append(
            f"{decide}; those of {shortlist(smoke)} are smoke runs, no evidence."
            if smoke
            else f"{decide}, {_sessions(used)} of one machine; none is a smoke run."
        )
    if reviewed.run.blocks_count:
        return [*found, f"With the flaws, {validity(reviewed.run)}"]
    return [*found, "What the flaws change was not measured in this run."]


def _sessions(used: Sequence[SelectedRun]) -> str:
    """Return over how many sessions each run decides."""
    counts = sorted({len(each.results.others) + 1 for each in used if each.results})
    if counts == [1]:
        return "each in one session"
    return f"over {' to '.join(map(str, [counts[0], *counts[1:][-1:]]))} sessions each"


def not_reproduced(reviewed: ReviewedClaims) -> list[str]:
    """Return a sentence for each of the first statements that are not reproduced, and what else is missing."""
    rows = reviewed.claims[reviewed.claims["verdict"] == NOT_REPRODUCED]
    sized = rows[rows["published"].notna() & rows["measured"].notna()]
    found = []
    for row in sized.iloc[:_MOST_NOT_REPRODUCED].to_dict("records"):
        published, measured = (_direction(row[name]) for name in ("published", "measured"))
        what = f"{metric_words(str(row['metric']))} of {compared(row)}"
        found.append(f"Not reproduced: {what}, published {published}, here {measured}.")
    return found


def _direction(ratio: float) -> str:
    """Return a ratio of at least 1, and which way round it is."""
    if ratio >= 1:
        return f"{amount(ratio, RATIOS)} larger"
    return f"{amount(1 / ratio, RATIOS)} smaller" if ratio > 0 else "none"


def flaws(reviewed: ReviewedClaims) -> list[str]:
    """Return the sentence about the flaw that changes the throughput most."""
    rows = reviewed.effects[reviewed.effects["ratio"].notna()]
    if rows.empty:
        return []
    row = rows.loc[rows["ratio"].map(math.log).abs().idxmax()]
    words = _effect(row)
    decided = int(rows["verdict"].isin(["faster", "slower"]).sum())
    return [
        f"{decided} of {len(rows)} flaws change the throughput; most does “{row['title']}”: {words}.",
        *_explained(reviewed),
    ]


def _effect(row: pd.Series) -> str:
    value, low, high = (float(row[name]) for name in ("ratio", "ratio_low", "ratio_high"))
    slower = value < 1
    text, interval = times(1 / value, 1 / high, 1 / low) if slower else times(value, low, high)
    return f"{text} {'less' if slower else 'more'}{f' ({interval})' if interval else ''}"


def _explained(reviewed: ReviewedClaims) -> list[str]:
    """Return how many published ratios are nearer with the flaws than on equal work."""
    rows = reviewed.explained.to_dict("records")
    if not rows:
        return []
    nearer = sum(
        abs(math.log(row["flawed"] / row["published"])) < abs(math.log(row["equal"] / row["published"])) for row in rows
    )
    return [f"With the flaws, {nearer} of {len(rows)} ratios are nearer to the published ones than on equal work."]


def limits_of_runs(reviewed: ReviewedClaims) -> list[str]:
    """Return what the review does not say: missing runs, several machines, other versions."""
    missing = [each.experiment for each in reviewed.selected_runs if each.results is None]
    machines = {str(each.results.machine.get("cpu", "")) for each in reviewed.selected_runs if each.results}
    return [
        *([f"No sound run of {shortlist(missing)}: their claims are not testable."] if missing else []),
        *(["The runs come from more than one machine."] if len(machines) > 1 else []),
        "A ratio may differ because the machine differs: “not reproduced here” says no more than that.",
        "All servers and libraries are newer than those of the published benchmarks.",
        "wrkbook's authors wrote the handlers with the flaws; the descriptions leave open which fields were skipped.",
        "Words are read as the small print says: another reading may give another verdict.",
        "An order is decided pair by pair: the longer it is, the more often it is undecided.",
    ]


def conclusions(reviewed: ReviewedClaims) -> list[str]:
    """Return the sentences of all further questions."""
    return [*not_reproduced(reviewed), *flaws(reviewed)]
