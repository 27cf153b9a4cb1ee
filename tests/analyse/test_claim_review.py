"""Which claims count: a claim and its inverse, one figure under two metrics, and what follows from others count once."""

import pytest

from runners.analyse.claims.register import Claim, load_claims
from runners.analyse.claims.review import follows_from, standing

CLAIMS = load_claims()


def claim(name, *systems, kind="ratio", metric="throughput_rps", **more):
    about = {"source": "s", "place": "p", "quote": "q", "experiment": "01-ping", "workloads": ("ping",)}
    return Claim(**about | more, id=name, kind=kind, metric=metric, systems=systems)


AB, BC = claim("a-b", "a", "b"), claim("b-c", "b", "c")


@pytest.mark.parametrize(
    ("second", "follows"),
    [
        (claim("x", "b", "a"), ("a-b",)),
        (claim("x", "b", "a", kind="word"), ("a-b",)),
        (claim("x", "a", "b", kind="order"), ("a-b",)),
        (claim("x", "c", "a"), ("b-c", "a-b")),
        (claim("x", "c", "b", "a", kind="order"), ("b-c", "a-b")),
        (claim("x", "a", "b", "c", kind="most"), ("a-b", "b-c")),
        (claim("x", "a", "b", metric="mean_s"), ("a-b",)),  # Little's law, in a closed loop
        (claim("x", "a", "b", metric="p50_s"), None),
        (claim("x", "a", "b", source="another"), None),
        (claim("x", "a", "b", workloads=("text",)), None),
        (claim("x", "a", "d"), None),
        (claim("x", "a", "b", untestable="no tool"), None),
    ],
)
def test_what_follows_from_other_claims_counts_with_them(second, follows):
    found = follows_from([AB, BC, second])
    assert set(found) <= {"x"}
    assert set(found.get("x", ())) == set(follows or ())
    assert standing(second, found) == ("restatement" if follows else "statement")


def test_a_claim_and_its_inverse_count_once():
    both = [AB, claim("inverse", "b", "a")]
    assert [standing(each, follows_from(both)) for each in both] == ["statement", "restatement"]


def test_directions_alone_give_no_ratio_to_derive_others_from():
    words = [claim(f"{a}-{b}", a, b, kind="word") for a, b in (("a", "b"), ("b", "c"), ("a", "c"))]
    assert not follows_from(words)


def test_a_ratio_counts_before_the_word_about_the_same_pair():
    assert follows_from([claim("word", "a", "b", kind="word"), AB]) == {"word": ("a-b",)}


def test_absolutes_stand_apart():
    assert standing(claim("x", "a", kind="absolute"), {}) == "absolute"


def test_the_register_counts_fewer_statements_than_it_holds_claims():
    follows = follows_from(CLAIMS)
    known = {claim.id: standing(claim, follows) for claim in CLAIMS}
    assert known["decode-1-drogon-simdjson-over-glaze"] == "restatement"
    assert known["go-is-much-faster-than-node"] == "restatement"
    assert known["decode-10-order-by-throughput"] == "restatement"
    assert known["ping-gin-throughput"] == "absolute"
    for names in follows.values():
        assert {known[name] for name in names} == {"statement"}
