"""The image, made by mmdebstrap from a Debian mirror."""

import re
import subprocess

import pytest

from runners.systems import debian_root
from runners.systems.debian_root import InstallProgress
from runners.systems.image import Image
from runners.systems.sandbox import Sandbox

pytestmark = pytest.mark.e2e
SMALL, LARGE = Image.of(["hwloc-nox"]), Image.of(["hwloc-nox", "libyyjson-dev"])


@pytest.fixture
def printed(tmp_path, monkeypatch):
    """The lines that mmdebstrap prints; the cache folder is empty."""
    lines = []

    class Noted(InstallProgress):
        def read(self, line, now_s):
            lines.append(line)
            return super().read(line, now_s)

    monkeypatch.setattr(debian_root, "InstallProgress", Noted)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return lines


def downloaded(lines):
    """Return the names of the packages that apt fetched: ``Get:7 http://mirror forky/main amd64 NAME amd64 VERSION [SIZE]``."""
    found = (re.match(r"Get:\d+ \S+ \S+ \S+ (\S+) \S+ \S+ \[", line) for line in lines)
    return {match[1] for match in found if match}


def test_a_larger_image_is_made_without_downloading_a_package_twice(printed):
    SMALL.ensure()
    first = downloaded(printed)
    assert {"libc6", "hwloc-nox"} <= first
    printed.clear()
    LARGE.ensure()
    assert "libyyjson-dev" in downloaded(printed)
    assert not downloaded(printed) & first
    assert not list(LARGE.root.glob("var/cache/apt/archives/*.deb"))
    command = Sandbox(LARGE).command(["lstopo-no-graphics", "--version"])
    assert "lstopo" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
