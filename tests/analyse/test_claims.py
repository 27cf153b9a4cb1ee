"""The register of published claims: what it holds, what it refuses, and what the sources' own figures say of it."""

import math
from collections import Counter

import pytest

from runners.analyse.claims.register import Claim, load_claims, published_amounts, published_value
from runners.analyse.published import figures, sources
from runners.core.errors import WrkbookError
from runners.core.project import NOTEBOOKS
from runners.stats.verdicts import SMALLEST_BAND

CLAIMS = load_claims()
FIGURES = figures()
BY_ID = {claim.id: claim for claim in CLAIMS}
GOOD = """
[[claim]]
id = "a-over-b"
source = "s"
place = "p"
quote = "q"
kind = "ratio"
experiment = "01-ping"
metric = "throughput_rps"
systems = ["a", "b"]
workloads = ["ping"]
"""


def refused(tmp_path, text):
    path = tmp_path / "claims.toml"
    path.write_text(text)
    with pytest.raises(WrkbookError) as error:
        load_claims(path)
    assert str(path) in str(error.value)
    return str(error.value)


def test_there_are_claims_of_all_sources_and_kinds():
    assert len(CLAIMS) >= 40
    assert {claim.source for claim in CLAIMS} == set(sources())
    assert set(Counter(claim.kind for claim in CLAIMS)) == {"ratio", "order", "least", "most", "absolute", "word"}


def test_the_documents_that_make_one_source_are_both_heard():
    places = [claim.place for claim in CLAIMS if claim.source == "webserver-benchmarks"]
    assert any(place.startswith("README") for place in places)
    assert any(place.startswith("slides") for place in places)


def test_an_experiment_that_is_there_is_named_as_its_notebook_is():
    numbers = {path.stem.split("-")[0]: path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    for claim in CLAIMS:
        assert numbers.get(claim.experiment.split("-")[0], claim.experiment) == claim.experiment


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("decode-1-drogon-simdjson-over-gin-json", 1.90),
        ("decode-10-drogon-simdjson-over-gin-json", 5.38),
        ("decode-1-gin-simdjson-go-over-gin-json", 0.48),
        ("decode-10-gin-simdjson-go-over-gin-json", 0.97),
        ("ping-gin-over-drogon", 1.04),
        ("roundtrip-10-drogon-simdjson-over-gin-json", 7.17),
        ("go-json-over-text", 0.98),
        ("go-sql1-over-json", 0.43),
        ("go-over-node-throughput-at-20", 13.12),
        ("go-over-swift-throughput-at-20", 16.75),
        ("go-build-over-swift", 68.67),
        ("proxies-p99-java-over-python", 7.10),
        ("go-memory-20000-over-100", 50.0),
    ],
)
def test_published_values_are_made_of_published_figures(name, published):
    assert published_value(BY_ID[name], FIGURES) == pytest.approx(published, abs=0.006)


@pytest.mark.parametrize(
    "claim", [c for c in CLAIMS if c.kind in ("ratio", "absolute") and not c.untestable], ids=lambda c: c.id
)
def test_a_testable_number_was_published(claim):
    assert published_value(claim, FIGURES) > 0


ORDERS = [c for c in CLAIMS if c.kind in ("order", "least", "most")]


@pytest.mark.parametrize("claim", ORDERS, ids=lambda c: c.id)
def test_an_order_is_that_of_the_published_figures(claim):
    published = dict(zip(claim.cells, published_amounts(claim, FIGURES), strict=True))
    for lower, upper in claim.pairs:
        ratio = published[upper] / published[lower] if published[lower] else math.inf
        assert math.isnan(ratio) or ratio > 1 + SMALLEST_BAND  # a picture has no numbers


# How prose names a system, where it does not use the name of the tables.
PROSE = {
    "go-tcp-proxy": "Golang",
    "netcrusher": "Java",
    "http-tunnel": "Rust",
    "net-http": "errors",
    "express": "errors",
}
EACH_OTHER = ("of all", "not as capable")


@pytest.mark.parametrize("claim", [c for c in ORDERS if c.kind == "order"], ids=lambda c: c.id)
def test_an_order_is_only_of_what_its_quote_names(claim):
    names = sources()[claim.source].systems
    for system in claim.systems:
        known = {name for name, own in names.items() if own == system} | {PROSE.get(system, system)}
        assert any(name in claim.quote for name in known), f"{system} is not named in {claim.quote!r}"


@pytest.mark.parametrize("claim", [c for c in ORDERS if c.kind != "order"], ids=lambda c: c.id)
def test_a_least_or_most_is_said_of_one_against_all_others(claim):
    assert any(words in claim.quote for words in EACH_OTHER)
    assert all(claim.cells[0] in pair for pair in claim.pairs)


def test_a_table_s_row_names_its_columns_in_the_order_of_the_claim():
    claim = BY_ID["decode-10-order-by-p99"]
    names = {own: name for name, own in sources()[claim.source].systems.items() if name in claim.quote}
    assert sorted(claim.systems, key=lambda system: claim.quote.index(names[system])) == list(claim.systems)


@pytest.mark.parametrize("claim", [c for c in CLAIMS if c.kind == "word" and c.cells], ids=lambda c: c.id)
def test_a_word_is_read_so_that_the_published_figures_fit_it(claim):
    ratio = published_value(claim, FIGURES)
    if ratio != ratio:
        return  # nothing but the words was published
    if claim.within_ratio:
        assert 1 / claim.within_ratio <= ratio <= claim.within_ratio
    else:
        assert ratio > 1


def test_every_reading_of_a_word_is_explained():
    for claim in CLAIMS:
        if claim.within_ratio:
            assert claim.note, claim.id


def test_the_example_is_good(tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text(GOOD)
    [claim] = load_claims(path)
    assert [str(cell) for cell in claim.cells] == ["a at ping", "b at ping"]


def test_one_system_at_two_workloads_are_two_cells():
    claim = BY_ID["go-json-over-text"]
    assert claim.cells == (("net-http", "json"), ("net-http", "text"))


@pytest.mark.parametrize(
    ("right", "wrong", "named"),
    [
        ('quote = "q"', 'quote = "q"\nsays = "x"', "claim.0.says"),
        ('quote = "q"', "", "claim.0.quote"),
        ('kind = "ratio"', 'kind = "rank"', "claim.0.kind"),
        ('"a-over-b"', '"A over B"', "claim.0.id"),
        ('"01-ping"', '"ping"', "claim.0.experiment"),
        ('"throughput_rps"', '"throughput"', "did you mean 'throughput_rps'"),
        ('["a", "b"]', '["a", "b", "c"]', "3 cells"),
        ('["a", "b"]', '["a"]', "1 cells"),
        ('["a", "b"]', '["a", "a"]', "one twice"),
        ('["ping"]', '["ping", "text", "json"]', "one for all cells"),
        ('["ping"]', "[]", "one for all cells"),
        ('metric = "throughput_rps"\nsystems = ["a", "b"]\nworkloads = ["ping"]', "", "untestable"),
        ('quote = "q"', 'quote = "q"\nwithin_ratio = 2.0', "for words"),
        ('kind = "ratio"', 'kind = "word"\nwithin_ratio = 0.5', "claim.0.within_ratio"),
        ("[[claim]]", "[claim", "line"),
        ("[[claim]]", "[[claims]]", "claim"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, right, wrong, named):
    assert right in GOOD
    assert named in refused(tmp_path, GOOD.replace(right, wrong, 1))


def test_an_id_must_not_appear_twice(tmp_path):
    assert "'a-over-b' appears twice" in refused(tmp_path, GOOD + GOOD)


def test_a_claim_that_says_why_it_is_untestable_needs_no_cells():
    claim = Claim(id="x", source="s", place="p", quote="q", kind="word", experiment="01-ping", untestable="no number")
    assert claim.cells == ()
