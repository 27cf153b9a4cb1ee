"""A run of endpoints that nobody measured: three servers, four endpoints, two load generators, two CPUs."""

import numpy as np
import pandas as pd

from runners.core.records import CONTROL, PERCENTILES, percentile_column
from runners.core.run_manifest import BackendFacts
from tests.present.frames import labelled, make_sample

SYSTEMS = {"alpha": 1.0, "beta": 1.5, "gamma": 0.5, CONTROL: 1.0}
RATES = {
    "text": 40_000.0,
    "json": 38_000.0,
    "sql1": 12_000.0,
    "sql2-20": 8_000.0,
    "sql2-1": 11_000.0,
    "sql2-100": 3_000.0,
}
OFFERED, AT_RATE = 6_000.0, "text@6000/s"
SLOWER = 0.6  # the second generator's share of what the first sees
PINNING = {"server": "0", "generator": "1", "backend": "1", "housekeeping": "1"}
BACKENDS = {
    "base": BackendFacts(
        title="A database",
        pool_count=20,
        pool_per_cpu_count=10,
        settings={"jit": "off", "fsync": "<off>"},
        statements={"sql1": "SELECT now()"},
    )
}


def make_endpoints():
    """The run as ``present`` expects it."""
    run = make_sample()
    cells = pd.DataFrame([_cell(system, label) for label in _labels() for system in SYSTEMS])
    run.cells, run.manifest.backends = cells, BACKENDS
    run.machine = {"virtual_machine": "no", "pinning": dict(PINNING)}
    run.published = pd.DataFrame(
        {
            "source": "elsewhere",
            "system": "alpha",
            "workload": ["text", "sql1"],
            "throughput_rps": [109_262.55, 46_398.55],
        }
    )
    run.comparisons, run.shares = run.comparisons.iloc[:0], run.shares.iloc[:0]
    return run


def make_ratios(cells):
    """As :func:`runners.analyse.comparisons.shape_ratios` gives them."""
    rows = [
        (row["system"], row["workload"].partition("@")[0], "other", SLOWER, SLOWER * 0.95, SLOWER * 1.04)
        for row in cells.to_dict("records")
        if "@" in row["workload"] and row["system"] != CONTROL
    ]
    return pd.DataFrame(rows, columns=["system", "workload", "shape", "ratio", "ratio_low", "ratio_high"])


def _labels():
    columns = list(RATES)[:4]
    return [*(f"{label}{shape}" for label in columns for shape in ("", "@other")), *list(RATES)[4:]]


def _cell(system, label):
    workload, _, shape = label.partition("@")
    rate = RATES[workload] * SYSTEMS[system] * (SLOWER if shape else 1)
    queries = workload.startswith("sql")
    cost = 0.95 / rate if not queries else 0.5 / rate
    row = {
        "system": system, "server": system, "codec": None, **labelled(label), "status": "ok",
        "generator": shape or "first", "operations_count": np.nan, "body_bytes": 0, "errors_count": 0, "remarks": [],
        "records_count": float(workload.partition("-")[2] or np.nan),
        "throughput_rps": rate, "throughput_low_rps": rate * 0.97, "throughput_high_rps": rate * 1.03,
        "launches_count": 4, "launches_made_count": 4, "little_ratio": 0.99,
        "cpu_per_request_s": cost, "backend_cpu_per_request_s": 0.6 / rate if queries else np.nan,
        "generator_cpu_per_request_s": 0.36 / rate, "p50_s": 10 / rate, "p99_s": 20 / rate,
        "server_busy_fraction": 0.6 if queries else 0.99, "generator_busy_fraction": 0.97 if queries or shape else 0.5,
        "backend_busy_fraction": 0.97 if queries else np.nan, "server_used_fraction": cost * rate,
        "generator_used_fraction": 0.36, "backend_used_fraction": 0.6 if queries else np.nan,
    }  # fmt: skip
    row["bottleneck"] = "backend" if queries else "server"
    return row


def with_fixed_rate(closed):
    """Return cells with those of one column at a fixed rate."""
    first = closed[closed["workload"] == "text"].assign(
        generator="paceload", offered_rps=OFFERED, throughput_rps=OFFERED, achieved_fraction=1.0
    )
    for name, value in labelled(AT_RATE).items():
        first[name] = value
    for place, percentile in enumerate(PERCENTILES):
        column = percentile_column(percentile)
        own_s = np.array([1e-4 / SYSTEMS[system] for system in first["system"]]) * (1 + place)
        for end, factor in (("", 1.0), ("_low", 0.95), ("_high", 1.05)):
            first[column.replace("_s", f"{end}_s") if percentile < 99.9 else f"{column[:-2]}{end}_s"] = own_s * factor
    return pd.concat([closed.assign(offered_rps=np.nan), first], ignore_index=True)
