"""When a run goes on, and with what: systems that fail again and again, budgets, and what the machine made void."""

import itertools
import math
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from runners.analyse.tables import MeasuredWindow
from runners.core.parameters import Profile
from runners.core.project import SERVING, shared
from runners.core.records import LoadProfile
from runners.core.trial_record import Failure
from runners.measure.block import _systems_in_time_slices
from runners.measure.design import connection_shapes, design
from runners.measure.progress import RunProgress
from runners.measure.run import _status, blocks_to_stop, measure, windows_in_block
from runners.systems.catalogue import Catalogue


def progress(*, process_per_cell):
    shapes = connection_shapes([20, 10_000])
    cells = design(
        Catalogue(), ["json10"], systems=["gin", "net-http"], shapes=shapes, process_per_cell=process_per_cell
    )
    return RunProgress(SimpleNamespace(design=cells, nonconforming=frozenset()), lambda _: [])


def failed(system, workload, stage="running"):
    failure = Failure(stage=stage, message="it is gone")
    return SimpleNamespace(system=system, workload=workload, failure=failure, shape=LoadProfile())


def test_a_system_that_failed_twice_is_not_launched_again():
    found = progress(process_per_cell=False)
    found.add(failed("gin", "json10@10000"))
    assert found.excluded == set()
    found.add(failed("gin", "json10@20"))
    assert [system.name for system in found.excluded] == ["gin"]


def test_with_processes_of_their_own_only_the_cell_that_failed_twice_is_left_out():
    found = progress(process_per_cell=True)
    for _ in range(2):
        found.add(failed("gin", "json10@10000"))
    found.add(failed("gin", "json10@20"))
    assert [(cell.system.name, cell.workload.label) for cell in found.excluded] == [("gin", "json10@10000")]


@pytest.mark.parametrize("stage", ["backend", "ports"])
def test_what_is_not_the_system_s_fault_excludes_nobody(stage):
    found = progress(process_per_cell=True)
    for _ in range(3):
        found.add(failed("gin", "json10@10000", stage))
    assert found.excluded == set()


class Kept:
    """A ledger's run that keeps blocks in memory."""

    def __init__(self, trials=()):
        self.blocks = []
        self.there = trials

    def trials(self):
        return self.there

    def write_block(self, number, records):
        self.blocks.append(number)


def settings_of(profile):
    found = progress(process_per_cell=False).settings.design
    return SimpleNamespace(
        design=found, nonconforming=frozenset(), connections=80, profile=profile, percentile_blocks=math.inf
    )


@pytest.mark.parametrize(("sure", "blocks"), [(1, [1]), (3, [1, 2, 3])])
def test_a_budget_that_is_used_up_ends_a_run_after_the_blocks_that_are_sure(monkeypatch, sure, blocks):
    monkeypatch.setattr("runners.measure.run.measure_block", lambda *_: [])
    kept = Kept()
    profile = Profile(0.3, 1.0, 1, 3, 9, 0.0, "for tests", sure_blocks=sure)
    measure(kept, settings_of(profile), lambda _: [], precision=0.02)
    assert kept.blocks == blocks


def window(block, system, workload, throughput_rps=1000.0, void_for=()):
    return MeasuredWindow(block, system, workload, throughput_rps, void_for)


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    """Locks of the tests' own: a server may be served on this machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def paused_s(monkeypatch):
    """The pauses that a run makes, which take no time."""
    found = []
    monkeypatch.setattr("runners.measure.run.time.sleep", found.append)
    return found


def measured_with(monkeypatch, void_for, there=(), budget_minutes=9.0):
    """Two blocks, and what comes after them; `void_for` (block, cell) says why a trial is void. Returns the cells of each block.

    `there` are trials of a run that is continued.
    """
    blocks = []

    def block(settings, number, excluded, step):
        cells = [cell for cell in settings.design.cells if not {cell, cell.system} & set(excluded)]
        blocks.append([(cell.system.name, cell.workload.label) for cell in cells])
        for system, workload in blocks[-1]:
            step(f"{system}, {workload}")
        return [
            SimpleNamespace(failure=None, shape=LoadProfile(), row=window(number, *of, void_for=void_for(number, of)))
            for of in blocks[-1]
        ]

    monkeypatch.setattr("runners.measure.run.measure_block", block)
    profile = Profile(0.3, 1.0, 1, 2, 2, budget_minutes, "for tests", sure_blocks=2)
    measure(Kept(there), settings_of(profile), lambda record: [record.row], precision=0.02)
    return blocks


@pytest.mark.parametrize("why", ["steal", "clock", "hosts together"])
def test_what_the_machine_or_a_late_host_invalidated_in_every_block_is_measured_again_with_all_that_it_is_compared_with(
    monkeypatch, paused_s, why
):
    invalidated = ("gin", "json10@10000")
    blocks = measured_with(monkeypatch, lambda number, of: (why,) if number <= 3 and of == invalidated else ())
    assert len(blocks) == 4
    assert {workload for _, workload in blocks[0]} == {"json10@20", "json10@10000"}
    for again in blocks[2:]:
        assert sorted(again) == sorted(of for of in blocks[0] if of[1] == "json10@10000")
    assert paused_s == sorted(paused_s)
    assert len(paused_s) == 2


def test_a_machine_that_stays_busy_is_not_waited_for_without_end(monkeypatch, paused_s):
    blocks = measured_with(monkeypatch, lambda number, of: ("steal", "other load") if of[0] == "gin" else ())
    assert len(blocks) == 2 + len(paused_s) == 6


def test_what_the_machine_invalidated_is_not_measured_again_beyond_the_budget(monkeypatch, paused_s):
    assert len(measured_with(monkeypatch, lambda *_: ("steal",), budget_minutes=0.1)) == 2
    assert not paused_s


@pytest.mark.parametrize("void_for", [("errors",), ("errors", "steal")])
def test_what_is_void_for_the_system_s_own_doing_is_not_tried_again(monkeypatch, paused_s, void_for):
    assert len(measured_with(monkeypatch, lambda number, of: void_for if of[0] == "gin" else ())) == 2
    assert not paused_s


def test_one_sound_block_is_enough_not_to_be_measured_again(monkeypatch, paused_s):
    assert len(measured_with(monkeypatch, lambda number, of: ("steal",) if number == 1 else ())) == 2
    assert not paused_s


def test_a_whole_run_that_is_started_again_measures_only_what_the_machine_had_invalidated(monkeypatch, paused_s):
    cells = [(system, f"json10@{count}") for system in ("gin", "net-http") for count in (20, 10_000)]
    void_for = {("gin", "json10@20"): ("steal",)}
    there = [
        SimpleNamespace(
            failure=None, shape=LoadProfile(), block=block, row=window(block, *of, void_for=void_for.get(of, ()))
        )
        for block in (1, 2)
        for of in cells
    ]
    (again,) = measured_with(monkeypatch, lambda *_: (), there)
    assert {workload for _, workload in again} == {"json10@20"}
    assert ("gin", "json10@20") in again
    assert len(paused_s) == 1


@pytest.mark.parametrize(("systems", "least"), [(["gin", "net-http"], 10), (["gin", "net-http", "node", "express"], 6)])
def test_few_systems_need_more_blocks_before_narrow_intervals_end_a_run(systems, least):
    assert blocks_to_stop(design(Catalogue(), ["json10"], systems=systems)) == least


def test_a_void_window_does_not_count_for_the_precision():
    found = progress(process_per_cell=False)
    found.parse = lambda record: [record.row]
    for block in (1, 2, 3):
        for place, name in enumerate(("gin", "net-http")):
            # As if it were nine times as fast in the void block: with that, the ratio would be known badly.
            wild = {"throughput_rps": 9000.0, "void_for": ("steal",)} if block == 3 and place else {}
            row = window(block, name, "json10@20", **{"throughput_rps": 1000.0 + block + place, **wild})
            found.add(SimpleNamespace(failure=None, shape=LoadProfile(), row=row))
    assert found.precision() < 0.01


def builds_measured(after_rps, cpu_per_request_s=1.0, control_rps=None, blocks=10, earlier=True):
    """The progress of a run with gin as it is (`after_rps`), another build of 1,000 requests/s, and a control."""
    cells = design(Catalogue(), ["json10"], systems=["gin"], variants=["pgo"])
    marked = [
        replace(each, system=replace(each.system, earlier=earlier and bool(each.system.variant)))
        for each in cells.cells
    ]
    pairs = [(each.system.plain, each.system) for each in marked if each.system.earlier]
    cells = replace(cells, cells=tuple(marked), pairs=tuple(pairs))
    names = [cell.system.name for cell in cells.cells]
    assert names == ["gin", "gin+pgo", "control"]
    found = RunProgress(SimpleNamespace(design=cells, nonconforming=frozenset()), lambda _: [])
    wobble = itertools.cycle([0.997, 1.003, 1.0, 1.002])
    for block in range(1, blocks + 1):
        sides = zip(
            names,
            (after_rps, 1000.0, control_rps or after_rps),
            (cpu_per_request_s, 1.0, cpu_per_request_s),
            strict=True,
        )
        for name, rate, cpu in sides:
            noise = next(wobble)
            found.windows.append(MeasuredWindow(block, name, "json10", rate * noise, (), cpu / noise))
    return found


@pytest.mark.parametrize(
    ("amounts", "decided"),
    [
        ({"after_rps": 1000.0}, True),
        ({"after_rps": 950.0, "cpu_per_request_s": 1.05}, True),
        ({"after_rps": 990.0}, False),
        # Throughput alone does not tell: the load may be the limit.
        ({"after_rps": 1000.0, "cpu_per_request_s": 1.01}, False),
        ({"after_rps": 950.0, "cpu_per_request_s": 1.05, "control_rps": 900.0}, False),
        ({"after_rps": 950.0, "cpu_per_request_s": 1.05, "blocks": 1}, False),
        ({"after_rps": 950.0, "blocks": 0}, False),
        # A tuned build is no earlier one.
        ({"after_rps": 950.0, "cpu_per_request_s": 1.05, "earlier": False}, False),
    ],
)
def test_a_slowdown_is_decided_when_throughput_and_cpu_time_lie_on_one_side_of_the_border(amounts, decided):
    assert builds_measured(**amounts).decided(0.02) is decided


def test_without_another_build_no_slowdown_is_ever_decided():
    found = progress(process_per_cell=False)
    found.windows = [window(block, name, "json10@20") for block in range(9) for name in ("gin", "net-http")]
    assert not found.decided(0.02)


@pytest.mark.parametrize(
    ("after_rps", "threshold", "precision", "blocks_count"),
    [
        (950.0, 0.02, 0.0001, 10),
        (950.0, 0.0, 0.0001, 20),
        # At the border: narrow intervals decide nothing.
        (990.0, 0.02, 0.5, 20),
        (990.0, 0.0, 0.5, 10),
    ],
)
def test_a_run_that_is_to_decide_a_slowdown_ends_when_it_is_decided_and_no_other_does(
    monkeypatch, capsys, after_rps, threshold, precision, blocks_count
):
    there = builds_measured(after_rps, 1000 / after_rps, blocks=20)

    def block(_settings, number, _excluded, _step):
        rows = [window for window in there.windows if window.block == number]
        return [SimpleNamespace(failure=None, shape=LoadProfile(), block=number, row=row) for row in rows]

    monkeypatch.setattr("runners.measure.run.measure_block", block)
    settings = settings_of(Profile(0.3, 1.0, 1, 5, 20, 9.0, "for tests", sure_blocks=5))
    settings.design, kept = there.settings.design, Kept()
    measure(kept, settings, lambda record: [record.row], precision, threshold)
    assert len(kept.blocks) == blocks_count
    assert ("Block 3 of at most 20, not decided yet, " in capsys.readouterr().err) == bool(threshold)


@pytest.mark.parametrize(("block", "windows_count"), [(10, 9), (11, 6)])
def test_where_percentiles_need_fewer_blocks_the_others_leave_their_windows_out(monkeypatch, block, windows_count):
    monkeypatch.setattr("runners.measure.run.sliced", lambda *_: True)
    settings = settings_of(Profile(0.3, 1.0, 2, 5, 20, 9.0, "for tests", slice_s=0.02))
    settings.percentile_blocks = 10
    settings.design = builds_measured(1000.0).settings.design
    assert windows_in_block(settings, block, settings.design.cells) == windows_count


def test_a_run_tells_once_how_long_it_measured(monkeypatch, paused_s, capsys):
    measured_with(monkeypatch, lambda *_: ())
    assert capsys.readouterr().err.count("Measured ") == 1


def test_measuring_says_whether_any_window_counts(monkeypatch, paused_s):
    monkeypatch.setattr("runners.measure.run.measure_block", lambda *_: [])
    profile = Profile(0.3, 1.0, 1, 1, 1, 0.0, "for tests")
    assert measure(Kept(), settings_of(profile), lambda _: [], precision=0.02) is False
    there = [SimpleNamespace(failure=None, shape=LoadProfile(), block=1, row=window(1, "gin", "json10@20"))]
    assert measure(Kept(there), settings_of(profile), lambda record: [record.row], precision=0.02) is True


def test_a_server_that_is_served_beside_the_run_is_named_once(monkeypatch, paused_s, capsys):
    measured_with(monkeypatch, lambda *_: ())
    assert "wrkbook serve" not in capsys.readouterr().err
    with shared(SERVING):
        measured_with(monkeypatch, lambda *_: ())
    said = capsys.readouterr().err
    assert said.count("wrkbook serve runs on this machine: it counts as other load") == 1


def status(block, left_s, *, least=6, most=60, sure=6):
    """The status line before a block of 50 s, after ratios of ±70 % where ±2 % is wanted."""
    profile = Profile(0.3, 1.0, 1, least, most, 15, "for tests", sure_blocks=sure)
    return _status(block, profile, least, 0.7, 0.02, 50.0, time.monotonic() + left_s)


@pytest.mark.parametrize(
    ("block", "left_s", "sure", "said"), [(4, 340, 6, 9), (2, 30, 6, 6), (2, 120, 1, 3), (2, 30, 1, 2)]
)
def test_a_status_promises_no_more_blocks_than_the_time_left_holds(block, left_s, sure, said):
    assert status(block, left_s, sure=sure).startswith(f"Block {block} of about {said},")


def test_a_status_promises_no_more_blocks_than_the_precision_needs():
    profile = Profile(0.3, 1.0, 1, 6, 60, 15, "for tests", sure_blocks=6)
    said = [_status(7, profile, 6, reached, 0.02, 50.0, time.monotonic() + 5000) for reached in (0.021, 0.7)]
    assert said[0].startswith("Block 7 of about 7,")
    assert said[1].startswith("Block 7 of about 60,")


def test_a_planned_number_of_blocks_is_about_only_where_the_budget_may_cut_it():
    assert status(1, 1000, least=3, most=3, sure=3).startswith("Block 1 of 3, ")
    assert status(1, 60, least=3, most=3, sure=1).startswith("Block 1 of about 1, ")


@pytest.mark.parametrize("left_s", [-1, 60])
def test_a_status_counts_the_time_of_blocks_that_are_measured_beyond_the_budget(left_s):
    assert status(1, left_s, least=3, most=3, sure=3) == "Block 1 of 3, 2 min 30 s left"
    assert status(3, left_s, least=3, most=3, sure=3) == "Block 3 of 3, 50 s left"


@pytest.mark.parametrize(("count", "said"), [(1, "1 system in time slices"), (3, "3 systems in time slices")])
def test_systems_in_time_slices_are_counted_in_words(count, said):
    assert _systems_in_time_slices(count) == said
