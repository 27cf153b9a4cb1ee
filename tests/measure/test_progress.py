"""What a run does about systems that fail again and again."""

from types import SimpleNamespace

import pytest

from runners.measure.design import connection_shapes, design
from runners.measure.run import Progress, measure
from runners.parameters import Profile
from runners.systems.catalogue import Catalogue


def progress(*, fresh):
    shapes = connection_shapes([20, 10_000])
    cells = design(Catalogue(), ["json10"], systems=["gin", "net-http"], shapes=shapes, fresh=fresh)
    return Progress(SimpleNamespace(design=cells, nonconforming=frozenset()), lambda _: [])


def failed(system, workload, stage="running"):
    return {"system": system, "workload": workload, "failure": {"stage": stage, "message": "it is gone"}}


def test_a_system_that_failed_twice_is_not_launched_again():
    found = progress(fresh=False)
    found.add(failed("gin", "json10@10000"))
    assert found.excluded == set()
    found.add(failed("gin", "json10@20"))
    assert [system.name for system in found.excluded] == ["gin"]


def test_with_processes_of_their_own_only_the_cell_that_failed_twice_is_left_out():
    found = progress(fresh=True)
    for _ in range(2):
        found.add(failed("gin", "json10@10000"))
    found.add(failed("gin", "json10@20"))
    assert [(cell.system.name, cell.workload.label) for cell in found.excluded] == [("gin", "json10@10000")]


@pytest.mark.parametrize("stage", ["backend", "ports"])
def test_what_is_not_the_system_s_fault_excludes_nobody(stage):
    found = progress(fresh=True)
    for _ in range(3):
        found.add(failed("gin", "json10@10000", stage))
    assert found.excluded == set()


class Kept:
    """A ledger's run that keeps blocks in memory."""

    def __init__(self):
        self.blocks = []

    def trials(self):
        return []

    def write_block(self, number, records):
        self.blocks.append(number)


@pytest.mark.parametrize(("sure", "blocks"), [(1, [1]), (3, [1, 2, 3])])
def test_a_budget_that_is_used_up_ends_a_run_after_the_blocks_that_are_sure(monkeypatch, sure, blocks):
    monkeypatch.setattr("runners.measure.run.measure_block", lambda *_: [])
    settings = SimpleNamespace(
        design=progress(fresh=False).settings.design,
        nonconforming=frozenset(),
        connections=80,
        profile=Profile(0.3, 1.0, 1, 3, 9, 0.0, "for tests", sure_blocks=sure),
    )
    kept = Kept()
    measure(kept, settings, lambda _: [], precision=0.02)
    assert kept.blocks == blocks
