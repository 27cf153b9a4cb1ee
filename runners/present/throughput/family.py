"""The systems of one workload: who leads, who is not told apart from the leader, and by how much the others are slower."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from runners.analyse.results import Results
from runners.core.units import RATES, amount, percent_more, quantity, times
from runners.present.kit.frames import (
    backend_limited,
    cell_of,
    has_errors,
    is_client_bound,
    is_fixed_rate,
    leaders,
    measured,
    ordered,
    share_bound,
    without_control,
    workload_title,
)
from runners.present.kit.markup import Cell

_NEAR = 1.05
"""Ratios below it are said in percent."""
_TIED = frozenset({"equivalent", "undecided", "not comparable"})
LIMIT = "the load generator was the limit"
_WIDE_PERCENT = 2.0


@dataclass(frozen=True)
class Lead:
    """By how much one system serves more than another one: a ratio with its interval, and whether it is a bound."""

    value: float
    low: float
    high: float
    at_least: bool = False

    @property
    def is_above_one(self) -> bool:
        """Return whether the whole interval lies above 1."""
        return self.low > 1

    @property
    def cell(self) -> Cell:
        """The ratio for a table."""
        text, interval = times(self.value, self.low, self.high)
        return Cell(("≥ " if self.at_least else "") + text, interval)

    def over(self, other: str, more: str = " more than ", times_of: str = " as many as ") -> str:
        """Return ``4.5 × as many as NAME (4.3 to 4.6)``, or ``1.3 % more than NAME (−0.1 to 3.0)``; no ratio below 1 is said."""
        near = self.value < _NEAR
        text, interval = (percent_more if near else times)(self.value, self.low, self.high)
        words = f"{text}{more if near else times_of}{other}"
        return f"{words} ({interval})" if interval else words

    def than(self, other: str) -> str:
        """Return :meth:`over`, with the words of a bound."""
        return f"{'at least ' if self.at_least else ''}{self.over(other)}"

    def briefly(self, other: str) -> str:
        """Return ``4.5 × NAME (4.3 to 4.6)``, or ``1.3 % above NAME (−0.1 to 3.0)``."""
        return self.over(other, " above ", " ")


@dataclass(frozen=True)
class Family:
    """The systems of a workload by throughput; those with too many errors are not ranked.

    Attributes
    ----------
    names : list[str]
        All ranked systems, the leader first.
    tied : list[str]
        The leader, and those that are equivalent, not told apart, or cannot be ranked with it.
    comparisons : pd.DataFrame
        The comparisons of this workload.
    """

    workload: str
    names: list[str]
    tied: list[str]
    comparisons: pd.DataFrame
    throughputs: dict[str, float]

    @classmethod
    def of(cls, results: Results, workload: str) -> Family:
        """Return the systems of one workload; none where nothing has a number."""
        rows = without_control(measured(results.cells))
        rows = rows[rows["workload"] == workload].sort_values("throughput_rps", ascending=False, kind="stable")
        names = [name for name in rows["system"] if not has_errors(results.cells, name, workload)]
        comparisons = results.comparisons[results.comparisons["workload"] == workload]
        against = leaders(comparisons)
        leader = str(against["system_b"].iloc[0]) if len(against) else next(iter(names), "")
        names = [leader, *(name for name in names if name != leader)] if leader in names else names
        undecided = set(against.loc[against["verdict"].isin(_TIED), "system_a"])
        # The throughput of both is the backend's: no verdict on them is one on the systems.
        limited = set(backend_limited(results.cells, workload, *names))
        tied = [
            name for place, name in enumerate(names) if place == 0 or name in undecided or {name, leader} <= limited
        ]
        rates = dict(zip(rows["system"], rows["throughput_rps"].astype(float), strict=True))
        return cls(workload, names, tied, comparisons, rates)

    @property
    def leader(self) -> str:
        """Return the system with the largest throughput; empty where there is none."""
        return self.names[0] if self.names else ""

    @property
    def slower(self) -> list[str]:
        """Return the systems that are decided to be slower than the leader, the fastest first."""
        return [name for name in self.names if name not in self.tied]

    def ratio(self, name: str) -> Lead | None:
        """Return by how much the leader serves more than `name`; None where they cannot be compared."""
        return self.pair(self.leader, name)

    def pair(self, first: str, second: str) -> Lead | None:
        """Return by how much `first` serves more than `second`; None where they cannot be compared."""
        for row in self.comparisons.to_dict("records"):
            if (row["system_a"], row["system_b"]) not in ((first, second), (second, first)):
                continue
            if pd.isna(row["ratio"]) or row["bound"] == "unknown" or row["family"] == "control":
                return None
            value, low, high = (float(row[name]) for name in ("ratio", "ratio_low", "ratio_high"))
            if row["system_a"] == first:
                return Lead(value, low, high, row["bound"] == "at least")
            return Lead(1 / value, 1 / high, 1 / low, row["bound"] == "at most")
        return None

    def share_of_gap(self, floors: Family, shares: pd.DataFrame) -> float | None:
        """Return the share that the floors have in the gap between the leader and the slowest system; on the scale of logarithms."""
        below = shares[shares["workload"] == self.workload].set_index("system")["floor_system"].to_dict()
        ends = (self.leader, self.names[-1])
        under = [below.get(name) for name in ends]
        if not all(name in floors.throughputs for name in under):
            return None
        gap = math.log(self.throughputs[ends[0]] / self.throughputs[ends[1]])
        floor = math.log(floors.throughputs[str(under[0])] / floors.throughputs[str(under[1])])
        return floor / gap if gap > 0 else None


def leads(family: Family, name: str) -> str:
    """Return the words of a comparison of the leader with `name`, and whether they are told apart."""
    lead = family.ratio(name)
    if lead is None:
        return f"{family.leader} and {name} are not ranked: {LIMIT} of both"
    apart = ", not told apart" if name in family.tied else ""
    return f"{family.leader} serves {lead.than(name)}{apart}"


def title(results: Results, workload: str) -> str:
    """Return a workload as it is said: ``decode with 10 operations``."""
    return workload_title(results.cells, workload).replace(", ", " with ", 1)


def rate(results: Results, system: str, workload: str, *, interval: bool = True) -> str:
    """Return the throughput of a system, with its interval where that is wanted."""
    cell = cell_of(results.cells, system, workload)
    if cell is None or pd.isna(cell["throughput_rps"]):
        return "an unknown number of requests/s"
    bound = "at least " if is_client_bound(results.cells, system, workload) else ""
    value, low, high = (cell[f"throughput_{part}rps"] for part in ("", "low_", "high_"))
    return bound + (quantity(value, low, high, RATES) if interval else amount(value, RATES))


def cost_words(cells: pd.DataFrame, share: pd.Series) -> str:
    """Return what a workload costs of the throughput of its floor, in percent; empty where both are bounds."""
    bound = {"=": "", "≤": "at least ", "≥": "at most "}.get(share_bound(cells, share))
    if bound is None:
        return ""
    value, low, high = (100 * (1 - share[name]) for name in ("share_ratio", "share_high_ratio", "share_low_ratio"))
    known = math.isfinite(low) and math.isfinite(high)
    places = 0 if not known or high - low >= _WIDE_PERCENT else 1
    interval = f" ({low:.{places}f} to {high:.{places}f})" if known else ""
    return f"{bound}{value:.{places}f} %{interval}".replace("-", "−")


def workloads_of(results: Results) -> list[str]:
    """The workloads with at least one number, in the order given; without what a second load generator says of the same.

    Without fixed rates: a throughput that was given ranks nobody, and notebooks that have them speak of them. Likewise without numbers
    of server CPUs.
    """
    cells = measured(results.cells)
    cells = cells[cells["shape_server_cpus_count"].isna()] if "shape_server_cpus_count" in cells else cells
    cells = cells[cells["offered_rps"].isna()] if is_fixed_rate(cells) else cells
    again = (cells["base_workload"] != cells["workload"]) & cells["base_workload"].isin(cells["workload"])
    return ordered(cells.loc[~again, "workload"])


def main_workload(results: Results) -> str:
    """Return the workload that the report is about: of the first compared kind, the one with the largest request."""
    names = compared_workloads(results)
    if not names:
        return ""
    kinds = results.cells.drop_duplicates("workload").set_index("workload")["workload_name"]
    return [name for name in names if kinds[name] == kinds[names[0]]][-1]


def compared_workloads(results: Results) -> list[str]:
    """Return the workloads that rank systems, without the floors below them."""
    floors = set(results.shares["floor_workload"])
    return [name for name in workloads_of(results) if name not in floors]
