"""What is said when the host does not allow what wrkbook needs."""

import os
import pwd
from types import SimpleNamespace

import pytest

from runners.core.errors import WrkbookError
from runners.systems import host


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH on which the needed programs are stand-ins; bubblewrap is refused by the kernel."""
    for name in ("mmdebstrap", "newuidmap", "bwrap"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2; exit 1\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(host, "_KEYRING", tmp_path)
    host.ensure_sandbox.cache_clear()
    yield tmp_path
    host.ensure_sandbox.cache_clear()


def test_forbidden_namespaces_are_told_with_bubblewrap_s_own_words_and_a_remedy(programs):
    with pytest.raises(WrkbookError) as caught:
        host.ensure_sandbox()
    assert "No permissions to create a new namespace" in str(caught.value)
    assert "as root" in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces="),
    ],
)
def test_the_setting_that_forbids_them_is_named(tmp_path, monkeypatch, name, value, remedy):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(value + "\n")
    monkeypatch.setattr(host, "_SETTINGS", tmp_path)
    assert remedy in host.namespace_remedy()


def test_missing_packages_without_sudo_are_told_with_the_command_for_root(programs, monkeypatch):
    (programs / "mmdebstrap").unlink()
    (programs / "apt-get").write_text("#!/bin/sh\n")
    (programs / "apt-get").chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    with pytest.raises(WrkbookError) as caught:
        host.ensure_sandbox()
    assert "mmdebstrap" in caught.value.problem
    assert "apt-get install" in caught.value.remedy


def test_what_is_missing_is_told_without_installing_it(programs, monkeypatch):
    assert host.missing_packages() == []
    (programs / "bwrap").unlink()
    monkeypatch.setattr(host, "_KEYRING", programs / "none")
    assert host.missing_packages() == ["bubblewrap", "debian-archive-keyring"]


def test_an_installation_that_fails_is_told_with_its_last_words_and_the_command_for_root(programs, monkeypatch):
    (programs / "mmdebstrap").unlink()
    for name, text in (("apt-get", "echo 'E: no such archive'; exit 1"), ("sudo", 'exec "$@"')):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    with pytest.raises(WrkbookError) as caught:
        host.ensure_sandbox()
    assert "E: no such archive" in caught.value.problem
    assert caught.value.remedy.startswith("as root: apt-get update && apt-get install --yes")


def test_an_ordinary_user_without_subordinate_ids_is_told_how_to_get_them(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 64321)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name="nobody-here"))
    with pytest.raises(WrkbookError) as caught:
        host.ensure_unshare()
    assert "usermod --add-subuids" in caught.value.remedy
    assert "nobody-here" in str(caught.value)
