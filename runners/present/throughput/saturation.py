"""Service times at saturation, folded away: they restate throughput."""

from __future__ import annotations

import pandas as pd

from runners.present.kit.markup import Fragment, folded, joined
from runners.present.kit.theme import Chart
from runners.present.narrative import Narrative
from runners.present.throughput.curves import percentile_curves
from runners.present.throughput.tables import service_times

TITLE = "Service times at saturation"
RESTATED = (
    "Every connection is always busy here, so these percentiles restate the throughput; "
    "notebook 08-latency-under-load has response times under a given load."
)


def at_saturation(curves: pd.DataFrame, cells: pd.DataFrame) -> Fragment:
    """Return the percentiles of a closed loop, folded: a sentence, the curves (:func:`percentile_curves`), and the table."""
    shown: Chart = percentile_curves(curves, cells)
    return folded(TITLE, joined(Narrative([RESTATED]).fragment, shown.fragment, service_times(cells)))
