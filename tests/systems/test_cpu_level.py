"""The x86-64 level that Go servers are built for: found in the CPU's flags, given to the compiler, and stated in the report."""

import re
import subprocess

import pytest
from hypothesis import given, strategies as st

from runners.core.project import SERVERS
from runners.measure.conformance import full_image
from runners.present.throughput import tables
from runners.systems.build import artifact, build, build_environment
from runners.systems.catalogue import Catalogue
from runners.systems.component_versions import component_versions
from runners.systems.cpu_level import amd64_level, own_level
from runners.systems.manifest_tables import Build
from runners.systems.skeleton import SKELETON

# As Linux shows them, shortened to what compilers use.
OPTERON = "fpu tsc cx8 cmov mmx fxsr sse sse2 syscall nx lm 3dnow rep_good pni"
NEHALEM = "fpu tsc cx8 cmov mmx fxsr sse sse2 ht syscall nx rdtscp lm pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm"
SANDY_BRIDGE = f"{NEHALEM} pclmulqdq aes xsave avx"
HASWELL = f"{SANDY_BRIDGE} fma movbe f16c rdrand abm bmi1 avx2 bmi2"
ZEN = f"{HASWELL} sse4a misalignsse clzero sha_ni"
ALDER_LAKE = f"{HASWELL} avx_vnni sha_ni gfni vaes"
SKYLAKE_X = f"{HASWELL} avx512f avx512dq avx512cd avx512bw avx512vl"
KNIGHTS_LANDING = f"{HASWELL} avx512f avx512cd avx512er avx512pf"
ARM = "processor\t: 0\nFeatures\t: fp asimd evtstrm aes crc32 atomics\n"
LEVELS = ["", "v1", "v2", "v3", "v4"]
GO_SERVERS = [
    server for server in Catalogue().servers.values() if ["go", "build"] in [c[:2] for c in server.build.commands]
]


def cpuinfo(*flags):
    return "\n".join(
        f"processor\t: {number}\nmodel name\t: X avx512f\nflags\t\t: {text}\nvmx flags\t: vnmi\nbugs\t\t: avx2\n"
        for number, text in enumerate(flags)
    )


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        (OPTERON, "v1"),
        (NEHALEM, "v2"),
        (SANDY_BRIDGE, "v2"),
        (HASWELL, "v3"),
        (ZEN, "v3"),
        (ALDER_LAKE, "v3"),
        (KNIGHTS_LANDING, "v3"),
        (SKYLAKE_X, "v4"),
        ("fpu sse sse2", ""),
    ],
)
def test_the_level_is_the_highest_that_the_flags_allow(flags, level):
    assert amd64_level(cpuinfo(flags, flags)) == level


def test_another_architecture_has_no_level():
    assert amd64_level(ARM) == amd64_level("") == ""


def test_cpus_of_two_kinds_get_the_level_of_both():
    assert amd64_level(cpuinfo(SKYLAKE_X, HASWELL, SKYLAKE_X)) == "v3"


@given(st.sampled_from([NEHALEM, HASWELL, SKYLAKE_X]), st.data())
def test_a_cpu_that_lacks_a_flag_never_gets_a_higher_level(flags, data):
    words = flags.split()
    fewer = [word for word in words if data.draw(st.booleans(), label=word)]
    shuffled = data.draw(st.permutations(fewer))
    assert LEVELS.index(amd64_level(cpuinfo(" ".join(shuffled)))) <= LEVELS.index(amd64_level(cpuinfo(flags)))


def test_a_variable_that_is_empty_on_this_cpu_is_neither_set_nor_stated():
    built = Build(flags="go build", env={"GOAMD64": "{goamd64}"})
    assert (built.environment(""), built.stated("")) == ({}, "go build")
    assert (built.environment("v3"), built.stated("v3")) == ({"GOAMD64": "v3"}, "go build; GOAMD64 = v3")


@pytest.mark.parametrize("server", GO_SERVERS, ids=lambda server: server.name)
def test_every_go_server_is_built_for_the_level_of_the_cpu(server):
    assert build_environment(server).get("GOAMD64", "") == own_level()


def test_every_folder_with_a_go_module_is_among_them():
    assert {path.parent.name for path in SERVERS.glob("*/go.mod")} == {server.name for server in GO_SERVERS}
    assert 'GOAMD64 = "{goamd64}"' in (SKELETON / "server.toml").read_text()


@pytest.mark.servers
def test_the_level_is_part_of_the_key_the_program_the_record_and_the_report(monkeypatch):
    image, server = full_image(Catalogue()), Catalogue().server("burn")
    built = build(server, image)
    told = subprocess.run(
        built.sandbox().command(["go", "version", "-m", "/build/server"]), capture_output=True, text=True, check=True
    ).stdout
    assert f"GOAMD64={own_level()}" in told
    assert f"GOAMD64 = {own_level()}" in (built.folder / "wrkbook-build.json").read_text()
    shown = tables.provenance({}, component_versions([server], image), {}).text
    assert re.search(rf"flags\.burn\b.*GOAMD64 = {own_level()}", shown)
    monkeypatch.setattr("runners.systems.build.own_level", lambda: "v1" if own_level() != "v1" else "v2")
    assert artifact(server, image).key != built.key
