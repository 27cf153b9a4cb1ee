"""The ranking of the systems of a workload: the leader, those not told apart from it, those behind it, and the words for that."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from runners.analyse.results import Results
from runners.core.records import LOWER_BOUND_LIMITS
from runners.core.units import Scale, amount, percent_more, times
from runners.present.kit.frames import (
    backend_limited,
    cell_of,
    has_errors,
    inverse,
    leaders,
    measured,
    ordered,
    without_control,
)
from runners.present.kit.markup import TableCell
from runners.present.kit.wording import PER_SECOND, UNKNOWN, few, known, sentence

_NEAR = 1.05
"""Ratios below it are said in percent."""
_UNTOLD = ("undecided", "equivalent")
_SIGNS = {"": "", "at least": "≥ ", "at most": "≤ "}
_TURNED = {"at least": "at most", "at most": "at least"}


@dataclass(frozen=True)
class Lead:
    """By how much one system completes more than another one: a ratio with its interval.

    Attributes
    ----------
    bound : str
        ``at least`` or ``at most`` where the load was the limit of one of them, else empty.
    """

    value: float
    low: float
    high: float
    bound: str = ""

    @property
    def is_above_one(self) -> bool:
        """Return whether the whole interval lies above 1."""
        return self.low > 1

    @property
    def cell(self) -> TableCell:
        """The ratio for a table."""
        text, interval = times(self.value, self.low, self.high)
        return TableCell(_SIGNS[self.bound] + text, interval)

    @property
    def note(self) -> str:
        """The ratio in one line of small print."""
        return f"{self.cell.text} ({self.cell.note or UNKNOWN})"

    def than(self, other: str) -> str:
        """Return ``4.5 × as many as NAME (4.3 to 4.6)``, or ``1.3 % more than NAME (−0.1 to 3.0)``, after its bound."""
        return self._over(other, " more than ", " as many as ")

    def briefly(self, other: str) -> str:
        """Return ``4.5 × NAME (4.3 to 4.6)``, or ``1.3 % above NAME (−0.1 to 3.0)``, after its bound."""
        return self._over(other, " above ", " ")

    def _over(self, other: str, more: str, times_of: str) -> str:
        is_near = self.value < _NEAR
        text, interval = (percent_more if is_near else times)(self.value, self.low, self.high)
        return f"{self.bound} {text}{more if is_near else times_of}{other} ({interval or UNKNOWN})".strip()


@dataclass(frozen=True)
class Ranking:
    """The systems of one workload that have a rank; those with too many errors have none.

    Attributes
    ----------
    names : list[str]
        All of them, the leader first, then from the highest throughput to the lowest; empty where nothing is compared.
    ties : list[str]
        Those whose comparison with the leader decided nothing, in that order.
    behind : list[str]
        Those that are decided to be slower than the leader, likewise.
    aside : list[str]
        Those that cannot be compared with it, as the load generator or the backend was the limit of one, or requests failed.
    comparisons : pd.DataFrame
        The comparisons of this workload.
    limited : bool
        Whether the backend was the limit of the leader, so that its throughput ranks nobody.
    """

    workload: str
    names: list[str]
    ties: list[str]
    behind: list[str]
    aside: list[str]
    comparisons: pd.DataFrame
    limited: bool = False

    @classmethod
    def of(cls, results: Results, workload: str) -> Ranking:
        """Return the ranking of one workload's systems."""
        cells = results.cells
        own = without_control(measured(cells))
        own = own[own["workload"] == workload].sort_values("throughput_rps", ascending=False, kind="stable")
        names = [str(name) for name in own["system"] if not has_errors(cells, name, workload)]
        comparisons = results.comparisons[results.comparisons["workload"] == workload]
        against = leaders(comparisons).set_index("system_a")
        leader = str(against["system_b"].iloc[0]) if len(against) else next(iter(names), "")
        if len(names) > 1 and against.empty:
            names = []
        elif leader in names:
            names = [leader, *(name for name in names if name in against.index)]
        # The throughput of these is the backend's: no verdict on them is one on the systems.
        limited = set(backend_limited(cells, workload, *names))
        known = against[against["ratio"].notna() & (against["bound"] != "unknown")]["verdict"]
        told = [name for name in names[1:] if name in known.index and not {name, leader} & limited]
        ties = [name for name in told if known[name] in _UNTOLD]
        behind = [name for name in told if known[name] == "slower"]
        aside = [name for name in ordered([*names[1:], *against.index]) if name not in (*ties, *behind)]
        return cls(workload, names, ties, behind, aside, comparisons, leader in limited)

    @property
    def leader(self) -> str:
        """Return the system with the largest throughput; empty where there is none."""
        return self.names[0] if self.names else ""

    @property
    def first(self) -> list[str]:
        """Return the leader, and those that are not told apart from it; empty where none can be compared with it."""
        return [] if self.is_unranked else [name for name in self.names if name == self.leader or name in self.ties]

    @property
    def not_behind(self) -> list[str]:
        """Return all that may be as fast as the leader."""
        return [name for name in self.names if name not in self.behind]

    @property
    def is_unranked(self) -> bool:
        """Return whether no other system can be compared with the leader, as where the load was the limit of all."""
        return len(self.names) > 1 and not (self.ties or self.behind)

    def ratio(self, name: str) -> Lead | None:
        """Return by how much the leader completes more than `name`; None where they cannot be compared."""
        return self.pair(self.leader, name)

    def pair(self, first: str, second: str) -> Lead | None:
        """Return by how much `first` completes more than `second`; None where they cannot be compared."""
        for row in self.comparisons.to_dict("records"):
            if (row["system_a"], row["system_b"]) not in ((first, second), (second, first)):
                continue
            if pd.isna(row["ratio"]) or row["bound"] == "unknown" or row["family"] == "control":
                return None
            if row["system_a"] == first:
                return Lead(row["ratio"], row["ratio_low"], row["ratio_high"], row["bound"])
            return Lead(*inverse(row), _TURNED.get(row["bound"], ""))
        return None

    def than(self, name: str) -> str:
        """Return in words by how much the leader completes more than `name`, with which it is compared."""
        found = self.ratio(name)
        return found.than(name) if found else f"an unknown multiple of {name}"


def rate(results: Results, system: str, workload: str, scale: Scale = PER_SECOND, *, interval: bool = True) -> str:
    """Return a throughput, with its interval where that is wanted; *at least* that where the load was the limit."""
    cell = cell_of(results.cells, system, workload)
    if cell is None or pd.isna(cell["throughput_rps"]):
        return "an unknown rate"
    least = "at least " if cell["bottleneck"] in LOWER_BOUND_LIMITS else ""
    value, low, high = (float(cell[f"throughput_{part}rps"]) for part in ("", "low_", "high_"))
    return least + (known(value, low, high, scale) if interval else amount(value, scale))


def lead(results: Results, found: Ranking, title: str) -> str:
    """Return the sentence about the leader of a workload: by how much it leads, and over whom; or with whom it ties."""
    leader, ties, behind = found.leader, found.ties, found.behind
    own = rate(results, leader, found.workload)
    if found.limited:
        return sentence(f"{title}: the database was the limit of {leader}, so its {own} rank no system")
    if behind and ties:
        return sentence(f"{title}: {few(found.first)} tie; {leader} completes {found.than(behind[0])}")
    if behind:
        more = f" and {found.than(behind[-1])}" if len(behind) > 1 else ""
        return sentence(f"{title}: {leader} completes {found.than(behind[0])}", more)
    if ties:
        said = f"{title}: {few(found.first)} are not told apart"
        return sentence(said, f": {leader} completes {found.than(ties[-1])}")
    if found.aside:
        return sentence(f"{title}: {leader} completes {own}; {few(found.aside)} cannot be ranked with it")
    return sentence(f"{title}: {leader} alone has a rank, {own}")
