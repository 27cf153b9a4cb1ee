"""What is said of load generators: which cells show it, and what is known of them."""

import numpy as np
import pandas as pd
import pytest

from runners.analyse import load_generators
from runners.present import load_generators as shown


def cell(system, workload, generator, rps, **other):
    row = {"system": system, "workload": workload, "generator": generator, "throughput_rps": rps, "status": "ok"}
    row |= {"throughput_low_rps": rps * 0.99, "throughput_high_rps": rps * 1.01, "generator_busy_fraction": 1.0}
    return row | {"offered_rps": np.nan, "p50_s": np.nan, "p99_s": np.nan, "p99_9_s": np.nan} | other


CELLS = pd.DataFrame(
    [
        cell("haproxy-return", "ping", "wrk", 130e3),
        cell("haproxy-return", "ping@paceload", "paceload", 120e3),
        cell("haproxy-return", "ping@84000/s", "paceload", 84e3, offered_rps=84e3),
        cell("haproxy-return", "ping@autocannon", "autocannon", 30e3, status="failed: it ended"),
        cell("gin", "ping", "wrk", 90e3),
        cell(
            "calibration+stalled", "ping@open", "paceload", 1e3, offered_rps=1e3, p50_s=0.005, p99_s=0.101, p99_9_s=0.1
        ),
        cell("calibration+stalled", "ping@closed", "wrk", 15e3, p50_s=0.005, p99_s=0.006),
        cell("calibration+delayed", "ping@open", "paceload", 1e3, offered_rps=1e3, p50_s=0.00502, p99_s=0.007),
        cell("calibration+work", "ping@queue", "paceload", 300, offered_rps=300, mean_s=0.00357),
    ]
)
_WINDOW = {"system": "haproxy-return", "workload": "ping@84000/s", "warmup": False}
TRIALS = pd.DataFrame(
    [_WINDOW | {"on_time_fraction": share, "late_p99_s": 2e-5, "late_fraction": 0.0} for share in (0.99, 0.995, 0.2)]
    + [_WINDOW | {"warmup": True, "on_time_fraction": 0.0, "late_p99_s": 1.0, "late_fraction": 1.0}]
)


class Run:
    cells, trials = CELLS, TRIALS


def test_what_each_drives_is_its_closed_loop_against_the_fixed_response():
    rows = load_generators.driven(CELLS)
    assert list(rows["generator"]) == ["wrk", "paceload"]
    assert list(rows["throughput_rps"]) == [130e3, 120e3]


def test_the_schedule_is_the_median_of_measured_windows():
    (row,) = load_generators.paced(CELLS, TRIALS).to_dict("records")
    assert (row["generator"], row["offered_rps"], row["on_time_fraction"]) == ("paceload", 84e3, 0.99)
    assert row["late_p99_s"] == pytest.approx(2e-5)


def test_measured_percentiles_stand_beside_those_that_are_known():
    found = load_generators.truth(CELLS).set_index(["generator", "system", "statistic"])
    assert found.loc[("paceload", "calibration+stalled", "p99"), "off_ratio"] == pytest.approx(0.01)
    assert found.loc[("wrk", "calibration+stalled", "p99"), "off_ratio"] == pytest.approx(-0.94)
    assert ("paceload", "calibration+delayed", "p99") not in found.index
    # 2 ms of service, and half of 2 ms × 0.6 / 0.4 of waiting.
    assert found.loc[("paceload", "calibration+work", "mean"), "known_s"] == pytest.approx(0.0035)
    assert found.loc[("paceload", "calibration+work", "mean"), "off_ratio"] == pytest.approx(0.02)


def test_tables_and_sentences_say_so():
    table = str(shown.truth(Run))
    assert "not known" in table  # wrk's p99.9
    assert "-94.0%" in table
    assert "has no schedule" in str(shown.driven(Run))
    said = " ".join(shown.sentences(Run))
    assert "percentiles are off by at most −4.3 % (paceload, open loop) and −94.0 % (wrk, closed loop)" in said
    assert "99.0 %" in said.replace("\u202f", " ").replace("99.0%", "99.0 %")


def test_a_run_of_one_load_generator_says_that_it_has_no_more():
    class Old:
        cells = CELLS[CELLS["generator"] == "wrk"][lambda rows: ~rows["system"].str.startswith("calibration")]
        trials = TRIALS.iloc[:0]

    assert "no load generator" in str(shown.truth(Old))
    assert shown.sentences(Old) == []
