"""The sandbox's command line."""

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from runners.core.errors import WrkbookError
from runners.systems.image import Image
from runners.systems.sandbox import Sandbox, ensure_cpus


def test_the_key_of_an_image_depends_on_the_set_of_packages_alone():
    assert Image.of(["wrk", "g++"]).key == Image.of(["g++", "wrk", "wrk"]).key
    assert Image.of(["wrk"]).key != Image.of(["g++"]).key


@given(st.lists(st.text(min_size=1), min_size=1))
def test_arguments_reach_the_program_as_they_are(argv):
    command = Sandbox(Image.of([])).command(argv)
    assert command[-len(argv) :] == argv
    assert command[command.index("--") + 1 :] == argv


def test_a_pinned_program_is_started_on_its_cpus():
    command = Sandbox(Image.of([])).command(["wrk"], [1, 3])
    assert command[-4:] == ["taskset", "--cpu-list", "1,3", "wrk"]


def test_cpus_that_may_be_used_are_no_error_and_this_process_keeps_its_own():
    before = os.sched_getaffinity(0)
    ensure_cpus(before)
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("gone", "told"),
    [({3999}, "CPU 3999 is gone"), ({3998, 3999}, "CPU 3998, 3999 are gone")],
)
@pytest.mark.parametrize("also", [(), (min(os.sched_getaffinity(0)),)])
def test_cpus_that_have_gone_since_the_plan_are_named(gone, told, also):
    before = os.sched_getaffinity(0)
    with pytest.raises(WrkbookError) as caught:
        ensure_cpus({*gone, *also})
    assert told in caught.value.problem
    assert "online" in caught.value.remedy
    assert os.sched_getaffinity(0) == before


def test_it_ends_with_its_parent_and_sees_only_what_it_is_given(monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    command = Sandbox(Image.of([]), read_only={"/src": Path("/somewhere")}, env={"A": "b"}).command(["true"])
    assert {"--die-with-parent", "--unshare-pid", "--clearenv"} <= set(command)
    assert "SECRET" not in command
    assert command[command.index("/somewhere") - 1 : command.index("/somewhere") + 2] == [
        "--ro-bind",
        "/somewhere",
        "/src",
    ]


def test_only_a_build_is_told_of_the_user_s_proxy(monkeypatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:3128")
    assert "https_proxy" in Sandbox(Image.of([]), builds=True).command(["true"])
    assert "https_proxy" not in Sandbox(Image.of([])).command(["true"])


@pytest.fixture
def image(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "root", tmp_path)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\npostgres:x:102:104::/var/lib/postgresql:/bin/sh\n")
    return Image.of([])


def test_an_account_of_the_image_is_only_how_the_program_sees_itself(image):
    command = Sandbox(image, user="postgres").command(["id"])
    start = command.index("--unshare-user")
    assert command[start : start + 5] == ["--unshare-user", "--uid", "102", "--gid", "104"]
    assert "--unshare-user" not in Sandbox(image).command(["id"])


def test_an_account_that_the_image_does_not_have_is_named(image):
    with pytest.raises(WrkbookError, match="no account 'mysql'"):
        Sandbox(image, user="mysql").command(["id"])


def test_scratch_folders_are_in_memory_and_closed_to_others(image):
    command = Sandbox(image, scratch=["/data"]).command(["id"])
    assert command[command.index("/data") - 3 : command.index("/data") + 1] == ["--perms", "0700", "--tmpfs", "/data"]
