"""Frames like those of a real run, made up from a seed: what ``present`` shows, without measuring anything."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from runners.core.records import (
    CONTROL,
    LOWER_BOUND_LIMITS,
    PERCENTILES,
    Interval,
    percentile_column,
)
from runners.core.run_manifest import RunManifest
from runners.stats.verdicts import bound, verdict
from runners.store.ledger import Run
from tests.analyse import made_up
from tests.analyse.synthetic import manifest

FLOORS = {"gin": 78_000.0, "drogon": 121_000.0}
SYSTEMS = [
    ("gin+encoding/json", "gin", "encoding/json"),
    ("gin+simdjson-go", "gin", "simdjson-go"),
    ("drogon+simdjson", "drogon", "simdjson"),
    ("drogon+glaze", "drogon", "glaze"),
    ("drogon+yyjson", "drogon", "yyjson"),
    (CONTROL, "gin", "encoding/json"),
]
MICROSECONDS = {
    "encoding/json": (14.0, 9.8),
    "simdjson-go": (21.0, 10.2),
    "simdjson": (1.1, 0.75),
    "glaze": (1.2, 1.4),
    "yyjson": (1.9, 2.2),
}
NOISE = {"decode-1": 1.009, "decode-10": 1.013, "discard-1": 1.008, "discard-10": 1.011}


@dataclass
class Sample:
    """A run as ``present`` expects it."""

    cells: pd.DataFrame
    comparisons: pd.DataFrame
    shares: pd.DataFrame
    curves: pd.DataFrame
    trials: pd.DataFrame
    checks: pd.DataFrame
    published: pd.DataFrame
    noise_floor_ratio: dict = field(default_factory=lambda: dict(NOISE))
    profile: str = "standard"
    run_id: str = "2026-05-04T10-20-30"
    precision_ratio: float = 0.02
    blocks_count: int = 8
    measured_s: float = 1512.0
    budget_note: str = ""
    others: tuple = ()
    before: None = None
    machine: dict = field(
        default_factory=lambda: {
            "cpu": {"model": "Example CPU 2 cores", "server_cpus": [0], "generator_cpus": [1]},
            "memory_bytes": 25769803776,
            "kernel": "6.1.0-18-amd64",
            "frequency_governor": None,
        }
    )
    run: Run = field(default_factory=lambda: Run("02-json-decode", "made-up", Path("/nonexistent")))
    manifest: RunManifest = field(
        default_factory=lambda: manifest(
            versions={
                "drogon": {"Drogon": "1.9.13", "simdjson": "4.6.11", "flags": "-O3 -march=native"},
                "gin": {"Gin": "v1.11.0"},
            }
        )
    )
    parameters: dict = field(
        default_factory=lambda: {"profile": "standard", "connections": 80, "batch_sizes": [1, 10], "seed": 7}
    )

    @property
    def own_cells(self):
        return self.cells


def labelled(label):
    """Return the columns of a workload with this label, at a rate of one tier."""
    return made_up.labelled(label) | {"planned_workload": label}


def make_sample(seed: int = 1) -> Sample:
    """A plausible run: decode of 1 and 10 operations, and the floor under it."""
    draw = np.random.default_rng(seed)
    rows = []
    for operations in (1, 10):
        for server, floor in FLOORS.items():
            rows.append(
                _cell(draw, server, server, None, f"discard-{operations}", operations, floor / (1 + 0.02 * operations))
            )
        for system, server, codec in SYSTEMS:
            per_operation = MICROSECONDS[codec][operations > 1]
            rate = 1 / (1 / FLOORS[server] + operations * per_operation * 1e-6 / 2)
            rows.append(_cell(draw, system, server, codec, f"decode-{operations}", operations, rate))
    cells = pd.DataFrame(rows)
    client = (cells["system"] == "drogon") & (cells["workload"] == "discard-1")
    cells.loc[client, "bottleneck"] = "generator"
    return Sample(
        cells=cells,
        comparisons=make_comparisons(cells),
        shares=make_shares(cells),
        curves=make_curves(cells),
        trials=make_trials(cells, draw),
        checks=make_checks(cells),
        published=make_published(),
    )


def _cell(draw, system, server, codec, workload, operations, rate):
    rate *= draw.normal(1, 0.006)
    base = 8 / rate
    spread = 1.8 if server == "drogon" else 4.2
    row = {
        "system": system,
        "server": server,
        "codec": codec,
        **labelled(workload),
        "operations_count": operations,
        "body_bytes": 377 * operations + 20,
        "throughput_rps": rate,
        "little_ratio": 0.99,
        "throughput_low_rps": rate * 0.985,
        "throughput_high_rps": rate * 1.014,
        "goodput_rps": rate,
        "max_s": base * spread**5,
        "mean_s": base * 1.2,
        "stddev_s": base * 0.8,
        "tm99_s": base * 1.1,
        "rss_peak_bytes": draw.uniform(9, 60) * 2**20,
        "threads_count": 2,
        "context_switches_per_request_ratio": draw.uniform(0.01, 0.4),
        "errors_count": 0,
        "bottleneck": "server",
        "launches_count": 8,
        "launches_made_count": 8,
        "remarks": ["flagged"] if system == "drogon+glaze" else [],
        "status": "ok",
    }
    for place, percentile in enumerate(PERCENTILES):
        column = percentile_column(percentile)
        value = base * spread ** (place * 0.8)
        row |= {
            column: value,
            column.replace("_s", "_low_s"): value * 0.96,
            column.replace("_s", "_high_s"): value * 1.05,
        }
    row["p99_99_s"] = np.nan if system == "gin+simdjson-go" else row["p99_99_s"]
    cpu = 1.93 / rate
    kernel = min(14e-6, cpu * 0.7)
    row |= {"cpu_per_request_s": cpu, "cpu_per_request_low_s": cpu * 0.98, "cpu_per_request_high_s": cpu * 1.02}
    return row | {"cpu_user_per_request_s": cpu - kernel, "cpu_system_per_request_s": kernel}


def make_comparisons(cells):
    """Every system of a workload against its leader, the control, and all other pairs."""
    rows = []
    for workload, group in cells.groupby("workload", sort=False):
        floor = NOISE.get(workload, 1.0) - 1
        found = group[group["system"] != CONTROL].sort_values("throughput_rps", ascending=False).to_dict("records")
        pairs = [
            (a, b, "leader" if place == 0 else "other") for place, b in enumerate(found) for a in found[place + 1 :]
        ]
        for control in group[group["system"] == CONTROL].to_dict("records"):
            pairs += [
                (control, b, "control")
                for b in found
                if (b["server"], b["codec"]) == (control["server"], control["codec"])
            ]
        for a, b, family in pairs:
            ratio = a["throughput_rps"] / b["throughput_rps"]
            side = bound(a["bottleneck"] in LOWER_BOUND_LIMITS, b["bottleneck"] in LOWER_BOUND_LIMITS)
            interval = Interval(ratio, ratio * 0.988, ratio * 1.0125)
            said = verdict(interval, floor, side) if family == "leader" else ""
            values = (interval.value, interval.low, interval.high, 0.001, 8, 1, np.nan, family, side, said)
            rows.append((workload, a["system"], b["system"], *values))
    columns = ["workload", "system_a", "system_b", "ratio", "ratio_low", "ratio_high", "p_value", "blocks_count"]
    columns += ["sessions_count", "between_ratio"]
    return pd.DataFrame(rows, columns=[*columns, "family", "bound", "verdict"])


def make_shares(cells):
    rows = []
    for cell in cells[cells["workload"].str.startswith("decode")].to_dict("records"):
        floor = cells[
            (cells["system"] == cell["server"]) & (cells["operations_count"] == cell["operations_count"])
        ].iloc[0]
        share = cell["throughput_rps"] / floor["throughput_rps"]
        if cell["system"] != CONTROL:
            rows.append(
                (
                    cell["system"],
                    cell["server"],
                    cell["workload"],
                    floor["workload"],
                    share,
                    share * 0.985,
                    share * 1.015,
                )
            )
    return pd.DataFrame(
        rows,
        columns=[
            "system",
            "floor_system",
            "workload",
            "floor_workload",
            "share_ratio",
            "share_low_ratio",
            "share_high_ratio",
        ],
    )


def make_curves(cells):
    grid = 100 * (1 - np.logspace(np.log10(0.5), -4, 160))
    rows = []
    for cell in cells.to_dict("records"):
        known = [
            (p, cell[percentile_column(p)])
            for p in PERCENTILES
            if cell[percentile_column(p)] == cell[percentile_column(p)]
        ]
        nines = np.log(1 / (1 - grid / 100))
        values = np.exp(np.interp(nines, [np.log(1 / (1 - p / 100)) for p, _ in known], np.log([v for _, v in known])))
        values *= 1 + 0.06 * np.sin(nines * 3)
        last = known[-1][0]
        rows += [
            (cell["system"], cell["workload"], p, v, bool(p <= last + 1e-9))
            for p, v in zip(grid, np.maximum.accumulate(values), strict=True)
        ]
    return pd.DataFrame(rows, columns=["system", "workload", "percentile", "value_s", "estimable"])


def make_trials(cells, draw):
    rows = []
    for block in range(1, 9):
        drift = 1 - 0.012 * np.sin(block / 2)
        for cell in cells.to_dict("records"):
            launch = draw.normal(1, 0.008)
            rows.append((block, 0, cell["system"], cell["workload"], cell["throughput_rps"] * 0.9, True))
            for window in (1, 2):
                rate = cell["throughput_rps"] * drift * launch * draw.normal(1, 0.004)
                rate *= 0.88 if (block, window, cell["system"]) == (5, 2, "drogon+glaze") else 1
                rows.append((block, window, cell["system"], cell["workload"], rate, False))
    trials = pd.DataFrame(rows, columns=["block", "window", "system", "workload", "throughput_rps", "warmup"])
    counts = ~trials["warmup"]
    trials["speed_ratio"] = np.where(counts, np.clip(draw.normal(0.9, 0.05, len(trials)), 0.5, 1), np.nan)
    trials["kind"] = np.where(counts, "window", "warmup")
    trials["void"] = False
    return trials


def make_checks(cells):
    rows = []
    for cell in cells.to_dict("records"):
        for name in ("contract", "little", "pinning", "steal"):
            steal = name == "steal" and cell["system"] == "drogon+glaze"
            void = name == "pinning" and cell["system"] == "gin+simdjson-go" and cell["workload"] == "decode-10"
            detail = "steal time 2.4 %, limit 2 %" if steal else "a thread ran on CPU 1" if void else "held"
            advice = "close other programs" if steal else "check the CPU set" if void else ""
            rows.append((name, 1, cell["system"], cell["workload"], not (steal or void), void, detail, advice))
    return pd.DataFrame(rows, columns=["name", "block", "system", "workload", "ok", "void", "detail", "advice"])


def make_published():
    rows = [
        ("gin+encoding/json", "decode-1", 190965.27, 278e-6, 1.39e-3, 2.94e-3, 5.88e-3),
        ("drogon+simdjson", "decode-1", 363035.15, 195e-6, 288e-6, 397e-6, 764e-6),
        ("gin+simdjson-go", "decode-1", 91288.70, 550e-6, 2.54e-3, 3.95e-3, 8.40e-3),
        ("gin+encoding/json", "decode-10", 62428.45, 809e-6, 4.33e-3, 7.16e-3, 14.79e-3),
        ("drogon+simdjson", "decode-10", 335603.99, 225e-6, 289e-6, 369e-6, 652e-6),
        ("drogon+yyjson", "decode-10", 114909.33, 603e-6, 0.94e-3, 1.55e-3, 6.91e-3),
    ]
    frame = pd.DataFrame(rows, columns=["system", "workload", "throughput_rps", "p50_s", "p75_s", "p90_s", "p99_s"])
    return frame.assign(source="webserver-benchmarks", machine="i9-12900HK, 16 threads")
