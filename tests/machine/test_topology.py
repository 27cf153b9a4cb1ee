"""CPU lists, cores, and the pinning plan on machines of many kinds."""

import pytest
from hypothesis import given, strategies as st

from runners.core.errors import WrkbookError
from runners.machine.topology import Core, format_cpu_list, parse_cpu_list, plan_pinning, plan_with_backend, read_cores


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_cpu_list_is_read_as_it_was_written(cpus):
    assert set(parse_cpu_list(format_cpu_list(cpus))) == cpus


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "1,,2", "0 1", "1.5"])
def test_what_is_no_cpu_list_is_refused(text):
    with pytest.raises(ValueError, match="not a list of CPUs"):
        parse_cpu_list(text)


def plain(count):
    return [Core((cpu,)) for cpu in range(count)]


def smt(count):
    return [Core((cpu, cpu + count)) for cpu in range(count)]


@pytest.mark.parametrize(
    ("cores", "server", "generator", "housekeeping"),
    [
        (plain(2), "0", "1", "1"),
        (plain(3), "0", "1", "2"),
        (plain(4), "0", "1-2", "3"),
        (plain(8), "0-2", "3-6", "7"),
        (smt(2), "0,2", "1,3", "1,3"),
        (smt(4), "0,4", "1-2,5-6", "3,7"),
        ([Core((0, 1))], "0", "1", "1"),
        # A hybrid CPU: servers on P-cores, an E-core for the notebook, the other E-cores help the generator.
        (
            [*(Core((2 * i, 2 * i + 1)) for i in range(4)), *(Core((i,), efficient=True) for i in (8, 9, 10, 11))],
            "0-3",
            "4-10",
            "11",
        ),
        # Two NUMA nodes: servers stay on one.
        ([*(Core((i,), node=0) for i in range(4)), *(Core((i,), node=1) for i in range(4, 8))], "0-1", "2-3", "4-7"),
    ],
)
def test_the_plan_suits_the_machine(cores, server, generator, housekeeping):
    plan = plan_pinning(cores)
    assert plan.as_dict() == {"server": server, "generator": generator, "housekeeping": housekeeping}


@given(st.integers(2, 64), st.booleans(), st.integers(0, 16))
def test_no_cpu_has_two_of_the_measured_roles_and_siblings_stay_together(count, threaded, efficient):
    cores = [
        *(smt(count) if threaded else plain(count)),
        *(Core((1000 + i,), efficient=True) for i in range(efficient)),
    ]
    plan = plan_pinning(cores)
    assert plan.server
    assert plan.generator
    assert not set(plan.server) & set(plan.generator)
    for core in cores:
        for role in (plan.server, plan.generator):
            assert set(core.cpus) <= set(role) or not set(core.cpus) & set(role)
    if len(cores) > 2:
        assert not set(plan.housekeeping) & {*plan.server, *plan.generator}


def test_one_cpu_is_not_enough():
    with pytest.raises(WrkbookError, match="at least two CPUs"):
        plan_pinning(plain(1))


def test_sets_that_the_user_gave_are_taken():
    plan = plan_pinning(plain(8), "4-5", "0-1")
    assert (plan.server, plan.generator, plan.housekeeping) == ((4, 5), (0, 1), (2, 3, 6, 7))


def test_one_given_set_leaves_the_other_to_be_planned():
    plan = plan_pinning(plain(4), server_cpus="3")
    assert plan.server == (3,)
    assert 3 not in plan.generator


@pytest.mark.parametrize(
    ("server", "generator", "told"),
    [
        ("0-1", "1-2", "overlap on CPU 1"),
        ("9", "", "CPU 9 does not exist"),
        ("x", "", "not a list of CPUs"),
        ("0-7", "", "none for the"),
    ],
)
def test_impossible_sets_are_refused_by_name(server, generator, told):
    with pytest.raises(WrkbookError) as caught:
        plan_pinning(plain(8), server, generator)
    assert told in str(caught.value)


@given(st.integers(2, 64), st.booleans(), st.integers(0, 16))
def test_a_backend_has_cpus_of_its_own_where_there_are_enough_and_never_the_servers(count, threaded, efficient):
    cores = [
        *(smt(count) if threaded else plain(count)),
        *(Core((1000 + i,), efficient=True) for i in range(efficient)),
    ]
    plan = plan_with_backend(cores)
    assert plan.backend
    assert not set(plan.backend) & set(plan.server)
    if count >= 4:
        assert not set(plan.backend) & {*plan.generator, *plan.housekeeping}
    else:
        assert plan.backend == plan.generator
    assert set(plan.measured) == {*plan.server, *plan.generator, *plan.backend}


def test_backend_cpus_that_the_user_gave_may_be_the_generator_s_but_not_the_servers():
    assert plan_with_backend(plain(8), backend_cpus="6-7").backend == (6, 7)
    assert plan_with_backend(plain(8), "0-1", "4-7", "4-5").backend == (4, 5)
    assert plan_with_backend(plain(8), "0-1", "4-7", "2").as_dict() == {
        **{"server": "0-1", "generator": "4-7", "housekeeping": "3"},
        **{"backend": "2"},
    }
    with pytest.raises(WrkbookError, match="overlap on CPU 1"):
        plan_with_backend(plain(8), "0-1", "4-7", "1-2")


def test_cores_are_read_from_sysfs(tmp_path):
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3", "4"]):
        folder = tmp_path / f"system/cpu/cpu{cpu}"
        (folder / "topology").mkdir(parents=True)
        (folder / "topology/thread_siblings_list").write_text(siblings + "\n")
        (folder / f"node{cpu % 2}").mkdir()
    (tmp_path / "cpu_atom").mkdir()
    (tmp_path / "cpu_atom/cpus").write_text("4\n")
    assert read_cores(range(5), tmp_path) == [Core((0, 2), 0), Core((1, 3), 1), Core((4,), 0, efficient=True)]


def test_the_cores_of_this_machine_are_there():
    assert read_cores()
