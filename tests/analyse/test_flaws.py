"""The known flaws of the published set-ups: the register, and their effects in a run that is made up."""

import math

import pytest

from runners.analyse.claims.flaws import Flaw, effects, explained, load_flaws, touching
from runners.analyse.claims.register import load_claims
from runners.analyse.published import figures, sources
from runners.analyse.results import analyse
from runners.core.errors import WrkbookError
from runners.stats.estimates import UNKNOWN, Comparison
from runners.systems.catalogue import Catalogue
from tests.analyse.synthetic import run_of

FLAWS = load_flaws()
VIEWS = ("drogon-as-published+simdjson", "decode-as-published-10")
EQUAL = {
    ("drogon+simdjson", "decode-10"): 24e3,
    ("drogon+glaze", "decode-10"): 22e3,
    ("gin+encoding/json", "decode-10"): 8e3,
}
FLAWED = {
    VIEWS: 30e3,
    ("gin-as-published+encoding/json", "decode-as-published-10"): 4e3,
    ("drogon-as-published+glaze", "decode-as-published-10"): 22e3,
}
REGISTER = """
[[flaw]]
id = "x"
source = "s"
title = "t"
what = "w"
"""


def analysed(tmp_path, rates, **about):
    control = {("control", "decode-10"): 24e3}
    record = {"control_of": "drogon+simdjson"}
    return analyse(run_of(tmp_path, rates | control, experiment="07-x", record=record, **about))


def found_of(tmp_path, rates, **about):
    return effects(FLAWS, analysed(tmp_path, rates, **about)).set_index("id")


def test_the_cells_of_every_fault_are_served_and_its_source_is_known():
    catalogue = Catalogue()
    for flaw in FLAWS:
        assert flaw.source in sources()
        for cell in flaw.cells:
            assert catalogue.system(cell.system, [cell.workload]).name == cell.system


def test_the_gin_faults_are_shown_by_the_published_handlers_beside_what_gin_users_run():
    shown = {flaw.id: [str(cell.name) for cell in flaw.cells] for flaw in FLAWS}
    decoded, published = "decode-10", "decode-as-published-10"
    assert shown["gin-handler"] == [
        f"gin-as-published+encoding/json at {published}",
        f"gin+encoding/json at {decoded}",
    ]
    assert shown["simdjson-go-without-reuse"] == [
        f"gin-as-published+simdjson-go at {published}",
        f"gin+simdjson-go at {decoded}",
    ]
    assert shown["unsent-round-trip"] == [
        "gin-as-published+encoding/json at roundtrip-as-published-10",
        "gin+encoding/json at roundtrip-10",
    ]


def test_a_published_ratio_of_both_go_decoders_is_shown_with_the_flaws_of_both(tmp_path):
    rates = {("gin+simdjson-go", "decode-10"): 16e3, ("gin-as-published+simdjson-go", "decode-as-published-10"): 3e3}
    run = analysed(tmp_path, EQUAL | FLAWED | rates)
    row = explained(load_claims(), figures(), FLAWS, run).set_index("id").loc["decode-10-gin-simdjson-go-over-gin-json"]
    assert row["equal"] == pytest.approx(2, rel=0.02)
    assert row["flawed"] == pytest.approx(0.75, rel=0.02)
    assert row["published"] == pytest.approx(60657.29 / 62428.45, abs=0.001)


def test_only_references_serve_what_is_not_equal_work():
    for server in Catalogue().servers.values():
        for service in server.serves:
            assert (server.role == "reference") or not service.workload.endswith("-as-published")


def test_an_effect_is_the_paired_ratio_with_its_verdict(tmp_path):
    found = found_of(tmp_path, EQUAL | FLAWED)
    views = found.loc["views-and-raw-tokens"]
    assert views["ratio"] == pytest.approx(1.25, rel=0.02)
    assert views["ratio_high"] - views["ratio_low"] < 0.05  # drift between blocks has cancelled
    assert found["verdict"][["views-and-raw-tokens", "gin-handler"]].tolist() == ["faster", "slower"]
    assert found["verdict"]["copies-glaze"] not in ("faster", "slower")


def test_effects_are_exploratory_and_carry_no_p_value(tmp_path):
    assert not [name for name in found_of(tmp_path, EQUAL | FLAWED) if name.startswith("p_")]


def test_a_fault_whose_cells_were_not_measured_says_so(tmp_path):
    found = found_of(tmp_path, EQUAL | FLAWED)
    assert "drogon-as-published+yyjson at decode-as-published-10: not measured" in found["why"]["copies-yyjson"]
    assert math.isnan(found["ratio"]["copies-yyjson"])
    assert found["why"]["weak-client"]
    assert found["verdict"]["weak-client"] == "not comparable"


def test_where_the_load_generator_was_the_limit_the_effect_is_a_bound(tmp_path):
    run = analysed(tmp_path, EQUAL | FLAWED)
    run.cells.loc[run.cells["system"] == VIEWS[0], "bottleneck"] = "generator"
    views = effects(FLAWS, run).set_index("id").loc["views-and-raw-tokens"]
    assert views[["having_bound", "without_bound"]].tolist() == [True, False]
    assert "the load was the limit of drogon-as-published+simdjson" in views["why"]


def test_a_published_ratio_is_shown_on_equal_work_and_with_the_flaws(tmp_path):
    run = analysed(tmp_path, EQUAL | FLAWED)
    found = explained(load_claims(), figures(), FLAWS, run).set_index("id")
    row = found.loc["decode-10-drogon-simdjson-over-gin-json"]
    assert row["published"] == pytest.approx(5.376, abs=0.001)
    assert row["equal"] == pytest.approx(3, rel=0.02)
    assert row["flawed"] == pytest.approx(7.5, rel=0.02)
    assert not any("yyjson" in name for name in found.index)


def test_two_cells_that_share_no_sound_block_give_no_ratio(tmp_path):
    class Apart:
        """A run whose cells are sound, in other blocks each."""

        def __init__(self, run):
            self.cells, self.noise_floor_ratio = run.cells, run.noise_floor_ratio

        def paired(self, *_):
            return Comparison(UNKNOWN, math.nan, 0)

    run = Apart(analysed(tmp_path, EQUAL | FLAWED))
    found = effects(FLAWS, run).set_index("id")
    assert found["why"]["views-and-raw-tokens"] == "no block has sound trials of both"
    assert explained(load_claims(), figures(), FLAWS, run).empty


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("decode-1-drogon-simdjson-over-glaze", {"views-and-raw-tokens", "copies-glaze"}),
        ("decode-10-drogon-simdjson-over-glaze", {"views-and-raw-tokens", "copies-glaze", "nine-operations"}),
        ("roundtrip-10-drogon-simdjson-over-glaze", {"empty-round-trip", "dummy-round-trip"}),
        ("go-sql1-over-json", set()),
    ],
)
def test_a_claim_is_touched_by_the_faults_of_its_handlers_and_of_its_load(claim, expected):
    tested = next(each for each in load_claims() if each.id == claim)
    assert {flaw.id for flaw in touching(FLAWS, tested)} == expected


def test_a_fault_that_nothing_here_measures_touches_the_experiments_that_it_names():
    about = {"id": "x", "source": "webserver-benchmarks", "title": "t", "what": "w", "unmeasured": "u"}
    tested = {each.id: each for each in load_claims()}
    known = [Flaw(**about, experiments=("01-ping",)), Flaw(**about)]
    assert touching(known, tested["ping-gin-over-drogon"]) == known[:1]
    assert not touching(known, tested["decode-1-drogon-simdjson-over-glaze"])


def test_a_run_without_trials_gives_no_effect(tmp_path):
    run = analysed(tmp_path, {}, blocks=0)
    assert effects(FLAWS, run)["ratio"].isna().all()
    assert explained(load_claims(), figures(), FLAWS, run).empty


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (REGISTER, "says why it is unmeasured"),
        (REGISTER + 'unmeasured = "u"\nwithout = {system = "a", workload = "decode", operations = 1}', "has two cells"),
        (REGISTER + 'unmeasured = "u"\nmore = 1', "flaw.0.more"),
        ("[[flaw]", "flaws.toml"),
    ],
)
def test_a_wrong_register_is_refused_with_what_is_wrong(tmp_path, text, told):
    (tmp_path / "flaws.toml").write_text(text)
    with pytest.raises(WrkbookError) as caught:
        load_flaws(tmp_path / "flaws.toml")
    assert told in str(caught.value)
