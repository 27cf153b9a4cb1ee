"""The records of each cell, made of whole tables, are those of its own rows."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import gmean

from runners.analyse.cell_records import records_by_cell
from runners.analyse.tables import build_tables
from runners.analyse.window_columns import CORRECTED
from runners.core.trial_record import Failure
from tests.analyse.synthetic import trial

CELLS = (("fast+a", "decode-1"), ("fast+a", "decode-10"), ("slow+c", "decode-1"), ("control", "decode-1"))
RATES = st.lists(st.floats(1_000, 90_000), min_size=1, max_size=3)


@st.composite
def trials(draw):
    """Return trials in any order, of which a cell may have none, and whose windows differ in number, rates and use of CPUs."""
    launches = draw(
        st.lists(
            st.tuples(st.integers(1, 4), st.sampled_from(CELLS), RATES, st.floats(0.1, 1)),
            unique_by=lambda each: each[:2],
        )
    )
    return [trial(block, *cell, rates, server_busy=busy) for block, cell, rates, busy in launches]


def same(a, b):
    return a == pytest.approx(b, rel=1e-12, nan_ok=True)


@given(trials())
def test_each_number_is_that_of_the_cells_own_windows(records):
    tables = build_tables(records)
    of_cells = records_by_cell(tables)
    for system, workload in CELLS:
        found = of_cells((system, workload))
        own = build_tables([each for each in records if (each.system, each.workload) == (system, workload)])
        assert found.launches_made_count == own.trials["block"].nunique()
        sound = own.trials[~own.trials["warmup"].astype(bool) & ~own.trials["void"].astype(bool)]
        if sound.empty:
            continue
        windows, server = sound[sound["kind"] == "window"], own.usage[own.usage["role"] == "server"]
        assert found.windows["requests_count"] == windows["requests_count"].sum()
        assert same(found.windows["goodput_rps"], windows["goodput_rps"].sum())
        assert same(found.sound["throughput_rps"], sound["throughput_rps"].mean())
        assert same(found.sound["established_count"], sound["established_count"].median())
        assert same(found.server["rss_peak_bytes"], server["rss_peak_bytes"].max())
        for role, rows in own.usage.groupby("role"):
            assert same(found.of_role[role]["busy_fraction"], rows["busy_fraction"].median())
        assert same(found.little_ratio, sound["little_ratio"].median())
        by_block = sound.groupby("block")[list(CORRECTED)].median()
        assert np.allclose(found.corrected, by_block, rtol=1e-12, equal_nan=True)
        by_launch = server.groupby("block")
        assert same(list(found.cpu_times), list(by_launch["cpu_per_request_s"].agg(gmean)))
        assert same(list(found.peaks), list(by_launch["rss_peak_bytes"].max()))
        assert found.described["generator"] == "wrk"


def test_what_nobody_measured_has_no_number():
    found = records_by_cell(build_tables([]))(CELLS[0])
    assert (found.launches_made_count, found.described, found.failures) == (0, {}, [])
    assert all(map(math.isnan, [*found.sound.values(), *found.server.values(), *found.of_role["backend"].values()]))
    assert found.corrected.shape == (0, len(CORRECTED))


def test_failures_and_failed_checks_are_counted_for_their_own_cell():
    failed = trial(1, *CELLS[0], [1_000.0], failure=Failure(stage="launch", message="it did not listen"))
    records = [
        failed,
        trial(2, *CELLS[0], [1_000.0]),
        trial(3, *CELLS[0], [1_000.0], status_errors=500),
        trial(1, *CELLS[1], [1_000.0]),
    ]
    of_cells = records_by_cell(build_tables(records))
    first, second = of_cells(CELLS[0]), of_cells(CELLS[1])
    assert (first.launches_made_count, second.launches_made_count) == (3, 1)
    assert (first.failures, second.failures) == (["it did not listen"], [])
    names = set(first.failed_checks["name"])
    assert names
    assert set(first.checks_count) == names
    assert set(first.checks_count.values()) == {2}
    assert second.failed_checks.empty
    assert not second.checks_count


def test_the_use_of_the_machine_has_its_columns_also_where_no_window_was_sampled():
    sampled, unsampled = (trial(1, *CELLS[0], [10_000.0]) for _ in range(2))
    for window in unsampled.windows:
        window.samples = []
    tables = build_tables([unsampled])
    assert tables.usage.empty
    assert list(tables.usage) == list(build_tables([sampled]).usage)
    assert math.isnan(records_by_cell(tables)(CELLS[0]).server["rss_peak_bytes"])
