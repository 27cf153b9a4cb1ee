"""The pinning plan on machines of many kinds, its reasons and its threats."""

import pytest
from hypothesis import assume, given, strategies as st

from runners.core.errors import WrkbookError
from runners.machine.pinning import plan_pinning, plan_with_backend
from runners.machine.pinning_plan import PinningPlan
from runners.machine.topology import Core, format_cpu_list, parse_topology
from tests.machine.machines import MACHINES, grid, xml


def cores_of(name):
    return parse_topology(MACHINES[name][0]).usable()


def plain(count):
    return [Core((cpu,)) for cpu in range(count)]


@pytest.mark.parametrize("name", MACHINES)
def test_the_plan_suits_the_machine(name):
    _, server, generator, housekeeping = MACHINES[name]
    plan = plan_pinning(cores_of(name))
    assert plan.as_dict() == {"server": server, "generator": generator, "housekeeping": housekeeping}


def test_one_cpu_is_not_enough():
    with pytest.raises(WrkbookError, match="at least two CPUs"):
        plan_pinning(plain(1))


def test_an_affinity_within_the_machine_is_kept_to():
    machine = parse_topology(MACHINES["EPYC, NPS4, 8 L3 caches"][0])
    plan = plan_pinning(machine.usable({3, 4, 9, 67, 100}))
    assert plan.as_dict() == {"server": "9", "generator": "3-4,67", "housekeeping": "100"}


# What holds for every machine

PLACES = st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from([0, 1]), st.sampled_from([0, 0, 1, 2]))


@st.composite
def machines(draw):
    """Return the usable cores of a machine: SMT, nodes, caches and kinds as they come."""
    threads = draw(st.integers(1, 4))
    with_caches, found = draw(st.booleans()), []
    for place, (node, cache, package, kind) in enumerate(draw(st.lists(PLACES, min_size=1, max_size=24))):
        cpus = tuple(range(place * threads, place * threads + draw(st.integers(1, threads))))
        l3 = 3 * node + cache if with_caches else None
        found.append(Core(cpus, node, package, l3, kind))
    return found


def held(cores, plan):
    """Assert what holds for every plan of these cores."""
    role_cpus = {role: set(cpus) for role, cpus in plan.roles.items()}
    servers = [core for core in cores if role_cpus["server"] & set(core.cpus)]
    generator = [core for core in cores if role_cpus["generator"] & set(core.cpus)]
    assert all(role_cpus.values())
    assert set().union(*role_cpus.values()) <= {cpu for core in cores for cpu in core.cpus}
    assert not role_cpus["server"] & set().union(*(cpus for role, cpus in role_cpus.items() if role != "server"))
    assert {core.kind for core in servers} == {min(core.kind for core in cores)}
    assert len({core.node for core in servers}) == 1
    if len(cores) > 1:
        assert len(generator) >= len(servers)
        for core in cores:
            for cpus in role_cpus.values():
                assert set(core.cpus) <= cpus or not set(core.cpus) & cpus
    if len(cores) > 2:
        assert not role_cpus["housekeeping"] & role_cpus["generator"]
    assert all(plan.why[role] for role in plan.roles)


@given(machines())
def test_roles_are_disjoint_siblings_together_and_servers_on_the_fastest_kind(cores):
    assume(len(cores) > 1 or len(cores[0].cpus) > 1)
    held(cores, plan_pinning(cores))


@given(machines())
def test_a_backend_is_never_on_the_servers_cpus_and_is_apart_where_there_are_enough_cores(cores):
    assume(len(cores) > 1 or len(cores[0].cpus) > 1)
    plan = plan_with_backend(cores)
    held(cores, plan) if len(cores) != 3 else None
    assert plan.backend == plan.generator or not set(plan.backend) & {*plan.generator, *plan.housekeeping}
    assert set(plan.measured) == {*plan.server, *plan.generator, *plan.backend}


@given(machines(), st.data())
def test_a_plan_for_fewer_cpus_stays_within_them(cores, data):
    every = sorted(cpu for core in cores for cpu in core.cpus)
    allowed = data.draw(st.sets(st.sampled_from(every), min_size=1))
    left = [core for core in cores if set(core.cpus) <= allowed]
    assume(len(left) > 1)
    assert set().union(*plan_with_backend(left).roles.values()) <= allowed


@pytest.mark.parametrize("name", MACHINES)
def test_no_machine_has_an_offline_or_refused_cpu_in_its_plan(name):
    machine = parse_topology(MACHINES[name][0])
    for plan in (plan_pinning(machine.usable()), plan_with_backend(machine.usable())):
        assert set().union(*plan.roles.values()) <= machine.allowed - set(machine.offline)


# The backend


@pytest.mark.parametrize(
    ("name", "backend", "server"),
    [
        ("two CPUs", "1", "0"),
        ("three CPUs", "1", "0"),
        ("four CPUs", "3", "0"),
        ("eight CPUs", "6-7", "0-1"),
        ("i9-12900HK: 6 P-cores with SMT, 8 E-cores", "10-11", "0-9"),
        ("EPYC, NPS1, 8 L3 caches", "48-63,112-127", "0-22,64-86"),
        # Too few cores on the servers' node: another one.
        ("Power 9 with SMT-4", "12-15", "0-3"),
        ("container with CPUs of three NUMA nodes", "6", "1"),
        # Too few fast cores: those of the next kind.
        ("ARM phone: 4 little, 3 middle, 1 prime", "3", "7"),
    ],
)
def test_a_backend_has_a_quarter_of_the_cores_of_a_kind(name, backend, server):
    plan = plan_with_backend(cores_of(name))
    assert (format_cpu_list(plan.backend), format_cpu_list(plan.server)) == (backend, server)


def test_backend_cpus_that_the_user_gave_may_be_the_generator_s_but_not_the_servers():
    assert plan_with_backend(plain(8), backend_cpus="6-7").backend == (6, 7)
    assert plan_with_backend(plain(8), "0-1", "4-7", "4-5").backend == (4, 5)
    assert plan_with_backend(plain(8), "0-1", "4-7", "2").as_dict() == {
        **{"server": "0-1", "generator": "4-7", "housekeeping": "3"},
        **{"backend": "2"},
    }
    with pytest.raises(WrkbookError, match="overlap on CPU 1"):
        plan_with_backend(plain(8), "0-1", "4-7", "1-2")


# Sets that the user gave


def test_sets_that_the_user_gave_are_taken_and_named_as_such():
    plan = plan_pinning(plain(8), "4-5", "0-1")
    assert (plan.server, plan.generator, plan.housekeeping) == ((4, 5), (0, 1), (2, 3, 6, 7))
    assert plan.why["server"] == "2 cores, as the parameter server_cpus says"


@pytest.mark.parametrize(
    ("count", "server", "generator", "expected"),
    [
        (4, "3", "", ("3", "0-1", "2")),
        (3, "0", "", ("0", "1-2", "1-2")),
        (4, "", "3", ("0", "3", "1-2")),
        (8, "", "4-7", ("0-2", "4-7", "3")),
        (8, "", "0-1", ("2-3", "0-1", "4-7")),
        (2, "", "0", ("1", "0", "0")),
    ],
)
def test_one_given_set_leaves_the_other_to_be_planned(count, server, generator, expected):
    assert tuple(plan_pinning(plain(count), server, generator).as_dict().values()) == expected


@given(machines(), st.data())
def test_whatever_set_the_user_gives_the_other_one_is_planned_beside_it(cores, data):
    every = sorted(cpu for core in cores for cpu in core.cpus)
    given_cpus = data.draw(st.sets(st.sampled_from(every), min_size=1))
    role = data.draw(st.sampled_from(["server", "generator"]))
    assume(any(not set(core.cpus) & given_cpus for core in cores))
    plan = plan_pinning(cores, **{f"{role}_cpus": format_cpu_list(given_cpus)})
    assert set(plan.roles[role]) == given_cpus
    assert plan.server
    assert plan.generator
    assert not set(plan.server) & {*plan.generator, *plan.housekeeping}


def test_the_load_generator_stays_on_the_node_of_servers_that_the_user_placed():
    plan = plan_pinning(cores_of("two Xeon"), server_cpus="20-22")
    assert plan.as_dict()["generator"] == "23-39,63-79"


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


# Reasons and threats


@pytest.mark.parametrize(
    ("name", "role", "told"),
    [
        ("i9-12900HK: 6 P-cores with SMT, 8 E-cores", "server", "6 cores (12 CPUs) of the fastest kind, so that"),
        (
            "i9-12900HK: 6 P-cores with SMT, 8 E-cores",
            "generator",
            "7 cores of a slower kind, in the servers' L3 cache",
        ),
        ("EPYC, NPS4, 8 L3 caches", "server", "8 cores (16 CPUs) on NUMA node 0 in 1 of 8 L3 caches"),
        ("EPYC, NPS4, 8 L3 caches", "generator", "with an L3 cache of its own"),
        ("EPYC, NPS1, 8 L3 caches", "generator", "with L3 caches of its own"),
        ("EPYC, NPS4, 8 L3 caches", "housekeeping", "48 cores (96 CPUs) on NUMA nodes 1, 2 and 3"),
        ("two CPUs", "housekeeping", "too few cores for its own: it shares those of the load generator"),
        ("two SMT siblings", "server", "1 of 2 hardware threads of 1 core"),
    ],
)
def test_each_choice_has_a_reason(name, role, told):
    assert told in plan_pinning(cores_of(name)).why[role]


@pytest.mark.parametrize(
    ("name", "threats"),
    [
        ("eight CPUs", []),
        ("EPYC, NPS4, 8 L3 caches", []),
        ("two CPUs", ["CPU 1 has several roles: the notebook shares it with the load generator."]),
        (
            "two SMT siblings",
            ["CPU 1 has several roles", "the servers and the load generator share the execution units"],
        ),
        ("i9-12900HK: 6 P-cores with SMT, 8 E-cores", ["on slower cores than the servers"]),
        ("container with CPUs of three NUMA nodes", ["The NUMA nodes 0 and 1 hold the servers and the load generator"]),
    ],
)
def test_what_a_plan_could_not_avoid_is_a_threat(name, threats):
    found = plan_pinning(cores_of(name)).threats
    assert len(found) == len(threats)
    assert all(part in text for part, text in zip(threats, found, strict=True))


@pytest.mark.parametrize(
    ("server", "generator", "told"),
    [
        ("0-3", "5", "fewer cores than the servers (1 and 4)"),
        ("0", "4", "share the execution units of CPU 0,4"),
        ("2,8", "3", "cores of different kinds"),
    ],
)
def test_what_the_user_chose_is_judged_too(server, generator, told):
    cores = [*(Core((cpu, cpu + 4)) for cpu in range(4)), Core((8,), kind=1)]
    assert any(told in threat for threat in plan_pinning(cores, server, generator).threats)


def test_a_backend_that_shares_is_named_with_the_notebook():
    plan = plan_with_backend(plain(2))
    assert plan.threats == ("CPU 1 has several roles: the notebook and the backend share it with the load generator.",)


def test_a_recorded_plan_is_read_again():
    plan = plan_with_backend(plain(8))
    assert PinningPlan.recorded(plan.as_dict(), plan.threats) == plan
    assert PinningPlan.recorded({"server": "0", "generator": "1", "housekeeping": "1"}, ["x"]).threats == ("x",)


def test_a_machine_of_256_cpus_is_planned_core_by_core():
    cores = parse_topology(xml(grid(packages=2, nodes=4, caches=2, cores=8, threads=2))).usable()
    assert sum(len(core.cpus) for core in cores) == 256
    held(cores, plan_with_backend(cores))
