"""The flags that a manifest states are those that its sources were compiled with."""

import re

import pytest

from runners.systems.catalogue import Catalogue

pytestmark = pytest.mark.servers
NAMES = sorted(name for name, server in Catalogue().servers.items() if (server.folder / "CMakeLists.txt").exists())
# What changes the code that is generated; warnings, definitions of libraries and paths do not.
_FLAG = re.compile(r"-(O.|march=.*|std=.*|DNDEBUG|f.*|g.*)")


def flags_in(text):
    return {word for word in re.split(r"[\s,;]+", text) if _FLAG.fullmatch(word)}


def compiled_with(text):
    """The flags of every source in a ninja file; link steps repeat those of the build type without -std."""
    lines = re.findall(r"^  FLAGS = (.*)$", text, re.MULTILINE)
    return [flags_in(line) for line in lines if "-std=" in line]


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_states_the_flags_of_its_build(artifacts, name):
    stated = artifacts[name].server.build.flags
    text = (artifacts[name].folder / "build.ninja").read_text()
    used = compiled_with(text)
    assert used
    # One source may have more, which are stated as such.
    common, *more = (flags_in(part) for part in stated.split(" also with "))
    allowed = [common, common.union(*more)]
    assert [flags for flags in used if flags not in allowed] == []
    assert all(flags in used for flags in allowed)
    assert ("no LTO" in stated) == ("-flto" not in text)
