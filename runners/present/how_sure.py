"""Three sentences on how sure a run is: its intervals, its control, its valid trials."""

from __future__ import annotations

import math

from runners.analyse.results import Results
from runners.core.units import format_half_width, listing
from runners.present.kit.frames import ordered, without_control
from runners.present.kit.wording import sentence
from runners.present.sessions import THIS_SESSION, sure
from runners.stats.verdicts import SMALLEST_BAND

_SHOWN_REASONS = 2


def how_sure(results: Results) -> list[str]:
    """Return at most three sentences about the intervals and the session, the control, and n with the valid trials."""
    return [sentence for sentence in (_intervals(results), _control(results), validity(results)) if sentence]


def _intervals(results: Results) -> str:
    rows = results.comparisons[results.comparisons["family"] != "other"]
    widths = ((rows["ratio_high"] - rows["ratio_low"]) / 2 / rows["ratio"]).dropna()
    if widths.empty:
        return "No ratio of this run has an interval."
    if known := sure(results):
        return known
    widest, middle, aim = float(widths.max()), float(widths.median()), results.precision_ratio
    said = f"ratios {format_half_width(middle)} in the median, {format_half_width(widest)} at the widest"
    reached = "" if widest <= aim or results.manifest.earlier_revision else f" (aim {format_half_width(aim)})"
    return sentence(f"{THIS_SESSION}: {said}", reached)


def _control(results: Results) -> str:
    floors = {name: ratio - 1 for name, ratio in results.noise_floor_ratio.items() if math.isfinite(ratio)}
    if not floors:
        return "The noise of this run is unknown: the control has no interval."
    most = max(floors, key=lambda name: floors[name])
    where = f" ({most})" if len(floors) > 1 else ""
    difference = f"at most {100 * floors[most]:.1f} %" if floors[most] <= 1 else "an unknown amount"
    text = f"The control, one system launched twice, differs from itself by {difference}{where}"
    least = (
        f"; smaller differences than {100 * SMALLEST_BAND:.0f} % are not reported"
        if floors[most] < SMALLEST_BAND and not results.manifest.earlier_revision
        else ""
    )
    return f"{text}{least}."


def validity(results: Results) -> str:
    """Return the sentence about n, the number of valid trials, and the reasons why others are void."""
    cells = results.own_cells
    made, valid = int(cells["launches_made_count"].sum()), int(cells["launches_count"].sum())
    if not made:
        return ""
    checks = results.checks
    # A search is no cell, and says of itself how many launches it has.
    checks = checks[checks["workload"].isin(cells["workload"])] if len(checks) else checks
    void = checks[~checks["ok"].astype(bool) & checks["void"].astype(bool)] if len(checks) else checks
    reasons = ordered(void["name"]) if len(void) else []
    trials = len(void.drop_duplicates(["block", "system", "workload"])) if len(void) else 0
    more = [f"{len(reasons) - _SHOWN_REASONS} more"] if len(reasons) > _SHOWN_REASONS else []
    parts = [f"{trials} void ({listing([*reasons[:_SHOWN_REASONS], *more])})"] if trials else []
    parts += [f"{made - valid - trials} failed"] if made - valid - trials > 0 else []
    counts = without_control(cells).loc[lambda rows: rows["status"] == "ok", "launches_count"].astype(int)
    n = "" if counts.empty else f", n = {_span(int(counts.min()), int(counts.max()))} launches a cell"
    whose = "In this session " if results.others else ""
    return f"{whose}{valid} of {made} trials are valid{n}{''.join(f'; {part}' for part in parts)}."


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"
