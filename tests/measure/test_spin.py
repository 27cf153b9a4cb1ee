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
    assert loaded(server, backend, rate_rps, [server]).spin is spins


def test_it_spins_in_no_cell_of_a_system_that_shares_its_cpus_in_another():
    assert not loaded("alone", None, 100.0, ["alone", "nginx"]).spin


def loaded(server, backend, rate_rps, places):
    """The load of a trial whose system has a cell on each of some places."""
    cell = SimpleNamespace(
        system=SimpleNamespace(server=server), workload=SimpleNamespace(shape=LoadProfile("x", rate_rps=rate_rps))
    )
    record = SimpleNamespace(block=1, workload="relay@x", windows=[])
    trial = Trial(cell, SimpleNamespace(backend=backend), record, None, None)
    return trial.load(
        SimpleNamespace(
            design=SimpleNamespace(of=lambda system: places if system is cell.system else []),
            cpus=PLACES.__getitem__,
            source=SimpleNamespace(plan=SimpleNamespace(generator=[1], backend=PLACES.get(backend, []))),
            connections=10,
            threads=1,
            profile=SimpleNamespace(window_s=1.0),
            seed=1,
            poisson=True,
        )
    )
