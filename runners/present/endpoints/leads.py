"""The leader of each column of the published table: one server, or none where two are not told apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from runners.analyse.results import Results
from runners.present.endpoints.tables import columns, title_of
from runners.present.kit.ranking import Ranking


@dataclass(frozen=True)
class ColumnLead:
    """A workload that is a column of the published table, with the place of each system in it."""

    title: str
    found: Ranking
    server: str
    apart: list[str]

    @property
    def is_led(self) -> bool:
        """Return whether one server leads all others."""
        return bool(self.apart)


def clearest(found: list[ColumnLead]) -> ColumnLead:
    """Return the column that is led most clearly, of those that the server leads which leads most of them."""
    led = [each for each in found if each.is_led]
    server = Counter(each.server for each in led).most_common(1)[0][0]
    return max((each for each in led if each.server == server), key=_least_factor)


def _least_factor(column: ColumnLead) -> float:
    """Return the least factor by which a column's leader leads the next server; 1 where it is not known."""
    lead = column.found.ratio(column.apart[0])
    return lead.low if lead and pd.notna(lead.low) else 1.0


def placed_columns(results: Results) -> list[ColumnLead]:
    """Return the columns of the published table with a leader, each with those rows of other servers that it beats.

    Other systems of the leader's own server, as with another decoder, are no other server; where a tie is with another
    server, no server leads.
    """
    found = []
    servers = results.cells.drop_duplicates("system").set_index("system")["server"].to_dict()
    for workload, title in columns(results.cells).items():
        place = Ranking.of(results, workload)
        if not place.names:
            continue
        own = servers[place.leader]
        led = not place.limited and all(servers[name] == own for name in place.not_behind)
        apart = [name for name in place.behind if servers[name] != own] if led else []
        found.append(ColumnLead(title_of(results.cells, workload, title), place, str(own), apart))
    return found
