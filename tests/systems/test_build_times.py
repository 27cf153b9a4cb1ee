"""What a build costs: which file is changed, what its output weighs, and that the cached builds are left alone."""

import os

import pytest

from runners.core.project import cache_folder
from runners.measure.build_times import build_times, changed_file, output_bytes
from runners.measure.conformance import full_image
from runners.systems.catalogue import Catalogue


def write(path, size):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)


def test_the_largest_source_that_is_no_test_stands_for_a_change(tmp_path):
    write(tmp_path / "main.go", 10)
    write(tmp_path / "deep/routes.go", 30)
    write(tmp_path / "routes_test.go", 90)
    write(tmp_path / "go.sum", 900)
    assert changed_file(tmp_path) == tmp_path / "deep/routes.go"
    assert changed_file(tmp_path / "nothing") is None


def test_output_is_counted_once_and_without_what_the_build_keeps_for_itself(tmp_path):
    write(tmp_path / "server", 100)
    write(tmp_path / "node_modules/a/index.js", 20)
    write(tmp_path / "CMakeFiles/server.dir/main.bin", 5000)
    write(tmp_path / "main.o", 5000)
    os.link(tmp_path / "server", tmp_path / "same")
    (tmp_path / "link").symlink_to("server")
    assert output_bytes(tmp_path) == 120


@pytest.mark.servers
def test_a_server_is_built_in_each_way_and_the_cached_builds_are_left_alone():
    server = Catalogue().server("express")
    before = sorted((cache_folder() / "builds").glob("express-*"))
    found = build_times(server, full_image(Catalogue()), [0, 1])
    assert found["failure"] is None
    assert min(found["cold_s"], found["warm_s"], found["incremental_s"]) > 0
    assert found["changed"].endswith(".js")
    assert found["output_bytes"] > 100_000
    assert sorted((cache_folder() / "builds").glob("express-*")) == before


@pytest.mark.servers
def test_a_build_that_fails_says_so_and_is_no_end_of_the_run():
    server = Catalogue().server("express")
    broken = server.model_copy(update={"build": server.build.model_copy(update={"commands": [["ls", "/not-there"]]})})
    found = build_times(broken, full_image(Catalogue()), [0, 1])
    assert "/not-there" in found["failure"]
    assert "cold_s" not in found
