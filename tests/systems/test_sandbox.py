"""The sandbox's command line."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runners.systems.image import Image
from runners.systems.sandbox import Sandbox


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
