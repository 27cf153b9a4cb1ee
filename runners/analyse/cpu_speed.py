"""How fast the server's CPUs were during each window, as the probes beside the server saw it: a check and a column, never a correction."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from runners.machine.topology import parse_cpu_list

PROBED = ("probe_mean_hz", "probe_p90_hz", "probe_wakes_hz")
# What the fastest windows saw, but for a few that may be lucky, is the undisturbed speed.
_UNDISTURBED = 0.95


def seen_by_probes(record: dict[str, Any], raw: dict[str, Any]) -> dict[str, float]:
    """Return what the probes on the server's CPUs saw in a window (`PROBED`, means over the CPUs); NaN where one is missing."""
    seen = [raw.get("speed", {}).get(str(cpu)) for cpu in parse_cpu_list(record["cpus"]["server"])]
    return {
        name: fmean(probe[name.removeprefix("probe_")] for probe in seen) if all(seen) else np.nan for name in PROBED
    }


def speed_ratio(windows: pd.DataFrame) -> pd.Series:
    """Return the mean speed in each window as a share of the best moments of the run's fastest windows; NaN without a probe."""
    return windows["probe_mean_hz"].astype(float) / windows["probe_p90_hz"].astype(float).quantile(_UNDISTURBED)
