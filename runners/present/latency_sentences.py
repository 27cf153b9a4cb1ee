"""Conclusions about service times at a fixed rate, from intervals of many launches, never from a single run."""

from __future__ import annotations

import pandas as pd

from runners.present.frames import against, ordered, without_placebo
from runners.present.latency_charts import statistic_words
from runners.present.wording import TIMES, listing, quantity
from runners.records import PLACEBO

_TOLD = ("p50_s", "p99_s", "p99_9_s")
_OFFERED = 0.99


def conclusions(
    compared: pd.DataFrame, added: pd.DataFrame, cells: pd.DataFrame, direct: str, *, smoke: bool = False
) -> list[str]:
    """What each system adds at each rate, who is told apart from whom, and where the rate was not achieved; first the headline."""
    first = _headline(added, cells, direct)
    found = [f"Smoke run, not evidence: {first}" if smoke and first else first]
    for workload in ordered(added["workload"]):
        offered = cells[cells["workload"] == workload]["offered_rps"].dropna()
        title = f"{workload}, {offered.iloc[0]:,.0f}/s offered"
        found += [_added(added[added["workload"] == workload], title, direct)]
        rows = compared[(compared["workload"] == workload) & ~compared["system_a"].isin([PLACEBO])]
        found += [_ranking(rows, name, title, direct) for name in _TOLD]
        found += [_missed(cells[cells["workload"] == workload], title)]
    return [sentence for sentence in found if sentence]


def _headline(added: pd.DataFrame, cells: pd.DataFrame, direct: str) -> str:
    """Who adds least and who most to the median, at the first rate."""
    rows = without_placebo(added)
    rows = rows[(rows["statistic"] == "p50_s") & rows["added_s"].notna()]
    rows = rows[rows["workload"] == next(iter(rows["workload"]), "")].sort_values("added_s", kind="stable")
    if rows.empty:
        return ""
    least, most = rows.iloc[0], rows.iloc[-1]
    offered = cells[cells["workload"] == least["workload"]]["offered_rps"].dropna().iloc[0]
    words = [f"{row['system']} {_time(row)}" for row in (least, most)]
    said = f"least {words[0]} and most {words[1]}" if len(rows) > 1 else words[0]
    return f"{least['workload']}, {offered:,.0f}/s offered: at the median the proxies add to {direct}: {said}."


def _time(row: pd.Series) -> str:
    return quantity(row["added_s"], row["added_low_s"], row["added_high_s"], TIMES)


def _added(rows: pd.DataFrame, title: str, direct: str) -> str:
    """What each adds at the median and at p99."""
    parts = []
    for system in ordered(without_placebo(rows)["system"]):
        own = rows[rows["system"] == system].set_index("statistic")
        said = [
            f"{statistic_words(name)} {_time(row)}"
            for name in ("p50_s", "p99_s")
            if pd.notna((row := own.loc[name])["added_s"])
        ]
        if said:
            parts.append(f"{system} {listing(said)}")
    return f"{title}: added to {direct}: {'; '.join(parts)}." if parts else ""


def _ranking(rows: pd.DataFrame, name: str, title: str, direct: str) -> str:
    """Pairs of proxies by one statistic: who has the lower time beyond the noise, and how many pairs stay open."""
    pairs = rows[(rows["statistic"] == name) & rows["ratio"].notna()]
    pairs = pairs[(pairs["system_a"] != direct) & (pairs["system_b"] != direct)]
    if pairs.empty:
        return ""
    systems = ordered([*pairs["system_a"], *pairs["system_b"]])
    parts = []
    for system in systems:
        beaten = against(pairs, system)
        slower = list(beaten[beaten["verdict"] == "slower"]["system_a"])
        if slower:
            parts.append(f"{system} is faster than {listing(slower)}")
    undecided = int(pairs["verdict"].isin(["inconclusive"]).sum())
    if not parts:
        return f"{title}: by {statistic_words(name)}, no two proxies were told apart."
    rest = f"; {undecided} of {len(pairs)} pairs are inconclusive" if undecided else ""
    return f"{title}: by {statistic_words(name)}, beyond the noise, {'; '.join(parts)}{rest}."


def _missed(cells: pd.DataFrame, title: str) -> str:
    """Who did not get the offered rate, so that its times are not those of that rate."""
    rows = cells[(cells["status"] == "ok") & (cells["unadjusted_rps"] < _OFFERED * cells["offered_rps"])]
    parts = [f"{row.system} {row.unadjusted_rps / row.offered_rps:.1%}" for row in rows.itertuples()]
    return (
        f"{title}: achieved less than 99 % of it: {listing(parts)}; their times are those of less load."
        if parts
        else ""
    )
