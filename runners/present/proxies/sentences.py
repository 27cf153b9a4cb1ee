"""Conclusions about proxies: what tells them apart is CPU time, memory, capacity and how they relay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from runners.analyse.results import Results
from runners.core.load import LEAST_OFFERED
from runners.core.run_manifest import RelayNotes
from runners.core.units import RATIOS, TIMES, format_size, listing, quantity
from runners.present.kit.frames import (
    backend_limited,
    backend_name,
    cell_of,
    is_client_bound,
    leaders,
    limit,
    measured,
    without_control,
)
from runners.present.latency import sentences as latency_sentences
from runners.present.latency.sentences import at_rate
from runners.present.throughput import sentences

_MOST_NAMED = 3


def conclusions(results: Results) -> list[str]:
    """Return the conclusions: first the headline (CPU time), and who shares its intervals, memory, capacity and relay cases.

    What proxies add to the response time comes after them: see :mod:`runners.present.latency.sentences`.
    """
    notes = results.manifest.notes
    costs = [_cost(results, workload) for workload in results.fixed_rate]
    carried = [_capacity(results, workload) for workload in results.ranked]
    shared = [_overlaps(results, workload) for workload in results.fixed_rate]
    first = _said([*costs[:1], *shared[:1], _memory(results), *carried[:1], _relaying(notes)])
    if first and results.profile == "quick":
        first[0] = f"Smoke run, not evidence: {first[0]}"
    rest = [
        *latency_sentences.conclusions(results),
        *_failed_cases(notes),
        *(said for pair in zip(costs[1:], shared[1:], strict=True) for said in pair),
        *carried[1:],
    ]
    rest += [said(results, workload) for workload in results.ranked for said in (_slower, _behind)]
    rest += [_missed(results, workload) for workload in results.fixed_rate]
    return [*first, *_said(rest)] if first else []


def _said(found: Sequence[str]) -> list[str]:
    return [sentence for sentence in found if sentence]


def _cost(results: Results, workload: str) -> str:
    """Return the sentence about the proxies that need least and most CPU time, where their intervals do not overlap."""
    rows, unit = _costs(results, workload), _unit(results, workload)
    if rows.empty:
        return ""
    title, (least, most) = at_rate(results.cells, workload), (rows.iloc[0], rows.iloc[-1])
    if len(rows) == 1:
        return f"{title}: {least['system']} needs {_time(least)} of CPU per {unit}."
    if _overlap(least, most):
        return (
            f"{title}: CPU per {unit} does not tell the proxies apart: {least['system']} {_time(least)}, "
            f"{most['system']} {_time(most)}."
        )
    return (
        f"{title}: {least['system']} needs least CPU per {unit}, {_time(least)}; {most['system']} most, {_time(most)}."
    )


def _overlaps(results: Results, workload: str) -> str:
    """Return the sentence about proxies whose intervals overlap that of the least, or that of the most."""
    rows = _costs(results, workload)
    if len(rows) < 3 or _overlap(rows.iloc[0], rows.iloc[-1]):
        return ""
    ends = (rows.iloc[0], rows.iloc[-1])
    parts = []
    for end in ends:
        near = [
            row["system"]
            for _, row in rows.iterrows()
            if row["system"] not in {other["system"] for other in ends} and _overlap(row, end)
        ]
        parts += [f"{listing(near)} from {end['system']}"] if near else []
    return f"{at_rate(results.cells, workload)}: not told apart by CPU time: {'; '.join(parts)}." if parts else ""


def _memory(results: Results) -> str:
    """The least and the largest peak, of all launches and loads."""
    peaks = _proxies(results).groupby("system", sort=False)["rss_peak_bytes"].max().dropna().sort_values(kind="stable")
    if len(peaks) < 2:
        return ""
    least, most = ((name, format_size(peaks[name])) for name in (peaks.index[0], peaks.index[-1]))
    return f"Peak memory over all loads: {least[0]} least, {least[1]}; {most[0]} most, {most[1]}."


def _capacity(results: Results, workload: str) -> str:
    """The leader of a workload with its throughput, and what limited that."""
    rows = leaders(results.comparisons, workload)
    if rows.empty:
        return ""
    leader = rows["system_b"].iloc[0]
    least = "at least " if is_client_bound(results.cells, leader, workload) else ""
    rate = sentences.rate(results, leader, workload)
    direct = ", direct access," if leader == results.baseline else ""
    return f"{at_rate(results.cells, workload)}: {leader}{direct} completed most, {least}{rate}; {_limit(results, leader, workload)}."


def _limit(results: Results, system: str, workload: str) -> str:
    cell = cell_of(results.cells, system, workload)
    if cell is None or cell["bottleneck"] == "unsaturated":
        return "nothing was busy all the time"
    if backend_limited(results.cells, workload, system):
        return f"{backend_name(results.manifest.backends)} behind it was the limit, so this is the backend's throughput"
    return f"limit: {limit(cell['bottleneck'], results.manifest.backends)}"


def _slower(results: Results, workload: str) -> str:
    """Return the sentence about proxies that are slower than the leader, if the backend limited neither."""
    rows = leaders(results.comparisons, workload)
    rows = rows[rows["verdict"] == "slower"].sort_values("ratio", kind="stable")
    parts = [
        f"{row['system_a']} {row['bound']} {quantity(row['ratio'], row['ratio_low'], row['ratio_high'], RATIOS)}".replace(
            "  ", " "
        )
        for row in rows.to_dict("records")
        if row["system_a"] != results.baseline
        and not backend_limited(results.cells, workload, row["system_a"], row["system_b"])
    ]
    if not parts:
        return ""
    more = f"; and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
    leader = rows["system_b"].iloc[0]
    return f"{at_rate(results.cells, workload)}: slower than {leader}: {'; '.join(parts[:_MOST_NAMED])}{more}."


def _behind(results: Results, workload: str) -> str:
    """Return the sentence about proxies whose throughput the backend limited."""
    names = list(_proxies(results)["system"].unique())
    limited = backend_limited(results.cells, workload, *names)
    if not limited:
        return ""
    backend = backend_name(results.manifest.backends)
    these, them, who = (
        ("This throughput is", "it", "proxy") if len(limited) == 1 else ("These throughputs are", "them", "proxies")
    )
    said = f"{these} the backend's; comparisons with {them} say nothing about the {who}."
    return f"{at_rate(results.cells, workload)}: {backend} was the limit of {listing(limited)}. {said}"


def _relaying(notes: Mapping[str, RelayNotes | None]) -> str:
    """Return the sentence about the failed cases of each proxy."""
    tried = {system: found for system, found in notes.items() if found is not None}
    if not tried:
        return ""
    counts: dict[tuple[bool, str], list[str]] = {}
    for system, found in tried.items():
        failed = len(found.failed)
        said = f"failed {failed} of {found.tried} cases" if failed else f"passed all {found.tried} cases"
        counts.setdefault((failed == 0, said), []).append(system)
    ranked = sorted(counts.items(), key=lambda item: item[0][0])
    parts = [f"{listing(names)} {'each ' if len(names) > 1 else ''}{said}" for (_, said), names in ranked]
    return f"Relaying of half-closed connections, resets and slow readers: {'; '.join(parts)}."


def _failed_cases(notes: Mapping[str, RelayNotes | None]) -> list[str]:
    """One sentence for each case that a proxy failed."""
    cases: dict[str, list[str]] = {}
    for system, found in notes.items():
        for note in found.failed if found is not None else ():
            cases.setdefault(note.case, []).append(system)
    return [f"Relaying case failed by {listing(names)}: {case}." for case, names in cases.items()]


def _missed(results: Results, workload: str) -> str:
    """Return the sentence about systems that did not reach the offered rate, so that their times are not of that rate."""
    rows = measured(results.cells)
    rows = rows[(rows["workload"] == workload) & (rows["achieved_fraction"] < LEAST_OFFERED)]
    parts = [f"{row.system} {row.achieved_fraction:.1%}" for row in rows.itertuples()]
    return (
        f"{at_rate(results.cells, workload)}: achieved less than 99 % of the rate: {listing(parts)}; their times are those of less load."
        if parts
        else ""
    )


def _proxies(results: Results) -> pd.DataFrame:
    cells = without_control(measured(results.cells))
    return cells[cells["system"] != results.baseline]


def _costs(results: Results, workload: str) -> pd.DataFrame:
    """The proxies' cells of a workload, by CPU time."""
    rows = _proxies(results)
    rows = rows[(rows["workload"] == workload) & rows["cpu_per_request_s"].notna()]
    return rows.sort_values("cpu_per_request_s", kind="stable")


def _time(row: pd.Series) -> str:
    return quantity(row["cpu_per_request_s"], row["cpu_per_request_low_s"], row["cpu_per_request_high_s"], TIMES)


def _overlap(less: pd.Series, more: pd.Series) -> bool:
    """Return whether two intervals overlap; an unknown interval overlaps all."""
    low, high = sorted((less, more), key=lambda row: float(row["cpu_per_request_s"]))
    return not low["cpu_per_request_high_s"] < high["cpu_per_request_low_s"]


def _unit(results: Results, workload: str) -> str:
    """Return the unit of a request: a connection where each has one of its own."""
    shapes = set(results.cells.loc[results.cells["workload"] == workload, "shape"])
    loads = results.manifest.rates.loads if results.manifest.rates else []
    single = {load.shape.name for load in loads if load.shape.keepalive_requests == 1}
    return "connection" if shapes & single else "request"
