"""The image: which one a run gets, how it grows, which ones are removed, and what is said while one is made."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runners.core.project import cache_folder, hold_shared
from runners.generators.registry import GENERATORS
from runners.measure.conformance import full_image, image_for, image_to_run
from runners.systems import debian_root, host, image as images
from runners.systems.catalogue import Catalogue
from runners.systems.debian_root import InstallProgress
from runners.systems.image import Image

FOREIGN = Image.of(["chromium"])


@pytest.fixture
def catalogue(tmp_path):
    """A catalogue of servers that need a package each, of its own name; one has a backend."""
    for name, role, more in (
        ("one", "origin", '[[serves]]\nworkload = "ping"\npath = "/"\n'),
        ("two", "origin", '[[serves]]\nworkload = "sql1"\npath = "/"\nbackend = "base"\n'),
        ("base", "backend", ""),
    ):
        (tmp_path / "servers" / name).mkdir(parents=True)
        manifest = f'title = "{name}"\nlanguage = "C"\nrole = "{role}"\npackages = ["{name}"]\n'
        (tmp_path / "servers" / name / "server.toml").write_text(
            f'{manifest}[start]\ncommand = ["x", "{{port}}"]\n{more}'
        )
    return Catalogue(tmp_path / "servers")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and roots that are made of nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(host, "ensure_sandbox", lambda: None)
    monkeypatch.setattr(host, "ensure_unshare", lambda: None)
    monkeypatch.setattr(images, "make_root", lambda target, packages: (target / "etc").mkdir())


def made_without_use(image):
    """Make the folder of an image that no process uses."""
    image.root.mkdir()
    return image.root


def made():
    return {folder.name for folder in cache_folder().glob("image-*")}


def test_an_image_holds_what_its_servers_and_the_plan_need_and_no_more(catalogue):
    found = image_for(catalogue, [catalogue.server("one")]).packages
    assert found == ("ca-certificates", "hwloc-nox", "one")
    assert set(image_to_run(catalogue, [catalogue.server("two")]).packages) == {*found, "two", "base"} - {"one"}


def test_an_image_that_holds_more_is_used_instead_of_making_one(catalogue):
    large = image_for(catalogue, catalogue.servers.values())
    large.ensure()
    assert image_for(catalogue, [catalogue.server("one")]) == large
    assert image_for(catalogue) == large


def test_a_full_image_of_an_earlier_wrkbook_without_a_list_of_its_packages_is_used(catalogue):
    full_image(catalogue).root.mkdir()
    assert image_for(catalogue, [catalogue.server("one")]) == full_image(catalogue)


def test_an_image_for_more_also_holds_what_the_one_that_it_replaces_held(catalogue):
    FOREIGN.ensure()
    small = image_for(catalogue, [catalogue.server("one")])
    images._add_files(made_without_use(small), small.packages)
    large = image_for(catalogue, [catalogue.server("base")])
    assert large.packages == ("base", "ca-certificates", "hwloc-nox", "one")
    large.ensure()
    assert made() == {large.root.name, FOREIGN.root.name}


def test_an_image_of_another_recipe_is_not_used(catalogue, monkeypatch):
    Image.of(["hwloc-nox", "one"]).ensure()
    monkeypatch.setattr(images, "_RECIPE", 0)
    assert not image_for(catalogue, [catalogue.server("one")]).ready


@pytest.mark.parametrize(("days", "kept"), [(29, True), (31, False)])
def test_an_image_that_nothing_has_used_for_long_is_removed_when_another_one_is_made(days, kept):
    FOREIGN.root.mkdir()
    used = time.time() - days * 24 * 3600
    os.utime(FOREIGN.root, (used, used))
    Image.of(["a"]).ensure()
    assert FOREIGN.ready == kept


def test_using_an_image_is_noticed():
    FOREIGN.root.mkdir()
    os.utime(FOREIGN.root, (0, 0))
    FOREIGN.ensure()
    assert time.time() - FOREIGN.root.stat().st_mtime < 60


@pytest.mark.parametrize("used", [True, False])
def test_an_image_is_kept_while_another_process_uses_it(used):
    small, large = Image.of(["a"]), Image.of(["a", "b"])
    small.root.mkdir()
    (small.root / "etc").mkdir()
    (small.root / "etc/wrkbook-packages").write_text("\n".join(small.packages))
    holding = (
        f"from runners.core.project import hold_shared; hold_shared({small.root.name!r}); print(flush=True); input()"
    )
    other = subprocess.Popen([sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
    if not used:
        other.communicate(b"\n")
    large.ensure()
    if used:
        other.communicate(b"\n")
    assert small.ready == used
    assert made() == {large.root.name} | ({small.root.name} if used else set())


def test_a_lock_that_is_held_twice_by_one_process_is_held_once():
    hold_shared("twice")
    before = len(list(Path("/proc/self/fd").iterdir()))
    hold_shared("twice")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# What is said while one is made

APT = """\
I: running apt-get update...
0 upgraded, 4 newly installed, 0 to remove and 0 not upgraded.
Need to get 1,500 kB/30.0 MB of archives.
Get:1 http://mirror forky/main amd64 libc6 amd64 2.41-1 [500 kB]
Get:2 http://mirror forky/main amd64 g++ amd64 4:14 [1,000 kB]
Selecting previously unselected package libc6.
Unpacking libc6:amd64 (2.41-1) ...
Setting up libc6:amd64 (2.41-1) ...
Unpacking g++ (4:14) ...
"""


def test_the_steps_of_apt_are_told_with_the_time_that_they_need_still():
    progress = InstallProgress()
    told = [progress.read(line, float(second)) for second, line in enumerate(APT.splitlines())]
    assert [step for step in told if step] == [
        "running apt-get update...",
        "downloading 0 of 2 MB, 2 s left",
        "downloading 2 of 2 MB, 0 s left",
        "installing 0 of 4 packages, 0 s left",
        "installing 1 of 4 packages, 3 s left",
        "installing 2 of 4 packages, 3 s left",
    ]


def test_without_sizes_nothing_is_made_up():
    assert InstallProgress().read("Get:1 http://mirror forky/main amd64 libc6 amd64 2.41-1 [500 kB]", 1.0) == ""


def test_of_each_downloaded_package_the_newest_file_is_kept(tmp_path):
    for age, name in enumerate(["a_1%3a2_amd64.deb", "b_1_all.deb", "a_1%3a1_amd64.deb"]):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    (tmp_path / "lock").touch()
    debian_root._remove_superseded(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"a_1%3a2_amd64.deb", "b_1_all.deb", "lock"}


@pytest.mark.parametrize("name", ["gin", "drogon", "net-http"])
def test_the_image_of_a_run_also_verifies_its_servers_with_the_databases_that_any_of_their_services_needs(name):
    real = Catalogue()
    found = image_to_run(real, [real.server(name)], [GENERATORS["wrk"]]).packages
    for needed in (name, "postgresql"):
        assert set(real.server(needed).packages) <= set(found)
    assert "wrk" in found


# Writes an archive of one file to its output, and zeros after it when its reader has had time to end.
LATE_ZEROS = """
import io, sys, tarfile, time
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
    fact = tarfile.TarInfo("fact")
    fact.size = 4
    archive.addfile(fact, io.BytesIO(b"told"))
sys.stdout.buffer.flush()
time.sleep(0.3)
sys.stdout.buffer.write(bytes(8192))
"""


def test_zeros_after_the_end_of_the_archive_are_read_too_so_that_their_writer_can_end_well(tmp_path):
    target = tmp_path / "root"
    target.mkdir()
    debian_root._run([sys.executable, "-c", LATE_ZEROS], target, "Making")
    assert (target / "fact").read_text() == "told"
