"""The load generator keeps its CPUs busy only at a fixed rate, and only where no server and no backend runs on them."""

from types import SimpleNamespace

import pytest

from runners.core.records import LoadProfile
from runners.measure.trial import Trial

PLACES = {"nginx": [1], "haproxy-tcp": [0], "alone": [0], "far": [2]}


@pytest.mark.parametrize(
    ("server", "backend", "rate_rps", "spins"),
    [
        ("alone", None, 100.0, True),
        ("alone", None, None, False),
        ("nginx", None, 100.0, False),
        ("haproxy-tcp", "nginx", 100.0, False),
        ("haproxy-tcp", "far", 100.0, True),
    ],
)
def test_it_spins_only_where_nothing_else_needs_its_cpus(server, backend, rate_rps, spins):
    cell = SimpleNamespace(
        system=SimpleNamespace(server=server), workload=SimpleNamespace(shape=LoadProfile("x", rate_rps=rate_rps))
    )
    record = SimpleNamespace(block=1, workload="relay@x", windows=[])
    trial = Trial(cell, SimpleNamespace(backend=backend), record, None, None)
    settings = SimpleNamespace(
        cpus=PLACES.__getitem__,
        source=SimpleNamespace(plan=SimpleNamespace(generator=[1])),
        connections=10,
        threads=1,
        profile=SimpleNamespace(window_s=1.0),
        seed=1,
        poisson=True,
    )
    assert trial.load(settings).spin is spins
