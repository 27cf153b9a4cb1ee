"""CPU lists, and the reader of hwloc's XML."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from runners.core.errors import WrkbookError
from runners.machine.topology import Core, Topology, format_cpu_list, parse_cpu_list, parse_topology
from tests.machine.machines import INTEL, MACHINES, Place, bits, grid, hybrid, xml

RECORDED = sorted((Path(__file__).parents[1] / "recorded" / "hwloc").glob("*.xml"))


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_cpu_list_is_read_as_it_was_written(cpus):
    assert set(parse_cpu_list(format_cpu_list(cpus))) == cpus


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "1,,2", "0 1", "1.5"])
def test_what_is_no_cpu_list_is_refused(text):
    with pytest.raises(ValueError, match="not a list of CPUs"):
        parse_cpu_list(text)


def test_siblings_nodes_packages_and_caches_are_read():
    found = parse_topology(xml(grid(packages=2, caches=2, cores=1, threads=2)))
    assert found.cores == (
        Core((0, 4), node=0, package=0, l3=0),
        Core((1, 5), node=0, package=0, l3=1),
        Core((2, 6), node=1, package=1, l3=2),
        Core((3, 7), node=1, package=1, l3=3),
    )
    assert found.allowed == set(range(8))
    assert found.kinds == ()


def test_kinds_are_ranked_by_type_and_named():
    found = parse_topology(xml(hybrid(("E", 2, 1, 0), ("P", 1, 2, 0)), INTEL))
    assert [core.kind for core in found.cores] == [1, 1, 0]
    assert found.kinds == ("IntelCore, up to 5000 MHz", "IntelAtom")


@pytest.mark.parametrize(
    ("kinds", "ranks"),
    [
        # The efficiency that the kernel or the processor tells decides before any frequency; it may be 0.
        ([("a", {"FrequencyMaxMHz": "3000"}, 400), ("b", {"FrequencyMaxMHz": "2000"}, 1024)], (1, 0)),
        ([("a", {"CoreType": "AMDEfficiency"}, 0), ("b", {"CoreType": "AMDPerformance"}, 1)], (1, 0)),
        ([("a", {"CoreType": "IntelCore"}, 1), ("b", {"CoreType": "IntelAtom"}, 0)], (0, 1)),
        # Where it is not told for all, type and frequency decide.
        ([("a", {"FrequencyMaxMHz": "3000"}, None), ("b", {"FrequencyMaxMHz": "2000"}, 1024)], (0, 1)),
        ([("a", {"CoreType": "IntelLowPower"}, None), ("b", {"CoreType": "IntelAtom"}, None)], (1, 0)),
        ([("a", {"CoreType": "AMDPerformance"}, None), ("b", {"CoreType": "AMDEfficiency"}, None)], (0, 1)),
        # Turbo of the same part within a tenth is one kind, and so is capacity.
        ([("a", {"FrequencyMaxMHz": "4900"}, None), ("b", {"FrequencyMaxMHz": "5300"}, None)], (0, 0)),
        ([("a", {"FrequencyMaxMHz": "4000"}, None), ("b", {"FrequencyMaxMHz": "5300"}, None)], (1, 0)),
        ([("a", {"LinuxCapacity": "997"}, 997), ("b", {"LinuxCapacity": "1024"}, 1024)], (0, 0)),
        ([("a", {}, 9), ("b", {}, 10)], (1, 0)),
        ([("a", {"CPUPart": "1"}, 1000), ("b", {"CPUPart": "2"}, 1024)], (1, 0)),
        # Without anything to compare, the more numerous kind is the first.
        ([("a", {"CPUPart": "1"}, None), ("b", {"CPUPart": "2"}, None)], (1, 0)),
        # CPUs of no kind are the last.
        ([("a", {"FrequencyMaxMHz": "4000"}, None)], (0, 1)),
    ],
)
def test_kinds_are_ranked_as_hwloc_ranks_them(kinds, ranks):
    found = parse_topology(xml([Place((0,), "a"), Place((1,), "b"), Place((2,), "b")], kinds))
    assert tuple(core.kind for core in found.cores) == (*ranks, ranks[1])


def test_offline_and_refused_cpus_are_kept_apart():
    found = parse_topology(xml(grid(cores=4, threads=2), offline={1, 5, 6}, refused={3}))
    assert found.offline == (1, 5, 6)
    assert found.cpus == (0, 2, 3, 4, 7)
    assert [core.cpus for core in found.usable()] == [(0, 4), (2,), (7,)]
    assert [core.cpus for core in found.usable({0, 2, 3})] == [(0,), (2,)]


def test_the_nearest_memory_is_the_node_of_a_core():
    found = parse_topology(xml(grid(nodes=2, cores=2), memory=[(7, range(4)), (8, ())]))
    assert [core.node for core in found.cores] == [0, 0, 1, 1]


def test_cpus_below_no_core_are_cores():
    text = re.sub(r'<object type="Core".*?>\n(.*?</object>)\n</object>', r"\1", xml(grid(cores=3)))
    assert "Core" not in text
    assert [core.cpus for core in parse_topology(text).cores] == [(0,), (1,), (2,)]


def test_the_first_version_of_the_format_is_read():
    text = """<topology><object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000001f"
      online_cpuset="0x00000007" allowed_cpuset="0x00000003"><object type="Socket" os_index="0" cpuset="0x0000000f">
      <object type="Cache" depth="3" cpuset="0x0000000f"><object type="Cache" depth="2" cpuset="0x00000003">
      <object type="Core" os_index="0" cpuset="0x00000003"><object type="PU" os_index="0" cpuset="0x00000001"/>
      <object type="PU" os_index="1" cpuset="0x00000002"/></object></object>
      <object type="Core" os_index="1" cpuset="0x0000000c"><object type="PU" os_index="2" cpuset="0x00000004"/>
      <object type="PU" os_index="3" cpuset="0x00000008"/></object></object></object></object></topology>"""
    assert parse_topology(text) == Topology(
        (Core((0, 1), l3=0), Core((2,), l3=0)), kinds=(), allowed=frozenset({0, 1}), offline=(3, 4)
    )


@given(st.sets(st.integers(0, 1100), min_size=1))
def test_a_cpu_set_is_read_as_hwloc_writes_it(cpus):
    pus = "".join(f'<object type="PU" os_index="{cpu}" cpuset="{bits([cpu])}"/>' for cpu in cpus)
    text = f'<topology version="2.0"><object type="Machine" cpuset="{bits(cpus)}">{pus}</object></topology>'
    assert parse_topology(text).cpus == tuple(sorted(cpus))


def test_empty_words_of_a_cpu_set_are_zeros():
    text = '<topology version="2.0"><object type="Machine"><object type="PU" cpuset="0x00000001,,0x0"/></object></topology>'
    assert parse_topology(text).cpus == (64,)


WHOLE = xml(grid(cores=2))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no element found"),
        ("not XML", "syntax error"),
        (WHOLE[: len(WHOLE) // 2], "unclosed token"),
        ("<html/>", "its first element is <html>"),
        ("<topology/>", "without a machine"),
        ('<topology><object type="Machine" cpuset="0x1"/></topology>', "it has no CPU"),
        (WHOLE.replace('cpuset="0x00000001"', 'cpuset="0xf...f"'), "cpuset is '0xf...f'"),
        (WHOLE.replace('os_index="1"', 'os_index="one"'), "invalid literal for int"),
        (WHOLE.replace("<topology", '<!DOCTYPE t [<!ENTITY a "a">]><topology'), "it declares XML entities"),
    ],
)
def test_what_is_no_topology_is_refused_by_name_with_the_command_that_writes_one(text, told):
    with pytest.raises(WrkbookError) as caught:
        parse_topology(text, "machine.xml")
    assert caught.value.problem.startswith("machine.xml is not a topology of hwloc: ")
    assert told in caught.value.problem
    assert "lstopo-no-graphics --of xml" in caught.value.remedy


@given(st.sampled_from([text for text, *_ in MACHINES.values()]), st.data())
def test_damaged_xml_is_read_or_refused_and_never_a_failure(text, data):
    start = data.draw(st.integers(0, len(text)))
    damaged = text[:start] + data.draw(st.text(max_size=5)) + text[data.draw(st.integers(start, len(text))) :]
    with suppress(WrkbookError):
        assert parse_topology(damaged).cores


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_what_lstopo_has_written_is_read(path):
    found = parse_topology(path.read_text(encoding="utf-8"))
    assert found.usable()
    assert set(found.cpus) >= found.allowed
