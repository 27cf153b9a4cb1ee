"""Which published statements say something of their own, and which follow from others.

Two statements count once when one follows from the other: a claim and its inverse, a word about two cells whose ratio is a claim
too, the quotient of two ratios with a common cell, or one figure under two metrics. So the ratios of a source's metric are the
edges of a graph whose nodes are cells: any ratio along a path is known. What such a path gives is a *restatement*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Literal

from runners.analyse.claims import CellName, Claim

# Closed loops only print a mean service time here: it is connections ÷ throughput (Little, Operations Research 9, 1961).
_SAME_FIGURE = {"mean_s": "throughput_rps"}
_Edges = dict[CellName, dict[CellName, str]]


def standing(claim: Claim, follows: Mapping[str, tuple[str, ...]]) -> Literal["statement", "restatement", "absolute"]:
    """Return whether a claim is counted as a statement; `follows` is what :func:`follows_from` returns."""
    if claim.kind == "absolute":
        return "absolute"
    return "restatement" if claim.id in follows else "statement"


def follows_from(claims: Iterable[Claim]) -> dict[str, tuple[str, ...]]:
    """Return the ids of the restatements, each with the ids of the statements that it follows from.

    Ratios come before claims about a direction, then the register's order decides. Untestable claims take no part.
    """
    compared = [claim for claim in claims if claim.kind != "absolute" and not claim.untestable]
    ratios: dict[tuple[str, str], _Edges] = {}
    asked: dict[tuple[str, str, frozenset[CellName]], tuple[str, ...]] = {}
    found: dict[str, tuple[str, ...]] = {}
    for claim in sorted(compared, key=lambda claim: claim.kind != "ratio"):
        key = (claim.source, _SAME_FIGURE.get(claim.metric, claim.metric))
        edges = ratios.setdefault(key, {})
        known = [_path(edges, *pair) or asked.get((*key, frozenset(pair)), ()) for pair in claim.pairs]
        if all(known):
            found[claim.id] = tuple(dict.fromkeys(chain(*known)))
            continue
        for lower, upper in claim.pairs:
            asked.setdefault((*key, frozenset((lower, upper))), (claim.id,))
            if claim.kind == "ratio":
                edges.setdefault(lower, {})[upper] = edges.setdefault(upper, {})[lower] = claim.id
    return found


def _path(edges: _Edges, start: CellName, end: CellName) -> tuple[str, ...]:
    """Return the claims along the shortest path between two cells; empty where there is none."""
    paths: dict[CellName, tuple[str, ...]] = {start: ()}
    reached = [start]
    for cell in reached:  # grows while it is read: breadth first
        for other, name in edges.get(cell, {}).items():
            if other not in paths:
                paths[other] = (*paths[cell], name)
                reached.append(other)
    return paths.get(end, ())
