"""The design: which cells, in which order."""

import pytest
from hypothesis import given, strategies as st

from runners.core.errors import WrkbookError
from runners.core.parameters import Parameters
from runners.core.records import System, Workload
from runners.measure.design import Cell, design, load_shapes, own_load_shapes, side_by_side
from runners.systems.catalogue import Catalogue


def names(found):
    return [(cell.system.name, cell.workload.label) for cell in found.cells]


def test_every_system_that_serves_the_workload_takes_part_with_one_control():
    cells = names(design(Catalogue(), ["decode"], floor="discard", batch_sizes=[10]))
    assert [system for system, workload in cells if workload == "decode-10"] == [
        *("axum+sonic-rs", "drogon+simdjson", "drogon+glaze", "drogon+yyjson"),
        *("gin+encoding/json", "gin+encoding/json/v2", "gin+simdjson-go", "gin+sonic"),
        "control",
    ]
    assert [system for system, workload in cells if workload == "discard-10"] == ["axum", "drogon", "gin"]


def test_a_row_that_is_no_default_is_measured_by_name_or_among_all():
    row = "gin+go-json"
    assert row in {name for name, _ in names(design(Catalogue(), ["decode"], systems=["all"]))}
    assert names(design(Catalogue(), ["decode"], systems=[row], batch_sizes=[1])) == [
        (row, "decode-1"),
        ("control", "decode-1"),
    ]
    everyone = {name for name, _ in names(design(Catalogue(), ["decode-as-published", "decode"], systems=["all"]))}
    assert not any("as-published" in name for name in everyone)


def test_the_control_repeats_the_first_system_in_all_its_workloads():
    found = design(Catalogue(), ["ping", "discard", "ping-delay"], batch_sizes=[1])
    control = next(system for system in found.systems if system.control)
    first = found.cells[0].system
    assert control.repeats(first)
    served = {cell.workload for cell in found.cells if cell.system == first}
    assert served == {cell.workload for cell in found.cells if cell.system == control}
    assert len(served) == 3


def test_the_user_s_order_decides_who_is_first():
    found = design(Catalogue(), ["decode"], systems=["gin+encoding/json", "drogon+glaze"], batch_sizes=[1])
    assert names(found) == [("gin+encoding/json", "decode-1"), ("drogon+glaze", "decode-1"), ("control", "decode-1")]
    assert found.cells[2].system.repeats(found.cells[0].system)


def test_each_workload_is_measured_in_each_shape_of_the_load():
    shapes = load_shapes(Parameters(**{"connection_counts": [10, 1000]}))
    cells = names(design(Catalogue(), ["ping"], systems=["gin"], shapes=shapes))
    assert cells == [("gin", "ping@10"), ("control", "ping@10"), ("gin", "ping@1000"), ("control", "ping@1000")]
    assert [shape.name for shape in load_shapes(Parameters(**{"generators": ["wrk", "autocannon"]}))] == [
        "",
        "autocannon",
    ]


def test_a_workload_with_numbers_of_connections_of_its_own_is_not_measured_at_those_of_the_others():
    parameters = Parameters(**{"connection_counts": [10, 1000], "blog_connection_counts": [20]})
    shapes, own = load_shapes(parameters), own_load_shapes(parameters)
    cells = names(design(Catalogue(), ["json10", "blog"], systems=["net-http"], shapes=shapes, own_shapes=own))
    assert list(dict.fromkeys(workload for _, workload in cells)) == ["json10@10", "json10@1000", "blog@20"]
    assert own_load_shapes(Parameters(**{"connection_counts": [10]})) == {}


def test_of_a_workload_with_several_sizes_the_first_alone_is_measured_in_every_shape():
    shapes = load_shapes(Parameters(**{"generators": ["wrk", "autocannon"]}))
    cells = names(design(Catalogue(), ["text", "sql2"], systems=["net-http"], counts=[20, 1], shapes=shapes))
    labels = dict.fromkeys(workload for _, workload in cells)
    assert list(labels) == ["text", "text@autocannon", "sql2-20", "sql2-20@autocannon", "sql2-1"]


def test_every_visit_has_all_cells_in_an_order_of_its_own_that_the_seed_repeats():
    found = design(Catalogue(), ["decode"], floor="discard")
    orders = [found.order(1, block, visit) for block in range(3) for visit in range(2)]
    assert all(sorted(order, key=str) == sorted(found.cells, key=str) for order in orders)
    assert len({tuple(order) for order in orders}) == len(orders)
    assert found.order(1, 2, 1) == orders[5]
    assert found.order(2, 2, 1) != orders[5]


@pytest.mark.parametrize(
    ("systems", "told"),
    [
        (["drogn+glaze"], "did you mean"),
        (["gin+encoding/json"] * 2, "named twice"),
        (["beast"], "no system named 'beast' serves decode"),
    ],
)
def test_systems_that_cannot_take_part_are_refused(systems, told):
    with pytest.raises(WrkbookError) as caught:
        design(Catalogue(), ["decode"], systems=systems)
    assert told in str(caught.value)


def test_reference_servers_take_part_only_where_they_are_named():
    catalogue = Catalogue()
    references = {name for name, server in catalogue.servers.items() if server.role == "reference"}
    assert references
    unasked = design(catalogue, ["ping"])
    assert not references & {system.server for system in unasked.systems}
    named = design(catalogue, ["ping"], systems=["haproxy-return", "gin"])
    assert [system.name for system in named.systems] == ["haproxy-return", "gin", "control"]


def test_each_delay_is_a_workload_of_its_own():
    found = design(Catalogue(), ["ping-delay"], systems=["gin"], delays_ms=[5, 20])
    assert [workload.label for workload in found.compared] == ["ping-delay-5ms", "ping-delay-20ms"]


def test_only_the_named_cells_take_part_references_among_them():
    only = [("drogon+simdjson", "decode-9"), ("drogon+simdjson", "decode-10"),
            ("drogon-as-published+simdjson", "decode-as-published-10")]  # fmt: skip
    found = design(Catalogue(), ["decode", "decode-as-published"], batch_sizes=[9, 10], only=only)
    assert [cell for cell in names(found) if cell[0] != "control"] == only
    assert [cell for cell in names(found) if cell[0] == "control"] == [
        ("control", "decode-9"),
        ("control", "decode-10"),
    ]
    assert [workload.label for workload in found.compared] == ["decode-9", "decode-10", "decode-as-published-10"]


def test_of_the_named_cells_only_those_of_the_named_systems_take_part():
    only = [("gin+encoding/json", "decode-1"), ("drogon+glaze", "decode-1")]
    found = design(Catalogue(), ["decode"], batch_sizes=[1], only=only, systems=["drogon+glaze"])
    assert names(found) == [("drogon+glaze", "decode-1"), ("control", "decode-1")]
    with pytest.raises(WrkbookError, match="no system serves"):
        design(Catalogue(), ["decode"], batch_sizes=[1], only=only, systems=["drogon+yyjson"])


@given(st.data())
def test_cells_that_are_open_at_the_same_time_are_of_different_systems_and_a_workload_stays_together(data):
    workloads = data.draw(st.lists(st.integers(1, 4096), unique=True, min_size=1, max_size=4))
    systems = [System(name) for name in "abcd"]
    cells = [
        Cell(system, Workload("decode", operations=size))
        for size in workloads
        for system in data.draw(st.lists(st.sampled_from(systems), unique=True))
    ]
    cells = data.draw(st.permutations(cells))
    groups = side_by_side(cells)
    assert sorted(map(repr, (cell for group in groups for cell in group))) == sorted(map(repr, cells))
    for group in groups:
        assert len({cell.system for cell in group}) == len(group)
    for size in workloads:
        assert sum(any(cell.workload.operations == size for cell in group) for group in groups) <= 1


def test_the_floors_are_open_beside_what_they_are_the_floor_of():
    found = design(Catalogue(), ["decode"], floor="discard", batch_sizes=[1, 10])
    groups = [{cell.workload.label for cell in group} for group in side_by_side(found.cells)]
    assert groups == [{"decode-1", "discard-1"}, {"decode-10", "discard-10"}]


def test_a_workload_that_no_named_system_serves_is_measured_on_their_servers_where_that_is_wanted():
    named = ["drogon+simdjson", "gin+encoding/json"]
    found = design(Catalogue(), ["decode", "ping", "sql1"], systems=named, batch_sizes=[10], same_servers=True)
    by_workload = {
        name: [cell.system.name for cell in found.cells if cell.workload.name == name]
        for name in ("decode", "ping", "sql1")
    }
    assert by_workload == {
        "decode": [*named, "control"],
        "ping": ["drogon", "gin"],
        "sql1": ["drogon+libpq", "gin"],
    }
    alone = design(Catalogue(), ["ping"], systems=named, same_servers=True)
    assert [cell.system.name for cell in alone.cells] == ["drogon", "gin", "control"]
    with pytest.raises(WrkbookError, match="serves ping"):
        design(Catalogue(), ["ping"], systems=named)


def test_tuned_builds_take_part_beside_their_plain_rows_with_a_floor_of_their_own():
    rows = ["gin+sonic", "drogon+glaze"]
    cells = names(
        design(Catalogue(), ["decode"], floor="discard", systems=rows, variants=["pgo", "mimalloc"], batch_sizes=[1])
    )
    assert [system for system, workload in cells if workload == "decode-1"] == [
        *("gin+sonic", "gin+sonic+pgo", "drogon+glaze", "drogon+glaze+pgo", "drogon+glaze+mimalloc", "control")
    ]
    assert [system for system, workload in cells if workload == "discard-1"] == [
        *("gin", "gin+pgo", "drogon", "drogon+pgo", "drogon+mimalloc")
    ]


def test_tuned_builds_take_no_part_by_default_nor_among_all():
    for systems in ([], ["all"]):
        found = design(Catalogue(), ["decode", "ping"], systems=systems, floor="discard")
        assert {system.variant for system in found.systems} == {None}
    by_name = design(Catalogue(), ["decode"], systems=["gin+sonic", "gin+sonic+pgo"], batch_sizes=[1])
    assert [system for system, _ in names(by_name)] == ["gin+sonic", "gin+sonic+pgo", "control"]


def test_the_control_repeats_a_plain_build():
    found = design(Catalogue(), ["ping"], variants=["pgo"])
    assert found.cells[0].system.variant is None
    assert next(system for system in found.systems if system.control).repeats(found.cells[0].system)


@pytest.mark.parametrize(
    ("variant", "told"),
    [("pog", "no server has the variant 'pog'"), ("mimalloc", "no system of this run has mimalloc")],
)
def test_a_variant_that_no_system_of_the_run_has_is_refused(variant, told):
    with pytest.raises(WrkbookError, match=told) as caught:
        design(Catalogue(), ["decode"], systems=["gin+sonic"], variants=[variant])
    assert "mimalloc (drogon)" in str(caught.value)
