"""The set-up: two at once, interrupted half-way, and without a network."""

import os
import signal
import sys
from pathlib import Path

import pytest

from runners.core.errors import WrkbookError
from runners.core.project import PROJECT
from runners.systems import host
from runners.systems.image import Image
from tests.faults.harness import BLOCKS, Observed, assert_goes_on, assert_records_are_sound, run_command, send

# What stands in for mmdebstrap: a program on PATH that writes a root as a tarball, slowly or not at all.
_MAKES = """#!{python}
import io, os, sys, tarfile, time
from pathlib import Path
print("I: running apt-get update...", file=sys.stderr, flush=True)
Path({marks!r}, str(os.getpid())).touch()
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
    for name in ("etc/one", "etc/two"):
        found = tarfile.TarInfo(name)
        found.size = 1 << 16
        tar.addfile(found, io.BytesIO(bytes(1 << 16)))
        sys.stdout.buffer.flush()
        time.sleep({seconds})
"""
_FAILS = """#!/bin/sh
echo 'E: Unable to connect to the mirror' >&2
exit 1
"""
# As mmdebstrap does when its output cannot be written: SIGHUP to its whole process group.
_HANGS_UP = """#!/bin/sh
echo 'W: creating tarball failed: Broken pipe' >&2
kill -HUP 0
"""
_ENSURE = "from runners.systems.image import Image; Image(('none',)).ensure()"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A cache without an image, and a function that puts a program in the place of mmdebstrap."""
    programs, marks = tmp_path / "programs", tmp_path / "marks"
    programs.mkdir()
    marks.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    def put(text, **values):
        program = programs / "mmdebstrap"
        program.write_text(text.format(python=sys.executable, marks=str(marks), **values) if values else text)
        program.chmod(0o755)
        return marks

    return put


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_image_whose_making_was_interrupted_is_made_anew(tmp_path, machine, number):
    image, marks = Image(("none",)), machine(_MAKES, seconds=120)
    with Observed([sys.executable, "-c", _ENSURE], tmp_path / "data") as making:
        making.wait_for(lambda: list(image.root.parent.glob("*.partial/etc/one")))
        send(making.process, number)
        assert making.wait() != 0
        making.assert_nothing_is_left(set())
    assert not image.ready
    assert len(list(marks.iterdir())) == 1
    machine(_MAKES, seconds=0)
    image.ensure()
    assert image.ready
    assert {path.name for path in (image.root / "etc").iterdir()} >= {"one", "two"}
    assert list(image.root.parent.glob("*.partial")) == []


def test_two_that_need_the_image_make_it_once(tmp_path, machine):
    marks = machine(_MAKES, seconds=0.5)
    command = [sys.executable, "-c", _ENSURE]
    with Observed(command, tmp_path / "one") as one, Observed(command, tmp_path / "two") as two:
        assert one.wait() == two.wait() == 0
        assert "being made by another wrkbook" in one.output + two.output
    assert len(list(marks.iterdir())) == 1


def test_without_a_network_a_missing_image_is_a_clear_error_and_one_that_is_there_works(machine):
    machine(_FAILS)
    with pytest.raises(WrkbookError, match=r"Unable to connect to the mirror[\s\S]*mirror is reachable"):
        Image(("none",)).ensure()
    there = Image(("there",))
    there.root.mkdir()
    there.ensure()


def test_an_image_whose_root_cannot_be_unpacked_is_a_clear_error_although_mmdebstrap_hangs_up(tmp_path, machine):
    machine(_HANGS_UP)
    with Observed([sys.executable, "-c", _ENSURE], tmp_path / "data") as making:
        assert making.wait() == 1
        assert "creating tarball failed: Broken pipe" in making.output
        assert "WrkbookError: the image could not be made" in making.output


def test_without_a_network_missing_host_packages_are_a_clear_error(monkeypatch, tmp_path):
    (tmp_path / "apt-get").write_text("#!/bin/sh\necho 'E: no network'; exit 100\n")
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(host, "missing_packages", lambda: ["bubblewrap"])
    with pytest.raises(
        WrkbookError, match=r"could not be installed:\nE: no network[\s\S]*apt-get update && apt-get install"
    ):
        host.ensure_sandbox.__wrapped__()


def test_without_an_index_the_python_environment_is_a_clear_error(tmp_path):
    for name in ("wrkbook", "requirements.lock"):
        (tmp_path / name).write_bytes((PROJECT / name).read_bytes())
    (tmp_path / "wrkbook").chmod(0o755)
    offline = {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "PIP_FIND_LINKS": "", "CONDA_PREFIX": ""}
    with Observed([tmp_path / "wrkbook", "list"], tmp_path / "data", offline) as command:
        assert command.wait() == 1
        assert "the Python packages could not be installed" in command.output
        command.assert_nothing_is_left(set())


@pytest.mark.servers
def test_a_second_run_waits_for_the_first_and_goes_on_when_that_is_killed(tmp_path, cache):
    with Observed(run_command(), tmp_path / "one", cache) as one:
        one.wait_for(lambda: one.named("speed_probe.py"))
        one.freeze()  # It would else have measured all before the second has started, where that takes long.
        first = one.addresses()
        with Observed(run_command(), tmp_path / "two", cache) as two:
            two.wait_for(lambda: "another wrkbook is measuring" in two.output)
            assert_kernels_are_apart(first, two.addresses())
            send(one.process, signal.SIGKILL)
            one.wait()
            one.thaw()
            kept = assert_records_are_sound(tmp_path / "one")
            two.measured_well()
            two.assert_nothing_is_left(set())
        one.assert_nothing_is_left(set())
    assert len(assert_records_are_sound(tmp_path / "two")) >= BLOCKS
    assert_goes_on(tmp_path / "one", cache, kept)


def assert_kernels_are_apart(one, two):
    """Each notebook's kernel is reached in a folder of its own, which only the user can enter."""
    folders = [{Path(path).parent for path in found if path.endswith(tuple("12345"))} for found in (one, two)]
    for [folder] in folders:
        assert folder.is_absolute()
        assert folder.stat().st_mode & 0o077 == 0
    assert not folders[0] & folders[1]
