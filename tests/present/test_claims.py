"""The claim review in words, tables and charts: all from the numbers, safe to show, and also when there is nothing."""

import math
import re
from types import SimpleNamespace

import pandas as pd
import pytest

from runners.analyse.claims.flaws import circumstances, effects, explained, load_flaws
from runners.analyse.claims.judgements import NOT_REPRODUCED, NOT_TESTABLE, VERDICTS
from runners.analyse.claims.register import CellName, load_claims
from runners.analyse.claims.review import judge_all, ranks_compared
from runners.analyse.published import figures, sources
from runners.analyse.results import analyse
from runners.present.claims import (
    charts as claim_charts,
    register_table as register_tables,
    report,
    tables as claim_tables,
)
from runners.present.claims.register_table import metric_words, statement
from runners.present.limits import limits_of
from tests.analyse.synthetic import run_of
from tests.test_language import words

DECODE = {
    ("gin+encoding/json", "decode-10"): 8e3,
    ("gin+simdjson-go", "decode-10"): 9e3,
    ("drogon+simdjson", "decode-10"): 24e3,
    ("drogon+glaze", "decode-10"): 22e3,
    ("control", "decode-10"): 8e3,
}
FLAWED = {
    ("drogon-as-published+simdjson", "decode-as-published-10"): 30e3,
    ("drogon+simdjson", "decode-10"): 24e3,
    ("gin-as-published+encoding/json", "decode-as-published-10"): 4e3,
    ("gin+encoding/json", "decode-10"): 8e3,
    ("control", "decode-10"): 24e3,
}
EXPERIMENTS = sorted({claim.experiment for claim in load_claims()})


def findings(tmp_path, decide, rates, blocks=5, profile="standard", **about):
    """What :meth:`runners.experiments.reviews.ClaimReview.reviewed` gives, from a run that is made up."""
    claims, known, flaws = load_claims(), figures(), load_flaws()
    record = {"control_of": "drogon+simdjson" if rates else None}
    run = analyse(run_of(tmp_path, rates, experiment="07-published-claims", blocks=blocks, record=record, **about))
    judged = judge_all(claims, known, decide)
    judged["run_id"] = [decide[name].run.run_id if name in decide else "" for name in judged["experiment"]]
    judged["profile"] = [profile if name in decide else "" for name in judged["experiment"]]
    differs = [circumstances(claim, sources()[claim.source], decide.get(claim.experiment), flaws) for claim in claims]
    judged = judged.join(pd.DataFrame(differs))
    selected = [
        SimpleNamespace(experiment=name, results=decide.get(name), run_id="synthetic" if name in decide else "",
                        why="" if name in decide else f"no run of {name} here", is_smoke=profile == "quick" and name in decide)
        for name in EXPERIMENTS
    ]  # fmt: skip
    return SimpleNamespace(claims=judged, rank_agreement=ranks_compared(known, decide), effects=effects(flaws, run),
                           explained=explained(claims, known, flaws, run), selected_runs=selected, titles={}, run=run)  # fmt: skip


@pytest.fixture(scope="module", params=["standard", "quick"])
def found(request, tmp_path_factory):
    folder, profile = tmp_path_factory.mktemp("raw"), request.param
    record = {"control_of": "gin+encoding/json", "profile": profile}
    run = analyse(run_of(folder, DECODE, blocks=5, record=record))
    return findings(folder, {"02-json-decode": run}, FLAWED, profile=profile)


@pytest.fixture(scope="module")
def nothing(tmp_path_factory):
    return findings(tmp_path_factory.mktemp("raw"), {}, {}, blocks=0)


def test_the_answer_counts_independent_testable_statements_and_nothing_else(found):
    said = report.answer(found)
    counted = found.claims[found.claims["standing"] == "statement"]["verdict"].value_counts()
    untested = counted.pop(NOT_TESTABLE)
    assert said.startswith(f"Of {counted.sum()} testable published statements, this machine finds ")
    assert counted.sum() + untested < len(load_claims()) - (found.claims["kind"] == "absolute").sum()
    assert sum(map(int, re.findall(r"\d+", said))) == 2 * counted.sum()
    assert f"{counted[NOT_REPRODUCED]} not reproduced" in said
    smoke = set(found.claims["profile"]) == {"", "quick"}
    assert any("no evidence" in sentence for sentence in report.how_sure(found)) == smoke


def test_every_sentence_of_the_review_is_short_and_said_once(found, nothing):
    for reviewed in (found, nothing):
        said = [report.answer(reviewed), report.message(reviewed), *report.conclusions(reviewed)]
        said += [*report.how_sure(reviewed), *limits_of(reviewed.run, report.limits_of_runs(reviewed))]
        assert [sentence for sentence in said if words(sentence) > 25] == []
        assert len(set(said)) == len(said)
        assert not re.search(r"\bnan\b|(?<![\d.])0\.\d+ ×", "\n".join(said))
        assert len(report.conclusions(reviewed)) <= 8


def test_no_verdict_refers_to_one_machine_as_the_truth(found):
    said = "\n".join([*report.conclusions(found), register_tables.claims(found).text, claim_tables.counts(found).text])
    assert "refute" not in said.lower()


def test_the_report_says_how_verdicts_are_corrected_what_is_missing_and_what_flaws_change(found):
    tested = found.claims["p_adjusted"].notna().sum()
    assert f"corrected for the {tested} statements that were tested (Holm)" in report.how_sure(found)[0]
    assert report.limits_of_runs(found)[0].startswith("No sound run of ")
    (most, nearer) = report.flaws(found)
    row = found.effects.loc[found.effects["ratio"].map(math.log).abs().idxmax()]
    assert f"“{row['title']}”: " in most
    assert nearer.startswith("With the flaws, ")
    assert f"of {len(found.explained)} ratios" in nearer


def test_what_is_not_reproduced_is_said_with_both_ratios(found):
    said = report.not_reproduced(found)
    what = "throughput of gin+simdjson-go ÷ gin+encoding/json at decode-10"
    assert any(f"Not reproduced: {what}, published 1.03 × smaller, here 1.1" in each for each in said)


def test_what_is_not_reproduced_says_what_differs(found):
    # gin with simdjson-go has the larger throughput in this run; with less, by 2.8 %, it was published.
    number = found.claims.index[found.claims["id"] == "decode-10-gin-simdjson-go-over-gin-json"][0] + 1
    text = register_tables.not_reproduced(found).text
    [line] = [line for line in text.splitlines() if line.startswith(f"{number}\t")]
    assert "12th Gen Intel(R) Core(TM) i9-12900HK here: a CPU" in line
    assert "not stated" in line
    assert "gin: binding, all in all" in line
    assert (found.claims["verdict"] == NOT_REPRODUCED).sum() == len(text.splitlines()) - 2


def test_restatements_and_absolutes_are_tables_of_their_own(found):
    tables = {
        "restatement": register_tables.restatements(found).text,
        "absolute": register_tables.absolutes(found).text,
    }
    for standing, text in tables.items():
        numbers = [str(place + 1) for place in found.claims.index[found.claims["standing"] == standing]]
        assert [line.split("\t")[0] for line in text.splitlines() if line[:1].isdigit() and "\t" in line] == numbers


def test_a_restatement_says_which_statements_it_follows_from(found):
    number = {name: str(place + 1) for place, name in enumerate(found.claims["id"])}
    start = number["decode-10-drogon-simdjson-over-glaze"] + "\t"
    [line] = [line for line in register_tables.restatements(found).text.splitlines() if line.startswith(start)]
    from_both = (number[f"decode-10-drogon-{name}-over-gin-json"] for name in ("simdjson", "glaze"))
    assert line.endswith(f"\t{', '.join(from_both)}")


def test_of_nothing_everything_still_can_be_shown(nothing):
    assert report.answer(nothing).startswith("No run of any experiment is here")
    assert report.message(nothing) == "No published ratio was measured here"
    assert "Holm" not in "\n".join(report.how_sure(nothing))
    shown = (
        register_tables.claims,
        register_tables.not_reproduced,
        register_tables.restatements,
        register_tables.absolutes,
    )
    for show in (claim_tables.counts, claim_tables.rank_agreement, claim_tables.flaws, *shown):
        assert show(nothing).html
    assert "no run of 06-tcp-proxies here" in register_tables.claims(nothing).text
    assert claim_charts.published_against_measured(nothing).png()
    assert claim_charts.flaw_effects(nothing).png()


def test_faults_of_which_every_trial_failed_are_shown_as_such(tmp_path):
    failure = {"failure": {"stage": "running", "message": "it ended"}}
    failed = findings(tmp_path, {}, FLAWED, blocks=2, odd=dict.fromkeys(FLAWED, failure))
    assert "it ended" in claim_tables.flaws(failed).text
    assert "was not measured in this run" in "\n".join(report.how_sure(failed))
    assert claim_charts.flaw_effects(failed).png()
    assert limits_of(failed.run)


def test_the_table_has_a_fold_for_each_source_a_row_for_each_statement_and_a_box_for_each_verdict(found):
    html = register_tables.claims(found).html
    assert html.count("<details") == found.claims["source"].nunique()
    assert html.count('<th scope="row"') == (found.claims["standing"] == "statement").sum()
    assert html.count('type="checkbox"') == len(VERDICTS)
    assert "<script" not in html
    assert all(f'<th scope="row" class="wb-kind-{place}"' in html for place in (1, 4))


def test_what_sources_say_is_escaped(found):
    claims = found.claims.assign(quote="<script>alert(1)</script>", note="<b>")
    html = register_tables.claims(SimpleNamespace(claims=claims, titles={"webserver-benchmarks": "<i>"})).html
    assert "<script>" not in html
    assert "<b>" not in html
    assert "<i>" not in html


def test_the_charts_say_what_they_show(found):
    chart = claim_charts.published_against_measured(found)
    assert "of published against measured ratios" in chart.description
    assert "reproduced" in chart.description
    assert chart.png().startswith(b"\x89PNG")
    assert "simdjson: views, nothing validated 1.2" in claim_charts.flaw_effects(found).description


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ({"kind": "ratio", "cells": [("a", "w"), ("b", "w")]}, "throughput: a ÷ b at w"),
        ({"kind": "ratio", "cells": [("a", "w1"), ("a", "w2")]}, "throughput: w1 ÷ w2 of a"),
        ({"kind": "order", "cells": [("a", "w"), ("b", "w"), ("c", "w")]}, "throughput: a < b < c at w"),
        ({"kind": "order", "cells": [("a", "w"), ("b", "x")]}, "throughput: a at w < b at x"),
        ({"kind": "absolute", "cells": [("a", "w")]}, "throughput: a at w"),
        (
            {"kind": "least", "cells": [("a", "w"), ("b", "w"), ("c", "w")]},
            "throughput: a < b, c at w",
        ),
        ({"kind": "most", "cells": [("a", "w"), ("b", "w"), ("c", "w")]}, "throughput: a > b, c at w"),
        (
            {"kind": "word", "cells": [("a", "w"), ("b", "w")], "within_ratio": 1.5},
            "throughput: a ≈ b at w, within a factor of 1.5",
        ),
        ({"kind": "word", "cells": []}, "–"),
    ],
)
def test_a_claim_is_stated_as_a_hypothesis(about, expected):
    row = {"metric": "throughput_rps", "within_ratio": math.nan} | about
    assert statement(row | {"cells": tuple(CellName(*cell) for cell in about["cells"])}) == expected


def test_percentiles_are_named_as_people_name_them():
    assert [metric_words(name) for name in ("p99_9_s", "p50_s", "other")] == ["p99.9", "p50", "other"]


def test_the_deciding_runs_are_shown_with_what_is_wrong_with_them(found):
    text = claim_tables.selected_runs(found.selected_runs).text
    assert "no run of 06-tcp-proxies here" in text
    assert ("a smoke run: no evidence" in text) == (set(found.claims["profile"]) == {"", "quick"})


def test_ranks_that_cannot_be_compared_are_shown_as_such(found):
    rank_agreement = pd.DataFrame(
        [{"experiment": "01-x", "metric": "p50_s", "cells_count": 3, "tau": math.nan, "p_value": 1.0}]
    )
    shown = SimpleNamespace(**{**vars(found), "rank_agreement": rank_agreement})
    assert "01-x\tp50\t–" in claim_tables.rank_agreement(shown).text
