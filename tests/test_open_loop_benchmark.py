"""The benchmark of load generators: its formulas, against queues on a simulated clock."""

import importlib.util
import itertools
import sys

import numpy as np
import pytest

from runners.core.folders import PROJECT


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("open_loop", PROJECT / "benchmarks" / "open_loop.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for their types
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("busy", [0.2, 0.6, 0.8])
def test_the_mean_wait_is_that_of_a_simulated_queue(script, busy):
    service_s, draw = 200e-6, np.random.default_rng(1)
    gaps = draw.exponential(service_s / busy, 400_000)
    # Lindley's recursion: a request waits for what the one before still needs.
    waits = itertools.accumulate(gaps, lambda wait, gap: max(0.0, wait + service_s - gap), initial=0.0)
    assert np.mean(list(waits)) == pytest.approx(script.mean_wait_s(busy / service_s, service_s), rel=0.03)


def test_a_queue_that_gets_more_than_it_can_serve_has_no_mean_wait(script):
    assert script.mean_wait_s(6000, 200e-6) == float("inf")
