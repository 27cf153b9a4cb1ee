"""The workloads of a report about throughput: which it is about, which it compares, and what they cost in words."""

from __future__ import annotations

import math

import pandas as pd

from runners.analyse.results import Results
from runners.present.kit.frames import (
    cell_of,
    is_fixed_rate,
    measured,
    ordered,
    share_bound,
    workload_title,
)
from runners.present.kit.ranking import Ranking

LIMIT = "the load was the limit"
_WIDE_PERCENT = 2.0


def workloads_of(results: Results) -> list[str]:
    """Return the workloads with at least one number, in the order given; without what a second load generator says of the same.

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


def title(results: Results, workload: str) -> str:
    """Return a workload as it is said: ``decode with 10 operations``."""
    return workload_title(results.cells, workload).replace(", ", " with ", 1)


def leads(found: Ranking, name: str) -> str:
    """Return the words of a comparison of the leader with `name`, and whether they are told apart."""
    lead = found.ratio(name)
    if lead is None:
        return f"{found.leader} and {name} are not ranked: {LIMIT} of both"
    apart = "" if name in found.behind else ", not told apart"
    return f"{found.leader} serves {lead.than(name)}{apart}"


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


def share_of_gap(results: Results, found: Ranking, floors: Ranking) -> float | None:
    """Return the share that the floors have in the gap between the leader and the slowest system; on the scale of logarithms."""
    shares = results.shares[results.shares["workload"] == found.workload]
    below = shares.set_index("system")["floor_system"].to_dict()
    rates = []
    for system in (found.leader, found.names[-1]):
        for name, workload in ((system, found.workload), (below.get(system), floors.workload)):
            cell = cell_of(results.cells, str(name), workload)
            rates.append(math.nan if cell is None else float(cell["throughput_rps"]))
    gap, floor = math.log(rates[0] / rates[2]), math.log(rates[1] / rates[3])
    return floor / gap if gap > 0 and not math.isnan(floor) else None
